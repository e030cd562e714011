"""One small scenario with one prepare and two citations, all checks included, split in its phases."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from bench.context import Bench, turns
from bench.figures import BenchFailed, Figure, Spread
from harness.run.result import Times
from harness.run.runner import run
from harness.scenario.loader import parse

BOUNDS: Mapping[str, float] = {"sqlite": 25.0, "oceanbase": 70.0}
"""Milliseconds of the median of the whole scenario, engine start apart."""

TOTAL = "whole scenario"
PHASES = tuple(phase.name for phase in fields(Times))

SCENARIO = b"""
scenario: one memory and one experience are delivered

scopes:
  demo:
    memory:
      - {entry: entry-1, text: "Generate the client, then run the contract tests."}
      - {entry: entry-2, text: "Nothing that is asked for."}
    experience:
      - id: experience-1
        situation: The contract had changed.
        action: Ran the contract tests.
        outcome: They passed.
        lesson: Generate first.

steps:
  - prepare: {scope_id: demo, query: contract tests, assembly: {show: [recall_rank]}}
    expect:
      status: ready
      sections: [{Memory: [entry-1]}, {Experience: [experience-1]}]
"""


def scenario_cost(bench: Bench) -> Iterator[Figure]:
    """Run the scenario many times on all backends in turns; it must pass each time."""
    loaded = parse(SCENARIO, Path("bench.yaml"))
    cases = (TOTAL, *PHASES)
    values: dict[str, dict[str, list[float]]] = {name: {case: [] for case in cases} for name in bench.backends}
    warm_up = bench.sizes.warm_up
    with bench.targets("scenario") as targets:
        for number in range(warm_up + bench.sizes.scenario_runs):
            for name in turns(bench.backends, number):
                started = time.perf_counter()
                outcome = run(loaded, targets[name])
                total = time.perf_counter() - started
                if outcome.verdict != "passed":
                    raise BenchFailed(f"the small scenario did not pass on {name}: {outcome.verdict}")
                if number >= warm_up:
                    values[name][TOTAL].append(1000 * total)
                    for phase in PHASES:
                        values[name][phase].append(1000 * getattr(outcome.times, phase))
    for case in cases:
        for name in bench.backends:
            bound = BOUNDS.get(name) if case == TOTAL else None
            yield Figure("scenario", case, name, "ms", Spread.of(values[name][case]), bound)
