"""The world at one moment, as a reader of an explanation needs it: what recall may see, and what it may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.check.bodies import document_body, fields
from harness.check.world import World
from harness.explain.names import Named
from runtime.artifacts import FAMILIES, MEMORY, MEMORY_ID, Address, Document, EntryAddress, Family, Topic, family_of


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is stored: its family, its name, what it is for recall, and its text."""

    family: Family
    name: str
    state: str
    """`active`, `retired`, `head`, or a Candidate's state; only the first and the third are recalled."""
    text: str


@dataclass(frozen=True, slots=True)
class Stored:
    """One Scope: what it references, who may read it, what it holds, and whether the step's caller may read it."""

    scope: str
    is_current: bool
    is_readable: bool
    references: tuple[str, ...]
    items: tuple[Item, ...]


def stored(world: World, named: Named, *, current: str | None, caller: str | None) -> Iterator[Stored]:
    """Yield the Scopes: the current one and its references first, then the others."""
    read = [] if current not in world.references else [current, *world.references[current]]
    for scope_id in dict.fromkeys([*read, *world.references]):
        yield Stored(
            named.scope(scope_id),
            scope_id == current,
            world.readable(caller, scope_id),
            tuple(map(named.scope, world.references[scope_id])),
            tuple(_items(world, scope_id, named)),
        )


def _items(world: World, scope_id: str, named: Named) -> Iterator[Item]:
    revision = world.head_revision(scope_id, MEMORY, MEMORY_ID)
    if revision is not None:
        head = Address(scope_id, MEMORY, MEMORY_ID, revision)
        memory = world.memory(head)
        for entry in memory.entries if memory else ():
            citation = EntryAddress(head, entry.entry_id, entry.entry_version_id)
            yield Item(MEMORY, named.item(citation), entry.state, entry.text)
    for family in FAMILIES:
        for address in world.heads(scope_id, family) if family != MEMORY else ():
            document = world.document(address)
            assert document is not None
            yield Item(family, named.item(address), "head", _text(document))
    for candidate in world.candidates:
        if candidate.scope_id == scope_id:
            yield Item(family_of(candidate.content), candidate.artifact_id, candidate.state, _text(candidate.content))


def _text(document: Document) -> str:
    """Return all texts of a document; a topic has no single body, since its snippet depends on the query."""
    if isinstance(document, Topic):
        return "\n".join(text for _, text in fields(document))
    return document_body(document)
