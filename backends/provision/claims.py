"""Which containers are whose: each owner holds a file locked, whose name is in the container's labels.

A sweep takes away the containers of those files that nobody holds any more, and no others: not those of another
machine, user or state directory, whatever their labels say.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker.errors
from filelock import FileLock, Timeout

from backends.errors import StateDirectoryUnusable
from backends.provision.daemon import Client, told_apart
from backends.provision.homes import STATE_VARIABLE

OWNER_LABEL = "powercontext-harness.owner"
REUSE_LABEL = "powercontext-harness.reuse"
"""Holds a digest of what a container was made of; one with it stays when its run ends."""

_SWEEP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Claim:
    """An owner's hold on the containers with his label."""

    token: str
    lock: FileLock

    @property
    def labels(self) -> dict[str, str]:
        """What his containers carry."""
        return {OWNER_LABEL: self.token}

    def release(self) -> None:
        """Let go, once the containers are gone."""
        Path(self.lock.lock_file).unlink(missing_ok=True)
        self.lock.release()


def open_claim(client: Client, state: Path) -> Claim:
    """Sweep, then make a claim. Raises StateDirectoryUnusable, DockerSilent."""
    directory = state / "containers"
    # A claim that is made, and not locked yet, must not be taken for a dead owner's.
    with exclusive(directory, "sweep"):
        for file in sorted(directory.glob("owner-*.lock")):
            _sweep(client, file)
        token = secrets.token_hex(8)
        lock = _lock(directory / f"owner-{token}.lock")
        lock.acquire(timeout=0)
    return Claim(token, lock)


@contextmanager
def exclusive(directory: Path, name: str) -> Iterator[None]:
    """Keep the other processes of this state directory out. Raises StateDirectoryUnusable."""
    lock = _lock(directory / f"{name}.lock")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_SWEEP_SECONDS)
    except Timeout:
        raise StateDirectoryUnusable(str(directory), STATE_VARIABLE, "another process holds its lock") from None
    except OSError as error:
        raise StateDirectoryUnusable(str(directory), STATE_VARIABLE, error.strerror or str(error)) from None
    try:
        yield
    finally:
        lock.release()


def remove(container: object) -> None:
    """Remove a container with its anonymous volumes; one that is gone, or going, is no error."""
    with suppress(docker.errors.NotFound):
        try:
            container.remove(force=True, v=True)  # type: ignore[attr-defined]
        except docker.errors.APIError as error:
            if error.status_code != 409:
                raise


def _sweep(client: Client, file: Path) -> None:
    lock = _lock(file)
    try:
        lock.acquire(timeout=0)
    except (Timeout, FileNotFoundError):
        return
    token = file.stem.removeprefix("owner-")
    with told_apart():
        for container in client.containers.list(all=True, filters={"label": f"{OWNER_LABEL}={token}"}):
            remove(container)
    file.unlink(missing_ok=True)
    lock.release()


def _lock(path: Path) -> FileLock:
    # A container may be stopped by another thread than the one that started it.
    return FileLock(path, thread_local=False)
