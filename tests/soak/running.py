"""Writers and readers at once, and what was lost at their end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from counts import CALLERS, Soak, token_of
from history import DOCUMENTS, ENTRIES, LEFT, RIGHT, Grant, State, bodies_of
from reading import read, read_again
from writing import commit, visit, write

from bench.serving import Connection
from runtime.artifacts import Address, Memory
from runtime.storage import Storage


def prepare_world(storage: Storage, soak: Soak) -> None:
    """Write the Scopes, the callers, and a first state of everything."""
    with storage.writing() as writer:
        writer.create_scope(RIGHT)
        writer.create_scope(LEFT, [RIGHT])
        for caller in CALLERS:
            writer.store_token(caller, token_of(caller))
            for scope_id in (LEFT, RIGHT):
                writer.grant(caller, scope_id)
    soak.history.visit(Grant(held=True, begun=time.monotonic()))
    for scope_id in (LEFT, RIGHT):
        commit(storage, soak, scope_id, "tag-first", ENTRIES[0], list(DOCUMENTS), guest=True, extra=None)


def run(storage: Storage, connect: Callable[[], Connection], soak: Soak, *, seconds: float, readers: int = 4) -> None:
    """Write and read for so long, then look for what was lost; stops at the first faults."""
    stop = threading.Event()
    work: list[Callable[[], None]] = []
    for number, scope_id in ((1, LEFT), (2, LEFT), (1, RIGHT), (2, RIGHT)):
        work.append(lambda n=number, s=scope_id: write(storage, soak, stop, s, n))  # type: ignore[misc]
    work.append(lambda: visit(storage, soak, stop))
    work += [lambda n=number: read(connect, soak, stop, n) for number in range(readers)]  # type: ignore[misc]
    threads = [threading.Thread(target=_guarded, args=(each, soak, stop), daemon=True) for each in work]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join(timeout=60)
        if thread.is_alive():
            soak.fault("a thread did not come to its end within 60 s")
    if not soak.faults:
        read_again(connect, soak)
        count_lost(storage, soak)


def _guarded(work: Callable[[], None], soak: Soak, stop: threading.Event) -> None:
    try:
        work()
    except Exception as error:
        soak.fault(f"{type(error).__name__}: {error}")
        stop.set()


def count_lost(storage: Storage, soak: Soak) -> None:
    """Count the acknowledged writes that are not there as they were written."""
    source = random.Random(soak.seed)
    for scope_id, states in soak.history.states.items():
        numbers = sorted(states)
        if numbers != list(range(1, len(numbers) + 1)):
            soak.lost += 1
        looked_at = {*numbers[:50], *numbers[-50:], *source.sample(numbers, min(100, len(numbers)))}
        with storage.reading() as reader:
            for number in sorted(looked_at):
                memory = reader.memory(Address(scope_id, "memory", "memory", number))
                state = states[number]
                kept = all(
                    reader.document(Address(scope_id, DOCUMENTS[slot], slot, held.revision)) is not None
                    for slot, held in state.slots.items()
                    if slot in DOCUMENTS
                )
                soak.lost += not kept or not _same(memory, state)


def _same(memory: Memory | None, state: State) -> bool:
    if memory is None:
        return False
    active = {entry.entry_id: entry for entry in memory.entries if entry.state == "active"}
    held = {slot: held for slot, held in state.slots.items() if slot not in DOCUMENTS}
    return active.keys() == held.keys() and all(
        active[slot].entry_version_id == f"v-{each.tag}" and active[slot].text in bodies_of(slot, each.tag)
        for slot, each in held.items()
    )
