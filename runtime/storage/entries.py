"""The Entries of a Scope's Memory, as one revision changes them (SPEC.md 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, bindparam, func, insert, select, update

from runtime.artifacts import MEMORY, MEMORY_ID, EntryChange, EntryRetire, EntryState, EntryWrite
from runtime.errors import WriteRefused
from runtime.storage import tables
from runtime.storage.index import Indexed, SearchIndex


@dataclass(frozen=True, slots=True)
class _Head:
    """An Entry's place in the manifest, and what it is now."""

    position: int
    entry_version_id: str
    state: EntryState


def write_entries(
    connection: Connection, index: SearchIndex, scope_id: str, revision: int, changes: Sequence[EntryChange]
) -> None:
    """Write a revision's changes; an Entry keeps its place, a new one goes to the end. Raises WriteRefused."""
    heads = _heads(connection, scope_id, [change.entry_id for change in changes])
    before = frozenset(heads)
    last = _last_position(connection, scope_id)
    written: dict[str, EntryWrite] = {}
    versions: list[dict[str, object]] = []
    for change in changes:
        head = heads.get(change.entry_id)
        if isinstance(change, EntryRetire):
            if head is None:
                raise WriteRefused("entry_unknown", "An Entry that is to be retired does not exist.")
            heads[change.entry_id] = _Head(head.position, head.entry_version_id, "retired")
            written.pop(change.entry_id, None)
            continue
        if head is None:
            last += 1
        heads[change.entry_id] = _Head(last if head is None else head.position, change.entry_version_id, "active")
        written[change.entry_id] = change
        versions.append(
            {
                "scope_id": scope_id,
                "entry_id": change.entry_id,
                "entry_version_id": change.entry_version_id,
                "kind": change.kind,
                "text": change.text,
                "blank": not change.text.strip(),
            }
        )
    _write_heads(connection, scope_id, heads, before)
    _insert(connection, tables.entry_versions, versions)
    history = [
        {
            "scope_id": scope_id,
            "entry_id": entry_id,
            "revision": revision,
            "entry_version_id": head.entry_version_id,
            "state": head.state,
        }
        for entry_id, head in heads.items()
    ]
    _insert(connection, tables.entry_changes, history)
    index.remove(scope_id, MEMORY, [(MEMORY_ID, entry_id) for entry_id in before])
    index.replace(
        scope_id,
        MEMORY,
        [Indexed(MEMORY_ID, change.entry_id, (change.text,), change.vector) for change in written.values()],
        known=False,
    )


def _heads(connection: Connection, scope_id: str, entry_ids: Sequence[str]) -> dict[str, _Head]:
    table = tables.entries
    heads: dict[str, _Head] = {}
    # In pieces, since a statement takes a bounded number of values.
    for start in range(0, len(entry_ids), 1000):
        rows = connection.execute(
            select(table.c.entry_id, table.c.position, table.c.entry_version_id, table.c.state).where(
                table.c.scope_id == scope_id, table.c.entry_id.in_(entry_ids[start : start + 1000])
            )
        )
        heads |= {row.entry_id: _Head(row.position, row.entry_version_id, row.state) for row in rows}
    return heads


def _last_position(connection: Connection, scope_id: str) -> int:
    position = connection.scalar(
        select(func.max(tables.entries.c.position)).where(tables.entries.c.scope_id == scope_id)
    )
    return int(position or 0)


def _write_heads(connection: Connection, scope_id: str, heads: dict[str, _Head], before: frozenset[str]) -> None:
    table = tables.entries
    new = [
        {
            "scope_id": scope_id,
            "entry_id": entry_id,
            "position": head.position,
            "entry_version_id": head.entry_version_id,
            "state": head.state,
        }
        for entry_id, head in heads.items()
        if entry_id not in before
    ]
    moved = [
        {"moved": entry_id, "entry_version_id": head.entry_version_id, "state": head.state}
        for entry_id, head in heads.items()
        if entry_id in before
    ]
    _insert(connection, table, new)
    if moved:
        this = (table.c.scope_id == scope_id, table.c.entry_id == bindparam("moved", type_=table.c.entry_id.type))
        connection.execute(update(table).where(*this), moved)


def _insert(connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
