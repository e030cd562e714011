"""One scenario's outcomes on two backends: the same rows first, then the same bytes."""

from __future__ import annotations

from harness.check.failure import Failure
from harness.check.regions import first_difference
from harness.run.result import Outcome, StepResult
from harness.target.base import Answer

SEED_MISMATCH = "SEED MISMATCH"
BEHAVIOUR_MISMATCH = "BEHAVIOUR MISMATCH"


def compare(reference: Outcome, outcome: Outcome) -> Outcome:
    """Return the outcome with a failure at the first step whose answer differs from the reference's.

    Where the stored rows already differ, that is the failure, and answers are not compared.
    """
    if not reference.steps or not outcome.steps:
        return outcome
    if reference.digests != outcome.digests:
        after = "the seed" if reference.digests[0] != outcome.digests[0] else "the last step"
        expected = f"the rows that {reference.backend} holds"
        message = f"{outcome.backend} does not hold the same rows as {reference.backend} after {after}"
        return outcome.with_failure(0, Failure(SEED_MISMATCH, "stored rows", expected, "other rows", message))
    for ours, theirs in zip(outcome.steps, reference.steps, strict=True):
        failure = _difference(theirs, ours, reference.backend, outcome.backend)
        if failure is not None:
            return outcome.with_failure(ours.index, failure)
    return outcome


def _difference(theirs: StepResult, ours: StepResult, reference: str, backend: str) -> Failure | None:
    if theirs.status != ours.status:
        expected, got = f"{theirs.status} as on {reference}", str(ours.status)
        message = f"{reference} answers {theirs.status}, {backend} answers {ours.status}"
        return Failure(BEHAVIOUR_MISMATCH, "status", expected, got, message)
    if theirs.body is None or ours.body is None or theirs.body == ours.body:
        return None
    shown = [Answer(200, (), body).content for body in (theirs.body, ours.body)]
    contents = [theirs.body, ours.body] if None in shown else [text.encode() for text in shown if text is not None]
    # Equal texts in different JSON are a difference of the answer around them.
    difference = first_difference(*(contents if contents[0] != contents[1] else [theirs.body, ours.body]))
    assert difference is not None
    message = f"{backend} differs from {reference} at {difference}"
    return Failure(BEHAVIOUR_MISMATCH, difference.region, difference.expected, difference.got, message)
