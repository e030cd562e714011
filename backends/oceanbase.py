"""OceanBase: which way to get an engine, and the databases of a run on it."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import ClassVar, Protocol, Self

from backends.base import Facts, Info
from backends.errors import EngineDied, EngineError, WaysConflict
from backends.provision import sessions
from backends.provision.databases import Endpoint, databases_of, drop_database, make_database, session_facts
from backends.provision.embedded import AttachedEngine, EmbeddedEngine
from backends.provision.images import IMAGE_VARIABLE, REUSE_VARIABLE, REUSED
from backends.provision.server import URL_VARIABLE, ServerEngine, parse_server_url
from backends.provision.warm import WarmEngine, warm_engine

_STAYS = frozenset({ServerEngine.way, REUSED, WarmEngine.way})
"""The ways whose engine outlives the run, so that its databases must go by themselves."""


class Engine(Protocol):
    """An OceanBase server, however it was got."""

    @property
    def way(self) -> str:
        """Embedded, kept warm, container, reused container or server."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens. Raises NotStarted."""

    @property
    def detail(self) -> str:
        """One line for a report."""

    def start(self) -> None:
        """Have it answer queries; again is nothing. Raises EngineError."""

    def check(self) -> None:
        """Raise the EngineError that says why it no longer answers."""

    def stop(self) -> None:
        """Stop it if this process owns it; again is nothing."""

    def info(self) -> Info:
        """Describe it for another process; holds the password."""


def choose_way(oceanbase_url: str | None, oceanbase_image: str | None = None, *, reuse: bool = False) -> Engine:
    """Choose how to get an engine: a named server, else a container of a named image, else the embedded one.

    The embedded one is the engine that is kept warm where there is one and runs may use it.

    An option is heard before the environment. Raises UrlInvalid, and WaysConflict where both are named in one place.
    """
    if oceanbase_url and oceanbase_image:
        raise WaysConflict("--oceanbase-url", "--oceanbase-image")
    if not (oceanbase_url or oceanbase_image):
        oceanbase_url, oceanbase_image = os.environ.get(URL_VARIABLE), os.environ.get(IMAGE_VARIABLE)
        if oceanbase_url and oceanbase_image:
            raise WaysConflict(URL_VARIABLE, IMAGE_VARIABLE)
    if oceanbase_url:
        return ServerEngine(parse_server_url(oceanbase_url))
    if oceanbase_image:
        return _container(oceanbase_image, reuse or bool(os.environ.get(REUSE_VARIABLE)))
    return warm_engine() or EmbeddedEngine()


def _container(image: str, reuse: bool) -> Engine:
    # testcontainers takes half a second to import, which runs without a container need not wait for.
    from backends.provision.container_engine import ContainerEngine

    return ContainerEngine(image, reuse=reuse)


def attach_way(info: Info) -> Engine:
    """Reach the engine that another process got."""
    if info["way"] == ServerEngine.way:
        return ServerEngine.attach(info)
    if info["way"] == EmbeddedEngine.way:
        return AttachedEngine(info)
    if info["way"] == WarmEngine.way:
        return WarmEngine(info)
    from backends.provision.container_engine import AttachedContainer

    return AttachedContainer(info)


class OceanBase:
    """An OceanBase engine, and the databases that this run made on it."""

    NAME: ClassVar[str] = "oceanbase"

    def __init__(self, engine: Engine, *, run: str, owner: bool) -> None:
        self.engine = engine
        self._run = run
        self._owner = owner
        self._pid = os.getpid()
        self._made: set[str] = set()
        self._lent: dict[str, str] = {}
        """By the name that was asked for, the database of the warm engine that stands for it."""

    @classmethod
    def create(
        cls,
        *,
        oceanbase_url: str | None,
        run_directory: Path,  # noqa: ARG003 (the other backend needs it)
        oceanbase_image: str | None = None,
        reuse: bool = False,
    ) -> Self:
        """Choose the way; an embedded engine's files lie in the state directory, not in the run's."""
        return cls(choose_way(oceanbase_url, oceanbase_image, reuse=reuse), run=secrets.token_hex(16), owner=True)

    @classmethod
    def attach(cls, info: Info) -> Self:
        """Take part in a run whose engine another process got."""
        return cls(attach_way(info), run=info["run"], owner=False)

    @property
    def name(self) -> str:
        """The name by which users ask for it."""
        return self.NAME

    def start(self) -> None:
        """Have an engine; see the ways for what they raise."""
        self.engine.start()

    def check(self) -> None:
        """Raise EngineDied, Unreachable and the like when it no longer answers, SessionDiffers when it is not one."""
        self.engine.check()
        for name in sorted({*self._made, *self._lent.values()}):
            if differs := sessions.difference(name):
                raise differs

    def database_url(self, name: str) -> str:
        """Make an empty database registered to this run, and return its URL, which holds the password."""
        try:
            make_database(self.engine.endpoint, name, self._run)
        except EngineError as error:
            raise self._explained(error) from None
        sessions.forget(name)
        self._made.add(name)
        return self.engine.endpoint.url(name)

    def prepared_url(self, name: str) -> str:
        """Return the URL of a database without rows that may have the runtime's tables already, else of an empty one.

        The engine that is kept warm has some waiting; `drop` lets go of either.
        """
        if isinstance(self.engine, WarmEngine) and (spare := self.engine.take_spare(self._run)) is not None:
            self._lent[name] = spare
            return self.engine.endpoint.url(spare)
        return self.database_url(name)

    def drop(self, name: str) -> None:
        """Drop a database that this run made. Raises ForeignDatabase for any other."""
        if name in self._lent and isinstance(self.engine, WarmEngine):
            self.engine.leave(self._lent.pop(name), self._run)
            return
        try:
            drop_database(self.engine.endpoint, name, self._run)
        except EngineError as error:
            raise self._explained(error) from None
        self._made.discard(name)

    def facts(self) -> Facts:
        """Ask a fresh session, as a client of the product would get it."""
        try:
            told = session_facts(self.engine.endpoint)
        except EngineError as error:
            raise self._explained(error) from None
        return Facts(
            name=self.NAME,
            version=told["version"],
            isolation=told["isolation"],
            collation=told["collation"],
            padding=told["padding"],
            time_zone=told["time_zone"],
            way=self.engine.way,
            detail=f"{told['comment']}; {self.engine.detail}",
            packet=told["packet"],
            timeouts=told["timeouts"],
        )

    def stop(self) -> None:
        """Drop the databases on a server that stays, or end the engine of our own; nothing in a fork."""
        if os.getpid() != self._pid:
            return
        if self.engine.way in _STAYS:
            self._tidy()
        self._made.clear()
        if self._owner:
            self.engine.stop()

    def connection_info(self) -> Info:
        """Describe engine and run for attach(); holds the password."""
        return {"backend": self.NAME, "way": self.engine.way, "run": self._run, **self.engine.info()}

    def _tidy(self) -> None:
        names = set(self._made)
        try:
            if self._owner:
                # A worker that crashed dropped nothing.
                names.update(databases_of(self.engine.endpoint, self._run))
            for name in sorted(names):
                drop_database(self.engine.endpoint, name, self._run)
        except EngineError as error:
            # The run is over and its verdict stands; what is left must be known all the same.
            if names:
                print(f"left on the server: {', '.join(sorted(names))}\n{error}", file=sys.stderr)

    def _explained(self, error: EngineError) -> EngineError:
        """Return the deeper cause when the engine itself is gone, else the error."""
        try:
            self.engine.check()
        except EngineDied as death:
            return death
        except EngineError:
            pass
        return error
