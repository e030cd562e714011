"""The schema's life: made in an empty database, known by its facts, refused when it is another's."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, insert, inspect, select
from sqlalchemy.dialects.mysql import MEDIUMBLOB, VARBINARY

from runtime.errors import SchemaRefused
from runtime.storage import tables
from runtime.storage.tokenizer import UNICODE_VERSION
from runtime.storage.types import Body, ExactString
from runtime.storage.vectors import vectors

FACTS = {"product": "powercontext-harness-runtime", "version": "1", "unicode": UNICODE_VERSION}

_FRESH = "Give the runtime an empty database of its own."


def prepare_schema(engine: Engine, *, dimension: int | None = None) -> None:
    """Make the schema in an empty database, or make sure that the one there is ours, whole and of this version.

    `dimension` adds the table of the vector channel. Raises SchemaRefused, which names what was found.
    """
    present = set(inspect(engine).get_table_names())
    if not present:
        tables.metadata.create_all(engine)
        # Written last: OceanBase commits each DDL statement by itself.
        with engine.begin() as connection:
            connection.execute(insert(tables.schema_facts), [{"name": n, "value": v} for n, v in FACTS.items()])
    else:
        _check(engine, present)
    if dimension is not None:
        vectors(dimension).metadata.create_all(engine)


def _check(engine: Engine, present: set[str]) -> None:
    if tables.schema_facts.name not in present:
        others = ", ".join(sorted(present)[:3])
        raise SchemaRefused(f"The database holds tables that this runtime did not make ({others}).", _FRESH)
    with engine.connect() as connection:
        found = {row.name: row.value for row in connection.execute(select(tables.schema_facts))}
    if not found:
        raise SchemaRefused("The schema is half made: a start broke off before its end.", _FRESH)
    for name, value in FACTS.items():
        if found.get(name) != value:
            raise SchemaRefused(
                f"The schema's {name} is {found.get(name, 'not known')}, this runtime's is {value}.", _FRESH
            )
    missing = {table.name for table in tables.metadata.sorted_tables} - present
    if missing:
        raise SchemaRefused(f"The schema lacks the table {sorted(missing)[0]}.", _FRESH)
    if engine.dialect.name == "mysql":
        with engine.connect() as connection:
            _check_columns(connection)


def _check_columns(connection: Connection) -> None:
    """Refuse text columns that fold or pad: a collation once chosen stays in old tables."""
    inspector = inspect(connection)
    for table in tables.metadata.sorted_tables:
        types = {column["name"]: column["type"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            kept = types.get(column.name)
            exact = {ExactString: VARBINARY, Body: MEDIUMBLOB}.get(type(column.type))
            if kept is None or (exact is not None and not isinstance(kept, exact)):
                raise SchemaRefused(f"The column {table.name}.{column.name} does not compare bytes exactly.", _FRESH)
