"""Whether an answer may become an expectation: all backends and the oracle must agree on it first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.run.result import Outcome, StepResult
from harness.scenario.loader import Loaded

ACCEPTABLE = frozenset(
    ("http", "error", "status", "sections", "ranks", "truncated", "bytes", "content", "text", "artifact", "write")
)
"""Kinds of failures that say no more than that an expected value is another one."""
INTENDED = frozenset(("contains", "absent", "same-as", "not-same-as", "scenario"))
"""Kinds of failures of what no run can tell: what the author wants to be shown."""


def dissents(loaded: Loaded, outcomes: Sequence[Outcome], chosen: Sequence[int]) -> Iterator[str]:
    """Yield a line for each thing in the chosen steps that backends, oracle or author do not agree on."""
    for outcome in outcomes:
        seed = [outcome.seed] if outcome.seed is not None else []
        steps = [step for step in outcome.steps if step.index in chosen or step.index >= len(loaded.scenario.steps)]
        for step in (*seed, *steps):
            yield from _of_step(loaded, outcome, step)


def _of_step(loaded: Loaded, outcome: Outcome, step: StepResult) -> Iterator[str]:
    for failure in step.failures:
        if failure.kind in ACCEPTABLE:
            continue
        place = f"{loaded.path}:{step.line} {step.name!r} on {outcome.backend}"
        told = f"{failure.kind} in {failure.region}: {failure.message}"
        if failure.kind in INTENDED:
            told += " (this is for its author to say: change it by hand)"
        yield f"{place}: {told}"
