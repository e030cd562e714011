"""Real runs in a folder of their own: what they print, how they end, and what they leave behind."""

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from backends.provision.homes import STATE_VARIABLE
from backends.provision.server import URL_VARIABLE

HARNESS = str(Path(sys.executable).with_name("harness"))
_HERE = Path(__file__).parents[1]
_SECONDS = 300


@dataclass(frozen=True)
class Ended:
    """A process that ended: exit code, and all that it printed, times and ids made alike."""

    code: int
    output: str

    @property
    def is_clean(self) -> bool:
        """Whether nothing of our own code's lines was shown to the user."""
        return "Traceback" not in self.output and "INTERNALERROR" not in self.output


class Place:
    """A folder with scenarios, where runs happen; engines and temporary files of these runs lie in one of their own."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder, self.temporary = folder, temporary
        self.state = temporary / "engines"

    def write(self, name: str, text: str) -> None:
        path = self.folder / "scenarios" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def inside(self, name: str) -> Place:
        """Return the place of a folder within this one, with the engines and temporary files of this one."""
        place = Place(self.folder / name, self.temporary)
        place.state = self.state
        return place

    def harness(self, *words: str, **environment: str) -> Ended:
        return self._ended(self.start(HARNESS, *words, **environment))

    def pytest(self, *words: str, **environment: str) -> Ended:
        plugins = ("-p", "targets.plugin", "-p", "harness.plugin")
        return self._ended(self.start(sys.executable, "-m", "pytest", *plugins, *words, **environment))

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[bytes]) -> Ended:
        """Wait for a process that was started, and read what it printed since it was last read."""
        return self._ended(process)

    def engines(self) -> list[int]:
        return engines_below(str(self.state))

    def left_over(self) -> list[str]:
        """Return the temporary folders of runs, and the homes of engines, that are still there."""
        return [path.name for path in (*self.temporary.glob("powercontext-*"), *self.state.glob("engine-*"))]

    def _environment(self, changes: dict[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        inherited.pop(URL_VARIABLE, None)
        ours = {STATE_VARIABLE: str(self.state), "TMPDIR": str(self.temporary), "PYTHONPATH": str(_HERE)}
        return {**inherited, **ours, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", **changes}

    def _ended(self, process: subprocess.Popen[bytes]) -> Ended:
        try:
            output, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return Ended(process.returncode, normalised(output.decode("utf-8", "replace")))


@contextmanager
def a_place(folder: Path) -> Iterator[Place]:
    """Yield a place, and see that no engine outlives it."""
    # A unix socket's path is short, and pytest's folders are not.
    temporary = Path(tempfile.mkdtemp(prefix="h-", dir="/tmp"))
    place = Place(folder, temporary)
    try:
        yield place
        assert place.engines() == []
    finally:
        for pid in place.engines():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(temporary, ignore_errors=True)


def normalised(text: str) -> str:
    """Make seconds, versions and engine logs alike from run to run."""
    text = re.sub(r"\d+\.\d\ds", "N.NNs", text)
    return re.sub(r"(?m)^ +\[20\d\d-.*\n", "", text)


def engines_below(state: str) -> list[int]:
    """Return the pids of the live engines whose files lie below a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                arguments = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if Path(arguments[0]).name == "seekdb" and any(part.startswith(state) for part in arguments):
                    found.append(int(process.name))
    return found


def read_until(process: subprocess.Popen[bytes], wanted: bytes) -> bytes:
    """Return what a process prints until it has printed the wanted bytes."""
    assert process.stdout is not None
    deadline, output = time.monotonic() + _SECONDS, b""
    while wanted not in output:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        more = os.read(process.stdout.fileno(), 65536) if ready else b""
        assert more, output.decode("utf-8", "replace")
        output += more
    return output


def wait_until_gone(pids: list[int]) -> None:
    """Wait until processes are no more; the kernel tells of each by a file descriptor."""
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                ready, _, _ = select.select([descriptor], [], [], _SECONDS)
                assert ready, f"process {pid} is still there"
            finally:
                os.close(descriptor)
