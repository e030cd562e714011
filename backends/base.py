"""What a backend offers: start, databases, facts, stop; and the registry of those that exist."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from backends.errors import NameInvalid, UnknownBackend

Info = dict[str, str]
"""What a worker process needs to reach a started engine; holds a password, so never print it."""

_NAME = re.compile(r"pch_[a-z0-9_]{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine says about itself, for a report; measured, not assumed."""

    name: str
    version: str
    isolation: str
    """The session's default before runtime sets its own."""
    collation: str
    padding: str
    """"exact" when 'abc' and 'abc ' differ in the type that holds identities, else "padded"."""
    time_zone: str
    """The session's default before runtime sets its own."""
    way: str
    """How the engine was got: file, embedded, kept warm, container, reused container or server."""
    detail: str
    packet: str = ""
    """The largest packet, "" where there is no such bound."""
    timeouts: str = ""
    """The session's bounds of a query, a transaction and a lock's wait, "" where a session has none."""

    def serializable(self) -> dict[str, str]:
        """Return the facts as plain strings."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The facts in one line, for a report."""
        parts = [
            f"{self.version} ({self.way})",
            f"default isolation {self.isolation}",
            f"binary identities compare {self.padding}",
        ]
        if self.timeouts:
            parts += [
                f"default collation {self.collation}",
                f"time zone {self.time_zone}",
                f"packets of at most {self.packet}",
                f"time-outs: {self.timeouts}",
            ]
        return ", ".join(parts)


class Backend(Protocol):
    """An engine that runs for the length of a test run, and the databases in it."""

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    def start(self) -> None:
        """Have the engine ready for queries; again is nothing. Raises EngineError."""

    def check(self) -> None:
        """Ask the engine whether it still answers. Raises EngineError with the cause when it does not."""

    def database_url(self, name: str) -> str:
        """Make an empty database, replacing one of this name that this run made, and return its SQLAlchemy URL.

        The URL holds a password. Raises EngineError, ForeignDatabase among them.
        """

    def drop(self, name: str) -> None:
        """Drop a database that this run made; one that does not exist is no error. Raises EngineError."""

    def facts(self) -> Facts:
        """Ask the engine for its facts. Raises EngineError."""

    def stop(self) -> None:
        """Drop what this run made and, in the process that started the engine, stop it; again is nothing."""

    def connection_info(self) -> Info:
        """Describe the started engine so that attach() in another process reaches it. Raises NotStarted."""


class Adapter(Protocol):
    """The class of a backend: how one is made, and how a worker attaches to a started one."""

    def create(
        self, *, oceanbase_url: str | None, run_directory: Path, oceanbase_image: str | None = None, reuse: bool = False
    ) -> Backend:
        """Make a backend without starting it; raises EngineError for a URL that cannot be used."""

    def attach(self, info: Info) -> Backend:
        """Reach an engine that another process started, whose life stays that process's affair."""


BACKENDS: dict[str, Adapter] = {}
"""The backends by name; backends/__init__.py fills it."""


def create(
    name: str,
    *,
    oceanbase_url: str | None,
    run_directory: Path,
    oceanbase_image: str | None = None,
    reuse: bool = False,
) -> Backend:
    """Make the backend of a name without starting it; `run_directory` holds what is this run's alone.

    `oceanbase_image` gets OceanBase in a container of that image, which `reuse` leaves for the next run. Raises
    UnknownBackend with the known names, UrlInvalid, and WaysConflict.
    """
    return _adapter(name).create(
        oceanbase_url=oceanbase_url, run_directory=run_directory, oceanbase_image=oceanbase_image, reuse=reuse
    )


def attach(info: Info) -> Backend:
    """Reach the engine that another process's connection_info() describes; stop() then leaves the engine running."""
    return _adapter(info["backend"]).attach(info)


def checked_name(name: str) -> str:
    """Return a database name that needs no quoting anywhere. Raises NameInvalid."""
    if not is_name(name):
        raise NameInvalid(name)
    return name


def is_name(name: str) -> bool:
    """Say whether a name is one that a run may give to a database."""
    return _NAME.fullmatch(name) is not None


def _adapter(name: str) -> Adapter:
    try:
        return BACKENDS[name]
    except KeyError:
        raise UnknownBackend(name, BACKENDS) from None
