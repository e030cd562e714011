"""Recall takes turns over the Scopes in their configured order (SPEC.md 3.3), whatever search a target has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile, zip_longest

from harness.check.context import Prepared
from harness.check.failure import Failure
from harness.check.oracle import Order
from harness.check.parts import TITLES
from runtime.artifacts import TOPIC_MEMORY, EntryAddress


def check_turns(prepared: Prepared, order: Order) -> Iterator[Failure]:
    """Judge a target's own order: one candidate of each Scope in turn, the current Scope first, then its references."""
    for family, candidates in order.items():
        if family == TOPIC_MEMORY:
            continue
        known = [one for one in takewhile(lambda one: one is not None, candidates.citations) if one is not None]
        scopes = [one.memory.scope_id if isinstance(one, EntryAddress) else one.scope_id for one in known]
        lists = [[scope for scope in scopes if scope == of] for of in prepared.scopes_read]
        turns = [scope for turn in zip_longest(*lists) for scope in turn if scope is not None]
        if len(turns) == len(scopes) and turns != scopes:
            expected, got = (", ".join(order) for order in (turns, scopes))
            message = f"candidates do not take turns in the order of the references: expected {expected}, got {got}"
            yield Failure("turns", f"recall order of {TITLES[family]}", expected, got, message)
