"""A world, the answers that are right in it, and what a judge needs of a prepare; read from miniatures/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.check.context import Prepared
from harness.check.delivered import citations_of
from harness.check.reads import read_answer
from harness.check.world import World
from harness.target.base import Answer
from runtime.artifacts import EntryRetire, EntryWrite, Experience, Profile, Topic

MINIATURES = Path(__file__).parent / "miniatures"
SCHEMA = "powercontext.prepared-context.v1"
HEADERS = {"Content-Type": "application/json", "X-Request-Id": "0f3c"}
DEMO, SHARED = "project:demo", "café"

SEED: tuple[Operation, ...] = (
    CreateScope(DEMO),
    CreateScope(SHARED),
    CreateScope("private"),
    SetReferences(DEMO, (SHARED,)),
    WriteMemory(DEMO, (EntryWrite("entry-1", "entry-1-v1", "Run the contract tests by hand, at once."),)),
    WriteMemory(
        DEMO,
        (
            EntryWrite("entry-1", "entry-1-v2", "Regenerate the client.\r\n\r\nThen\trun the contract tests."),
            EntryWrite("entry-2", "entry-2-v1", "Advice nobody needs any more."),
        ),
    ),
    WriteMemory(DEMO, (EntryRetire("entry-2"),)),
    WriteMemory(SHARED, (EntryWrite("entry-9", "entry-9-v1", "Shared advice on contract tests."),)),
    WriteMemory("private", (EntryWrite("entry-9", "entry-9-v1", "The vault code is marmalade-77."),)),
    WriteDocument(
        DEMO,
        "experience-1",
        Experience(
            "The contract changed.",
            "Ran make api-generate.",
            "All contract tests passed.",
            "Generate before you verify.",
        ),
    ),
    WriteDocument(DEMO, "experience-2", Experience("Old.", "Older.", "Oldest.", "None.")),
    WriteDocument(
        DEMO,
        "experience-2",
        Experience("The client was stale.", "Deleted the build folder.", "The client compiled again.", "Clean first."),
    ),
    Propose(DEMO, "experience-2", Experience("s", "a", "o", "Never merged quetzal advice."), "pending"),
    WriteDocument(DEMO, "profile", Profile("Prefers zanzibar-style answers.")),
    WriteDocument(
        DEMO, "topic-1", Topic("Contracts", "How contracts are kept.", "Intro.\nContract tests run nightly.\nThe end.")
    ),
    WriteDocument(SHARED, "topic-1", Topic("Contracts", "How contracts are kept.", "Contract tests run nightly.")),
    CreatePrincipal("alice", "token-of-alice"),
    CreatePrincipal("bob", "token-of-bob"),
    CreatePrincipal("stranger", "token-of-stranger"),
    Grant("alice", DEMO),
    Grant("alice", SHARED),
    Grant("bob", DEMO),
)
SECTIONS = [
    {"family": "experience", "limit": 2},
    {"family": "memory", "limit": 5},
    {"family": "topic-memory", "limit": 1},
]


def world_of(*operations: Operation) -> World:
    world = World()
    world.apply(operations)
    return world


def answer_of(text: str | None, **fields: Any) -> Answer:
    value = {
        "schema": SCHEMA,
        "status": "empty" if text is None else "ready",
        "content": text,
        "content_bytes": len((text or "").encode()),
        **fields,
    }
    body = json.dumps({key: part for key, part in value.items() if part != "DELETED"}).encode()
    return Answer(status=200, headers=tuple(HEADERS.items()), body=body)


def right(text: str, *, older: bool = False, **assembly: Any) -> Prepared:
    """Return a prepare of the seed whose answer is this text, with reads and a repeated answer that are right."""
    request: dict[str, Any] = {"scope_id": DEMO, "query": "which contract tests?"}
    if "max_bytes" in assembly:
        request["max_bytes"] = assembly.pop("max_bytes")
    if not older:
        request["assembly"] = {"sections": SECTIONS, "show": ["confidence", "recall_rank"], **assembly}
    world = world_of(*SEED)
    answer = answer_of(text)
    reads = {}
    for citation in citations_of(text, scope_id=DEMO):
        value = read_answer(citation, world)
        reads[citation] = Answer(200 if value else 404, answer.headers, json.dumps(value).encode())
    return Prepared(
        request=request, answer=answer, world=world, repeated=answer, reads=reads, principal_id="alice", max_entries=8
    )


def text_of(name: str) -> str:
    return (MINIATURES / name).read_bytes().decode("utf-8")
