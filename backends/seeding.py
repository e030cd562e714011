"""One code path that writes the same logical rows to either engine, and the digest that proves it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from sqlalchemy import select

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from runtime.errors import WriteRefused
from runtime.storage import Storage, Writer
from runtime.storage.tables import metadata, schema_facts


def seed(storage: Storage, operations: Sequence[Operation]) -> None:
    """Write all operations in one transaction; raises WriteRefused, after which nothing of them is there."""
    with storage.writing() as writer:
        for operation in operations:
            try:
                apply(writer, operation)
            except WriteRefused as refused:
                refused.add_note(_named(operation))
                raise


def apply(writer: Writer, operation: Operation) -> None:
    """Write one operation; raises WriteRefused."""
    match operation:
        case CreateScope(scope_id):
            writer.create_scope(scope_id)
        case SetReferences(scope_id, references):
            writer.set_references(scope_id, references)
        case WriteMemory(scope_id, changes):
            writer.write_memory(scope_id, changes)
        case WriteDocument(scope_id, artifact_id, content, vector):
            writer.write_document(scope_id, artifact_id, content, vector=vector)
        case Propose(scope_id, artifact_id, content, state):
            writer.propose(scope_id, artifact_id, content, state)
        case CreatePrincipal(principal_id, token, administrator):
            writer.create_principal(principal_id, administrator=administrator)
            writer.store_token(principal_id, token)
        case Grant(principal_id, scope_id):
            writer.grant(principal_id, scope_id)
        case Revoke(principal_id, scope_id):
            writer.revoke(principal_id, scope_id)


def clear(storage: Storage) -> None:
    """Empty the database by one transaction, children first."""
    with storage.writing() as writer:
        writer.clear()


def digest(storage: Storage) -> str:
    """Return a line for each table: its name, its rows, and the SHA-256 of them as the engine gives them back.

    Whatever order it keeps them in.
    """
    lines = []
    with storage.engine.connect() as connection:
        for table in metadata.sorted_tables:
            if table is not schema_facts:
                rows = connection.execute(select(table)).all()
                sums = hashlib.sha256(b"".join(sorted(map(_line, rows))))
                lines.append(f"{table.name}: {len(rows)} rows {sums.hexdigest()}")
    return "\n".join(lines)


def _named(operation: Operation) -> str:
    """Return an operation by its kind and its ids."""
    names = ("scope_id", "principal_id", "artifact_id")
    ids = [repr(getattr(operation, name)) for name in names if hasattr(operation, name)]
    if isinstance(operation, WriteMemory):
        ids += [repr(change.entry_id) for change in operation.changes[:3]]
    return " ".join([type(operation).__name__, *ids])


def _line(row: Iterable[object]) -> bytes:
    # repr tells '1' from 1 and keeps every character apart; True and 1 are one value to an engine without booleans.
    return repr([int(value) if isinstance(value, bool) else value for value in row]).encode("utf-8", "replace") + b"\n"
