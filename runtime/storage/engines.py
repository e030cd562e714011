"""SQLAlchemy engines for either database: one snapshot a transaction, exact bytes, bounded waits."""

from __future__ import annotations

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from runtime.storage import oceanbase, sqlite


class UrlRefused(Exception):
    """A database URL that this runtime cannot use; says what it takes."""


_TAKES = "give sqlite:////absolute/file.db or mysql+oceanbase://user:password@host:port/database"


def open_engine(url: str, *, timeout_seconds: float) -> Engine:
    """Make an engine without connecting; each statement is bounded by `timeout_seconds`. Raises UrlRefused."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # A port that is no number is a ValueError of SQLAlchemy's.
        raise UrlRefused(f"the database URL cannot be read; {_TAKES}") from None
    if parsed.database in (None, "", ":memory:"):
        # SQLite would give every connection a database of its own.
        raise UrlRefused(f"the database URL names no database that stays; {_TAKES}")
    try:
        match parsed.get_backend_name():
            case "sqlite":
                return sqlite.open_engine(parsed, timeout_seconds=timeout_seconds)
            case "mysql" | "oceanbase":
                oceanbase.check_options(parsed)
                return oceanbase.open_engine(parsed, timeout_seconds=timeout_seconds)
            case other:
                raise UrlRefused(f"there is no storage for {other}; {_TAKES}")
    except (TypeError, ValueError):
        # What SQLAlchemy says of an option would hold the URL.
        raise UrlRefused(f"an option of the database URL cannot be read; {_TAKES}") from None
