"""The database's search, against SPEC.md 10 evaluated over all rows."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import pytest

from backends.operations import CreateScope, Operation, WriteDocument, WriteMemory
from backends.seeding import clear, seed
from runtime.artifacts import EntryRetire, EntryWrite, Experience
from runtime.storage import Storage, open_storage

SCOPES = ("demo", "Demo", "demo ", "項目", "empty")
WORDS = [f"w{number}" for number in range(30)]
ROWS = 2600
VECTORS = 40
KINDS = ("e", "E", "e ", "é", "😀", "\U0010fffe", "\uffee")


@dataclass(frozen=True)
class Row:
    """One recalled item as it was written."""

    scope_id: str
    name: str
    text: str
    vector: tuple[float, float] | None


def rows() -> list[Row]:
    chance = random.Random(14)
    made = []
    for scope_id in SCOPES[:-1]:
        names = {f"{chance.choice(KINDS)}{number}{chance.choice(('', ' ', 'x'))}" for number in range(ROWS)}
        for number, name in enumerate(sorted(names, key=lambda _: chance.random())):
            # Few words and few lengths, so that there are many ties.
            text = " ".join(chance.choices(WORDS, k=chance.choice((1, 2, 3, 5))))
            vector = (float(chance.randint(-2, 2)), float(chance.randint(-2, 2))) if number < VECTORS * 5 else None
            made.append(Row(scope_id, name, text, vector))
    return made


def operations(made: list[Row]) -> Iterator[Operation]:
    for scope_id in SCOPES:
        yield CreateScope(scope_id)
        here = [row for row in made if row.scope_id == scope_id]
        for start in range(0, len(here), 1000):
            batch = tuple(EntryWrite(r.name, "v1", r.text, vector=r.vector) for r in here[start : start + 1000])
            yield WriteMemory(scope_id, batch)
        # Rows that must not be found: retired, superseded, and of another family.
        if here:
            yield WriteMemory(scope_id, (EntryWrite("a", "v1", "w0 w1", vector=(0.0, 0.0)), EntryRetire("a")))
            yield WriteDocument(scope_id, "a", Experience("w0", "w1", "w2", "w3"), vector=(0.0, 0.0))


def distinct(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def lexical(made: list[Row], scope_id: str, query: set[str]) -> list[str]:
    matching = [row for row in made if row.scope_id == scope_id and distinct(row.text) & query]
    matching.sort(key=lambda row: (-len(distinct(row.text) & query), len(distinct(row.text)), row.name))
    return [row.name for row in matching[:16]]


def nearest(made: list[Row], scope_id: str, vector: tuple[float, float]) -> list[str]:
    near = [
        (int((r.vector[0] - vector[0]) ** 2 + (r.vector[1] - vector[1]) ** 2), r.name)
        for r in made
        if r.scope_id == scope_id and r.vector is not None
    ]
    return [name for _, name in sorted(near)[:16]]


def joined(words: list[str], near: list[str]) -> list[str]:
    def key(name: str) -> tuple[Fraction, int, str]:
        score = sum(
            (Fraction(1, 61 + channel.index(name)) for channel in (words, near) if name in channel), Fraction(0)
        )
        return (-score, words.index(name) if name in words else 99, name)

    return sorted({*words, *near}, key=key)[:16]


QUERIES = [
    [],
    ["absent"],
    ["w0"],
    ["w3", "w4"],
    ["w1", "w2", "w5", "w8", "absent"],
    WORDS,
    [f"w{number}" for number in range(17)],
]
POINTS = [(0.0, 0.0), (1.0, -2.0), (7.0, 7.0)]


@pytest.fixture
def searched(database: str) -> Iterator[tuple[Storage, list[Row]]]:
    storage = open_storage(database, dimension=2)
    storage.prepare()
    clear(storage)
    made = rows()
    seed(storage, list(operations(made)))
    yield storage, made
    clear(storage)
    storage.close()


def test_the_search_is_what_all_rows_give(searched: tuple[Storage, list[Row]]) -> None:
    storage, made = searched
    assert len(made) >= 10_000
    with storage.reading() as reader:
        for query in QUERIES:
            expected = {scope_id: lexical(made, scope_id, set(query)) for scope_id in SCOPES}
            hits = reader.search("memory", SCOPES, query, depth=16)
            assert {s: [hit.entry_id for hit in hits.get(s, [])] for s in SCOPES} == expected
            for point in POINTS:
                both = reader.search("memory", SCOPES, query, depth=16, vector=point)
                assert {s: [hit.entry_id for hit in both.get(s, [])] for s in SCOPES} == {
                    s: joined(expected[s], nearest(made, s, point)) for s in SCOPES
                }
        # One Scope alone, and a smaller depth, change nothing of the order.
        alone = reader.search("memory", ["demo "], ["w3", "w4"], depth=8)
        assert [hit.entry_id for hit in alone["demo "]] == lexical(made, "demo ", {"w3", "w4"})[:8]
