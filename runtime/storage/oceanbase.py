"""What is OceanBase's own: pyobvector's dialect, the session, and the errors that mean a conflict."""

from __future__ import annotations

import math
import socket
from typing import Any

import pymysql
from pymysql.constants import CR
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import DBAPIError

DUPLICATE_KEY = 1062
SNAPSHOT_CONFLICT = 6235
"""What the same race as 1062 gives under REPEATABLE READ."""
UNKNOWN_DATABASE = 1049
_SECONDS = frozenset({"connect_timeout", "read_timeout", "write_timeout"})
_OPTIONS = frozenset({"charset", "unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_check_hostname", "ssl_disabled"})
NO_SUCH_TABLE = 1146


def open_engine(url: URL, *, timeout_seconds: float) -> Engine:
    """Make an engine whose transactions are snapshots, in UTC, with every wait bounded.

    The handshake is bounded by the read time-out, since the driver's connect time-out does not cover it.
    """
    # pyobvector registers its dialect only when a client of its own is made.
    registry.register("mysql.oceanbase", "pyobvector.schema.dialect", "OceanBaseDialect")
    seconds = max(1, math.ceil(timeout_seconds))
    engine = create_engine(
        url.set(drivername="mysql+oceanbase").update_query_dict({"charset": "utf8mb4"}),
        isolation_level="REPEATABLE READ",
        pool_size=40,
        # What an error tells goes to a log; the parameters are the callers' texts and ids.
        hide_parameters=True,
        pool_timeout=timeout_seconds,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": seconds,
            "read_timeout": seconds,
            "write_timeout": seconds,
            # In microseconds; the engine's own bound of 10 s knows nothing of ours.
            "init_command": f"SET time_zone = '+00:00', ob_query_timeout = {seconds * 1_000_000}",
        },
    )
    event.listen(engine, "do_connect", _connect_by_socket)
    return engine


def _connect_by_socket(
    _dialect: Dialect, _record: Any, arguments: Any, options: dict[str, Any]
) -> pymysql.Connection[Any] | None:
    """Connect over a unix socket, which the driver would leave open, one a try, when nobody listens.

    It leaves no machine: without TLS, for which the driver would read all certificates at each connection.
    """
    path = options.get("unix_socket")
    if path is None:
        return None
    connection: pymysql.Connection[Any] = pymysql.Connection(
        *arguments, **{"ssl_disabled": True, **options}, defer_connect=True
    )
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.settimeout(options["connect_timeout"])
        channel.connect(path)
    except OSError as error:
        channel.close()
        raise pymysql.OperationalError(CR.CR_CONNECTION_ERROR, error.strerror or str(error)) from None
    connection.connect(channel)
    return connection


def check_options(url: URL) -> None:
    """Refuse options that the driver does not know, before it is asked to connect; raises ValueError."""
    for name, value in url.query.items():
        if name in _SECONDS:
            int(str(value))
        elif name not in _OPTIONS:
            raise ValueError(name)


def is_conflict(error: DBAPIError) -> bool:
    """Say whether a write lost a race for the same key."""
    return _code(error) in {DUPLICATE_KEY, SNAPSHOT_CONFLICT}


def is_gone(error: DBAPIError) -> bool:
    """Say whether the database was dropped under us; the driver calls that an error of the program's."""
    return _code(error) in {UNKNOWN_DATABASE, NO_SUCH_TABLE}


def _code(error: DBAPIError) -> object:
    arguments: tuple[Any, ...] = getattr(error.orig, "args", ())
    return arguments[0] if arguments else None
