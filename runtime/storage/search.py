"""The search of one family over all Scopes of a request, by the database (SPEC.md 10).

Lexical: more distinct query tokens first, then fewer distinct tokens in the candidate, then artifact id, then entry
id. Vectors: nearer first, ties as above by id. Both joined by the sum of 1/(60 + rank), as exact fractions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from sqlalchemy import Connection, bindparam, func, select

from runtime.artifacts import Family
from runtime.storage.tables import postings
from runtime.storage.vectors import distance, vectors

FUSION_CONSTANT = 60

_Value = TypeVar("_Value")

Hits = dict[str, list["Hit"]]
"""The hits of each Scope, best first, by Scope id."""


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """One item that a search found in a Scope; `entry_id` is empty but for Memory."""

    artifact_id: str
    entry_id: str


def padded(values: Sequence[_Value]) -> list[_Value]:
    """Repeat the last value up to a power of two: OceanBase plans each new length of a list anew."""
    missing = (1 << (len(values) - 1).bit_length()) - len(values)
    return [*values, *([values[-1]] * missing)]


_ranked = (
    select(
        postings.c.scope_id,
        postings.c.artifact_id,
        postings.c.entry_id,
        func.row_number()
        .over(
            partition_by=postings.c.scope_id,
            order_by=(func.count().desc(), postings.c.distinct_tokens, postings.c.artifact_id, postings.c.entry_id),
        )
        .label("place"),
    )
    .where(
        postings.c.scope_id.in_(bindparam("scope_ids", expanding=True)),
        postings.c.family == bindparam("family"),
        postings.c.token.in_(bindparam("tokens", expanding=True)),
    )
    .group_by(postings.c.scope_id, postings.c.distinct_tokens, postings.c.artifact_id, postings.c.entry_id)
    .subquery()
)
_lexical = (
    select(_ranked.c.scope_id, _ranked.c.artifact_id, _ranked.c.entry_id)
    .where(_ranked.c.place <= bindparam("depth"))
    .order_by(_ranked.c.scope_id, _ranked.c.place)
)


def search_lexical(
    connection: Connection, family: Family, scope_ids: Sequence[str], tokens: Sequence[str], *, depth: int
) -> Hits:
    """Return at most `depth` hits of each Scope, in one statement for all of them."""
    if not tokens:
        return {}
    parameters = {
        "scope_ids": padded(sorted(scope_ids)),
        "family": family,
        "tokens": padded(sorted(tokens)),
        "depth": depth,
    }
    hits: defaultdict[str, list[Hit]] = defaultdict(list)
    for scope_id, artifact_id, entry_id in connection.execute(_lexical, parameters):
        hits[scope_id].append(Hit(artifact_id, entry_id))
    return dict(hits)


def search_vectors(
    connection: Connection, family: Family, scope_ids: Sequence[str], vector: Sequence[float], *, depth: int
) -> Hits:
    """Return at most `depth` nearest items of each Scope by exact distance."""
    table = vectors(len(vector))
    measured = (
        select(
            table.c.scope_id,
            table.c.artifact_id,
            table.c.entry_id,
            distance(table, vector, connection.dialect).label("distance"),
        )
        .where(table.c.scope_id.in_(padded(sorted(scope_ids))), table.c.family == family)
        .subquery()
    )
    ranked = select(
        measured.c.scope_id,
        measured.c.artifact_id,
        measured.c.entry_id,
        func.row_number()
        .over(
            partition_by=measured.c.scope_id,
            order_by=(measured.c.distance, measured.c.artifact_id, measured.c.entry_id),
        )
        .label("place"),
    ).subquery()
    nearest = (
        select(ranked.c.scope_id, ranked.c.artifact_id, ranked.c.entry_id)
        .where(ranked.c.place <= depth)
        .order_by(ranked.c.scope_id, ranked.c.place)
    )
    hits: defaultdict[str, list[Hit]] = defaultdict(list)
    for scope_id, artifact_id, entry_id in connection.execute(nearest):
        hits[scope_id].append(Hit(artifact_id, entry_id))
    return dict(hits)


def fuse(lexical: Sequence[Hit], nearest: Sequence[Hit], *, depth: int) -> list[Hit]:
    """Join a Scope's two channels; ties by lexical rank, absent last, then by ids."""
    lexical_ranks = {hit: rank for rank, hit in enumerate(lexical, start=1)}
    vector_ranks = {hit: rank for rank, hit in enumerate(nearest, start=1)}

    def key(hit: Hit) -> tuple[Fraction, float, Hit]:
        ranks = [channel[hit] for channel in (lexical_ranks, vector_ranks) if hit in channel]
        score = sum((Fraction(1, FUSION_CONSTANT + rank) for rank in ranks), Fraction(0))
        return (-score, lexical_ranks.get(hit, float("inf")), hit)

    return sorted({*lexical, *nearest}, key=key)[:depth]


def fuse_all(lexical: Mapping[str, Sequence[Hit]], nearest: Mapping[str, Sequence[Hit]], *, depth: int) -> Hits:
    """Join the two channels of each Scope."""
    return {
        scope_id: fuse(lexical.get(scope_id, ()), nearest.get(scope_id, ()), depth=depth)
        for scope_id in {*lexical, *nearest}
    }
