"""The candidates of each family in their order, as far as they are known: what both ways to an order return."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.check.bodies import SNIPPET_LABEL, topic_head
from harness.check.display import MAX_BODY_BYTES, pieces
from harness.check.world import ATOMIC_MEMORY, World
from runtime.artifacts import MEMORY, MEMORY_ID, Address, Citation, Entry, EntryAddress, Family, Topic


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Why an answer cannot be predicted."""

    reason: str


class CannotKnow(Exception):
    """What has to be known for a prediction and is not; `predict` turns it into Undetermined."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What can be shown of a body: the displayed parts that no cut may split, until over 2000 bytes; `whole` if all."""

    parts: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """One candidate: what it is cited by and what it shows.

    `body` is the original. Where a probe leaves open which one it is, `body` is None, and `shown` is the displayed
    text, of which no legal cut is known. `older` is the original in the older output, None where it is not known.
    """

    citation: Citation
    body: str | None
    older: str | None
    shown: str | None = None

    def beginning(self) -> Beginning | None:
        """Return the displayed parts of the body, or None where only the whole displayed text is known."""
        return None if self.body is None else beginning(self.body)


@dataclass(frozen=True, slots=True)
class Candidates:
    """A family's candidates after SPEC.md 3.5, the first one of rank 1; an Undetermined stands for one not known.

    `more` says why there may be further ones behind the last, or is None where there are none.
    """

    offers: tuple[Offer | Undetermined, ...] = ()
    more: Undetermined | None = None

    @property
    def citations(self) -> list[Citation | None]:
        """The citations by rank; None for a candidate that is not known."""
        return [offer.citation if isinstance(offer, Offer) else None for offer in self.offers]

    def at(self, place: int) -> Offer | None:
        """Return the candidate at a place from 0, None behind the last; raises CannotKnow."""
        found = self.offers[place] if place < len(self.offers) else self.more
        if isinstance(found, Undetermined):
            raise CannotKnow(found.reason)
        return found


Order = Mapping[Family, Candidates]


def beginning(body: str) -> Beginning:
    """Return what can be shown of a body; a body of any length is read no further than that."""
    parts: list[str] = []
    size = 0
    for piece in pieces(body):
        if size > MAX_BODY_BYTES:
            return Beginning(tuple(parts), whole=False)
        parts.append(piece)
        size += len(piece.encode("utf-8"))
    return Beginning(tuple(parts), whole=True)


def topic_offer(citation: Citation, topic: Topic, snippet: str | None) -> Offer:
    """Return a topic as a candidate, with this snippet or without one (SPEC.md 3 and 7)."""
    older = {"title": topic.title, "summary": topic.summary}
    body = topic_head(topic)
    if snippet is not None:
        older["snippet"] = snippet
        body += SNIPPET_LABEL + snippet
    return Offer(citation, body, json.dumps(older, ensure_ascii=False, separators=(",", ":")))


def active_entries(world: World, scope_id: str) -> list[tuple[EntryAddress, Entry]]:
    """Return the active Entries of a Scope's Memory Head, cited by the Head's revision (SPEC.md 3)."""
    revision = world.head_revision(scope_id, MEMORY, MEMORY_ID)
    if revision is None:
        return []
    head = Address(scope_id, MEMORY, MEMORY_ID, revision)
    memory = world.memory(head)
    return [
        (EntryAddress(head, entry.entry_id, entry.entry_version_id), entry)
        for entry in (memory.entries if memory else ())
        if entry.state == "active"
    ]


def atomic_citation(world: World, citation: EntryAddress) -> Address:
    """Return how releases 1.3-1.4 cite an Entry: an Artifact of its own, here named by the entry id.

    Its revision counts the versions of the Entry. A released server makes up ids of its own; whoever compares puts the
    scenario's name back into its place.
    """
    scope_id, entry_id = citation.memory.scope_id, citation.entry_id
    family: Family = ATOMIC_MEMORY  # type: ignore[assignment]  # a fifth family, which only releases have
    return Address(scope_id, family, entry_id, len(world.entry_texts(scope_id, entry_id)))
