"""What is tested, by the name that users give it: what of it runs for a whole run, and the targets on each backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from backends.base import Backend
from backends.oceanbase import OceanBase
from harness.errors import UnknownNames
from harness.target import TARGETS
from harness.target.base import Target

Info = dict[str, str]
"""What a worker process needs to reach a system's servers; holds a key, so never print it."""

RELEASED = "powercontext"
URL_SCHEMES = ("http://", "https://")


class System(Protocol):
    """A system under test, for the length of a run.

    The controller of a run starts what is shared, a worker of xdist attaches to it; each process makes its own targets.
    """

    name: str
    shares: bool
    """Whether anything has to be started before targets are made."""
    backends: tuple[str, ...] | None
    """The backends that it is on, None where it runs on each one that was asked for."""

    @property
    def known_as(self) -> str:
        """How the ledger calls it; the name, except of a server that somebody else runs."""

    def start(self, engines: Mapping[str, Backend]) -> dict[str, str]:
        """Start what the targets share on these started engines; again is nothing.

        Returns, by backend, why it is not there.
        """

    def info(self) -> Info:
        """Describe what was started for a worker."""

    def attach(self, info: Info) -> None:
        """Take part in what another process started."""

    def target(self, backend: str, engine: Backend | None, database: str) -> Target:
        """Return a target of this process on a backend; raises EngineError, TargetLost."""

    def check(self, backend: str) -> None:
        """Raise HarnessError with the cause where what this process started there has ended."""

    def ways(self) -> dict[str, str]:
        """Say by backend how it was got and where it runs, in a few words for a report."""

    def stop(self) -> None:
        """Stop what this process started; again is nothing."""


class InTree:
    """A system that runs in the process of the test itself, each process on a database of its own."""

    shares = False
    backends: tuple[str, ...] | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def known_as(self) -> str:
        """Its name."""
        return self.name

    def start(self, engines: Mapping[str, Backend]) -> dict[str, str]:
        """Share nothing."""
        del engines
        return {}

    def info(self) -> Info:
        """Share nothing."""
        return {}

    def attach(self, info: Info) -> None:
        """Share nothing."""

    def target(self, backend: str, engine: Backend | None, database: str) -> Target:
        """Make the target on a new database of the engine."""
        assert engine is not None
        # A target makes its tables where they are not, and empties them for each scenario.
        make = engine.prepared_url if isinstance(engine, OceanBase) else engine.database_url
        return TARGETS[self.name](backend, make(database))

    def check(self, backend: str) -> None:
        """Share nothing."""

    def ways(self) -> dict[str, str]:
        """Tell nothing: the engines say it all."""
        return {}

    def stop(self) -> None:
        """Share nothing."""


def open_systems(names: Sequence[str], *, run_directory: Path, admin_token: str | None = None) -> dict[str, System]:
    """Return the systems of the names that users give, each once, by its full name.

    `runtime`, `powercontext==1.4.1`, `powercontext` for the newest release that is installed, `http://host:port`.
    Raises UnknownNames, and HarnessError for a release that is not installed.
    """
    if unknown := unknown_targets(names):
        raise UnknownNames("target", unknown, known_targets())
    systems = [_open(name, run_directory, admin_token) for name in names]
    return {system.name: system for system in systems}


def unknown_targets(names: Sequence[str]) -> list[str]:
    """Return the names that no target has."""
    return [name for name in names if name not in TARGETS and not _is_elsewhere(name)]


def known_targets() -> tuple[str, ...]:
    """Return how targets may be named, for a hint."""
    return (*TARGETS, f"{RELEASED}==VERSION", RELEASED, "http://HOST:PORT")


def _is_elsewhere(name: str) -> bool:
    return name == RELEASED or name.startswith((f"{RELEASED}==", *URL_SCHEMES))


def _open(name: str, run_directory: Path, admin_token: str | None) -> System:
    if name in TARGETS:
        return InTree(name)
    # Loaded only where one is asked for: a run of our own has no use for it.
    from harness.target.powercontext.system import ReleasedSystem, RemoteSystem

    if name.startswith(URL_SCHEMES):
        return RemoteSystem(name, admin_token)
    return ReleasedSystem(name, run_directory)
