"""Two writers of one revision: one wins, the other is told so, on both engines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from worlds import make_scopes, memory_at, write, write_memory

from runtime.artifacts import Profile
from runtime.errors import StorageUnreachable, WriteRefused
from runtime.storage import Storage, Writer, open_storage, tables
from runtime.storage.oceanbase import DUPLICATE_KEY, SNAPSHOT_CONFLICT

SECONDS = 30


def race(storage: Storage, *writers: Callable[[Writer], object]) -> list[str]:
    """Let each write in a transaction and a thread of its own; all have read before any may write."""
    together = threading.Barrier(len(writers))
    outcomes: list[str] = []

    def work(run: Callable[[Writer], object]) -> None:
        try:
            together.wait(SECONDS)
            with storage.writing() as writer:
                run(writer)
            outcomes.append("won")
        except WriteRefused as refused:
            outcomes.append(refused.code)

    threads = [threading.Thread(target=work, args=(run,)) for run in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    return sorted(outcomes)


@pytest.mark.parametrize("round_", range(5))
def test_of_two_writers_who_saw_the_same_head_one_wins(storage: Storage, round_: int) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("a"))
    outcomes = race(
        storage,
        lambda w: w.write_memory("demo", [write("b", "one")], expected_revision=1),
        lambda w: w.write_memory("demo", [write("b", "two")], expected_revision=1),
    )
    assert outcomes == ["revision_conflict", "won"]
    memory = memory_at(storage, "demo", 2)
    assert memory is not None
    assert [entry.entry_id for entry in memory.entries] == ["a", "b"]
    assert memory_at(storage, "demo", 3) is None


@pytest.mark.parametrize("round_", range(5))
def test_of_two_first_writers_one_wins(storage: Storage, round_: int) -> None:
    make_scopes(storage, "demo")
    outcomes = race(
        storage,
        lambda w: w.write_document("demo", "profile", Profile("one"), expected_revision=0),
        lambda w: w.write_document("demo", "profile", Profile("two"), expected_revision=0),
    )
    assert outcomes == ["revision_conflict", "won"]


def test_of_two_makers_of_one_scope_one_wins(storage: Storage) -> None:
    assert race(storage, *[lambda w: w.create_scope("demo")] * 2) == ["revision_conflict", "won"]


def test_writers_without_an_expectation_lose_no_revision(storage: Storage) -> None:
    make_scopes(storage, "demo")
    names = [f"e{number}" for number in range(4)]

    def one(name: str) -> Callable[[Writer], object]:
        return lambda w: w.write_memory("demo", [write(name)])

    won = race(storage, *map(one, names)).count("won")
    assert won >= 1
    memory = memory_at(storage, "demo", won)
    assert memory is not None
    assert len(memory.entries) == won
    assert memory_at(storage, "demo", won + 1) is None


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
@pytest.mark.parametrize(
    ("isolation", "code"), [("READ COMMITTED", DUPLICATE_KEY), ("REPEATABLE READ", SNAPSHOT_CONFLICT)]
)
def test_oceanbase_tells_the_same_race_by_the_code_of_its_isolation(
    storage: Storage, database: str, isolation: str, code: int
) -> None:
    make_scopes(storage, "demo")
    other = open_storage(database)
    other.engine = other.engine.execution_options(isolation_level=isolation)

    def lose() -> None:
        with other.writing() as slow:
            # Its snapshot is older than the other's commit.
            slow.set_references("demo", [])
            make_scopes(storage, "raced")
            slow._insert(tables.scopes, {"scope_id": "raced"})

    with pytest.raises(WriteRefused) as caught:
        lose()
    other.close()
    assert caught.value.code == "revision_conflict"
    cause = caught.value.__cause__
    assert getattr(getattr(cause, "orig", None), "args", (0,))[0] == code


def test_a_missing_foreign_key_is_no_conflict(storage: Storage) -> None:
    row = {"scope_id": "absent", "family": "memory", "artifact_id": "memory", "revision": 1}
    with pytest.raises(IntegrityError), storage.writing() as writer:
        writer._connection.execute(insert(tables.revisions), [row])


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_reader_who_gets_no_connection_is_told_in_time(storage: Storage, database: str) -> None:
    full = open_storage(database, timeout_seconds=0.05)
    with ExitStack() as held:
        for _ in range(50):
            held.enter_context(full.reading()).ping()
        with pytest.raises(StorageUnreachable), full.reading() as reader:
            reader.ping()
    full.close()


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_writer_who_waits_too_long_is_told_that_the_storage_does_not_answer(storage: Storage, database: str) -> None:
    other = open_storage(database, timeout_seconds=0.05)
    with storage.writing() as writer:
        writer.create_scope("first")
        with pytest.raises(StorageUnreachable), other.writing() as second:
            second.create_scope("second")
    other.close()
    make_scopes(storage, "second")
