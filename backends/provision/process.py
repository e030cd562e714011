"""A child process that belongs to this one: awaited by a thread of its own, and killed by the kernel with its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from backends.provision import leash

_ENDING_SECONDS = 5.0


class OwnedProcess:
    """A process started and awaited by a thread of its own, its output appended to a file.

    The kernel sends the death signal when the *thread* that started the child ends, so that thread must last as long
    as the child; whoever makes this object may be a short-lived one. Raises OSError where it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], *, output: Path, environment: Mapping[str, str], descriptors: Sequence[int] = ()
    ) -> None:
        self._command = [sys.executable, "-I", "-S", leash.__file__, str(os.getpid()), *command]
        self._output = output
        self._environment = dict(environment)
        self._descriptors = tuple(descriptors)
        self._born, self._ended = threading.Event(), threading.Event()
        self._failure: OSError | None = None
        threading.Thread(target=self._live, name=f"owner of {Path(command[0]).name}", daemon=True).start()
        self._born.wait()
        if self._failure is not None:
            raise self._failure

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs. One that is just ending is awaited."""
        if self._process.poll() is None and self._is_ending():
            self.ended_within(_ENDING_SECONDS)
        return self._process.poll()

    def ended_within(self, seconds: float) -> bool:
        """Wait for the process's end, and say whether it came."""
        return self._ended.wait(seconds)

    def ask_to_end(self) -> None:
        """Ask it to end, and do not wait."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def end(self, seconds: float) -> None:
        """Ask it to end, and kill it when it has not after some seconds."""
        for finish in (self._process.terminate, self._process.kill):
            with suppress(ProcessLookupError):
                finish()
            if self.ended_within(seconds):
                return

    def _is_ending(self) -> bool:
        """Say whether the kernel is taking it apart: it answers no more, and has no exit status yet."""
        try:
            # The memory goes first, and the command line with it; then the sockets, at last the process.
            return not (Path("/proc") / str(self.pid) / "cmdline").read_bytes()
        except OSError:
            return True

    def _live(self) -> None:
        try:
            with self._output.open("ab") as output:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=self._environment,
                    pass_fds=self._descriptors,
                    # A Ctrl-C of the terminal is for the owner, who then stops the child.
                    start_new_session=True,
                )
        except OSError as error:
            self._failure = error
        self._born.set()
        if self._failure is None:
            self._process.wait()
        self._ended.set()
