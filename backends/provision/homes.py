"""The directories of embedded engines: one for each, locked by its owner, swept once the owner is dead."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from filelock import FileLock, Timeout

from backends.errors import StateDirectoryUnusable

STATE_VARIABLE = "POWERCONTEXT_HARNESS_STATE"
"""The environment variable that names the directory of the engines' directories."""

_SOCKET_PATH_BYTES = 107
"""Linux's limit of a unix socket's path."""
_LOCK = "owner.lock"
_SHORTCUT = "shortcut"


def state_directory() -> Path:
    """Return where engines live: the variable's value, or powercontext-harness/engines in the user's cache."""
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of these variables says to ignore a relative path.
    root = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return root / "powercontext-harness" / "engines"


def _new_lock(path: Path) -> FileLock:
    # An engine may be stopped by another thread than the one that started it.
    return FileLock(path, thread_local=False)


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one engine, which its owner holds locked."""

    directory: Path
    lock: FileLock | None = None
    """The owner's hold on it; None in other processes."""

    @property
    def base(self) -> Path:
        """The engine's base-dir."""
        return self.directory / "base"

    @property
    def output(self) -> Path:
        """What the engine prints before it has a log."""
        return self.directory / "output.txt"

    @property
    def socket(self) -> Path:
        """The engine's unix socket, by a path short enough for clients."""
        shortcut = self.directory / _SHORTCUT
        return (Path(os.readlink(shortcut)) if shortcut.is_symlink() else self.base) / "run" / "sql.sock"

    def remove(self) -> None:
        """Delete everything, then let go."""
        _remove_tree(self.directory)
        if self.lock is not None:
            self.lock.release()


def open_home(state: Path, *, wait_seconds: float) -> Home:
    """Sweep what dead owners left, and make a home of our own. Raises StateDirectoryUnusable."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        # Without this lock a sweep could take a home between its making and its locking.
        with _new_lock(state / "sweep.lock").acquire(timeout=wait_seconds):
            for directory in sorted(state.glob("engine-*")):
                _sweep(directory)
            directory = state / f"engine-{os.getpid()}-{secrets.token_hex(3)}"
            directory.mkdir(mode=0o700)
            lock = _new_lock(directory / _LOCK)
            lock.acquire(timeout=0)
        home = Home(directory, lock)
        home.base.mkdir()
        if len(os.fsencode(home.base / "run" / "sql.sock")) > _SOCKET_PATH_BYTES:
            short = Path(tempfile.mkdtemp(prefix="pch-")) / "b"
            short.symlink_to(home.base, target_is_directory=True)
            (directory / _SHORTCUT).symlink_to(short)
    except Timeout:
        raise StateDirectoryUnusable(str(state), STATE_VARIABLE, "another process holds its lock") from None
    except OSError as error:
        raise StateDirectoryUnusable(str(state), STATE_VARIABLE, error.strerror or str(error)) from None
    return home


def engine_of(base: Path) -> int | None:
    """Return the pid of the engine that runs on a base-dir, from its own pid file, verified with the kernel."""
    try:
        pid = int((base / "run" / "seekdb.pid").read_text("ascii"))
    except (OSError, ValueError):
        return None
    return pid if is_engine(pid, base) else None


def is_engine(pid: int, base: Path) -> bool:
    """Say whether a process is a live seekdb with exactly this base-dir."""
    process = Path("/proc") / str(pid)
    try:
        arguments = [os.fsdecode(part) for part in (process / "cmdline").read_bytes().split(b"\0")]
    except OSError:
        return False
    # A zombie has no arguments, so it does not count as alive.
    return Path(arguments[0]).name == "seekdb" and ("--base-dir", str(base)) in pairwise(arguments)


def _sweep(directory: Path) -> None:
    lock = _new_lock(directory / _LOCK)
    try:
        lock.acquire(timeout=0)
    except (Timeout, FileNotFoundError):
        return
    base = directory / "base"
    pid = engine_of(base)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 5
        # No child of ours, so the kernel offers nothing to wait on.
        while is_engine(pid, base) and time.monotonic() < deadline:
            time.sleep(0.01)
    _remove_tree(directory)
    lock.release()


def _remove_tree(directory: Path) -> None:
    shortcut = directory / _SHORTCUT
    if shortcut.is_symlink():
        short = Path(os.readlink(shortcut))
        # Only a link of our own making, in case somebody else took the name after a reboot.
        if short.is_symlink() and Path(os.readlink(short)) == directory / "base":
            short.unlink()
            shutil.rmtree(short.parent, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)
