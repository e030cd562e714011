"""The prepare operation through real HTTP, requests of all backends taking turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.context import Bench, turns
from bench.corpus import CURRENT, TOKEN
from bench.figures import BenchFailed, Figure, Spread
from harness.scenario.model import RuntimeSpec
from harness.target.base import Answer, Target

BOUNDS: Mapping[str, float] = {"sqlite": 8.0, "oceanbase": 12.0}
"""Milliseconds of the median of `assembly: {}`."""

ASSEMBLIES: Mapping[str, Mapping[str, Any]] = {
    "{}": {"assembly": {}},
    "memory 8": {"assembly": {"sections": [{"family": "memory", "limit": 8}]}},
    "sections []": {"assembly": {"sections": []}},
    "absent": {},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of request: its name, what it asks besides Scope and query, and the queries, one a request."""

    name: str
    fields: Mapping[str, Any]
    queries: Sequence[str]


def prepare(bench: Bench) -> Iterator[Figure]:
    """Two Scopes of 400 memories and 12 experiences each."""
    sizes = bench.sizes
    with bench.targets("prepare") as targets:
        operations = bench.corpus.world(
            current=sizes.memories, referenced=sizes.memories, experiences=sizes.experiences
        )
        for target in targets.values():
            target.reset(RuntimeSpec())
            target.apply(operations)
        queries = bench.corpus.common_queries("prepare", sizes.warm_up + sizes.requests, words=8)
        cases = [Case(name, fields, queries) for name, fields in ASSEMBLIES.items()]
        for case, values in ask(targets, cases, warm_up=sizes.warm_up).items():
            for backend, milliseconds in values.items():
                bound = BOUNDS.get(backend) if case == "{}" else None
                yield Figure("prepare", case, backend, "ms", Spread.of(milliseconds), bound)


def ask(targets: Mapping[str, Target], cases: Sequence[Case], *, warm_up: int) -> dict[str, dict[str, list[float]]]:
    """Send all cases' requests, and return the milliseconds of each by case and backend, the first ones left out.

    All backends must give the same bytes. Raises BenchFailed.
    """
    names = tuple(targets)
    measured: dict[str, dict[str, list[float]]] = {case.name: {name: [] for name in names} for case in cases}
    for number in range(max(len(case.queries) for case in cases)):
        for case in cases:
            if number >= len(case.queries):
                continue
            request = {"scope_id": CURRENT, "query": case.queries[number], **case.fields}
            body = json.dumps(request).encode()
            answers: dict[str, Answer] = {}
            for name in turns(names, number):
                answers[name] = targets[name].prepare(body, token=TOKEN)
                if number >= warm_up:
                    measured[case.name][name].append(1000 * answers[name].seconds)
            _check(case, answers)
    return measured


def _check(case: Case, answers: Mapping[str, Answer]) -> None:
    for name, answer in answers.items():
        if answer.status != 200:
            raise BenchFailed(f"{case.name}: {name} answered {answer.status}")
    if len({answer.body for answer in answers.values()}) > 1:
        raise BenchFailed(f"{case.name}: the backends' answers differ")
