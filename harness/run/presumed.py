"""Expectations that presume ids or a search order which the contract leaves to the target (SPEC.md 1 and 10).

A scenario counts bytes with its own ids, and lists items in the order of SPEC.md 10's search. A target that makes its
own ids, or ranks by a search of its own, is held to the oracle's bytes for its own ids and order instead. That is no
pardon: what it finds must still be what SPEC.md 10 finds, as a set.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.check.context import Prepared
from harness.check.failure import Failure
from harness.check.oracle import CannotKnow, Order, candidate_order, predict
from harness.check.oracle.predict import Prediction
from harness.run.result import MORE, Candidates
from harness.scenario.model import RuntimeSpec
from harness.target.base import Style
from harness.target.ids import Ids
from runtime.artifacts import Citation

PRESUMING = frozenset(("sections", "ranks", "truncated", "bytes", "content", "contains", "absent"))
"""Kinds of failures that may come from other ids or another order alone."""


def presuming(
    written: Iterable[Failure],
    always: Iterable[Failure],
    prepared: Prepared,
    own: Order | None,
    *,
    runtime: RuntimeSpec,
    style: Style,
) -> tuple[str, ...]:
    """Return the kinds of failed expectations that are not the target's to keep; none where anything else is wrong."""
    kinds = sorted({failure.kind for failure in written})
    if (
        own is None
        or prepared.asked is None
        or not kinds
        or not PRESUMING.issuperset(kinds)
        or any(True for _ in always)
    ):
        return ()
    prediction = predict(
        prepared.world, prepared.asked, own, caller=prepared.principal_id, runtime=runtime, style=style
    )
    if not isinstance(prediction, Prediction) or not _same_hits(prepared, own, runtime, style):
        return ()
    return tuple(kinds)


def citations_by_family(order: Order, ids: Ids) -> Candidates:
    """Return what each family's recall offered, in its order, with the scenario's ids; "?" for one not known."""
    return {
        family: tuple("?" if citation is None else ids.named(str(citation)) for citation in candidates.citations)
        + ((MORE,) if candidates.more else ())
        for family, candidates in order.items()
    }


def _same_hits(prepared: Prepared, own: Order, runtime: RuntimeSpec, style: Style) -> bool:
    """Say whether the target's search finds what SPEC.md 10's does, in whatever order."""
    assert prepared.asked is not None
    try:
        known = candidate_order(prepared.world, prepared.asked, runtime=runtime, style=style)
    except CannotKnow:
        return False
    for family, candidates in own.items():
        found: set[Citation | None] = set(candidates.citations)
        expected: set[Citation | None] = set(known[family].citations)
        # A probe shows no more than its limit: what it shows must be among what SPEC.md 10 finds.
        if None in found or not (found <= expected if candidates.more else found == expected):
            return False
    return True
