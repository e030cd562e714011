"""The schema's life: made in an empty database, known by its mark, refused by name when it cannot be used as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Engine, Inspector, func, insert, inspect, select, text
from sqlalchemy.dialects.mysql import LONGBLOB, MEDIUMBLOB, VARBINARY
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import LargeBinary, String

from runtime.errors import SchemaRefused
from runtime.storage import sqlite, tables
from runtime.storage.tokenizer import UNICODE_VERSION
from runtime.storage.types import Body, ExactString
from runtime.storage.vectors import vectors

VERSION = 1
"""Version 0 is a schema that does not say its version."""
PRODUCT = "powercontext-harness-runtime"
MARK = {"product": PRODUCT, "version": str(VERSION), "unicode": UNICODE_VERSION}
"""What a schema says of itself, written last."""

FRESH = "Give the runtime an empty database of its own."
MIGRATE = "Stop its servers, make a copy, and run `python -m runtime migrate`."
NEWER = "Run the release that made it, or a later one."

_LOCK_SECONDS = 10
_RELEASED = "pc_scopes"
"""A table that every released PowerContext has."""
_FOLDS = re.compile(r"\bCOLLATE\s+(?![\"'`\[]?BINARY\b)", re.IGNORECASE)


def prepare_schema(engine: Engine, *, dimension: int | None = None) -> None:
    """Make the schema in an empty database, or make sure that the one there is ours, whole and of this version.

    `dimension` adds the table of the vector channel. Raises SchemaRefused, which names what was found.
    """
    if (names_in(engine) and read_mark(engine)) or not _make(engine):
        _check(engine)
    if dimension is not None:
        vectors(dimension).metadata.create_all(engine)


def names_in(engine: Engine | Connection) -> set[str]:
    """Return the names of all tables and views."""
    return _names(inspect(engine))


def _names(inspector: Inspector) -> set[str]:
    return {*inspector.get_table_names(), *inspector.get_view_names()}


def read_mark(engine: Engine) -> Mapping[str, str]:
    """Return what the schema says of itself, nothing where it is half made; raises SchemaRefused for another's."""
    present = names_in(engine)
    if tables.schema_facts.name not in present:
        others = ", ".join(sorted(present)[:3])
        if _RELEASED in present:
            raise SchemaRefused(
                "schema_foreign", f"The database is that of a released PowerContext server ({others}).", FRESH
            )
        raise SchemaRefused(
            "schema_foreign", f"The database holds tables that this runtime did not make ({others}).", FRESH
        )
    columns = {column["name"] for column in inspect(engine).get_columns(tables.schema_facts.name)}
    if not columns >= {"name", "value"}:
        raise SchemaRefused(
            "schema_foreign", f"The table {tables.schema_facts.name} is not one that this runtime made.", FRESH
        )
    with engine.connect() as connection:
        mark = {row.name: row.value for row in connection.execute(select(tables.schema_facts))}
    if mark and mark.get("product") != PRODUCT:
        raise SchemaRefused("schema_foreign", _differs(mark, "product"), FRESH)
    version = mark.get("version", "0")
    if mark and not (version.isascii() and version.isdigit() and len(version) < 10 and int(version) <= VERSION):
        raise SchemaRefused("schema_newer", _differs(mark, "version"), NEWER)
    return mark


def write_mark(connection: Connection) -> None:
    """Say that the schema is whole and of this version."""
    connection.execute(tables.schema_facts.delete())
    connection.execute(insert(tables.schema_facts), [{"name": name, "value": value} for name, value in MARK.items()])


def check_parts(engine: Engine) -> None:
    """Refuse a schema that lacks a part, or whose columns fold, pad or cut: a collation once chosen stays."""
    # One inspector asks what each table is made of once.
    with engine.connect() as connection:
        _check_parts(connection, inspect(connection))


