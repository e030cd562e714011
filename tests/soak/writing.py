"""Writers: revisions, approvals, Profile and topic Heads, grants and revocations."""

from __future__ import annotations

import random
import threading
import time

from counts import Soak
from history import (
    DOCUMENTS,
    LEFT,
    RIGHT,
    Grant,
    Held,
    Slot,
    State,
    experience_of,
    profile_of,
    text_of,
    topic_of,
)

from runtime.artifacts import EntryRetire, EntryWrite
from runtime.errors import WriteRefused
from runtime.storage import Storage, Writer


def write(storage: Storage, soak: Soak, stop: threading.Event, scope_id: str, number: int) -> None:
    """Write states of a Scope until the stop, as one of two; a conflict is counted, and nothing of it stays."""
    source = random.Random(f"{soak.seed} {scope_id} {number}")
    entry: Slot = "entry-1" if number == 1 else "entry-2"
    extra: Slot = "extra-1" if number == 1 else "extra-2"
    count = 0
    while not stop.wait(source.uniform(0, 0.02)):
        count += 1
        tag = f"tag-{scope_id[5:]}-{number}-{count}"
        documents = [slot for slot in DOCUMENTS if source.random() < 0.5]
        guest = source.choice([True, False, None])
        try:
            commit(storage, soak, scope_id, tag, entry, documents, guest=guest, extra=extra)
        except WriteRefused as refused:
            if refused.code != "revision_conflict":
                raise
            with soak.lock:
                soak.conflicts += 1


def commit(
    storage: Storage,
    soak: Soak,
    scope_id: str,
    tag: str,
    entry: Slot,
    documents: list[Slot],
    *,
    guest: bool | None,
    extra: Slot | None,
) -> None:
    """Write one state of a Scope in one transaction: Memory always, the rest as told; `guest` grants or revokes."""
    state: State | None = None
    try:
        with storage.writing() as writer:
            # Whoever writes here meanwhile makes this one a conflict, so that the newest state is the one before.
            earlier, slots, granted = soak.history.newest(scope_id)
            retires = extra is not None and extra in slots
            changes = [EntryWrite(entry, f"v-{tag}", text_of(entry, tag))]
            if extra is not None and not retires:
                changes.append(EntryWrite(extra, f"v-{tag}", text_of(extra, tag)))
            number = writer.write_memory(
                scope_id,
                [*changes, *([EntryRetire(extra)] if extra is not None and retires else [])],
                expected_revision=earlier,
            )
            now = dict(slots)
            for change in changes:
                now[change.entry_id] = Held(tag, number)  # type: ignore[index]
            if extra is not None and retires:
                del now[extra]
            for slot in documents:
                now[slot] = Held(tag, _write_document(writer, scope_id, slot, tag))
            if guest is not None and scope_id == RIGHT:
                granted = guest
                (writer.grant if guest else writer.revoke)("guest", RIGHT)
            state = State(number, now, granted, begun=time.monotonic())
            soak.history.begin(scope_id, state)
    except BaseException:
        if state is not None:
            soak.history.forget(scope_id, state)
        raise
    soak.history.acknowledge(scope_id, state, time.monotonic())


def _write_document(writer: Writer, scope_id: str, slot: Slot, tag: str) -> int:
    match slot:
        case "experience-1":
            # Proposed and approved: the Candidate itself is never seen.
            writer.propose(scope_id, slot, experience_of(tag + "-candidate"), "pending")
            return writer.write_document(scope_id, slot, experience_of(tag))
        case "profile":
            return writer.write_document(scope_id, slot, profile_of(tag))
        case _:
            return writer.write_document(scope_id, slot, topic_of(tag))


def visit(storage: Storage, soak: Soak, stop: threading.Event) -> None:
    """Grant and revoke the visitor's view until the stop, with nothing else in the transaction."""
    source = random.Random(f"{soak.seed} visits")
    held = True
    while not stop.wait(source.uniform(0, 0.05)):
        held = not held
        with storage.writing() as writer:
            (writer.grant if held else writer.revoke)("visitor", LEFT)
            soak.history.visit(Grant(held, time.monotonic()))
        soak.history.visit_acknowledged(time.monotonic())
