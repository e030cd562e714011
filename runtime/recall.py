"""Candidates of each family, in their order, from the stored state of one moment (SPEC.md 3.3, 3.4 and 10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import Protocol, TypeVar

from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, PROFILE_ID, TOPIC_MEMORY, Citation, Family
from runtime.builder import Candidate
from runtime.snippet import snippet
from runtime.storage import Hits, Reader, StoredDocument, StoredText
from runtime.storage.tokenizer import tokens
from runtime.text import MAX_SOURCE_BYTES

MEMORY_DEPTH = 16
EXPERIENCE_DEPTH = 8
TOPIC_DEPTH = 8
EXPERIENCE_LABELS = ("Situation: ", "Action: ", "Outcome: ", "Lesson: ")

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class RecallRequest:
    """What is looked for and where: the current Scope first, then its references in their order."""

    query: str
    scope_ids: tuple[str, ...]
    older: bool = False
    """Whether bodies are for the older output, in which a topic is JSON."""

    @cached_property
    def tokens(self) -> set[str]:
        """The distinct tokens of the query."""
        return tokens(self.query)


class RecallSource(Protocol):
    """Where the candidates of one family come from."""

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return the candidates in their order; any exception is the family's failure."""


@dataclass(frozen=True, slots=True)
class RerankedHit:
    """What a reranker sees of a hit: where it is, and its text."""

    scope_id: str
    entry_id: str
    text: str


class Reranker(Protocol):
    """Orders the hits of one Scope's Memory."""

    def order(self, query: str, hits: Sequence[RerankedHit]) -> Sequence[int]:
        """Return the hits' places in the given list, best first."""


class Embedder(Protocol):
    """Turns a query into a vector of a fixed dimension."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed(self, query: str) -> Sequence[float]:
        """Return the query's vector."""


def take_turns(lists: Iterable[Sequence[_Item]], *, at_most: int) -> list[_Item]:
    """Take one item of each list in turn, keeping each list's order, until there are `at_most`."""
    turns: Iterable[_Item | None] = chain.from_iterable(zip_longest(*lists))
    return list(islice((item for item in turns if item is not None), at_most))


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Entries of the Memory Heads of all Scopes of a request."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return at most 16 candidates, one Scope's hit in turn."""
        hits = _search(reader, MEMORY, request, self.embedder, depth=MEMORY_DEPTH)
        pools = [[(scope_id, hit) for hit in hits.get(scope_id, ())] for scope_id in request.scope_ids]
        if self.reranker is None:
            merged = take_turns(pools, at_most=MEMORY_DEPTH)
            found = reader.entries(merged, at_most=MAX_SOURCE_BYTES)
        else:
            found = reader.entries(list(chain.from_iterable(pools)), at_most=MAX_SOURCE_BYTES)
            ordered = []
            for pool in pools:
                seen = [RerankedHit(scope_id, hit.entry_id, found[scope_id, hit].text.text) for scope_id, hit in pool]
                ordered.append([pool[place] for place in self.reranker.order(request.query, seen)] if seen else [])
            merged = take_turns(ordered, at_most=MEMORY_DEPTH)
        return [_candidate(found[key].address, [("", found[key].text)]) for key in merged]


@dataclass(frozen=True, slots=True)
class ExperienceSource:
    """Approved heads of the Experiences of all Scopes of a request."""

    embedder: Embedder | None = None

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return at most 8 candidates, one Scope's hit in turn."""
        hits = _search(reader, EXPERIENCE, request, self.embedder, depth=EXPERIENCE_DEPTH)
        pools = [[(scope_id, hit.artifact_id) for hit in hits.get(scope_id, ())] for scope_id in request.scope_ids]
        merged = take_turns(pools, at_most=EXPERIENCE_DEPTH)
        found = reader.documents(EXPERIENCE, merged, at_most=MAX_SOURCE_BYTES)
        labels = [("\n" if place else "") + label for place, label in enumerate(EXPERIENCE_LABELS)]
        return [
            _candidate(document.address, list(zip(labels, document.fields, strict=True)))
            for document in (found[key] for key in merged)
        ]


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """The latest Profile of each Scope of a request, whatever the query."""

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return the snapshots in the order of the Scopes."""
        keys = [(scope_id, PROFILE_ID) for scope_id in request.scope_ids]
        found = reader.documents(PROFILE, keys, at_most=MAX_SOURCE_BYTES)
        return [_candidate(found[key].address, [("", found[key].fields[0])]) for key in keys if key in found]


@dataclass(frozen=True, slots=True)
class TopicSource:
    """Topics of the current Scope alone, with the line of their detail that the query meets."""

    embedder: Embedder | None = None

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return at most 8 candidates in the order of the search."""
        current = request.scope_ids[0]
        here = RecallRequest(request.query, (current,), request.older)
        hits = _search(reader, TOPIC_MEMORY, here, self.embedder, depth=TOPIC_DEPTH)
        keys = [(current, hit.artifact_id) for hit in hits.get(current, ())]
        found = reader.documents(TOPIC_MEMORY, keys, at_most=MAX_SOURCE_BYTES, whole_field=2)
        return [_topic(found[key], request) for key in keys]


Sources = Mapping[Family, RecallSource]


def default_sources(
    *, embedder: Embedder | None = None, reranker: Reranker | None = None
) -> dict[Family, RecallSource]:
    """Return a source for each of the four families."""
    return {
        MEMORY: MemorySource(embedder, reranker),
        EXPERIENCE: ExperienceSource(embedder),
        PROFILE: ProfileSource(),
        TOPIC_MEMORY: TopicSource(embedder),
    }


def _search(reader: Reader, family: Family, request: RecallRequest, embedder: Embedder | None, *, depth: int) -> Hits:
    vector = None if embedder is None else embedder.embed(request.query)
    return reader.search(family, request.scope_ids, sorted(request.tokens), depth=depth, vector=vector)


def _candidate(citation: Citation, parts: Sequence[tuple[str, StoredText]]) -> Candidate:
    """Compose a body of labels and stored texts; it ends at the first text of which only the beginning was read."""
    body = ""
    whole = True
    for label, stored in parts:
        if whole:
            body += label + stored.text
            whole = stored.whole
    size = sum(len(label.encode()) + stored.size for label, stored in parts)
    blank = all(stored.blank and not label.strip() for label, stored in parts)
    return Candidate(citation, body, size, whole=whole, blank=blank)


def _topic(document: StoredDocument, request: RecallRequest) -> Candidate:
    title, summary, detail = document.fields
    line = snippet(detail.text, request.tokens)
    if request.older:
        # A title or summary that was not read whole makes the text longer than any that can be shown.
        value = {"title": title.text, "summary": summary.text} | ({} if line is None else {"snippet": line})
        return Candidate.of(document.address, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    parts = [("Title: ", title), ("\n\nSummary: ", summary)]
    if line is not None:
        parts.append(("\n\nSnippet: ", StoredText(line, len(line.encode()), blank=False)))
    return _candidate(document.address, parts)
