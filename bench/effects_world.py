"""The fixed worlds of the effect evaluation: three kinds of text, from a seed, in Scopes of one family and mixed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from faker import Faker

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from bench.corpus import READER, TOKEN
from runtime.artifacts import EntryWrite, Experience, Profile, Topic

COUNTS: Mapping[str, Sequence[int]] = {"memory": (1, 2, 4, 8), "experience": (1, 2), "topic-memory": (1, 4, 8)}
"""How many items of a family alone; the older output holds 8 items, of them 2 experiences."""
MIXED_MEMORIES, MIXED_EXPERIENCES, MIXED_TOPICS = 6, 3, 3
SHARED_MEMORIES, SHARED_EXPERIENCES = 3, 2

Sentences = Callable[[int], str]
"""Makes a text of so many sentences."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of text, and the word that all its items hold, which is the query."""

    name: str
    query: str
    texts: Callable[[int], Sentences]


def english(seed: int) -> Sentences:
    """Return a maker of English notes."""
    faker = Faker("en_US")
    faker.seed_instance(seed)
    return lambda count: "Contract: " + " ".join(faker.sentence(nb_words=12) for _ in range(count))


def chinese(seed: int) -> Sentences:
    """Return a maker of Chinese notes."""
    faker = Faker("zh_CN")
    faker.seed_instance(seed)
    return lambda count: "契约：" + "".join(faker.sentence(nb_words=12) for _ in range(count))


def code(seed: int) -> Sentences:
    """Return a maker of code with quotes, backslashes, indentation by tabs, and line breaks."""
    source = random.Random(seed)
    names = ("client", "schema", "budget", "scope", "reader", "answer", "server", "token")

    def line() -> str:
        first, second = source.sample(names, 2)
        shapes = (
            f'if {first}["{second}"] is None:\n\treturn {{"error": "no {second}"}}',
            f'assert re.match(r"^{first}\\.\\d+$", {second})',
            f'{first} = json.loads("{{\\"{second}\\": {source.randint(1, 99)}}}")',
            f"for {first} in {second}.items():\n\tlog.debug('%s', {first})",
        )
        return source.choice(shapes)

    return lambda count: "# contract\n" + "\n".join(line() for _ in range(count))


KINDS: Sequence[Kind] = (
    Kind("English", "contract", english),
    Kind("Chinese", "契约", chinese),
    Kind("code", "contract", code),
)


def alone(kind: Kind, family: str, count: int) -> str:
    """Return the id of the Scope that holds so many items of one family and nothing else."""
    return f"effects:{kind.name}:{family}:{count}"


def mixed(kind: Kind) -> str:
    """Return the id of the Scope of all families, which refers to one more."""
    return f"effects:{kind.name}:mixed"


def world(seed: int) -> list[Operation]:
    """Return all Scopes, and one who reads them."""
    operations: list[Operation] = [CreatePrincipal(READER, TOKEN)]
    for kind in KINDS:
        for family, counts in COUNTS.items():
            for count in counts:
                # More items are the same ones and some more.
                text = kind.texts(seed)
                operations += _scope(alone(kind, family, count))
                operations += _items(alone(kind, family, count), family, count, text)
        operations += _mixed(kind, kind.texts(seed + 1))
    return operations


def printed(operations: Sequence[Operation]) -> dict[str, dict[str, Any]]:
    """Return the texts of a world by Scope and item, to be read."""
    texts: dict[str, dict[str, Any]] = {}
    for operation in operations:
        match operation:
            case WriteMemory(scope_id, changes):
                found = {change.entry_id: change.text for change in changes if isinstance(change, EntryWrite)}
                texts.setdefault(scope_id, {}).update(found)
            case WriteDocument(scope_id, artifact_id, content):
                texts.setdefault(scope_id, {})[artifact_id] = asdict(content)
    return texts


def _scope(scope_id: str) -> Iterator[Operation]:
    yield CreateScope(scope_id)
    yield Grant(READER, scope_id)


def _items(scope_id: str, family: str, count: int, text: Sentences) -> Iterator[Operation]:
    for number in range(1, count + 1):
        # 1, 2 and 3 sentences in turn.
        size = 1 + number % 3
        match family:
            case "memory":
                yield WriteMemory(scope_id, (EntryWrite(f"m{number}", f"m{number}-v1", text(size)),))
            case "experience":
                parts = (text(1) for _ in range(4))
                yield WriteDocument(scope_id, f"e{number}", Experience(*parts))
            case _:
                yield WriteDocument(scope_id, f"t{number}", Topic(text(1), text(1), text(size)))


def _mixed(kind: Kind, text: Sentences) -> Iterator[Operation]:
    current, shared = mixed(kind), f"effects:{kind.name}:shared"
    yield from _scope(shared)
    yield from _items(shared, "memory", SHARED_MEMORIES, text)
    yield from _items(shared, "experience", SHARED_EXPERIENCES, text)
    yield WriteDocument(shared, "profile", Profile(text(2)))
    yield from _scope(current)
    yield SetReferences(current, (shared,))
    yield from _items(current, "memory", MIXED_MEMORIES, text)
    yield from _items(current, "experience", MIXED_EXPERIENCES, text)
    yield from _items(current, "topic-memory", MIXED_TOPICS, text)
    yield WriteDocument(current, "profile", Profile(text(2)))
