"""`python -m runtime.hosts prepare`: the kit as a command, for hosts that are not written in Python.

The query comes from stdin as UTF-8, the text goes to stdout byte for byte, nothing where there is none, and the
diagnostic to stderr. The settings are the environment variables of `Configuration`. The exit code is 0 however the
prepare ends, and 2 for a command line that is none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from runtime.hosts.configuration import Configuration, ConfigurationRefused
from runtime.hosts.outcomes import Outcome, tell
from runtime.hosts.turns import ContextHost


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m runtime.hosts", description="A prepared context for a query.")
    parser.add_argument("command", choices=["prepare"], help="read a query from stdin, write the text to stdout")
    parser.parse_args(arguments)
    text = _prepared()
    if text is not None:
        # The host may have gone on without it, or have closed it from the start, in which case there is no stdout.
        with suppress(OSError, AttributeError):
            sys.stdout.buffer.write(text.encode("utf-8"))
            sys.stdout.buffer.flush()
    return 0


def _prepared() -> str | None:
    try:
        configuration = Configuration.from_environment()
        query = sys.stdin.buffer.read().decode("utf-8")
    except ConfigurationRefused as refused:
        # The name of a variable, which holds nothing of its value.
        tell(Outcome("skipped", reason=f"configuration {refused.setting}"))
        return None
    except (UnicodeDecodeError, OSError, AttributeError):
        # A stdin that is closed from the start is None.
        tell(Outcome("skipped", reason="query"))
        return None
    return ContextHost(configuration).turn("command").context(query)


if __name__ == "__main__":
    sys.exit(main())
