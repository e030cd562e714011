"""Requests for Scopes and Artifacts that nobody made, by ids that an engine might take for existing ones.

Where a target makes its own ids, no near-identical twins can be seeded; what can be done is to ask by such an id.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace

from harness.check.context import Prepared
from harness.check.delivered import Delivered
from harness.check.failure import Failure
from harness.explore.twins import KINDS
from harness.run.prepares import Asking, Prepares
from harness.scenario.model import TwinKind
from harness.target.base import Target
from runtime.artifacts import MAX_ID_CHARACTERS, Address, EntryAddress

_REFUSALS = (403, 404, 422)
"""422 where an id is none at all."""


def ask_by_near_ids(
    prepared: Prepared, asking: Asking, prepares: Prepares, target: Target, kinds: Collection[TwinKind]
) -> Iterator[Failure | None]:
    """Repeat a prepare that was answered, and a read of what it cites, by ids that differ a little.

    Gives a failure for each thing that is wrong, and None for each request that was answered rightly.
    """
    if prepared.answer.status != 200 or prepared.asked is None or not isinstance(prepared.request, dict):
        return
    scope_id = prepared.asked.scope_id
    cited = prepared.delivered.items[0].citation if isinstance(prepared.delivered, Delivered) else None
    for kind in kinds:
        near = KINDS[kind](scope_id)
        if near == scope_id or len(near) > MAX_ID_CHARACTERS or prepared.world.exists(near):
            continue
        request = prepared.request | {"scope_id": near}
        sent = json.dumps(request, ensure_ascii=False).encode()
        asked = prepares.ask(replace(asking, sent=sent), only_once=True)
        found = prepares.judge(asked)
        if asked.answer.status in _REFUSALS:
            # By which words a near miss is refused is the matter of scenarios that ask for one.
            found = [failure for failure in found if failure.kind == "leak"]
        told = f"scope_id with another {kind.replace('_', ' ')}, {near!r}"
        yield from (replace(failure, message=f"{told}: {failure.message}") for failure in found)
        yield None
        if cited is not None and _whole(cited).scope_id == scope_id:
            answer = target.read(_in_scope(cited, near), token=asking.token)
            if answer.status not in _REFUSALS:
                message = f"an exact read by a {told}: expected 403, 404 or 422, got {answer.status}"
                yield Failure("near-id", "status", "403, 404 or 422", str(answer.status), message)
            yield None


def _whole(cited: Address | EntryAddress) -> Address:
    return cited.memory if isinstance(cited, EntryAddress) else cited


def _in_scope(cited: Address | EntryAddress, scope_id: str) -> Address | EntryAddress:
    if isinstance(cited, EntryAddress):
        return replace(cited, memory=replace(cited.memory, scope_id=scope_id))
    return replace(cited, scope_id=scope_id)
