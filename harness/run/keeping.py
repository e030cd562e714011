"""Databases that a failing case leaves: a copy of it in the state directory, or beside it on a server that stays."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import make_url

from backends.base import Backend
from backends.copies import copy_database, copy_file
from backends.errors import EngineError
from backends.oceanbase import OceanBase
from backends.provision import warm
from backends.provision.databases import Endpoint, drop_database
from backends.provision.embedded import EmbeddedEngine
from backends.provision.homes import STATE_VARIABLE, state_directory
from backends.provision.images import CONTAINER
from backends.provision.server import URL_VARIABLE, parse_server_url

OWNER = "kept"
"""What kept databases are registered as: of no run, so that none drops them."""
_ENDS_WITH_THE_RUN = (EmbeddedEngine.way, CONTAINER)


class NotKept(Exception):
    """A database that cannot be kept, or not removed; says why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One database that was left, and how to open it."""

    name: str
    scenario: str
    backend: str
    made: str
    """When, in UTC, to the second."""
    command: str
    """What opens it in a shell; asks for a password where there is one."""
    file: str = ""
    """The file of an SQLite database, "" of one on a server."""
    where: str = ""
    """The server's address."""


def keep(url: str | None, engine: Backend | None, *, scenario: str, backend: str) -> Kept:
    """Copy a database as it is now; raises NotKept."""
    if url is None or engine is None:
        raise NotKept("the database is the target's own; that of the in-tree runtime can be kept")
    name = f"pch_kept_{secrets.token_hex(4)}"
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(engine, OceanBase):
        if engine.engine.way in _ENDS_WITH_THE_RUN:
            raise NotKept(
                f"the {engine.engine.way} engine ends with the run; one that stays is named by --oceanbase-url"
            )
        endpoint = engine.engine.endpoint
        try:
            copy_database(endpoint, str(make_url(url).database), name, OWNER)
        except EngineError as problem:
            raise NotKept(str(problem)) from None
        kept = Kept(name, scenario, backend, made, _mysql(endpoint, name), where=endpoint.where)
    else:
        file = _folder() / f"{name}.db"
        try:
            copy_file(Path(str(make_url(url).database)), file)
        except EngineError as problem:
            raise NotKept(str(problem)) from None
        kept = Kept(name, scenario, backend, made, shlex.join(["sqlite3", str(file)]), file=str(file))
    _record(name).write_text(json.dumps(asdict(kept)), encoding="utf-8")
    return kept


def all_kept() -> list[Kept]:
    """Return what was kept and not removed, the oldest first."""
    found = []
    for record in sorted(_folder(make=False).glob("pch_kept_*.json")):
        # What somebody else wrote there, or half of a record, is none.
        with suppress(ValueError, TypeError, OSError):
            found.append(Kept(**json.loads(record.read_text(encoding="utf-8"))))
    return sorted(found, key=lambda one: (one.made, one.name))


def remove(kept: Kept, *, oceanbase_url: str | None = None) -> None:
    """Drop what was kept; raises NotKept, for one on a server that is not named too."""
    if kept.file:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(kept.file + suffix).unlink(missing_ok=True)
    else:
        try:
            endpoint = _endpoint_of(kept, oceanbase_url)
            if endpoint is not None:
                drop_database(endpoint, kept.name, OWNER)
        except EngineError as problem:
            raise NotKept(str(problem)) from None
    _record(kept.name).unlink(missing_ok=True)


def _endpoint_of(kept: Kept, oceanbase_url: str | None) -> Endpoint | None:
    """Return the server of a kept database, None where it has ended with its engine; raises NotKept, EngineError."""
    if kept.where.startswith("/"):
        # A socket: the engine that is kept warm, which ends with all that is in it.
        found = warm.find()
        endpoint = None if found is None else warm.WarmEngine(found.info).endpoint
        return endpoint if endpoint is not None and endpoint.where == kept.where else None
    url = oceanbase_url or os.environ.get(URL_VARIABLE)
    if not url:
        raise NotKept(f"it lies on {kept.where}; name that server by --oceanbase-url")
    endpoint = parse_server_url(url)
    if endpoint.where != kept.where:
        raise NotKept(f"it lies on {kept.where}, not on {endpoint.where}")
    return endpoint


def _folder(*, make: bool = True) -> Path:
    state = state_directory()
    folder = (state if os.environ.get(STATE_VARIABLE) else state.parent) / "kept"
    if make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise NotKept(f"{folder} cannot be made: {problem.strerror}") from None
    return folder


def _record(name: str) -> Path:
    return _folder() / f"{name}.json"


def _mysql(endpoint: Endpoint, name: str) -> str:
    """Return the command that opens a database; no password is in it."""
    user = f"--user={endpoint.user}"
    if endpoint.socket:
        file = str(warm.directory() / warm.FILE)
        told = f"python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[\"password\"])' {shlex.quote(file)}"
        return f'MYSQL_PWD="$({told})" {shlex.join(["mysql", f"--socket={endpoint.socket}", user, name])}'
    return shlex.join(["mysql", f"--host={endpoint.host}", f"--port={endpoint.port}", user, "--password", name])
