"""Exact reads: each citation delivered reads back as what is stored (SPEC.md 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.check.context import Prepared
from harness.check.delivered import Delivered
from harness.check.errors import check_request_id
from harness.check.failure import Failure, differs
from harness.check.items import region_of
from harness.check.world import ATOMIC_MEMORY, World
from harness.target.base import Answer
from runtime.artifacts import Address, Citation, Content, EntryAddress, Experience, Memory, Profile, Topic


def check_reads(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Judge the exact reads that were done of what the text cites; a failure's region is the item's metadata."""
    for item in delivered.items:
        answer = prepared.reads.get(item.citation)
        if answer is not None and (item.known_family or item.address.family in prepared.other_families):
            for failure in check_read(item.citation, answer, prepared.world):
                region = region_of(delivered, item, "metadata")
                yield Failure(failure.kind, region, failure.expected, failure.got, failure.message)


def check_read(citation: Citation, answer: Answer, world: World) -> Iterator[Failure]:
    """Judge one exact read by a caller who may read the Scope, against what the World holds at that citation."""
    yield from check_request_id(answer)
    expected = read_answer(citation, world)
    if expected is None:
        if answer.status != 404:
            yield differs("read", "status", "an exact read of nothing stored", expected=404, got=answer.status)
        return
    if answer.status != 200:
        yield differs("read", "status", "the exact read's status", expected=200, got=answer.status)
    elif answer.json != expected:
        got = answer.body[:200].decode("utf-8", errors="backslashreplace")
        name = _first_other(expected, answer.json)
        message = f"the exact read differs from what is stored in {name}"
        yield Failure("read", "response", str(expected)[:200], got, message)


def read_answer(citation: Citation, world: World) -> dict[str, Any] | None:
    """Return the JSON of an exact read of a citation, or None where nothing is stored there."""
    if isinstance(citation, EntryAddress):
        entry = world.entry(citation)
        if entry is None:
            return None
        memory = citation.memory
        reference = {"family": memory.family, "artifact_id": memory.artifact_id, "revision": memory.revision}
        cited = {
            "memory_ref": reference,
            "entry_id": citation.entry_id,
            "entry_version_id": citation.entry_version_id,
        }
        return {"citation": cited, "kind": entry.kind, "text": entry.text, "state": entry.state}
    if citation.family == ATOMIC_MEMORY:
        return _atomic_memory(citation, world)
    content = world.content(citation)
    return None if content is None else _artifact(citation, content_object(content))


def content_object(content: Content) -> dict[str, Any]:
    """Return a content as the exact read writes it."""
    match content:
        case Memory(entries):
            return {
                "entries": [
                    {
                        "entry_id": entry.entry_id,
                        "entry_version_id": entry.entry_version_id,
                        "kind": entry.kind,
                        "text": entry.text,
                        "state": entry.state,
                    }
                    for entry in entries
                ]
            }
        case Experience(situation, action, outcome, lesson):
            return {"situation": situation, "action": action, "outcome": outcome, "lesson": lesson}
        case Profile(text):
            return {"content": text}
        case Topic(title, summary, detail):
            return {"title": title, "summary": summary, "detail": detail}


def _atomic_memory(address: Address, world: World) -> dict[str, Any] | None:
    texts = world.bodies(address)
    return _artifact(address, {"text": texts[0]}) if texts else None


def _artifact(address: Address, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "scope_id": address.scope_id,
        "family": address.family,
        "artifact_id": address.artifact_id,
        "revision": address.revision,
        "content": content,
    }


def _first_other(expected: dict[str, Any], got: Any) -> str:
    if not isinstance(got, dict):
        return "its type"
    return next((name for name in [*expected, *got] if expected.get(name) != got.get(name)), "its fields")
