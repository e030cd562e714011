"""Processes that hang, end, or hold something that another one needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hung(pid: int) -> Iterator[None]:
    """Let a child of this process do nothing for as long as the block lasts."""
    os.kill(pid, signal.SIGSTOP)
    try:
        # A signal is on its way for a moment; the kernel tells when the process stands.
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def end_at_once(pid: int) -> None:
    """Kill a process, and wait until the kernel has taken everything from it."""
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        # Its owner was faster to collect it.
        pass
    finally:
        os.close(handle)


class Helper:
    """Another process that has done something and says so, line by line."""

    def __init__(self, program: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def said(self) -> str:
        """Wait for its next line, "" when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        """Kill it and wait for its end."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def other_process(program: str, *arguments: str) -> Iterator[Helper]:
    """Run a Python program that says a line when it is ready, and ends when its input does."""
    helper = Helper(program, *arguments)
    try:
        yield helper
    finally:
        helper.kill()
