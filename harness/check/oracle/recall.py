"""The order of the candidates in the in-tree runtime: all rows looked at, all rules of SPEC.md 10 and 3.3-3.5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest

from harness.check.bodies import SNIPPET_CHARACTERS, document_body, fields
from harness.check.display import is_blank, lines
from harness.check.oracle.order import (
    Candidates,
    CannotKnow,
    Offer,
    Order,
    active_entries,
    atomic_citation,
    topic_offer,
)
from harness.check.oracle.tokens import folded, places, tokens
from harness.check.request import Asked
from harness.check.world import Vector, World
from harness.scenario.model import RuntimeSpec
from harness.target.base import Style
from runtime.artifacts import (
    EXPERIENCE,
    FAMILIES,
    MEMORY,
    MEMORY_ID,
    PROFILE,
    PROFILE_ID,
    TOPIC_MEMORY,
    Address,
    Citation,
    Document,
    EntryAddress,
    Family,
    Topic,
)

POOLS: dict[Family, int] = {MEMORY: 16, EXPERIENCE: 8, TOPIC_MEMORY: 8}
"""How many hits a search gives for one Scope, and how many stay of all Scopes together."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a search sees of one candidate; `ids` are artifact id and entry id, which decide between equals."""

    citation: Citation
    ids: tuple[str, str]
    tokens: frozenset[str]
    vector: Vector | None


def candidate_order(
    world: World, asked: Asked, *, runtime: RuntimeSpec = RuntimeSpec(), style: Style = "in-tree"
) -> Order:
    """Return the candidates of every family that the request selects, in the order of their ranks.

    Raises CannotKnow where an embedder is configured that has no vector for the query.
    """
    search = Search(world, asked, runtime)
    order: dict[Family, Candidates] = {}
    for family in FAMILIES:
        if family in asked.families and (runtime.sources is None or family in runtime.sources):
            found = search.found(family)
            # To the older output none of the new rules apply, so blank bodies stay (SPEC.md 7).
            order[family] = Candidates(tuple(found if asked.sections is None else eligible(found)))
        elif family in asked.families:
            order[family] = Candidates()
    if style == "1.3-1.4" and MEMORY in order:
        order[MEMORY] = Candidates(tuple(_atomic(world, offer) for offer in order[MEMORY].offers))  # type: ignore[arg-type]
    return order


def eligible(offers: Iterable[Offer]) -> list[Offer]:
    """Drop blank bodies and repeats of one identity (SPEC.md 3.5)."""
    return list({offer.citation: offer for offer in offers if not is_blank(offer.body or "")}.values())


def _atomic(world: World, offer: Offer) -> Offer:
    assert isinstance(offer.citation, EntryAddress)
    return Offer(atomic_citation(world, offer.citation), offer.body, offer.older)


class Search:
    """One request's search over the rows of a World."""

    def __init__(self, world: World, asked: Asked, runtime: RuntimeSpec) -> None:
        self._world = world
        self._asked = asked
        self._runtime = runtime
        self.tokens = tokens(asked.query)

    def scopes(self, family: Family) -> tuple[str, ...]:
        """Return the Scopes that a family is read from: the current one, then its references but for topics."""
        current = self._asked.scope_id
        return (current,) if family == TOPIC_MEMORY else (current, *self._world.references.get(current, ()))

    def found(self, family: Family) -> list[Offer]:
        """Return what the recall of one family gives, before SPEC.md 3.5."""
        if family == PROFILE:
            citations = [head for scope_id in self.scopes(family) for head in self._world.heads(scope_id, PROFILE)]
            return [self.offer(head) for head in citations if head.artifact_id == PROFILE_ID]
        hits = [self.hits(self.rows(scope_id, family), family) for scope_id in self.scopes(family)]
        return [self.offer(row.citation) for row in in_turns(hits)[: POOLS[family]]]

    def hits(self, rows: Sequence[Row], family: Family) -> list[Row]:
        """Return one Scope's hits: by words, joined with those by vectors where there are any, then reranked."""
        depth = POOLS[family]
        hits = by_words(rows, self.tokens)[:depth]
        if self._runtime.embedder is not None:
            vector = self._runtime.embedder.vectors.get(self._asked.query)
            if vector is None:
                raise CannotKnow("the embedder knows no vector for the query")
            hits = joined(hits, by_distance(rows, vector)[:depth])[:depth]
        if family == MEMORY and self._runtime.reranker is not None:
            hits = reranked(hits, self._runtime.reranker.order)
        return hits

    def rows(self, scope_id: str, family: Family) -> list[Row]:
        """Return what the search of one family looks at in one Scope."""
        world = self._world
        if family == MEMORY:
            place = (scope_id, MEMORY, MEMORY_ID)
            return [
                Row(
                    citation,
                    (MEMORY_ID, entry.entry_id),
                    tokens(entry.text),
                    world.vectors.get((place, entry.entry_id)),
                )
                for citation, entry in active_entries(world, scope_id)
            ]
        rows: list[Row] = []
        for head in world.heads(scope_id, family):
            found = frozenset[str]().union(*(tokens(text) for _, text in fields(_document(world, head))))
            vector = world.vectors.get(((scope_id, family, head.artifact_id), ""))
            rows.append(Row(head, (head.artifact_id, ""), found, vector))
        return rows

    def offer(self, citation: Citation) -> Offer:
        """Return what is cited as a candidate."""
        if isinstance(citation, EntryAddress):
            entry = self._world.entry(citation)
            assert entry is not None
            return Offer(citation, entry.text, entry.text)
        document = _document(self._world, citation)
        if isinstance(document, Topic):
            return topic_offer(citation, document, snippet(document.detail, self.tokens))
        body = document_body(document)
        return Offer(citation, body, body)


