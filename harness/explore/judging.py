"""What makes two failures the same one: backends, kind and region, and by which rule items stand so, or are missing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.check.delivered import DeliveredItem, Malformed, read_delivered
from harness.check.failure import Failure
from harness.check.oracle.tokens import tokens
from harness.errors import HarnessError
from harness.explain.left_out import left_out_by
from harness.explain.story import explain
from harness.run.result import FAULTS, Outcome, StepResult
from harness.scenario.loader import Loaded

_WORD = re.compile(r"[^\s,\[\]]+")
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
    order: tuple[str, ...] = ()
    """Of items in a wrong order: by what each two neighbours are ordered, see `ordered_by`."""
    left_out: tuple[str, ...] = ()
    """Of expected items that did not come: what leaves each of them out, see `left_out`."""
    has_assembly: bool = False
    """Whether the request has the field: without it another form is asked for, with rules of its own (SPEC.md 7)."""

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
            and (other.order, other.left_out) == (self.order, self.left_out)
            and other.has_assembly == self.has_assembly
        )

    def __str__(self) -> str:
        return f"{self.failure.kind} in {self.failure.region} on {', '.join(sorted(self.backends))}"


def kind_of(failure: Failure) -> Kind:
    """Return a failure's kind and region without the numbers of items."""
    return failure.kind, _NUMBER.sub("N", failure.region)


def ordered_by(step: StepResult) -> tuple[str, ...]:
    """Return by which rule each two neighbours of one Scope and section are ordered (SPEC.md 10): words, size or ids.

    Empty where the first failure is not that the items of a section stand in another order than expected.
    """
    failure = step.failures[0]
    wanted, got = _WORD.findall(failure.expected), _WORD.findall(failure.got)
    titles = [[word for word in words if word.endswith(":")] for words in (wanted, got)]
    is_order = failure.kind == "sections" and sorted(wanted) == sorted(got) and titles[0] == titles[1]
    if not is_order or step.request is None or step.body is None:
        return ()
    try:
        query: str = json.loads(step.request)["query"]
        delivered = read_delivered(json.loads(step.body)["content"], scope_id="")
    except (ValueError, Malformed):
        return ()
    pairs = [pair for section in delivered.sections for pair in zip(section.items, section.items[1:], strict=False)]
    return tuple(_rule(tokens(query), *pair) for pair in pairs if pair[0].scope_id == pair[1].scope_id)


def left_out(loaded: Loaded, step: StepResult, backend: str) -> tuple[str, ...]:
    """Return by which rule each item that was expected and did not come is left out, see `left_out_by`.

    Empty where the first failure is not about the items of sections.
    """
    failure = step.failures[0]
    came = set(_WORD.findall(failure.got))
    missing = [word for word in _WORD.findall(failure.expected) if word not in came and not word.endswith(":")]
    if failure.kind != "sections" or not missing:
        return ()
    prepared = next((told.prepared for told in explain(loaded, step=step.index + 1, backend=backend)), None)
    return () if prepared is None else tuple(left_out_by(prepared, item) for item in missing)


def _has_assembly(step: StepResult) -> bool:
    try:
        return step.request is not None and "assembly" in json.loads(step.request)
    except ValueError:
        return False


def _rule(query: frozenset[str], one: DeliveredItem, other: DeliveredItem) -> str:
    """Return what decides between two items, by what is shown of them."""
    left, right = tokens(one.body_text), tokens(other.body_text)
    if len(query & left) != len(query & right):
        return "words"
    return "size" if len(left) != len(right) else "ids"


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
    missing = left_out(loaded, first, failed[0].backend)
    on = frozenset(outcome.backend for outcome in failed)
    return Finding(on, first.failures[0], kinds, ordered_by(first), missing, _has_assembly(first))
