"""An embedded engine that is kept between runs: `harness engine up` starts a keeper, which owns it until `down`.

The keeper is a process of its own, in a session of its own. The kernel ends the engine with it, as with any owner. What
others need to reach the engine stands in a file that its user alone can read, and is believed only as far as the kernel
says that both processes are there.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from backends.base import Info
from backends.errors import EngineError, EngineSlow, StateDirectoryUnusable
from backends.provision import spares
from backends.provision.databases import Endpoint
from backends.provision.embedded import START_SECONDS, check_owned_elsewhere
from backends.provision.homes import STATE_VARIABLE, Home, is_engine, state_directory

USE_VARIABLE = "POWERCONTEXT_HARNESS_WARM"
"""`yes` lets runs use the engine that is kept, which the command line sets where nothing else is said."""

FILE = "engine.json"
"""Holds what the engine is reached by, its password too, for its user alone."""
_LOG = "keeper.log"
LOCK = "keeper.lock"
"""Held by the one keeper of a state directory."""
_MODULE = "backends.provision.keeper"
_POLL_SECONDS = 0.05
_STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Kept:
    """An engine that is kept, and its keeper; `info` holds the password, so never print it."""

    info: Info
    keeper: int

    @property
    def pid(self) -> int:
        """The engine's process."""
        return int(self.info["pid"])

    @property
    def home(self) -> Home:
        """The engine's directory."""
        return Home(Path(self.info["home"]))


class WarmEngine:
    """An engine that a keeper keeps; runs come and go, and take their databases with them."""

    way: ClassVar[str] = "kept warm"

    def __init__(self, info: Info) -> None:
        self._info = info
        self.endpoint = Endpoint(user="root", password=info["password"], socket=info["socket"], port=int(info["port"]))
        self.detail = f"process {info['pid']}, kept by `harness engine up`"

    def start(self) -> None:
        """It runs already; raises EngineError where it does not any more."""
        self.check()

    def check(self) -> None:
        """Raise EngineDied when the process is gone, or the error of a query that fails."""
        check_owned_elsewhere(self.endpoint, self._info, "while it was kept warm")

    def take_spare(self, run: str) -> str | None:
        """Return a database of this run with the runtime's tables, None where none waits. Raises EngineError."""
        name = spares.take(self.endpoint, run)
        if name is not None:
            self._nudge()
        return name

    def leave(self, name: str, run: str) -> None:
        """Leave a database that was taken to the keeper. Raises EngineError."""
        spares.leave(self.endpoint, name, run)
        self._nudge()

    def stop(self) -> None:
        """Leave the engine to its keeper."""

    def _nudge(self) -> None:
        """Tell the keeper that there is something to do."""
        with suppress(ProcessLookupError):
            send(int(self._info["keeper"]), signal.SIGUSR1, Path(self._info["home"]).parent)

    def info(self) -> Info:
        """Describe it for a worker; holds the password."""
        return self._info


def warm_engine() -> WarmEngine | None:
    """Return the engine that is kept where runs may use it."""
    if os.environ.get(USE_VARIABLE) != "yes":
        return None
    kept = find()
    return None if kept is None else WarmEngine(kept.info)


@contextmanager
def used_by_default() -> Iterator[None]:
    """Let what happens here use the engine that is kept, unless somebody says otherwise."""
    is_said = USE_VARIABLE in os.environ
    os.environ.setdefault(USE_VARIABLE, "yes")
    try:
        yield
    finally:
        if not is_said:
            os.environ.pop(USE_VARIABLE, None)


def directory() -> Path:
    """Return where a kept engine lies: apart from those of runs."""
    return state_directory() / "warm"


def find(state: Path | None = None) -> Kept | None:
    """Return the engine that is kept, as the kernel confirms it; None where there is none."""
    state = directory() if state is None else state
    try:
        descriptor = os.open(state / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            told = os.fstat(descriptor)
            if told.st_uid != os.getuid() or stat.S_IMODE(told.st_mode) != 0o600:
                return None
            info = json.load(file)
        kept = Kept({name: str(value) for name, value in info.items()}, int(info["keeper"]))
        alive = _is_keeper(kept.keeper, state) and is_engine(kept.pid, kept.home.base)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return kept if alive else None


def up(state: Path | None = None, *, start_seconds: float = START_SECONDS) -> tuple[Kept, bool]:
    """Have an engine kept; returns it, and whether it was started now. Raises EngineError."""
    state = directory() if state is None else state
    if (kept := find(state)) is not None:
        return kept, False
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        state.chmod(0o700)
        log = (state / _LOG).open("wb")
    except OSError as error:
        raise StateDirectoryUnusable(str(state), STATE_VARIABLE, error.strerror or str(error)) from None
    with log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(state)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
    deadline = time.monotonic() + start_seconds + _STOP_SECONDS
    while (kept := find(state)) is None:
        # A keeper that finds another one at work ends, and the other one's engine is ours too.
        if keeper.poll() not in (None, 0) or time.monotonic() > deadline:
            said = (state / _LOG).read_text("utf-8", "replace").strip().split("\n")
            if keeper.returncode is None:
                keeper.kill()
                raise EngineSlow(start_seconds, None, said)
            raise EngineError(f"no engine is kept: {said[0]}", "harness doctor says more", "\n".join(said[1:]) or None)
        time.sleep(_POLL_SECONDS)
    # It outlives this process, which must not wait for it.
    keeper.returncode = 0
    return kept, True


def down(state: Path | None = None) -> Kept | None:
    """End the engine that is kept with its databases; returns what it was, None where there was none."""
    state = directory() if state is None else state
    kept = find(state)
    if kept is None:
        return None
    for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError):
            if send(kept.keeper, number, state, wait_seconds=seconds):
                break
    (state / FILE).unlink(missing_ok=True)
    return kept


def send(keeper: int, number: signal.Signals, state: Path, *, wait_seconds: float = 0.0) -> bool:
    """Send a signal to a keeper, and say whether it ended within some seconds. Raises ProcessLookupError."""
    descriptor = os.pidfd_open(keeper)
    try:
        # Asked behind the descriptor: the number could have become another process's.
        if not _is_keeper(keeper, state):
            raise ProcessLookupError
        signal.pidfd_send_signal(descriptor, number)
        return bool(select.select([descriptor], [], [], wait_seconds)[0])
    finally:
        os.close(descriptor)


def _is_keeper(pid: int, state: Path) -> bool:
    try:
        arguments = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return arguments[-4:-1] == [b"-m", _MODULE.encode(), os.fsencode(state)]
