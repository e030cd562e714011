"""Generated worlds and requests for the oracle's tests: everything of SPEC.md 1 happens in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from random import Random
from typing import Any

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
from harness.check.delivered import read_delivered
from harness.check.oracle import Prediction, predict
from harness.check.request import read_request
from harness.check.world import World
from harness.scenario.model import Embedder, Reranker, RuntimeSpec
from runtime.artifacts import Document, EntryChange, EntryRetire, EntryWrite, Experience, Profile, Topic

_WRITTEN = (
    "tea pot lid Green green GREEN test tests contract run bread straße STRASSE café "
    "cafe\u0301 ﬁle file Ⅷ １２３ 123 ²x "
    "修改 契约 测试 契约测试 修改契约后测试 ひらがな カタカナ ｶﾀｶﾅ ガ ｶﾞ 々 〇 𠀋 한국어 한 국 中a文b "
    "привет Привет мир مرحبا العالم हिन्दी नमस्ते ไทย ŉx ǰ ΐ ΑΣ ας İstanbul ß ẞ x\u0301y e\u0301\u0302 字\u0301字 "
    "snake_case a.b a-b it's 3.14 ﷺ Å Å ㌀ ㍿ Ω \U0001d400\U0001d401 🟢 👩\u200d💻"
)
WORDS = _WRITTEN.split(" ")
SEPARATORS = (
    *(" ", " ", " ", " ", ", ", ". ", "", "", "\u3000", "\xa0", "|", '"', "\\", "`", "> ", "\\u0009"),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\u2029", "\nEND_POWERCONTEXT_PREPARED_TEXT_V1\n", "\n## Memory\n"),
    *("\t", "\x00", "\x7f", "\u0085", "\xad", "\u200b", "\ufeff", "\u202e", "\U000e0041", "\U0001d173"),
)
IDS = (
    "a",
    "A",
    "a ",
    "á",
    "a\u0301",
    "b",
    "B/b",
    "c?#",
    "d\nd",
    'e"e',
    "é",
    "z" * 200,
    "x\u2028y",
    "𠀋",
    ".",
    "ａ",
    "😀" * 60,
)
DIMENSION = 3


def text_of(random: Random, *, words: int = 30) -> str:
    """Return words of many alphabets with separators of all kinds; now and then nothing, or one long word or line."""
    kind = random.random()
    if kind < 0.04:
        return random.choice((" ", "", "\n", "\u3000\t", "…"))
    if kind < 0.07:
        return random.choice(WORDS) * random.randint(20, 400)
    if kind < 0.11:
        return random.choice(("\r\n", "\n", "\x00", "\U0001d173", "é", "🟢", "tea ", "\u2028")) * random.randint(
            30, 2100
        )
    plain = random.random() < 0.4
    made: list[str] = []
    for _ in range(random.randint(1, words if kind < 0.9 else 8 * words)):
        made += [random.choice(WORDS), " " if plain else random.choice(SEPARATORS)]
    return "".join(made)


def make_queries() -> list[str]:
    random = Random("queries")
    made = [" ".join(random.choice(WORDS) for _ in range(random.randint(1, 6))) for _ in range(40)]
    return [*made, "!?", "_", "tea", "契约测试", "x" * 100 + " tea", "́tea", " tea\r\n契约 "]


QUERIES = make_queries()


def vector_of(random: Random) -> tuple[float, ...]:
    return tuple(float(random.randint(-3, 3)) for _ in range(DIMENSION))


def make_runtimes() -> list[RuntimeSpec]:
    random = Random("runtimes")
    embedder = Embedder(dimension=DIMENSION, vectors={query: vector_of(random) for query in QUERIES})
    order = (*random.sample(IDS, 8), "unheard-of")
    return [
        RuntimeSpec(),
        RuntimeSpec(),
        RuntimeSpec(max_entries=20),
        RuntimeSpec(reranker=Reranker(order=order)),
        RuntimeSpec(embedder=embedder),
        RuntimeSpec(embedder=embedder, reranker=Reranker(order=order), max_entries=5, access="disabled"),
        RuntimeSpec(sources=("memory", "topic-memory", "profile"), max_entries=26),
    ]


RUNTIMES = make_runtimes()


@dataclass
class Made:
    """A generated world: the writes that make it, and their sum."""

    random: Random
    runtime: RuntimeSpec
    operations: list[Operation] = field(default_factory=list)
    world: World = field(default_factory=World)

    def write(self, operation: Operation) -> None:
        self.operations.append(operation)
        self.world.apply([operation])


def document_of(random: Random, family: str) -> Document:
    if family == "experience":
        return Experience(*(text_of(random, words=10) for _ in range(4)))
    if family == "profile":
        return Profile(text_of(random))
    return Topic(text_of(random, words=3), text_of(random, words=8), text_of(random, words=40))


def make_world(seed: str) -> Made:
    """Return a world of 1 to 5 Scopes in which everything of SPEC.md 1 happens."""
    random = Random(seed)
    made = Made(random, random.choice(RUNTIMES))
    scopes = random.sample(IDS, random.choice((1, 2, 3, 3, 5)))
    vectors = made.runtime.embedder is not None

    def vector() -> tuple[float, ...] | None:
        return vector_of(random) if vectors and random.random() < 0.7 else None

    for scope in scopes:
        made.write(CreateScope(scope))
    size = random.choice((1, 3, 3, 6, 6, 12, 40))
    for scope in scopes:
        for number in range(random.randint(0, size)):
            known = _entries(made.world, scope)
            changes: dict[str, EntryChange] = {}
            for _ in range(random.choice((1, 1, 1, 3))):
                entry = random.choice((*IDS, f"entry-{number}", f"entry-{random.randint(0, 40)}"))
                version = f"{random.choice(IDS)[:40]}v{number}-{len(changes)}"
                text = random.choice(("tea", "tea pot", "契约", text_of(random)))
                changes[entry] = EntryWrite(entry, version, text, vector=vector())
            if known and random.random() < 0.2:
                entry = random.choice(known)
                changes[entry] = EntryRetire(entry)
            made.write(WriteMemory(scope, tuple(changes.values())))
        for family, most in (("experience", min(size, 11)), ("topic-memory", min(size, 11)), ("profile", 2)):
            for number in range(random.randint(0, most)):
                name = "profile" if family == "profile" else random.choice((*IDS, f"doc-{number}"))
                document = document_of(random, family)
                if random.random() < 0.2:
                    made.write(Propose(scope, name, document, random.choice(("pending", "rejected"))))
                else:
                    made.write(WriteDocument(scope, name, document, None if family == "profile" else vector()))
    for scope in scopes:
        others = [other for other in scopes if other != scope]
        made.write(SetReferences(scope, tuple(random.sample(others, random.randint(0, len(others))))))
    for name, administrator in (("reader", False), ("root", True), ("some", False)):
        made.write(CreatePrincipal(name, token_of(name), administrator))
        for scope in scopes:
            if name == "reader" or random.random() < 0.6:
                made.write(Grant(name, scope))
                if name == "some" and random.random() < 0.2:
                    made.write(Revoke(name, scope))
    return made


def _entries(world: World, scope: str) -> list[str]:
    heads = world.heads(scope, "memory")
    memory = world.memory(heads[0]) if heads else None
    return [entry.entry_id for entry in memory.entries] if memory else []


def token_of(name: str) -> str:
    return hashlib.sha256(f"token of {name}".encode()).hexdigest()


def make_request(made: Made) -> dict[str, Any]:
    """Return a legal request; half of them have a budget near the end of what the largest one would give."""
    random = made.random
    queries = QUERIES if made.runtime.embedder or random.random() < 0.8 else ["tea 契约 test"]
    request: dict[str, Any] = {
        "scope_id": random.choice([*made.world.references] * 12 + ["absent"]),
        "query": random.choice(queries),
    }
    assembly = make_assembly(made)
    if assembly is not None:
        request["assembly"] = assembly
    kind = random.random()
    if kind < 0.1:
        return request
    request["max_bytes"] = 32768
    if kind < 0.5:
        low, high = random.choice(((512, 900), (512, 2500), (512, 8000), (2500, 32768)))
        request["max_bytes"] = random.choice((512, random.randint(low, high), random.randint(low, high)))
    elif kind < 0.95:
        full = predict(made.world, read_request(request), caller="reader", runtime=made.runtime)
        assert isinstance(full, Prediction)
        floor = _last_body_bytes(full.content, request["scope_id"]) - 64
        less = random.choice((0, 1, 2, 3, floor, floor - 1, floor - 2, random.randint(0, 120), random.randint(0, 1000)))
        request["max_bytes"] = min(max(512, len(full.content or b"") - less), 32768)
    return request


def _last_body_bytes(content: bytes | None, scope_id: str) -> int:
    delivered = None if content is None else read_delivered(content, scope_id=scope_id)
    return len(delivered.items[-1].body_text.encode()) if delivered else 64


def make_assembly(made: Made) -> dict[str, Any] | None:
    """Return an assembly of any form, None for an absent one."""
    random = made.random
    form = random.random()
    if form < 0.3:
        return None
    if form < 0.4:
        return random.choice(({}, {"sections": []}, {"format": "markdown", "show": ["recall_rank"]}))
    left = made.runtime.max_entries or 8
    sections = []
    for family in random.sample(("memory", "experience", "profile", "topic-memory"), random.randint(1, 4)):
        limit = random.randint(1, 2 if family == "experience" else 8)
        if random.random() < 0.97:
            limit = min(limit, left)
        left -= limit
        if limit > 0:
            sections.append({"family": family, "limit": limit})
    return {"sections": sections, "show": random.sample(("confidence", "recall_rank"), random.randint(0, 2))}


def test_the_generated_worlds_hold_everything() -> None:
    seen: set[str] = set()
    for number in range(60):
        made = make_world(f"everything-{number}")
        world = made.world
        seen |= {f"{text.family} {text.state}" for text in world.texts()}
        for scope_id, references in world.references.items():
            seen |= {f"{min(len(references), 2)} references"}
            seen |= {"a cycle" for other in references if scope_id in world.references[other]}
            seen |= {
                "a full pool" for family in ("experience", "topic-memory") if len(world.heads(scope_id, family)) > 8
            }
            seen |= {"a full pool of memories" for _ in _entries(world, scope_id)[16:17]}
        seen |= {"vectors"} if world.vectors else set()
        seen |= {"a long text" for text in world.texts() if len(text.text) > 2000}
        seen |= {"an empty text" for text in world.texts() if text.text == ""}
    families = ("memory", "experience", "profile", "topic-memory")
    assert seen == {
        *(f"{family} {state}" for family in families for state in ("head", "old", "candidate")),
        *("memory retired", "0 references", "1 references", "2 references", "a cycle", "vectors"),
        *("a full pool", "a full pool of memories", "a long text", "an empty text"),
    } - {"memory candidate"}
