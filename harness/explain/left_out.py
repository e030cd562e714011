"""By which rule an item has no place in an answer (SPEC.md 5, 7 and 10)."""

from __future__ import annotations

from collections.abc import Iterable

from harness.explain.story import FamilyRecall, Prepared


def left_out_by(prepared: Prepared, item: str) -> str:
    """Return what leaves an item out, which is called as an expectation calls it, with its version or without.

    `room` where the budget has none for it, `limit` behind the last place of its section, `dropped` for a blank body or
    an identity that stood before, `pool` behind the last place of the merged list or of its Scope, `words` where the
    query does not find it, and `nothing` where no selected family holds it.
    """
    if any(_is(item, [cost.name]) and cost.number is None for cost in prepared.costs):
        return "room"
    return next((rule for recall in prepared.recalls for rule in [_rule(recall, item)] if rule is not None), "nothing")


def _rule(recall: FamilyRecall, item: str) -> str | None:
    held = {
        "limit": recall.turns,
        "dropped": recall.dropped,
        "pool": (*recall.beyond, *(name for scope in recall.scopes for name in scope.beyond)),
        "words": [name for scope in recall.scopes for name in scope.missed],
    }
    return next((rule for rule, names in held.items() if _is(item, names)), None)


def _is(item: str, names: Iterable[str]) -> bool:
    """Say whether one of the names is an item's: either may lack the Scope in front, the item the version behind."""
    return any(
        whole == item or whole.startswith((f"{item}@", f"{item}#")) or item.endswith(f"/{whole}")
        for name in names
        for whole in (name, name.partition("/")[2])
        if whole
    )
