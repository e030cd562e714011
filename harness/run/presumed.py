"""Expectations that presume ids or a search which the contract leaves to the target (SPEC.md 1 and 10).

A scenario counts bytes with its own ids, and lists what SPEC.md 10's search finds, in its order. A target that makes
its own ids, or has a search of its own, is held to the oracle's bytes for its own ids and candidates instead. That is
no pardon: the candidates must be legal ones in turns, other backends of the same release must find the same, and the
expectation must hold of what the oracle predicts by the scenario's own ids and SPEC.md 10's search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from harness.check.context import Prepared
from harness.check.failure import Failure
from harness.check.oracle import CannotKnow, Order, candidate_order, predict
from harness.check.oracle.predict import Prediction
from harness.run.result import MORE, Candidates
from harness.scenario.model import RuntimeSpec
from harness.target.base import Style
from harness.target.ids import Ids
from runtime.artifacts import Citation, EntryAddress

PRESUMING = frozenset(("status", "sections", "ranks", "truncated", "bytes", "content", "contains", "absent", "same-as"))
"""Kinds of failures that may come from other ids or another order alone."""
UNPREDICTED = " (unpredicted)"
"""Added to a kind where probes show too little for a prediction: nothing else judges the text then."""


def presuming(
    written: Iterable[Failure],
    always: Iterable[Failure],
    prepared: Prepared,
    own: Order | None,
    *,
    wrong: Collection[str],
    runtime: RuntimeSpec,
    style: Style,
) -> dict[str, str]:
    """Return the kinds of failed expectations that are not the target's to keep, each with how a summary calls it.

    `wrong` are kinds that no target can keep. None where anything else is wrong with the answer.
    """
    written = list(written)
    # What stands in a header is the server's own word, whatever was found.
    wrong = {*wrong, *(failure.kind for failure in written if failure.region == "headers")}
    kinds = sorted({failure.kind for failure in written} - wrong)
    # Turns out of order are told by themselves; what the scenario lists is out of order for the same reason.
    always = [failure for failure in always if failure.kind != "turns"]
    if (
        own is None
        or prepared.asked is None
        or not kinds
        or not PRESUMING.issuperset(kinds)
        or any(True for _ in always)
    ):
        return {}
    prediction = predict(
        prepared.world, prepared.asked, own, caller=prepared.principal_id, runtime=runtime, style=style
    )
    note = "" if isinstance(prediction, Prediction) else UNPREDICTED
    if not _finds_the_same(prepared, own, runtime, style):
        note += " (other hits)"
    return {kind: kind + note for kind in kinds}


def citations_by_family(order: Order, ids: Ids) -> Candidates:
    """Return what each family's recall offered, in its order, with the scenario's ids; "?" for one not known."""
    return {
        family: tuple("?" if citation is None else ids.named(_short(citation)) for citation in candidates.citations)
        + ((MORE,) if candidates.more else ())
        for family, candidates in order.items()
    }


def _short(citation: Citation) -> str:
    if isinstance(citation, EntryAddress):
        return f"{citation.memory.scope_id}/{citation.entry_id}@{citation.entry_version_id}"
    return f"{citation.scope_id}/{citation.artifact_id}#{citation.revision}"


def _finds_the_same(prepared: Prepared, own: Order, runtime: RuntimeSpec, style: Style) -> bool:
    """Say whether the target's search finds what SPEC.md 10's does, in whatever order."""
    assert prepared.asked is not None
    try:
        known = candidate_order(prepared.world, prepared.asked, runtime=runtime, style=style)
    except CannotKnow:
        return False
    for family, candidates in own.items():
        found = {citation for citation in candidates.citations if citation is not None}
        expected = set(known[family].citations)
        # A probe shows no more than its limit and its bytes: what it shows must be among what SPEC.md 10 finds.
        partial = candidates.more is not None or len(found) < len(candidates.citations)
        if not (found <= expected if partial else found == expected):
            return False
    return True
