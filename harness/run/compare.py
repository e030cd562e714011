"""One scenario's outcomes on two backends: the same rows first, then the same bytes."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from harness.check.failure import Failure
from harness.check.parts import TITLES
from harness.check.regions import first_difference
from harness.run.result import FAULTS, MORE, WRITES, Candidates, Outcome, StepResult
from harness.target.base import Answer

SEED_MISMATCH = "SEED MISMATCH"
BEHAVIOUR_MISMATCH = "BEHAVIOUR MISMATCH"
VARIANT_MISMATCH = "VARIANT MISMATCH"


def compare(reference: Outcome, outcome: Outcome) -> Outcome:
    """Return the outcome with a failure at the first step whose answer differs from the reference's.

    Where the stored rows already differ, that is the failure, and answers are not compared. Where one of them has no
    rows, since its seed was refused, there is nothing to compare.
    """
    if not _was_seeded(reference) or not _was_seeded(outcome):
        return outcome
    if reference.digests != outcome.digests:
        seeded = reference.digests[0] != outcome.digests[0]
        step = outcome.seed if seeded else next(step for step in reversed(outcome.steps) if step.verb in WRITES)
        assert step is not None
        after = "the seed" if seeded else "the last write"
        at = 0 if seeded else -1
        expected, got = _first_other(reference.digests[at], outcome.digests[at])
        message = f"{outcome.backend} does not hold the same rows as {reference.backend} after {after}"
        return outcome.with_failure(step, Failure(SEED_MISMATCH, "stored rows", expected, got, message))
    outcome = _with_order_compared(reference, outcome)
    # Where nothing was cited on one of them, the other has a step more.
    for ours, theirs in zip(outcome.steps, reference.steps, strict=False):
        failure = _difference(theirs, ours, reference.backend, outcome.backend)
        if failure is not None:
            return outcome.with_failure(ours, failure)
    return outcome


def _was_seeded(outcome: Outcome) -> bool:
    return outcome.seed is not None and not outcome.seed.failures


def _first_other(theirs: str, ours: str) -> tuple[str, str]:
    """Return the first line in which two digests differ, without the end of its sum."""
    lines = zip_longest(theirs.split("\n"), ours.split("\n"), fillvalue="")
    expected, got = next(pair for pair in lines if pair[0] != pair[1])
    return expected[:60], got[:60]


def compare_variant(plain: Outcome, varied: Outcome, outcome: Outcome, *, name: str) -> Outcome:
    """Return the outcome with a failure at the first step that a variant of the seed changed on the same backend.

    `plain` is how the scenario went without it.
    """
    if varied.verdict in FAULTS:
        return replace(varied, reason=f"with {name}: {varied.reason}")
    if varied.seed is not None and varied.seed.failures and outcome.seed is not None:
        return outcome.with_failure(outcome.seed, _varied(varied.seed.failures[0], name))
    for step, before, after in zip(outcome.steps, plain.steps, varied.steps, strict=False):
        new = [failure for failure in after.failures if failure not in before.failures]
        failure = new[0] if new else _difference(before, after, "the plain seed", f"the seed with {name}")
        if failure is not None:
            return outcome.with_failure(step, _varied(failure, name))
    return outcome


def _varied(failure: Failure, name: str) -> Failure:
    return replace(failure, kind=VARIANT_MISMATCH, message=f"with {name}: {failure.message}")


def _difference(theirs: StepResult, ours: StepResult, reference: str, backend: str) -> Failure | None:
    """Return how a step's answers differ; of targets with a search of their own each in its order (SPEC.md 10)."""
    if theirs.candidates is not None and ours.candidates is not None and theirs.candidates != ours.candidates:
        return _other_hits(theirs.candidates, ours.candidates, reference, backend)
    if theirs.status != ours.status:
        expected, got = f"{theirs.status} as on {reference}", str(ours.status)
        answers = f"{reference} answers {theirs.status}, {backend} answers {ours.status}"
        message = f"{_dissent(theirs, ours, reference, backend)}: {answers}"
        return Failure(BEHAVIOUR_MISMATCH, "status", expected, got, message)
    if theirs.body is None or ours.body is None or theirs.body == ours.body:
        return None
    texts = [Answer(200, (), body).content for body in (theirs.body, ours.body)]
    if None not in texts and texts[0] != texts[1]:
        difference = first_difference(*((text or "").encode("utf-8", "surrogatepass") for text in texts))
    else:
        # What differs is the answer around equal texts, or an answer without one.
        difference = first_difference(theirs.body, ours.body)
        difference = difference and replace(difference, region="response")
    assert difference is not None
    message = f"{_dissent(theirs, ours, reference, backend)} at {difference}"
    return Failure(BEHAVIOUR_MISMATCH, difference.region, difference.expected, difference.got, message)


def _other_hits(theirs: Candidates, ours: Candidates, reference: str, backend: str) -> Failure | None:
    """Return the failure that two searches find other things; an other order alone is none."""
    for family in theirs:
        one, other = theirs[family], ours.get(family, ())
        # Behind a probe's limit nothing is known of either.
        if set(one) == set(other) or MORE in one or MORE in other:
            continue
        expected, got = ", ".join(sorted(one)), ", ".join(sorted(other))
        message = f"{backend} finds other {TITLES[family]} candidates than {reference}: expected {expected}, got {got}"
        return Failure(BEHAVIOUR_MISMATCH, f"candidates of {TITLES[family]}", expected, got, message)
    return None


def _with_order_compared(reference: Outcome, outcome: Outcome) -> Outcome:
    pairs = zip(outcome.steps, reference.steps, strict=False)
    steps = tuple(replace(ours, reordered=_is_reordered(theirs, ours)) for ours, theirs in pairs)
    return replace(outcome, steps=(*steps, *outcome.steps[len(steps) :]))


def _is_reordered(theirs: StepResult, ours: StepResult) -> bool | None:
    """Say whether two searches found the same in another order; None where they tell nothing of it."""
    if theirs.candidates is None or ours.candidates is None:
        return None
    same_hits = all(set(hits) == set(ours.candidates.get(family, ())) for family, hits in theirs.candidates.items())
    return same_hits and theirs.candidates != ours.candidates


def _dissent(theirs: StepResult, ours: StepResult, reference: str, backend: str) -> str:
    """Say who dissents, as far as the oracle knows."""
    wrong = [any(failure.kind == "oracle" for failure in step.failures) for step in (theirs, ours)]
    match wrong:
        case [False, True]:
            return f"{reference} as predicted, {backend} differs"
        case [True, False]:
            return f"{backend} as predicted, {reference} differs"
        case _:
            return f"{backend} differs from {reference}"
