"""What is SQLite's own: the driver, the pragmas, explicit transactions, vectors by sqlite-vec."""

from __future__ import annotations

import sqlite3
from types import ModuleType
from typing import Any

import sqlite_vec
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

IMMEDIATE = "sqlite_immediate"
"""The execution option of a connection that is going to write."""


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
        pool_timeout=timeout_seconds,
        connect_args={"timeout": timeout_seconds, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        # The driver's own transaction handling would begin only at the first write.
        connection.isolation_level = None
        if hasattr(connection, "enable_load_extension"):
            connection.enable_load_extension(True)
            sqlite_vec.load(connection)
            connection.enable_load_extension(False)
        # With SQLite's own cache of 2 MB a large search index is written page by page, again and again.
        for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=NORMAL", "cache_size=-32000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get(IMMEDIATE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def is_conflict(error: DBAPIError) -> bool:
    """Say whether a write lost a race for the same key; a missing foreign key is none."""
    return "UNIQUE constraint failed" in str(error.orig)
