"""The program `harness`: what is done before the rest is read, which takes a moment, and after all is done."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
from contextlib import suppress

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""
UNWRITTEN = 2
"""The exit code of a command whose output, or whose file, found no room."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the command line, and end the process."""
    # What is registered first is called last, when all others have stopped what they started.
    codes: list[int] = []
    # Of its own: pytest, broken off where it writes, leaves the handles of output and errors pointing elsewhere.
    errors = os.dup(sys.stderr.fileno()) if sys.stderr is not None else os.open(os.devnull, os.O_WRONLY)
    atexit.register(_leave, codes, errors)
    # A machine that cancels a job asks so; what was found until then is kept, and nothing is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What is made now stays: looking it through for garbage, again and again, takes a third of the start.
    gc.disable()
    try:
        from harness.cli import main as run_command

        gc.freeze()
        gc.enable()
        run_command()
    except KeyboardInterrupt:
        codes.append(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _tell_no_room(error, errors)
        codes.append(UNWRITTEN)
        sys.exit(UNWRITTEN)
    except SystemExit as ended:
        if isinstance(ended.code, int):
            codes.append(ended.code)
        raise


def _leave(codes: list[int], errors: int) -> None:
    """End the process at once: Python would take down piece by piece what goes with it, for a fifth of a second."""
    try:
        for stream in (sys.stdout, sys.stderr):
            # None where the caller has closed it.
            if stream is not None:
                stream.flush()
    except OSError as error:
        if error.errno not in _NO_ROOM:
            # Whoever read has gone; Python has words for it.
            return
        _tell_no_room(error, errors)
        codes[:] = [UNWRITTEN]
    for code in codes:
        os._exit(code)


def _tell_no_room(error: OSError, errors: int) -> None:
    # In the form of our other errors, whose module is not read yet where the command has hardly begun.
    what = error.filename or "the output"
    told = f"no_room: {what} cannot be written\n  cause: {error.strerror}\n  hint: make room there\n"
    with suppress(OSError):
        os.write(errors, os.fsencode(told))
    # What is still held back would fail again, and be told again.
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)


if __name__ == "__main__":
    main()
