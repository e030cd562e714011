"""What makes two failures the same one: backends, kind and region."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.check.failure import Failure
from harness.errors import HarnessError
from harness.run.result import FAULTS, Outcome
from harness.scenario.loader import Loaded

_NUMBER = re.compile(r"\b[0-9]+\b")

Kind = tuple[str, str]
"""A failure's kind and region, the numbers of items left out: a smaller world numbers its items anew."""


class Runner(Protocol):
    """What runs a scenario on a backend: a Session."""

    def outcome(self, loaded: Loaded, backend: str, /) -> Outcome:
        """Run it, and compare it with the first backend."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The first thing that is wrong with a scenario, and on which backends something is."""

    backends: frozenset[str]
    failure: Failure
    kinds: frozenset[Kind]
    """Of everything that is wrong, on any backend."""

    @property
    def kind(self) -> Kind:
        """What the first failure is."""
        return kind_of(self.failure)

    def is_kept_by(self, other: Finding | None) -> bool:
        """Say whether another scenario fails in this way first, on the same backends, and in no new way."""
        return (
            other is not None
            and other.kind == self.kind
            and other.backends == self.backends
            and other.kinds <= self.kinds
            # Which items came is what such a failure is about; of other kinds the texts change with each reduction.
            and (self.failure.kind != "sections" or other.failure.got == self.failure.got)
        )

    def __str__(self) -> str:
        return f"{self.failure.kind} in {self.failure.region} on {', '.join(sorted(self.backends))}"


def kind_of(failure: Failure) -> Kind:
    """Return a failure's kind and region without the numbers of items."""
    return failure.kind, _NUMBER.sub("N", failure.region)


def find(runner: Runner, loaded: Loaded, backends: Sequence[str]) -> Finding | None:
    """Run a scenario on every backend, and return what is wrong, or None.

    Raises HarnessError for an engine that is lost: it says nothing of the contract.
    """
    try:
        outcomes = [runner.outcome(loaded, backend) for backend in backends]
    except (HarnessError, OSError):
        raise
    except Exception as error:
        # A check that breaks on a world is a finding too.
        failure = Failure("crash", type(error).__name__, "a verdict", repr(error), repr(error))
        return Finding(frozenset(backends), failure, frozenset((kind_of(failure),)))
    for outcome in outcomes:
        if outcome.verdict in FAULTS:
            cause = outcome.reason.partition("\n")[0]
            raise HarnessError("engine_lost", f"{outcome.backend} had an {outcome.verdict}", cause=cause)
    failed = [outcome for outcome in outcomes if outcome.failed_step is not None]
    if not failed:
        return None
    steps = [step for outcome in failed for step in (outcome.seed, *outcome.steps) if step is not None]
    kinds = frozenset(kind_of(failure) for step in steps for failure in step.failures)
    first = failed[0].failed_step
    assert first is not None
    return Finding(frozenset(outcome.backend for outcome in failed), first.failures[0], kinds)
