"""One scenario explained as data: for each step what was asked, recalled, tried, placed, and how many bytes it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from backends.operations import Operation
from harness.check.oracle import Prediction, Undetermined, predict
from harness.check.oracle.order import Offer
from harness.check.oracle.recall import POOLS, Row, Search, by_distance, by_words, eligible, in_turns, reranked
from harness.check.request import DEFAULT_TOTAL, Asked
from harness.check.world import World
from harness.explain.budget import Cost, markdown_costs, older_costs
from harness.explain.names import Named
from harness.explain.stored import Stored, stored
from harness.explain.walk import Moment, walk
from harness.scenario.loader import Loaded
from harness.scenario.model import RuntimeSpec, Step
from runtime.artifacts import FAMILIES, MEMORY, PROFILE, Citation, EntryAddress, Family


@dataclass(frozen=True, slots=True)
class Hit:
    """One candidate that a Scope's search found, and by what.

    `held` are the query's tokens in it, `tokens` how many distinct ones it has at all. `by_words` and `by_vectors` are
    its ranks in the two channels, `score` the sum of 1/(60 + rank) where there are two.
    """

    citation: Citation
    name: str
    rank: int
    held: tuple[str, ...] = ()
    tokens: int = 0
    by_words: int | None = None
    by_vectors: int | None = None
    score: Fraction | None = None
    reranked: bool = False


@dataclass(frozen=True, slots=True)
class ScopeRecall:
    """What one Scope gives to a family's recall: hits in their order, and the names of what was not found."""

    scope: str
    hits: tuple[Hit, ...]
    missed: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    """Found, but behind the last place of the Scope's pool."""


