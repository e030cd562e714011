"""Exact reads: one revision, or one Entry version in one revision; never the Head in its place (SPEC.md 6)."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, and_, exists, func, select

from runtime.artifacts import Address, Document, Entry, EntryAddress, Experience, Memory, Profile, Topic
from runtime.storage import tables


def document(connection: Connection, address: Address) -> Document | None:
    """Return exactly this revision of an Experience, a Profile or a topic."""
    table = tables.fields
    texts = connection.scalars(select(table.c.text).where(_at(table, address)).order_by(table.c.position)).all()
    if not texts:
        return None
    match address.family:
        case "experience":
            return Experience(*texts)
        case "profile":
            return Profile(*texts)
        case _:
            return Topic(*texts)


def memory(connection: Connection, address: Address) -> Memory | None:
    """Return exactly this revision's manifest, in its order."""
    if not _is_written(connection, address):
        return None
    return Memory(tuple(_entries(connection, address, None)))


def entry(connection: Connection, address: EntryAddress) -> Entry | None:
    """Return exactly this Entry version, as it stands in exactly this revision's manifest."""
    if not _is_written(connection, address.memory):
        return None
    found = _entries(connection, address.memory, address.entry_id)
    return next((entry for entry in found if entry.entry_version_id == address.entry_version_id), None)


def _is_written(connection: Connection, address: Address) -> bool:
    return bool(connection.scalar(select(exists().where(_at(tables.revisions, address)))))


def _at(table: Table, address: Address) -> ColumnElement[bool]:
    return and_(
        table.c.scope_id == address.scope_id,
        table.c.family == address.family,
        table.c.artifact_id == address.artifact_id,
        table.c.revision == address.revision,
    )


def _entries(connection: Connection, memory: Address, entry_id: str | None) -> list[Entry]:
    """Return the last change up to this revision of each Entry, or of one."""
    changes, versions, entries = tables.entry_changes, tables.entry_versions, tables.entries
    later = changes.alias("later")
    latest = (
        select(func.max(later.c.revision))
        .where(
            later.c.scope_id == changes.c.scope_id,
            later.c.entry_id == changes.c.entry_id,
            later.c.revision <= memory.revision,
        )
        .scalar_subquery()
    )
    statement = (
        select(changes.c.entry_id, changes.c.entry_version_id, versions.c.kind, versions.c.text, changes.c.state)
        .join_from(
            changes,
            versions,
            and_(
                versions.c.scope_id == changes.c.scope_id,
                versions.c.entry_id == changes.c.entry_id,
                versions.c.entry_version_id == changes.c.entry_version_id,
            ),
        )
        .join(entries, and_(entries.c.scope_id == changes.c.scope_id, entries.c.entry_id == changes.c.entry_id))
        .where(changes.c.scope_id == memory.scope_id, changes.c.revision == latest)
        .order_by(entries.c.position)
    )
    if entry_id is not None:
        statement = statement.where(changes.c.entry_id == entry_id)
    return [Entry(*row) for row in connection.execute(statement)]
