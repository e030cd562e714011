"""Seeds in another order: an answer that changes with it had a tie that was broken by the order of rows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from runtime.artifacts import family_of

_STAGES = (CreateScope, (WriteMemory, WriteDocument, Propose), SetReferences, CreatePrincipal, (Grant, Revoke))


def shuffled(operations: Sequence[Operation], seed: str, *, entries: bool) -> list[Operation]:
    """Return the writes in an order drawn by the seed, which leaves the same state.

    Writes of one Artifact keep theirs. `entries` allows writes of different Entries to change places too: the Head is
    the same then, its manifest's order and its earlier revisions are not.
    """
    draw = random.Random(seed)
    # A revision of several changes stands in the order of all its Entries.
    fixed = {write.scope_id for write in operations if isinstance(write, WriteMemory) and len(write.changes) > 1}
    if not entries:
        fixed |= {write.scope_id for write in operations if isinstance(write, WriteMemory)}
    return [write for stage in _STAGES for write in _interleaved(operations, stage, draw, fixed=fixed)]


def _interleaved(
    operations: Sequence[Operation], stage: object, draw: random.Random, *, fixed: set[str]
) -> list[Operation]:
    queues: defaultdict[Hashable, list[Operation]] = defaultdict(list)
    for operation in operations:
        if isinstance(operation, stage):  # type: ignore[arg-type]
            queues[_place(operation, fixed=fixed)].append(operation)
    # The queues' names, each as often as it has writes: drawing one takes its next write.
    turns = [place for place, queue in queues.items() for _ in queue]
    draw.shuffle(turns)
    remaining = {place: iter(queue) for place, queue in queues.items()}
    return [next(remaining[place]) for place in turns]


def _place(operation: Operation, *, fixed: set[str]) -> Hashable:
    """Return what a write's order matters to."""
    match operation:
        case WriteMemory(scope_id, changes):
            return (scope_id, "" if scope_id in fixed else changes[0].entry_id)
        case WriteDocument(scope_id, artifact_id, content) | Propose(scope_id, artifact_id, content):
            return (scope_id, family_of(content), artifact_id)
        case Grant(principal_id, scope_id) | Revoke(principal_id, scope_id):
            return (principal_id, scope_id)
        case CreatePrincipal(principal_id):
            return principal_id
        case CreateScope(scope_id) | SetReferences(scope_id):
            return scope_id
