"""Small worlds and the twins of an identity, for the tests of both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.artifacts import (
    Address,
    Document,
    Entry,
    EntryAddress,
    EntryChange,
    EntryWrite,
    Family,
    Memory,
)
from runtime.storage import Storage

TWINS = (
    *("twin", "Twin", "TWIN", "twın", "twiń", "twin\u0301", "ｔｗｉｎ", "twin ", " twin", "twin  "),
    *("twin\u00a0", "twin\u3000", "twin\t", "twin\n", "twin\x00", "twin\x00\x00", "twin\u200b", "twin\ufeff"),
    *("twin😀", "twin😁", "twinσ", "twinς", "twinß", "twinss", "twin'", 'twin"', "twin\\", "twin%s", "twin%", "twin_"),
)
"""Ids that collations, padding or normal forms would take for one another."""


def write(entry_id: str, text: str = "text", version: str = "v1") -> EntryWrite:
    return EntryWrite(entry_id, version, text)


def write_memory(storage: Storage, scope_id: str, *changes: EntryChange) -> int:
    with storage.writing() as writer:
        return writer.write_memory(scope_id, changes)


def write_document(storage: Storage, scope_id: str, artifact_id: str, content: Document) -> int:
    with storage.writing() as writer:
        return writer.write_document(scope_id, artifact_id, content)


def make_scopes(storage: Storage, *scope_ids: str) -> None:
    with storage.writing() as writer:
        for scope_id in scope_ids:
            writer.create_scope(scope_id)


def memory_at(storage: Storage, scope_id: str, revision: int) -> Memory | None:
    with storage.reading() as reader:
        return reader.memory(Address(scope_id, "memory", "memory", revision))


def document_at(storage: Storage, scope_id: str, family: Family, artifact_id: str, revision: int) -> Document | None:
    with storage.reading() as reader:
        return reader.document(Address(scope_id, family, artifact_id, revision))


def entry_at(storage: Storage, scope_id: str, revision: int, entry_id: str, version: str) -> Entry | None:
    with storage.reading() as reader:
        return reader.entry(EntryAddress(Address(scope_id, "memory", "memory", revision), entry_id, version))


def found(
    storage: Storage, scope_ids: Sequence[str], tokens: Sequence[str], family: Family = "memory", **options: Any
) -> dict[str, list[str]]:
    """Return the names of the hits of each Scope."""
    with storage.reading() as reader:
        hits = reader.search(family, scope_ids, tokens, depth=16, **options)
    return {scope_id: [hit.entry_id or hit.artifact_id for hit in hits[scope_id]] for scope_id in hits}
