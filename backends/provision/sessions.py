"""What an OceanBase session says of itself, and the watch over a pool: every connection must be like the first one.

Behind a proxy two connections may end at two servers, and a global variable that was changed reaches new sessions only:
either would let one run test two systems.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy import Engine, event

from backends.errors import SessionDiffers


class Cursor(Protocol):
    """What is needed of a driver's cursor."""

    def execute(self, statement: str) -> Any:
        """Send a statement."""

    def fetchone(self) -> Any:
        """Return the next row."""


_STATEMENT = (
    "SELECT version(), @@transaction_isolation, @@collation_connection, @@collation_server, @@time_zone,"
    " @@max_allowed_packet, @@ob_query_timeout, @@ob_trx_timeout, @@ob_trx_lock_timeout,"
    # VARBINARY is the type of identities.
    " CAST('abc' AS BINARY) = CAST('abc ' AS BINARY)"
)
_differences: dict[str, SessionDiffers] = {}
"""The first connection of each database that was not like the others, by the database's name."""


def session_of(cursor: Cursor) -> dict[str, str]:
    """Return version, isolation, collations, time zone, packet size, time-outs and padding of a session, as words."""
    cursor.execute(_STATEMENT)
    row = cursor.fetchone()
    version, isolation, connection, collation, time_zone = (str(value) for value in row[:5])
    packet, query, transaction, lock = (int(value) for value in row[5:9])
    waits = "as the query's" if lock < 0 else _seconds(lock)
    return {
        "version": version,
        "isolation": isolation.replace("-", " "),
        "connection collation": connection,
        "collation": collation,
        "time_zone": time_zone,
        "packet": f"{packet} bytes",
        "timeouts": f"query {_seconds(query)}, transaction {_seconds(transaction)}, lock {waits}",
        "padding": "padded" if row[9] else "exact",
    }


def watch(engine: Engine) -> None:
    """Compare each new connection of a pool of OceanBase's with the first one; a file's have no settings to differ in.

    The pool then raises SessionDiffers, and difference() tells it to whoever asks why something failed.
    """
    if engine.dialect.name != "mysql":
        return
    database = engine.url.database or ""
    first: dict[str, str] = {}
    lock = threading.Lock()

    def compare(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        try:
            found = session_of(cursor)
        finally:
            cursor.close()
        with lock:
            if not first:
                first.update(found)
            wrong = [f"{name} is {found[name]}, not {value}" for name, value in first.items() if found[name] != value]
            if wrong:
                raise _differences.setdefault(database, SessionDiffers(database, "\n".join(wrong)))

    listener: Callable[..., None] = compare
    event.listen(engine, "connect", listener)


def difference(database: str) -> SessionDiffers | None:
    """Return what was found wrong with a connection to a database of this process, None where nothing was."""
    return _differences.get(database)


def forget(database: str) -> None:
    """Let a database of the same name begin anew."""
    _differences.pop(database, None)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / 1_000_000:g} s"
