"""Databases on a server of MySQL's wire protocol, each registered to the run that made it."""

from __future__ import annotations

import secrets
import socket as sockets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from sqlalchemy.engine import URL

from backends.base import checked_name, is_name
from backends.errors import (
    EngineError,
    ForeignDatabase,
    NotOceanBase,
    QueryFailed,
    RightsMissing,
    TlsRefused,
    Unreachable,
    WrongPassword,
)
from backends.provision.sessions import session_of
from backends.provision.tls import Tls

REGISTRY = "pch_registry"
"""The database that says which run made which; beside the others, since a system under test needs an empty one."""

_OWNERS = f"{REGISTRY}.owners"
_NO_REGISTRY = frozenset({ER.BAD_DB_ERROR, ER.NO_SUCH_TABLE})

_CHECK_SECONDS = 10
_CANNOT_REACH = frozenset({2002, 2003, 2006, 2013})
DENIED = frozenset({1044, 1142, 1143, 1227})
"""What the engine answers to somebody who may not."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens, and as whom to enter; its repr holds no password."""

    user: str
    password: str = field(repr=False)
    socket: str = ""
    """The path of a unix socket; "" means TCP."""
    host: str = "localhost"
    port: int = 0
    """The TCP port, also where there is a unix socket, for clients that know no other way; 0 where it is not known."""
    connect_seconds: int = 10
    read_seconds: int = 60
    tls: Tls = field(default_factory=Tls)
    """Of no meaning to a unix socket."""

    @property
    def where(self) -> str:
        """The address, for messages."""
        return self.socket or f"{self.host}:{self.port}"

    def url(self, database: str) -> str:
        """Return a database's SQLAlchemy URL, its password in clear."""
        # A unix socket's server is our child, which check() watches; a network's may vanish without a word.
        query = (
            {"unix_socket": self.socket}
            if self.socket
            else {
                "connect_timeout": str(self.connect_seconds),
                "read_timeout": str(self.read_seconds),
                **self.tls.options,
            }
        )
        return URL.create(
            "mysql+oceanbase",
            username=self.user,
            password=self.password,
            host=self.host,
            port=self.port or None,
            database=database,
            query={**query, "charset": "utf8mb4"},
        ).render_as_string(hide_password=False)

    @contextmanager
    def cursor(self) -> Iterator[pymysql.cursors.Cursor]:
        """Connect for a few statements, each committed by itself. Raises EngineError, told apart by its cause."""
        try:
            with closing(self._connect()) as connection, connection.cursor() as cursor:
                yield cursor
        except pymysql.MySQLError as error:
            raise self.explain(error) from None

    def explain(self, error: pymysql.MySQLError) -> EngineError:
        """Turn a driver's error into ours."""
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        cause = f"{number} {error.args[1]}" if len(error.args) > 1 else type(error).__name__
        if number == CR.CR_SSL_CONNECTION_ERROR or (number in _CANNOT_REACH and "certificate" in cause.lower()):
            return TlsRefused(self.where, cause)
        if number in _CANNOT_REACH:
            return Unreachable(self.where, cause)
        if number == ER.ACCESS_DENIED_ERROR:
            return WrongPassword(self.where, self.user)
        if number in DENIED:
            return RightsMissing(self.where, self.user, cause)
        return QueryFailed(self.where, cause)

    def _connect(self) -> pymysql.Connection[Any]:
        connection = pymysql.Connection(
            user=self.user,
            password=self.password,
            host=self.host,
            port=self.port,
            charset="utf8mb4",
            autocommit=True,
            # The first does not cover the handshake, which the second does.
            connect_timeout=self.connect_seconds,
            read_timeout=self.read_seconds,
            write_timeout=self.read_seconds,
            defer_connect=True,
            # Nothing leaves the machine by a socket; the driver would read all certificates for it, at each connection.
            **({"ssl_disabled": True} if self.socket else self.tls.arguments),
        )
        connection.connect(self._channel() if self.socket else None)
        return connection

    def _channel(self) -> sockets.socket:
        # The driver leaves a unix socket open when nobody listens, and each poll of a start would leak one.
        channel = sockets.socket(sockets.AF_UNIX)
        try:
            channel.settimeout(self.connect_seconds)
            channel.connect(self.socket)
        except OSError as error:
            channel.close()
            raise pymysql.OperationalError(CR.CR_CONNECTION_ERROR, error.strerror or str(error)) from None
        return channel


