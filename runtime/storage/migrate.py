"""An older schema, or one that was left half made, brought to this version by one command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sqlalchemy import Connection, Engine, and_, select

from runtime.artifacts import EXPERIENCE, MEMORY, MEMORY_ID, TOPIC_MEMORY, Family
from runtime.errors import SchemaRefused
from runtime.storage import sqlite, tables
from runtime.storage.index import Indexed, SearchIndex, delete_all
from runtime.storage.schema import FRESH, MARK, check_parts, names_in, prepare_schema, read_mark, write_mark


def migrate_schema(engine: Engine) -> str:
    """Bring a schema of ours to this version, and return what was done; again is nothing. Raises SchemaRefused.

    What may be missing is made: the search index, and in a schema without any Scope everything. The search index is
    written anew from the stored texts, with the tokens of this Unicode version. The mark is written last, in the same
    transaction, so that a migration that breaks off is simply run again.
    """
    if not names_in(engine):
        prepare_schema(engine)
        return "The database was empty; the schema is made."
    mark = read_mark(engine)
    if mark == MARK and _is_whole(engine):
        return f"The schema is of version {MARK['version']} already; nothing was changed."
    _make_what_is_missing(engine)
    check_parts(engine)
    with engine.connect() as connection:
        connection = connection.execution_options(**{sqlite.IMMEDIATE: True})
        with connection.begin():
            items = _index_anew(connection)
            write_mark(connection)
    before = (
        f"of version {mark.get('version', '0')}, Unicode {mark.get('unicode', 'not known')}" if mark else "half made"
    )
    return (
        f"The schema was {before}; it is of version {MARK['version']}, Unicode {MARK['unicode']} now, "
        f"with {items} items in its search index."
    )


def _is_whole(engine: Engine) -> bool:
    try:
        check_parts(engine)
    except SchemaRefused:
        return False
    return True


def _make_what_is_missing(engine: Engine) -> None:
    present = names_in(engine)
    missing = {table.name for table in tables.metadata.sorted_tables} - present
    with engine.begin() as connection:
        used = tables.scopes.name in present and connection.execute(select(tables.scopes.c.scope_id).limit(1)).first()
        if used and not missing <= {tables.postings.name}:
            raise SchemaRefused("schema_damaged", f"The schema lacks the table {sorted(missing)[0]}.", FRESH)
        for table in tables.metadata.sorted_tables:
            table.create(connection, checkfirst=True)
            for index in table.indexes:
                index.create(connection, checkfirst=True)


def _index_anew(connection: Connection) -> int:
    delete_all(connection, tables.postings)
    index = SearchIndex(connection)
    count = 0
    for scope_id in connection.scalars(select(tables.scopes.c.scope_id)).all():
        for family, items in _items(connection, scope_id):
            index.replace(scope_id, family, items, known=False)
            count += len(items)
    return count


def _items(connection: Connection, scope_id: str) -> Iterator[tuple[Family, list[Indexed]]]:
    """Yield what can be recalled of a Scope: active Entries, and the Heads of Experiences and topics."""
    entries, versions = tables.entries, tables.entry_versions
    texts = connection.execute(
        select(entries.c.entry_id, versions.c.text)
        .join_from(
            entries,
            versions,
            and_(
                versions.c.scope_id == entries.c.scope_id,
                versions.c.entry_id == entries.c.entry_id,
                versions.c.entry_version_id == entries.c.entry_version_id,
            ),
        )
        .where(entries.c.scope_id == scope_id, entries.c.state == "active")
    ).all()
    yield MEMORY, [Indexed(MEMORY_ID, row.entry_id, (row.text,)) for row in texts]
    artifacts, fields = tables.artifacts, tables.fields
    for family in (EXPERIENCE, TOPIC_MEMORY):
        rows = connection.execute(
            select(artifacts.c.artifact_id, fields.c.text)
            .join_from(
                artifacts,
                fields,
                tables.FIELDS_OF_HEAD,
            )
            .where(artifacts.c.scope_id == scope_id, artifacts.c.family == family)
            .order_by(artifacts.c.artifact_id, fields.c.position)
        ).all()
        heads = groupby(rows, key=lambda row: str(row.artifact_id))
        yield family, [Indexed(artifact_id, "", [row.text for row in parts]) for artifact_id, parts in heads]
