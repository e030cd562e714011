"""What a run found, as data: outcomes, steps, verdicts, times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from harness.check.failure import Failure

Verdict = Literal["passed", "failed", "not run", "engine fault"]


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


@dataclass(slots=True)
class Times:
    """Seconds spent in each phase of a scenario."""

    clear: float = 0.0
    seed: float = 0.0
    request: float = 0.0
    check: float = 0.0

    def __add__(self, other: Times) -> Times:
        return Times(
            self.clear + other.clear, self.seed + other.seed, self.request + other.request, self.check + other.check
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario on one target and backend."""

    path: str
    scenario: str
    target: str
    backend: str
    verdict: Verdict
    steps: tuple[StepResult, ...] = ()
    digests: tuple[str, ...] = ()
    """The digest of the stored rows after the seed, and after the last step where a step wrote."""
    reason: str = ""
    """Why it was not run, or what happened to the engine."""
    times: Times = field(default_factory=Times)

    @property
    def checks(self) -> int:
        """How many judgements were made."""
        return sum(step.checks for step in self.steps)

    @property
    def failed_step(self) -> StepResult | None:
        """The first step that something is wrong with."""
        return next((step for step in self.steps if step.failures), None)

    def with_failure(self, index: int, failure: Failure) -> Outcome:
        """Return the outcome with one more failure at a step."""
        steps = tuple(
            replace(step, failures=(*step.failures, failure)) if step.index == index else step for step in self.steps
        )
        return replace(self, steps=steps, verdict="failed")
