"""The digest proves that two databases hold the same logical rows, on whatever engine."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from worlds import TWINS, found

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
from backends.seeding import clear, digest, seed
from runtime.artifacts import EntryRetire, EntryWrite, Experience, Profile, Topic
from runtime.errors import WriteRefused
from runtime.storage import Storage

ODD = "\x00 a\r\n\u2028\u200b界😀e\u0301 '%s\\ "


def scope(scope_id: str) -> list[Operation]:
    """Return the writes of one Scope, which depend on one another."""
    return [
        CreateScope(scope_id),
        WriteMemory(scope_id, (EntryWrite("b", "v1", ODD), EntryWrite("a", "v1", "alpha beta", "rule"))),
        WriteMemory(scope_id, (EntryRetire("b"), EntryWrite("a", "v2", f"gamma {scope_id}"))),
        WriteDocument(scope_id, "e 1", Experience(ODD, "", "o", "l")),
        WriteDocument(scope_id, "profile", Profile(ODD)),
        WriteDocument(scope_id, "profile", Profile("second")),
        Propose(scope_id, "profile", Profile("pending"), "pending"),
        Propose(scope_id, "profile", Profile("rejected"), "rejected"),
        WriteDocument(scope_id, "t", Topic("t", "s", "d" * 70_000)),
    ]


SCOPES = ("demo", "Demo", "demo ", "項目")
PEOPLE: list[Operation] = [
    CreatePrincipal("alice", "token 1"),
    CreatePrincipal("Alice", "token 2", administrator=True),
    *(Grant("alice", scope_id) for scope_id in SCOPES),
    Grant("Alice", "demo"),
    Revoke("alice", "demo "),
    SetReferences("demo", ("項目", "Demo")),
]


def shuffled(seed_: int) -> list[Operation]:
    """Return the same writes with the Scopes' interleaved by chance."""
    chance = random.Random(seed_)
    queues = [scope(scope_id) for scope_id in SCOPES]
    order: list[Operation] = []
    while any(queues):
        order.append(chance.choice([queue for queue in queues if queue]).pop(0))
    return [*order, *PEOPLE]


def digests(storage: Storage, worlds: Sequence[Sequence[Operation]]) -> list[str]:
    made = []
    for world in worlds:
        clear(storage)
        seed(storage, world)
        made.append(digest(storage))
    return made


def test_equal_seeds_have_equal_digests_in_any_order_of_independent_writes(storage: Storage) -> None:
    assert len(set(digests(storage, [shuffled(number) for number in range(6)]))) == 1


def test_equal_seeds_have_equal_digests_on_both_engines(storages: tuple[Storage, Storage]) -> None:
    first, second = storages
    for number in range(3):
        assert digests(first, [shuffled(number)]) == digests(second, [shuffled(number + 10)])


def _replaced(place: int, operation: Operation) -> list[Operation]:
    world = scope("demo")
    world[place] = operation
    return world


@pytest.mark.parametrize(
    "other",
    [
        _replaced(
            1, WriteMemory("demo", (EntryWrite("b", "v1", ODD + " "), EntryWrite("a", "v1", "alpha beta", "rule")))
        ),
        _replaced(1, WriteMemory("demo", (EntryWrite("a", "v1", "alpha beta", "rule"), EntryWrite("b", "v1", ODD)))),
        _replaced(1, WriteMemory("demo", (EntryWrite("b", "v1", ODD), EntryWrite("a", "v1", "alpha beta")))),
        _replaced(2, WriteMemory("demo", (EntryWrite("b", "v2", ""), EntryWrite("a", "v2", "gamma demo")))),
        _replaced(3, WriteDocument("demo", "e  1", Experience(ODD, "", "o", "l"))),
        _replaced(3, WriteDocument("demo", "e 1", Experience("", ODD, "o", "l"))),
        _replaced(6, Propose("demo", "profile", Profile("pending"), "rejected")),
        [*scope("demo"), CreatePrincipal("alice", "token")],
        scope("Demo"),
    ],
)
def test_another_world_has_another_digest(storage: Storage, other: list[Operation]) -> None:
    first, second = digests(storage, [scope("demo"), other])
    assert first != second


def test_a_cleared_database_is_as_an_empty_one(storage: Storage) -> None:
    empty = digest(storage)
    seed(storage, shuffled(1))
    assert digest(storage) != empty
    clear(storage)
    assert digest(storage) == empty


def test_a_seed_with_a_refused_write_leaves_nothing(storage: Storage) -> None:
    empty = digest(storage)
    with pytest.raises(WriteRefused):
        seed(storage, [*shuffled(0), CreateScope("demo")])
    assert digest(storage) == empty


def test_twins_seed_alike(storage: Storage) -> None:
    seed(storage, [operation for twin in TWINS for operation in scope(twin)])
    assert set(found(storage, TWINS, ["gamma"])) == set(TWINS)