def _document(world: World, address: Address) -> Document:
    document = world.document(address)
    assert document is not None
    return document


def by_words(rows: Sequence[Row], query: frozenset[str]) -> list[Row]:
    """Return the rows that hold a token of the query: most of them first, then the fewest tokens, then by ids."""
    found = [(len(query & row.tokens), row) for row in rows if query & row.tokens]
    return [row for _, row in sorted(found, key=lambda hit: (-hit[0], len(hit[1].tokens), hit[1].ids))]


def by_distance(rows: Sequence[Row], query: Vector) -> list[Row]:
    """Return the rows that have a vector, the nearest first, then by ids; distances are compared exactly."""
    found = [(_distance(row.vector, query), row) for row in rows if row.vector is not None]
    return [row for _, row in sorted(found, key=lambda hit: (hit[0], hit[1].ids))]


def _distance(one: Vector, other: Vector) -> Fraction:
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def joined(words: Sequence[Row], vectors: Sequence[Row]) -> list[Row]:
    """Return the rows of two lists by the sum of 1/(60 + rank), then by their rank among the words, then by ids."""
    word_ranks = {row.citation: rank for rank, row in enumerate(words, start=1)}
    vector_ranks = {row.citation: rank for rank, row in enumerate(vectors, start=1)}

    def key(row: Row) -> tuple[Fraction, int, tuple[str, str]]:
        ranks = [ranks[row.citation] for ranks in (word_ranks, vector_ranks) if row.citation in ranks]
        score = sum((Fraction(1, 60 + rank) for rank in ranks), Fraction(0))
        return -score, word_ranks.get(row.citation, len(words) + 1), row.ids

    return sorted({row.citation: row for row in (*words, *vectors)}.values(), key=key)


def reranked(hits: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """Return a Scope's hits with the listed Entries first, in the list's order; the others keep theirs."""
    listed = [row for entry_id in dict.fromkeys(order) for row in hits if row.ids[1] == entry_id]
    return listed + [row for row in hits if row.ids[1] not in order]


def in_turns(lists: Sequence[Sequence[Row]]) -> list[Row]:
    """Return one of each list in turn, until all are used up."""
    return [row for turn in zip_longest(*lists) for row in turn if row is not None]


def snippet(detail: str, query: frozenset[str]) -> str | None:
    """Return what a topic shows of its detail: of the line with most tokens of the query, or None if none has any."""
    best, most = "", 0
    for line in lines(detail):
        held = len(query & tokens(line)) if line else 0
        if held > most:
            best, most = line, held
    if most == 0:
        return None
    if len(best) <= SNIPPET_CHARACTERS:
        return best
    start = min(max(_first_match(best, query) - 120, 0), len(best) - SNIPPET_CHARACTERS)
    return best[start : start + SNIPPET_CHARACTERS]


def _first_match(line: str, query: frozenset[str]) -> int:
    """Return where in a line, in its own code points, the first token of the query begins.

    SPEC.md 10 does not say where that is in a line that folding makes shorter or longer: as in the in-tree runtime, it
    is the last place with no more folded code points before it than stand before the folded token.
    """
    text = folded(line)
    match = next(place for place, token in places(text) if token in query)
    if line.isascii():
        return match
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(folded(line[:middle])) <= match else (low, middle - 1)
    return low
