"""A unique word at the start of each text, so that a leak of any text can be told from everything else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields, replace

from backends.operations import Operation, Propose, WriteDocument, WriteMemory
from runtime.artifacts import Document, EntryChange, EntryWrite


def canary(*parts: str) -> str:
    """Return the word of a place: one token of 19 characters, the same in every run."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"canary{digest[:13]}"


def with_canaries(operations: Iterable[Operation], *, place: str) -> list[Operation]:
    """Return the writes with a canary at the start of every text, each text's own; `place` tells writes apart.

    One more distinct token in every item leaves their order as it was (SPEC.md 10).
    """
    return [_marked(operation, f"{place} {number}") for number, operation in enumerate(operations)]


def _marked_document(document: Document, *place: str) -> Document:
    """Return an Experience, a Profile or a topic with a canary at the start of each field."""
    names = [field.name for field in fields(document)]
    return type(document)(*(f"{canary(*place, name)} {getattr(document, name)}" for name in names))


def _marked(operation: Operation, number: str) -> Operation:
    match operation:
        case WriteMemory(scope_id, changes):
            marked = tuple(_marked_change(change, scope_id, number, str(at)) for at, change in enumerate(changes))
            return replace(operation, changes=marked)
        case WriteDocument(scope_id, artifact_id, content) | Propose(scope_id, artifact_id, content):
            return replace(operation, content=_marked_document(content, scope_id, artifact_id, number))
        case _:
            return operation


def _marked_change(change: EntryChange, *place: str) -> EntryChange:
    if not isinstance(change, EntryWrite):
        return change
    return replace(change, text=f"{canary(*place, change.entry_id)} {change.text}")
