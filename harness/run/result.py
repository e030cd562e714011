"""What a run found, as data: outcomes, steps, verdicts, times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from harness.check.failure import Failure
from harness.check.oracle.predict import Prediction
from runtime.artifacts import Family

Verdict = Literal["passed", "failed", "known", "engine fault", "missing", "not run"]
FAULTS: tuple[Verdict, ...] = ("engine fault", "missing")
"""Verdicts that say nothing of the contract: an engine that was lost in mid-run, or never there."""
Candidates = dict[Family, tuple[str, ...]]
"""By family what recall offered, in its order; MORE at the end where there may be more."""
MORE = "..."
WRITES = frozenset(("write", "grant", "revoke"))
"""The verbs of steps that change what is stored."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step gave: its place in the file, the answers' bytes, what is wrong with them."""

    index: int
    name: str
    verb: str
    line: int
    status: int | None = None
    body: bytes | None = None
    """The body that is compared between backends, None where there is nothing to compare."""
    failures: tuple[Failure, ...] = ()
    checks: int = 0
    """How many judgements were made of this step."""
    candidates: Candidates | None = None
    """What each family's recall offered, of a target with a search of its own: told by the scenario's own ids."""
    presumed: tuple[str, ...] = ()
    """The kinds of expectations that presume ids or an order of ours, and were not judged here."""
    reordered: bool | None = None
    """Whether another backend's search found the same in another order; None where none was compared."""
    request: bytes | None = None
    """The body as it went out, with the target's own ids; None where none was sent."""
    seconds: float | None = None
    """How long the answer took that is told here, None where none is."""
    prediction: Prediction | None = None
    """What the oracle predicts, where something is wrong with an answer."""

    @property
    def is_as_predicted(self) -> bool:
        """Whether an answer with which something is wrong is what the oracle predicts, so that others dissent."""
        return self.prediction is not None and all(failure.kind != "oracle" for failure in self.failures)


@dataclass(slots=True)
class Times:
    """Seconds spent in each phase of a scenario."""

    clear: float = 0.0
    seed: float = 0.0
    request: float = 0.0
    check: float = 0.0

    @contextmanager
    def timed(self, phase: Literal["clear", "seed", "request", "check"]) -> Iterator[None]:
        """Add what passes here to a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, phase, getattr(self, phase) + time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario on one target and backend."""

    path: str
    scenario: str
    target: str
    backend: str
    verdict: Verdict
    seed: StepResult | None = None
    """How the seed went, None where it was not tried or the engine failed."""
    steps: tuple[StepResult, ...] = ()
    digests: tuple[str, ...] = ()
    """The digest of the stored rows after the seed, and after the last step where a step wrote."""
    reason: str = ""
    """Why it was not run, or what happened to the engine."""
    known: tuple[str, ...] = ()
    """The issues whose failures the ledger set aside, each in a line."""
    times: Times = field(default_factory=Times)
    uncompared: Outcome | None = None
    """The outcome of the first backend that was asked for, where its engine left nothing to compare with."""

    @property
    def faults(self) -> tuple[Outcome, ...]:
        """The outcome itself and the one that it was to be compared with, as far as their engines failed."""
        return tuple(outcome for outcome in (self, self.uncompared) if outcome and outcome.verdict in FAULTS)

    @property
    def checks(self) -> int:
        """How many judgements were made."""
        return sum(step.checks for step in self._all)

    @property
    def failed_step(self) -> StepResult | None:
        """The first step that something is wrong with, the seed among them."""
        return next((step for step in self._all if step.failures), None)

    @property
    def _all(self) -> tuple[StepResult, ...]:
        return self.steps if self.seed is None else (self.seed, *self.steps)

    def with_failure(self, step: StepResult, failure: Failure) -> Outcome:
        """Return the outcome with one more failure at a step, told behind those that the step has."""
        worse = replace(step, failures=(*step.failures, failure))
        seed = worse if step is self.seed else self.seed
        steps = tuple(worse if one is step else one for one in self.steps)
        return replace(self, seed=seed, steps=steps, verdict="failed")
