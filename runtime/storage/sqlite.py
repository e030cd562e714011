"""What is SQLite's own: the driver, the pragmas, explicit transactions, vectors by sqlite-vec."""

from __future__ import annotations

import os
import sqlite3
from types import ModuleType
from typing import Any

import sqlite_vec
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.pool import QueuePool

IMMEDIATE = "sqlite_immediate"
"""The execution option of a connection that is going to write."""
_READS_CACHE, _WRITES_CACHE = -4000, -32000
"""In KiB. With SQLite's own 2 MB a large search index is written page by page, again and again; with a writer's for
each of a server's readers, those would hold 1.3 GB."""
_HAS_WRITTEN = "sqlite_has_written"
"""Where a connection keeps that its cache is a writer's."""
_FILE = "sqlite_file"
"""Where a connection keeps the path and the identity of the file that it opened."""


def driver() -> ModuleType:
    """Return the sqlite3 module that can load extensions, where there is one: many builds of Python cannot."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        import pysqlite3
    except ImportError:
        return sqlite3
    module: ModuleType = pysqlite3
    return module


def open_engine(url: URL, *, timeout_seconds: float) -> Engine:
    """Make an engine on a database file: WAL, foreign keys, and BEGIN said by us, so that reads are one snapshot."""
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        module=driver(),
        poolclass=QueuePool,
        pool_size=40,
        # What an error tells goes to a log; the parameters are the callers' texts and ids.
        hide_parameters=True,
        pool_timeout=timeout_seconds,
        connect_args={"timeout": timeout_seconds, "check_same_thread": False},
    )

    file = os.path.abspath(url.database or "")
    # A name that is a URI says itself whether a file is made.
    known, is_uri = False, (url.database or "").startswith("file:")

    @event.listens_for(engine, "do_connect")
    def _on_open(_dialect: Any, _record: Any, _arguments: Any, _options: Any) -> None:
        # SQLite would make an empty database, beside the journal of the one that was there and is to come back.
        if not is_uri and not os.path.exists(file) and (known or os.path.exists(f"{file}-wal")):
            raise driver().OperationalError("the database file is gone")

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, record: Any) -> None:
        nonlocal known
        # The driver's own transaction handling would begin only at the first write.
        connection.isolation_level = None
        if hasattr(connection, "enable_load_extension"):
            connection.enable_load_extension(True)
            sqlite_vec.load(connection)
            connection.enable_load_extension(False)
        for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=NORMAL", f"cache_size={_READS_CACHE}"):
            connection.execute(f"PRAGMA {pragma}")
        known, record.info[_FILE] = True, (file, _identity(file))

    @event.listens_for(engine, "checkout")
    def _on_checkout(_connection: Any, record: Any, _proxy: Any) -> None:
        # What is written into a file that was moved or removed is acknowledged, and nowhere.
        if not _is_same(record.info[_FILE]):
            raise DisconnectionError

    @event.listens_for(engine, "checkin")
    def _on_checkin(connection: Any, record: Any) -> None:
        if record.info.pop(_HAS_WRITTEN, False) and connection is not None:
            connection.execute(f"PRAGMA cache_size={_READS_CACHE}")

    @event.listens_for(engine, "handle_error")
    def _on_error(context: ExceptionContext) -> None:
        # Damaged pages stay in a connection's cache after the file was mended.
        if type(context.original_exception) is driver().DatabaseError:
            context.is_disconnect = True

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get(IMMEDIATE, False)
        if immediate:
            connection.exec_driver_sql(f"PRAGMA cache_size={_WRITES_CACHE}")
            connection.connection.info[_HAS_WRITTEN] = True
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def is_in_place(connection: Connection) -> bool:
    """Say whether the file that a connection has open is still the one at its path; true of any other engine."""
    return _FILE not in connection.connection.info or _is_same(connection.connection.info[_FILE])


def _is_same(opened: tuple[str, tuple[int, int] | None]) -> bool:
    file, identity = opened
    return _identity(file) == identity


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_conflict(error: DBAPIError) -> bool:
    """Say whether a write lost a race for the same key; a missing foreign key is none."""
    return "UNIQUE constraint failed" in str(error.orig)
