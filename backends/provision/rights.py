"""The rights that a run needs on a server, each tried for real in a database that is made for it and dropped again."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pymysql

from backends.provision.databases import DENIED, Endpoint

RIGHTS = ("CREATE", "DROP", "SELECT", "INSERT", "UPDATE", "DELETE", "INDEX", "ALTER", "REFERENCES")
"""What to grant on `pch_%`.*; ALTER is for the migrations of released PowerContext servers alone."""

_NOT_THERE = frozenset({1146, 1049, 1072})
"""What a statement gives whose table could not be made; the reason was told already."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A right, or a feature, that a run needs and that is not there."""

    what: str
    purpose: str
    cause: str
    """The engine's own words."""


def lacking(endpoint: Endpoint) -> Iterator[Lack]:
    """Yield each thing that is not there, in the order of use. Raises EngineError when no connection comes about."""
    database = f"pch_doctor_{secrets.token_hex(6)}"
    with endpoint.cursor() as cursor:
        # Not registered as a run's databases are: that would need rights which are only to be tried here.
        if lack := _tried(cursor, "CREATE", "make databases named pch_...", f"CREATE DATABASE {database}"):
            yield lack
            return
        try:
            for what, purpose, statement in _needs(database):
                if lack := _tried(cursor, what, purpose, statement):
                    yield lack
        finally:
            lack = _tried(cursor, "DROP", f"drop databases, so {database} is left", f"DROP DATABASE {database}")
        if lack:
            yield lack


def _tried(cursor: pymysql.cursors.Cursor, what: str, purpose: str, statement: str) -> Lack | None:
    try:
        cursor.execute(statement)
    except pymysql.MySQLError as error:
        number = error.args[0]
        if number in _NOT_THERE:
            return None
        if number not in DENIED and what in RIGHTS:
            raise
        return Lack(what, purpose, f"{number} {error.args[1]}")
    return None


def _needs(database: str) -> Iterator[tuple[str, str, str]]:
    """Yield the right or the feature, its purpose, and a statement that shows whether it is there."""
    parents, children = f"{database}.parents", f"{database}.children"
    yield "CREATE", "make tables", f"CREATE TABLE {parents} (id VARBINARY(64) PRIMARY KEY, body MEDIUMTEXT NOT NULL)"
    yield (
        "REFERENCES",
        "make foreign keys",
        f"CREATE TABLE {children} (id INT PRIMARY KEY, parent VARBINARY(64), "
        f"FOREIGN KEY (parent) REFERENCES {parents} (id))",
    )
    yield "INDEX", "make indexes", f"CREATE INDEX by_body ON {parents} (body(16))"
    yield "INSERT", "write", f"INSERT INTO {parents} VALUES ('a', 'b')"
    yield "SELECT", "read", f"SELECT body FROM {parents} WHERE id = 'a'"
    # Without conditions, which would need the right to read as well.
    yield "UPDATE", "write", f"UPDATE {parents} SET body = 'c'"
    yield "DELETE", "clear between scenarios", f"DELETE FROM {parents}"
    yield "ALTER", "migrate a released PowerContext", f"ALTER TABLE {parents} ADD COLUMN added INT"
    yield (
        "the type VECTOR",
        "search by vectors",
        f"CREATE TABLE {database}.vectors (id INT PRIMARY KEY, vector VECTOR(3))",
    )
    yield (
        "a full-text index",
        "run a released PowerContext",
        f"CREATE FULLTEXT INDEX by_words ON {parents} (body) WITH PARSER ngram",
    )
    yield "DROP", "drop tables", f"DROP TABLE IF EXISTS {children}"