def check_oceanbase(endpoint: Endpoint) -> None:
    """Raise NotOceanBase with the version found, or what explain() makes of a failed connection."""
    # A stopped process accepts connections and says nothing, so this question has a short bound of its own.
    with replace(endpoint, read_seconds=min(endpoint.read_seconds, _CHECK_SECONDS)).cursor() as cursor:
        version = str(_one(cursor, "SELECT version()")[0])
    if "OceanBase" not in version:
        raise NotOceanBase(endpoint.where, version)


def check_writes(endpoint: Endpoint, run: str) -> None:
    """Raise QueryFailed where a committed row is not there for the next connection; asked in a throwaway database."""
    name = f"pch_ready_{secrets.token_hex(4)}"
    make_database(endpoint, name, run)
    try:
        with endpoint.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name}.written (number INT PRIMARY KEY)")
            cursor.execute(f"INSERT INTO {name}.written VALUES (1489)")
        with endpoint.cursor() as cursor:
            cursor.execute(f"SELECT number FROM {name}.written")
            if cursor.fetchall() != ((1489,),):
                raise QueryFailed(endpoint.where, "a row that one connection committed is not there for the next one")
    finally:
        drop_database(endpoint, name, run)


def make_database(endpoint: Endpoint, name: str, run: str) -> None:
    """Make an empty database registered to a run, in place of one that the same run made. Raises ForeignDatabase."""
    drop_database(endpoint, name, run)
    with endpoint.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {REGISTRY}")
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {_OWNERS} (name VARBINARY(64) PRIMARY KEY, run VARBINARY(64) NOT NULL)"
        )
        # Registered first: a database that nobody knows would be refused for ever after.
        cursor.execute(f"INSERT INTO {_OWNERS} (name, run) VALUES (%s, %s)", (name.encode(), run.encode()))
        try:
            cursor.execute(f"CREATE DATABASE {checked_name(name)} DEFAULT CHARACTER SET utf8mb4")
        except pymysql.MySQLError as error:
            cursor.execute(f"DELETE FROM {_OWNERS} WHERE name = %s", (name.encode(),))
            if error.args[0] == ER.DB_CREATE_EXISTS:
                raise ForeignDatabase(name, "it exists already, and this harness did not make it") from None
            raise


def drop_database(endpoint: Endpoint, name: str, run: str) -> None:
    """Drop a database registered to a run, if it exists. Raises ForeignDatabase for one of another run or of nobody."""
    with endpoint.cursor() as cursor:
        owner = _owner(cursor, checked_name(name))
        if owner is None:
            if _exists(cursor, name):
                raise ForeignDatabase(name, "it exists already, and this harness did not make it")
            return
        if owner != run.encode():
            raise ForeignDatabase(name, "another run of this harness made it")
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"DELETE FROM {_OWNERS} WHERE name = %s", (name.encode(),))


def databases_of(endpoint: Endpoint, run: str) -> list[str]:
    """Return the names of the databases that a run made, by whichever of its processes."""
    with endpoint.cursor() as cursor:
        try:
            cursor.execute(f"SELECT name FROM {_OWNERS} WHERE run = %s ORDER BY name", (run.encode(),))
        except pymysql.MySQLError as error:
            if error.args[0] in _NO_REGISTRY:
                return []
            raise
        return [name for name in (bytes(row[0]).decode() for row in cursor.fetchall()) if is_name(name)]


def session_facts(endpoint: Endpoint) -> dict[str, str]:
    """Return what session_of() does, of a fresh session, and the comment to the version."""
    with endpoint.cursor() as cursor:
        comment = str(_one(cursor, "SELECT @@version_comment")[0])
        return {**session_of(cursor), "comment": comment}


def _owner(cursor: pymysql.cursors.Cursor, name: str) -> bytes | None:
    """Return the run that a database is registered to."""
    try:
        cursor.execute(f"SELECT run FROM {_OWNERS} WHERE name = %s", (name.encode(),))
    except pymysql.MySQLError as error:
        if error.args[0] in _NO_REGISTRY:
            return None
        raise
    row = cursor.fetchone()
    return None if row is None else bytes(row[0])


def _exists(cursor: pymysql.cursors.Cursor, name: str) -> bool:
    # SHOW DATABASES lists only what the user may see, and a LIKE would take "_" for any character.
    cursor.execute("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (name,))
    return cursor.fetchone() is not None


def _one(cursor: pymysql.cursors.Cursor, statement: str) -> tuple[Any, ...]:
    cursor.execute(statement)
    row = cursor.fetchone()
    assert row is not None
    return tuple(row)
