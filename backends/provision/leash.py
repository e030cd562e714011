"""A program that becomes another one which the kernel kills when its parent thread ends.

Run as `python -I -S leash.py PARENT_PID PROGRAM ARGUMENT...`. It takes the place of a `preexec_fn`, which may deadlock
in a process with threads. It imports nothing of ours, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> NoReturn:
    """Ask for the parent's death signal, then become the program; ends where the parent is dead already."""
    parent, *command = arguments
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A parent that died before the request above sends no signal any more.
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