def _check_parts(connection: Connection, inspector: Inspector) -> None:
    missing = {table.name for table in tables.metadata.sorted_tables} - _names(inspector)
    if missing:
        # The search index can be made anew from the rest.
        hint = MIGRATE if missing == {tables.postings.name} else FRESH
        raise SchemaRefused("schema_damaged", f"The schema lacks the table {sorted(missing)[0]}.", hint)
    if connection.dialect.name == "mysql":
        _check_columns(inspector, VARBINARY, (MEDIUMBLOB, LONGBLOB))
    if connection.dialect.name == "sqlite":
        _check_columns(inspector, String, (LargeBinary,))
        _check_collations(connection)
    _check_keys(inspector)


def _make(engine: Engine) -> bool:
    """Make the schema, alone, and say whether there was nothing before; another start may have been faster."""
    with _alone(engine) as connection:
        if names_in(connection):
            return False
        # First, and its rows last: whatever breaks off in between is known as half made.
        tables.schema_facts.create(connection)
        tables.metadata.create_all(connection)
        write_mark(connection)
    return True


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """Open the only transaction that makes a schema here.

    On SQLite all of it stays or nothing; OceanBase commits each statement that makes something by itself.
    """
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection = connection.execution_options(**{sqlite.IMMEDIATE: True})
            with connection.begin():
                yield connection
        return
    # The lock is that of a session of its own: it outlasts whatever happens to the other one.
    with engine.connect() as holder, engine.connect() as connection:
        name = f"powercontext {engine.url.database}"
        holder.execute(select(func.get_lock(name, _LOCK_SECONDS)))
        try:
            with connection.begin():
                yield connection
        finally:
            with suppress(DBAPIError):
                holder.execute(select(func.release_lock(name)))


def _check(engine: Engine) -> None:
    mark = read_mark(engine)
    if not mark:
        raise SchemaRefused("schema_half_made", "The schema is half made: a start broke off before its end.", MIGRATE)
    for name in ("version", "unicode"):
        if mark.get(name) != MARK[name]:
            raise SchemaRefused("schema_outdated", _differs(mark, name), MIGRATE)
    check_parts(engine)


def _differs(mark: Mapping[str, str], name: str) -> str:
    return f"The schema's {name} is {mark.get(name, 'not known')}, this runtime's is {MARK[name]}."


def _check_columns(inspector: Inspector, text_type: type[Any], body_types: tuple[type[Any], ...]) -> None:
    for table in tables.metadata.sorted_tables:
        types = {column["name"]: column["type"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            kept, wanted = types.get(column.name), column.type
            if isinstance(wanted, ExactString):
                exact = isinstance(kept, text_type) and getattr(kept, "length", None) in (None, *_at_least(wanted))
            else:
                exact = isinstance(kept, body_types) if isinstance(wanted, Body) else kept is not None
            if not exact:
                raise _inexact(f"{table.name}.{column.name}")


def _at_least(wanted: ExactString) -> range:
    return range(wanted.bytes_length, 2**16)


def _check_collations(connection: Connection) -> None:
    statement = text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    made = {row.name: row.sql for row in connection.execute(statement)}
    for table in tables.metadata.sorted_tables:
        if _FOLDS.search(made[table.name]):
            raise _inexact(f"of the table {table.name}")


def _inexact(column: str) -> SchemaRefused:
    return SchemaRefused("schema_inexact", f"The column {column} does not compare bytes exactly.", FRESH)


def _check_keys(inspector: Inspector) -> None:
    for table in tables.metadata.sorted_tables:
        key = inspector.get_pk_constraint(table.name)["constrained_columns"]
        if set(key) != {column.name for column in table.primary_key}:
            raise SchemaRefused("schema_damaged", f"The table {table.name} has lost its key.", FRESH)
        indexes = {index["name"]: bool(index["unique"]) for index in inspector.get_indexes(table.name)}
        for index in table.indexes:
            if indexes.get(str(index.name)) is not bool(index.unique):
                raise SchemaRefused("schema_damaged", f"The schema lacks the index {index.name}.", MIGRATE)
