"""The process that owns the engine which is kept warm; see warm.py, which starts and ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from filelock import FileLock, Timeout

from backends.base import Info
from backends.errors import EngineError
from backends.provision import spares
from backends.provision.embedded import EmbeddedEngine
from backends.provision.homes import Home, is_engine
from backends.provision.warm import FILE, LOCK, WarmEngine

_LOOK_SECONDS = 1.0
"""How often the engine itself is looked at."""


def keep(state: Path) -> int:
    """Own an engine until asked to end; returns the exit code of the keeper."""
    ending, nudged = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        ending.set()
        nudged.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    signal.signal(signal.SIGUSR1, lambda *_: nudged.set())
    lock = FileLock(state / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return 0
    engine = EmbeddedEngine(state=state)
    try:
        engine.start()
        _tell(state, {**engine.info(), "way": WarmEngine.way, "keeper": str(os.getpid())})
        while not ending.is_set():
            # Before the databases are made: a run that comes meanwhile waits for its own only.
            nudged.clear()
            spares.tend(engine.endpoint)
            while not nudged.wait(_LOOK_SECONDS):
                if not is_engine(engine.pid, Home(Path(engine.info()["home"])).base):
                    engine.check()
    except EngineError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    finally:
        (state / FILE).unlink(missing_ok=True)
        engine.stop()
    return 0


def _tell(state: Path, info: Info) -> None:
    """Write the file that others reach the engine by; it never exists with another mode or half written."""
    beside = state / f".{FILE}.{os.getpid()}"
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(info, file)
    beside.replace(state / FILE)


if __name__ == "__main__":
    sys.exit(keep(Path(sys.argv[1])))