@dataclass(frozen=True, slots=True)
class FamilyRecall:
    """One family's recall: Scope by Scope, then in turns, then what rank each candidate has."""

    family: Family
    has_source: bool
    scopes: tuple[ScopeRecall, ...] = ()
    turns: tuple[str, ...] = ()
    """The candidates by rank."""
    beyond: tuple[str, ...] = ()
    """Left out behind the last place of the merged list."""
    dropped: tuple[str, ...] = ()
    """Left out since the body is blank, or the identity stood before."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepare explained; `refusal` says in a sentence why it is refused, `prediction` what the oracle predicts."""

    asked: Asked | None
    prediction: Prediction | Undetermined
    refusal: str | None = None
    tokens: tuple[str, ...] = ()
    recalls: tuple[FamilyRecall, ...] = ()
    frame: int = 0
    """The bytes of the notice and the markers, without any item."""
    costs: tuple[Cost, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """One step explained: place, verb, who acts, the world at this moment, and what a prepare comes to."""

    index: int
    name: str
    verb: str
    line: int
    caller: str
    world: tuple[Stored, ...]
    what: str = ""
    """Of a step that neither asks nor writes: what stands behind its verb, as JSON."""
    written: tuple[Operation, ...] = ()
    prepared: Prepared | None = None
    notes: tuple[str, ...] = field(default=())


def explain(loaded: Loaded, *, step: int | None = None, backend: str | None = None) -> list[Told]:
    """Explain a scenario's steps, or the one of a number from 1; by the oracle alone, nothing is run.

    `backend` decides which declared faults count.
    """
    return [
        _told(loaded, moment) for moment in walk(loaded, backend=backend) if step is None or moment.index == step - 1
    ]


def _told(loaded: Loaded, moment: Moment) -> Told:
    asked = moment.asked if isinstance(moment.asked, Asked) else None
    references = moment.world.references.get(asked.scope_id, ()) if asked and asked.reads_references else ()
    named = Named(loaded.scenario, moment.world, (asked.scope_id, *references) if asked else ())
    prepared = _prepared(moment, loaded.scenario.runtime, named) if moment.asked is not None else None
    current = prepared.asked.scope_id if prepared and prepared.asked else None
    notes = []
    if moment.step.headers:
        notes.append("headers alone can call for a refusal; they are not part of this explanation")
    if moment.failing:
        notes.append(f"declared before: the recall of {', '.join(moment.failing)} fails")
    return Told(
        index=moment.index,
        name=moment.name,
        verb=moment.step.verb,
        line=loaded.line("steps", moment.index),
        caller=moment.caller_name,
        world=tuple(stored(moment.world, named, current=current, caller=moment.caller)),
        what=_what(moment.step) if moment.step.verb in ("read", "fault") else "",
        written=tuple(moment.written),
        prepared=prepared,
        notes=tuple(notes),
    )


def _what(step: Step) -> str:
    value = step.model_dump(include={step.verb}, exclude_unset=True)[step.verb]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _prepared(moment: Moment, runtime: RuntimeSpec, named: Named) -> Prepared:
    asked = moment.asked if isinstance(moment.asked, Asked) else None
    prediction = predict(moment.world, asked, caller=moment.caller, runtime=runtime, failing=moment.failing)
    if isinstance(prediction, Prediction) and prediction.code is not None:
        return Prepared(asked, prediction, _refusal(moment, prediction, runtime, named))
    assert asked is not None
    if asked.sections == () or isinstance(prediction, Undetermined):
        return Prepared(asked, prediction)
    search = Search(moment.world, asked, runtime)
    found = [_recall(search, family, asked, runtime, named) for family in _families(asked)]
    offers = {recall.family: kept for recall, kept in found}
    if asked.sections is None:
        frame, costs = older_costs(asked, offers, named)
    else:
        frame, costs = markdown_costs(asked, offers, named)
    recalls = tuple(recall for recall, _ in found)
    return Prepared(asked, prediction, None, tuple(sorted(search.tokens)), recalls, frame, tuple(costs))


def _families(asked: Asked) -> list[Family]:
    if asked.sections is not None:
        return [family for family, _ in asked.sections]
    return [family for family in FAMILIES if family in asked.families]


def _recall(
    search: Search, family: Family, asked: Asked, runtime: RuntimeSpec, named: Named
) -> tuple[FamilyRecall, list[Offer]]:
    if runtime.sources is not None and family not in runtime.sources:
        return FamilyRecall(family, has_source=False), []
    scopes: list[ScopeRecall] = []
    if family == PROFILE:
        merged = search.found(family)
        for scope_id in search.scopes(family):
            own = [offer for offer in merged if _scope_of(offer.citation) == scope_id]
            hits = tuple(Hit(offer.citation, named.item(offer.citation), 1) for offer in own)
            scopes.append(ScopeRecall(named.scope(scope_id), hits))
        beyond: list[str] = []
    else:
        rows = {scope_id: search.rows(scope_id, family) for scope_id in search.scopes(family)}
        found = {scope_id: search.hits(some, family) for scope_id, some in rows.items()}
        scopes = [_scope_recall(search, asked, runtime, family, one, rows[one], found[one], named) for one in rows]
        turns = in_turns(list(found.values()))
        merged = [search.offer(row.citation) for row in turns[: POOLS[family]]]
        beyond = [named.item(row.citation, current=asked.scope_id) for row in turns[POOLS[family] :]]
    kept = merged if asked.sections is None else eligible(merged)
    left = {offer.citation for offer in kept}
    recall = FamilyRecall(
        family,
        has_source=True,
        scopes=tuple(scopes),
        turns=tuple(named.item(offer.citation, current=asked.scope_id) for offer in kept),
        beyond=tuple(beyond),
        dropped=tuple(
            named.item(offer.citation, current=asked.scope_id) for offer in merged if offer.citation not in left
        ),
    )
    return recall, kept


def _scope_recall(
    search: Search,
    asked: Asked,
    runtime: RuntimeSpec,
    family: Family,
    scope_id: str,
    rows: list[Row],
    hits: list[Row],
    named: Named,
) -> ScopeRecall:
    lexical = by_words(rows, search.tokens)
    words = {row.citation: rank for rank, row in enumerate(lexical[: POOLS[family]], start=1)}
    vectors: dict[Citation, int] = {}
    if runtime.embedder is not None:
        nearest = by_distance(rows, runtime.embedder.vectors[asked.query])[: POOLS[family]]
        vectors = {row.citation: rank for rank, row in enumerate(nearest, start=1)}
    order = runtime.reranker.order if family == MEMORY and runtime.reranker is not None else ()
    listed = {row.citation for row in reranked(hits, order) if row.ids[1] in order}
    told = []
    for rank, row in enumerate(hits, start=1):
        ranks = [one[row.citation] for one in (words, vectors) if row.citation in one]
        told.append(
            Hit(
                row.citation,
                named.item(row.citation),
                rank,
                tuple(sorted(search.tokens & row.tokens)),
                len(row.tokens),
                words.get(row.citation),
                vectors.get(row.citation),
                sum((Fraction(1, 60 + one) for one in ranks), Fraction(0)) if vectors else None,
                row.citation in listed,
            )
        )
    found = {row.citation for row in hits}
    behind = [row.citation for row in lexical if row.citation not in found]
    missed = [row.citation for row in rows if row.citation not in found and row.citation not in behind]
    return ScopeRecall(
        named.scope(scope_id), tuple(told), tuple(map(named.item, missed)), tuple(map(named.item, behind))
    )


def _scope_of(citation: Citation) -> str:
    return citation.memory.scope_id if isinstance(citation, EntryAddress) else citation.scope_id


def _refusal(moment: Moment, prediction: Prediction, runtime: RuntimeSpec, named: Named) -> str:
    """Say which check of SPEC.md 2 does not pass."""
    asked, world = moment.asked, moment.world
    if prediction.code == "unauthorized":
        return f"{moment.caller_name} shows no known token, which is asked for first"
    if not isinstance(asked, Asked):
        return f"the request model refuses it: {asked or 'it is no JSON'}"
    if prediction.code == "scope_not_found":
        return f"there is no Scope {asked.scope_id!r}, which this caller may know"
    if prediction.code == "invalid_request":
        return f"the limits make {asked.total}, over the total of {runtime.max_entries or DEFAULT_TOTAL}"
    if prediction.code == "service_unavailable":
        return f"the recall of {', '.join(sorted(asked.families & set(moment.failing)))} was declared to fail"
    if not world.exists(asked.scope_id):
        return f"there is no Scope {asked.scope_id!r}, which this caller may not know"
    unread = [one for one in _read(world, asked) if not world.readable(moment.caller, one)]
    who, scopes = moment.caller_name, ", ".join(map(named.scope, unread))
    why = "the current Scope" if unread[:1] == [asked.scope_id] else "referenced, and one refusal fails the request"
    return f"{who} is no viewer of {scopes}: {why}"


def _read(world: World, asked: Asked) -> Iterator[str]:
    yield asked.scope_id
    if asked.reads_references:
        yield from world.references[asked.scope_id]
