"""Citations read back exactly once their Heads have moved (SPEC.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from backends.operations import Operation, WriteDocument, WriteMemory
from harness.check.failure import Failure, differs
from harness.check.reads import check_read
from harness.check.world import ATOMIC_MEMORY, World
from harness.run.result import Times
from harness.target.base import Refused, Target
from harness.target.ids import Ids
from runtime.artifacts import Citation, EntryAddress, EntryWrite

ROUND_TRIP = "after the last step: citations once their Heads have moved"


def move_heads(target: Target, world: World, cited: Mapping[Citation, str | None], times: Times) -> list[Failure]:
    """Write a next revision of everything that was cited, and read each citation again, by the token it came with."""
    writes = [_next_revision(world, citation, target.ids) for citation in cited]
    operations = list(dict.fromkeys(write for write in writes if write is not None))
    with times.timed("seed"):
        outcome = target.apply(operations)
    if isinstance(outcome, Refused):
        return [differs("write", "write", "moving Heads", expected="accepted", got=outcome.code)]
    world.apply(outcome.operations)
    failures: list[Failure] = []
    for citation, token in cited.items():
        with times.timed("request"):
            answer = target.read(citation, token=token)
        with times.timed("check"):
            # A reader who has lost his view since is refused, which is no question of revisions.
            if answer.status != HTTPStatus.FORBIDDEN:
                failures += check_read(citation, answer, world)
    return failures


def _next_revision(world: World, citation: Citation, ids: Ids) -> Operation | None:
    """Return a write, by the scenario's own ids, that moves the Head which a citation names."""
    if isinstance(citation, EntryAddress) or citation.family == ATOMIC_MEMORY:
        whole = citation.memory if isinstance(citation, EntryAddress) else citation
        entry_id = citation.entry_id if isinstance(citation, EntryAddress) else citation.artifact_id
        if world.active_entry(whole.scope_id, entry_id) is None:
            # There is no next revision of what is retired.
            return None
        change = EntryWrite(ids.name(entry_id), "version-of-the-moved-head", "The Head has moved.")
        return WriteMemory(ids.name(whole.scope_id), (change,))
    content = world.document(citation)
    if content is None:
        return None
    return WriteDocument(ids.name(citation.scope_id), ids.name(citation.artifact_id), content)
