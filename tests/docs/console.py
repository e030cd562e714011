"""A shell in a scratch folder that does what a document asks, and the comparison of what it prints with what is shown.

What differs from run to run is made alike on both sides before they are compared (`alike`). In the shown output a line
`...` stands for any lines, and `...` within a line for any text.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_END = "--- end of the command:"
_SECONDS = 300
_ALIKE: tuple[tuple[str, str], ...] = (
    # Durations, sizes of processes, ratios of durations.
    (r"\b\d+(\.\d+)? ?(ms|s|min)\b", "N s"),
    (r"\b\d+ MB of memory\b", "N MB of memory"),
    (r"\b\d+\.\d\d to \d+\.\d\d\b", "N to N"),
    (r"\b\d+\.\d\d times\b", "N times"),
    # Names and numbers that are drawn anew: processes, engines, databases, runs.
    (r"\bprocess \d+\b", "process N"),
    (r"\bengine-\d+-[0-9a-f]+\b", "engine-N"),
    (r"\b(pch_(?:[a-z]+_)?)[0-9a-f]{8}\b", r"\1N"),
    # Dates and times of day.
    (r"\b20\d\d-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\+00:00)?)?", "DATE"),
    # pytest's progress, which depends on how many processes there are.
    (r"^[.FEsxX]+ +\[ *\d+%\]$", "[progress]"),
    # Columns move with the width of what stands before them.
    (r"(?<=\S) {2,}", "  "),
)


class Shell:
    """One bash for one document; commands are told by a mark at their end."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "POWERCONTEXT_"))}
        environment = {
            **kept,
            "HOME": str(home),
            "TMPDIR": str(home),
            "CHECKOUT": str(ROOT),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._script = home / "command.sh"

    def run(self, command: str) -> tuple[int, list[str]]:
        """Run a command in this shell; returns its exit code and the lines that it printed."""
        assert self._bash.stdin is not None
        self._script.write_text(command + "\n", encoding="utf-8")
        # The mark stands on a line of its own, also behind output without an end of line.
        ask = f"source {self._script} < /dev/null; printf '\\n%s %s\\n' '{_END}' $?\n"
        self._bash.stdin.write(ask.encode())
        self._bash.stdin.flush()
        output, code = self._read()
        return code, output.removesuffix("\n").split("\n") if output.removesuffix("\n") else []

    @property
    def folder(self) -> Path:
        """The folder that this shell is in."""
        return Path(f"/proc/{self._bash.pid}/cwd").readlink()

    def close(self) -> None:
        """End the shell with all that it started."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()

    def _read(self) -> tuple[str, int]:
        assert self._bash.stdout is not None
        end = re.compile(rf"\n{_END} (\d+)\n".encode())
        deadline, output = time.monotonic() + _SECONDS, b""
        while not (found := end.search(b"\n" + output)):
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._bash.stdout.fileno(), 65536) if ready else b""
            assert more, f"the command does not end; so far: {output.decode('utf-8', 'replace')}"
            output += more
        printed = (b"\n" + output)[1 : found.start()] if found.start() else b""
        return printed.decode("utf-8", "replace").replace(str(self._home), "~"), int(found[1])


@contextmanager
def a_home() -> Iterator[Path]:
    """Yield a home for what commands keep beside the folder that they are run in: an engine above all."""
    # A unix socket's path is short, and pytest's folders are not.
    folder = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))
    try:
        yield folder
    finally:
        with closing(Shell(folder, folder)) as shell:
            shell.run("harness engine down")
        shutil.rmtree(folder)


def alike(lines: Sequence[str]) -> list[str]:
    """Return lines with what differs from run to run made alike."""
    made = []
    for line in lines:
        for pattern, replacement in _ALIKE:
            line = re.sub(pattern, replacement, line)
        made.append(line.rstrip())
    return made


def fits(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Say whether printed lines are as shown, both made alike before."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _line_fits(shown[0], printed[0]) and fits(shown[1:], printed[1:])


def _line_fits(shown: str, printed: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), printed) is not None
