"""The invariants pass right answers and catch the small wrong ones of miniatures/, each with the right verdict."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

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
from harness.check.invariants import check_prepare
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


def prepared_of(wrong: dict[str, Any], *, older: bool) -> Prepared:
    """Return the prepare that a miniature describes."""
    text = text_of(wrong.get("text", "older.txt" if older else "right.txt"))
    if "replace" in wrong:
        old, new = wrong["replace"]
        assert old in text
        text = text.replace(old, new, 1)
    prepared = right(text, older=older or wrong.get("older", False), **wrong.get("request", {}))
    answer = prepared.answer
    if "fields" in wrong:
        fields = dict(wrong["fields"])
        if fields.get("content_bytes") == 1:
            fields["content_bytes"] = len(text.encode()) + 1
        answer = answer_of(text, **fields)
    if "error" in wrong:
        error = dict(wrong["error"])
        status = error.pop("status")
        answer = Answer(status, answer.headers, json.dumps({"error": error}).encode())
    if "body" in wrong:
        answer = Answer(wrong["status"], answer.headers, wrong["body"].encode())
    headers = HEADERS | wrong.get("headers", {})
    answer = dataclasses.replace(answer, headers=tuple((k, v) for k, v in headers.items() if v != "DELETED"))
    repeated = answer
    if "repeated" in wrong:
        old, new = wrong["repeated"]
        repeated = answer_of(text.replace(old, new, 1))
    reads = {
        citation: dataclasses.replace(read, body=json.dumps({**read.json, **wrong["read"]}).encode())
        for citation, read in prepared.reads.items()
        if "read" in wrong
    }
    return dataclasses.replace(
        prepared,
        answer=answer,
        repeated=repeated,
        reads={**prepared.reads, **reads},
        principal_id=wrong.get("caller", "alice"),
        max_entries=wrong.get("max_entries", 8),
        log=wrong.get("log", ""),
    )


def miniatures(name: str) -> list[Any]:
    wrong = yaml.safe_load((MINIATURES / name).read_bytes())
    return [pytest.param(one, id=one["name"].replace(" ", "-")) for one in wrong]


def test_the_right_answers_pass() -> None:
    assert check_prepare(right(text_of("right.txt"))) == []
    assert check_prepare(right(text_of("older.txt"), older=True)) == []


@pytest.mark.parametrize("wrong", miniatures("wrong.yaml"))
def test_a_wrong_answer_is_caught(wrong: dict[str, Any]) -> None:
    failures = check_prepare(prepared_of(wrong, older=False))
    assert (wrong["kind"], wrong["region"]) in [(failure.kind, failure.region) for failure in failures]


@pytest.mark.parametrize("wrong", miniatures("wrong_older.yaml"))
def test_a_wrong_older_answer_is_caught(wrong: dict[str, Any]) -> None:
    failures = check_prepare(prepared_of(wrong, older=True))
    assert (wrong["kind"], wrong["region"]) in [(failure.kind, failure.region) for failure in failures]


def test_the_guides_example_passes() -> None:
    world = world_of(
        CreateScope(DEMO),
        WriteMemory(DEMO, (EntryWrite("entry-1", "entry-1-v1", "以前的说明。"),)),
        WriteMemory(DEMO, (EntryWrite("entry-7", "entry-7-v1", "无关。"),)),
        WriteMemory(
            DEMO,
            (EntryWrite("entry-1", "entry-1-v2", "修改 OpenAPI 后，需要重新生成客户端并运行契约测试。"),),
        ),
        WriteDocument(
            DEMO,
            "experience-1",
            Experience(
                "修改了 HTTP API 契约。",
                "运行 make api-generate 和 make contract-test。",
                "生成代码与契约一致，测试通过。",
                "契约修改后先重新生成，再验证。",
            ),
        ),
        CreatePrincipal("alice", "token-of-alice"),
        Grant("alice", DEMO),
    )
    request = {
        "scope_id": DEMO,
        "query": "修改 HTTP API 后，如何排查客户端与契约不一致？",
        "max_bytes": 8000,
        "assembly": {
            "format": "markdown",
            "sections": [{"family": "experience", "limit": 2}, {"family": "memory", "limit": 5}],
            "show": ["confidence", "recall_rank"],
        },
    }
    answer = answer_of(text_of("guide.txt"))
    prepared = Prepared(request=request, answer=answer, world=world, repeated=answer, principal_id="alice")
    assert check_prepare(prepared) == []


def test_an_empty_answer_passes() -> None:
    prepared = right(text_of("right.txt"), sections=[])
    prepared = dataclasses.replace(prepared, answer=answer_of(None), repeated=answer_of(None))
    assert check_prepare(prepared) == []


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"principal_id": None}, 401, {"code": "unauthorized", "message": "Who are you?", "details": None}),
        ({"principal_id": "bob"}, 403, {"code": "forbidden", "message": "No.", "details": None}),
        ({"principal_id": "stranger"}, 403, {"code": "forbidden", "message": "No.", "details": None}),
        ({"max_entries": 7}, 422, {"code": "invalid_request", "message": "Too many.", "details": None}),
        ({}, 503, {"code": "service_unavailable", "message": "Try later.", "details": None}),
        (
            {"request": {"scope_id": "", "query": "x", "unheard-of": 7}},
            422,
            {
                "code": "invalid_request",
                "message": "The request is invalid.",
                "details": {"errors": [{"type": "missing", "loc": ["body", "scope_id"], "msg": "blank"}]},
            },
        ),
        (
            {"request": None, "sent": b"\xff"},
            422,
            {"code": "invalid_request", "message": "No JSON.", "details": {"errors": []}},
        ),
        (
            {"request": {"scope_id": "absent", "query": "x"}, "administrator": True},
            404,
            {"code": "scope_not_found", "message": "There is none.", "details": None},
        ),
        (
            {"request": {"scope_id": "absent", "query": "x"}},
            403,
            {"code": "forbidden", "message": "No.", "details": None},
        ),
    ],
)
def test_right_errors_pass(changes: dict[str, Any], status: int, error: dict[str, Any]) -> None:
    headers = tuple(HEADERS.items())
    answer = Answer(status, headers, json.dumps({"error": error}).encode())
    prepared = dataclasses.replace(right(text_of("right.txt")), answer=answer, repeated=answer, **changes)
    assert check_prepare(prepared) == []


def test_a_topic_alone_needs_no_referenced_scope() -> None:
    text = text_of("right.txt")
    start, end = text.index("## Experience"), text.index("## Topic Memory")
    prepared = right(text[:start] + text[end:], sections=[{"family": "topic-memory", "limit": 1}])
    assert check_prepare(dataclasses.replace(prepared, principal_id="bob")) == []


def test_without_access_control_everything_that_exists_is_read() -> None:
    prepared = dataclasses.replace(right(text_of("right.txt")), principal_id=None, access="disabled")
    assert check_prepare(prepared) == []


HEAD = text_of("right.txt")[: text_of("right.txt").index("## Experience")]
FRAME_OF_ONE = (
    HEAD
    + "## Memory\n\n### Memory 1\n\n"
    + '    Scope: "demo"\n    Artifact: family="memory", id="memory", revision=1\n'
    + '    Entry: id="e", version="v"\n    Truncated: {truncated}\n\n{body}\n\nEND_POWERCONTEXT_PREPARED_TEXT_V1'
)


def seed_of_one(stored: str) -> tuple[Operation, ...]:
    write = WriteMemory("demo", (EntryWrite("e", "v", stored),))
    return (CreateScope("demo"), write, CreatePrincipal("p", "tok"), Grant("p", "demo"))


def one_memory(stored: str, shown: str, *, truncated: bool, max_bytes: int) -> list[tuple[str, str]]:
    """Judge a text of one Memory, `shown` without line prefixes."""
    body = "\n".join(">     " + line for line in shown.split("\n"))
    text = FRAME_OF_ONE.format(truncated="yes" if truncated else "no", body=body)
    world = world_of(*seed_of_one(stored))
    request = {
        "scope_id": "demo",
        "query": "x",
        "max_bytes": max_bytes,
        "assembly": {"sections": [{"family": "memory", "limit": 1}]},
    }
    answer = answer_of(text)
    prepared = Prepared(request=request, answer=answer, world=world, repeated=answer, principal_id="p")
    return [(failure.kind, failure.message) for failure in check_prepare(prepared)]


FRAME_BYTES = len(FRAME_OF_ONE.format(truncated="yes", body="").encode())


def test_a_body_of_2000_bytes_is_whole_and_one_of_2001_is_cut() -> None:
    assert one_memory("x" * 2000, "x" * 2000, truncated=False, max_bytes=8000) == []
    assert one_memory("x" * 2001, "x" * 1997 + "…", truncated=True, max_bytes=8000) == []
    assert [kind for kind, _ in one_memory("x" * 2001, "x" * 2001, truncated=False, max_bytes=8000)] == ["body-size"]
    assert [kind for kind, _ in one_memory("x" * 2000, "x" * 1997 + "…", truncated=True, max_bytes=8000)] == ["cut"]


@pytest.mark.parametrize(
    ("stored", "kept", "legal"),
    [
        ("y" * 3000, "y" * 1997, True),
        ("y" * 3000, "y" * 1996, False),
        # 1998 bytes of three-byte characters and an ellipsis are 2001 bytes.
        ("界" * 700, "界" * 665, True),
        ("界" * 700, "界" * 664, False),
        # An escape of six bytes that no longer fits is left out whole.
        ("y" * 1992 + "\t" + "z" * 100, "y" * 1992, True),
        ("y" * 1991 + "\t" + "z" * 100, "y" * 1991 + "\\u0009", True),
        ("y" * 1992 + "\t" + "z" * 100, "y" * 1992 + "\\u000", False),
        ("y" * 1991 + "\U000e0001" + "z" * 100, "y" * 1991, True),
        ("y" * 1991 + "\U000e0001" + "z" * 100, "y" * 1991 + "\\U000e", False),
        # CRLF is one line break of one byte.
        ("y" * 1996 + "\r\n" + "z" * 100, "y" * 1996 + "\n", True),
        ("y" * 1996 + "\r\n" + "z" * 100, "y" * 1996, False),
        ("y" * 3000, "z" * 1997, False),
    ],
)
def test_only_the_longest_legal_cut_passes(stored: str, kept: str, legal: bool) -> None:
    found = one_memory(stored, kept + "…", truncated=True, max_bytes=8000)
    assert (found == []) is legal, found


def test_a_cut_by_the_budget_counts_everything() -> None:
    room = 100
    budget = FRAME_BYTES + len(">     ") + room
    assert one_memory("y" * 300, "y" * 97 + "…", truncated=True, max_bytes=budget) == []
    assert one_memory("y" * 300, "y" * 96 + "…", truncated=True, max_bytes=budget)[0][0] == "cut"
    assert one_memory("y" * 300, "y" * 98 + "…", truncated=True, max_bytes=budget)[0][0] == "budget"
    # A second line costs its prefix too: 50 + LF + 6 + 40 + ellipsis = 100.
    assert (
        one_memory("y" * 50 + "\n" + "z" * 200, "y" * 50 + "\n" + "z" * 40 + "…", truncated=True, max_bytes=budget)
        == []
    )
    assert (
        one_memory("y" * 50 + "\n" + "z" * 200, "y" * 50 + "\n" + "z" * 39 + "…", truncated=True, max_bytes=budget)
        != []
    )


def test_a_cut_body_has_64_bytes() -> None:
    budget = FRAME_BYTES + len(">     ") + 64
    assert one_memory("y" * 300, "y" * 61 + "…", truncated=True, max_bytes=budget) == []
    short = one_memory("y" * 300, "y" * 60 + "…", truncated=True, max_bytes=budget - 1)
    assert short == [("cut", "a truncated body of less than 64 bytes")]
    assert one_memory("short", "short", truncated=False, max_bytes=8000) == []


def test_a_whole_body_that_fits_must_not_be_cut() -> None:
    budget = FRAME_BYTES - 1 + len(">     ") + 100
    found = one_memory("y" * 100, "y" * 96 + "…", truncated=True, max_bytes=budget)
    assert ("cut", "cut although the whole body fits") in found


def test_a_blank_body_is_never_delivered() -> None:
    assert [kind for kind, _ in one_memory("\u0085 ", "\\u0085 ", truncated=False, max_bytes=8000)] == ["body"]


def test_the_older_output_is_cut_at_the_stored_length() -> None:
    head = text_of("older.txt")
    head = head[: head.index('{"trust"')] + (
        '{"trust":"untrusted_history","items":[{"citation":{"memory_ref":'
        '{"family":"memory","artifact_id":"memory","revision":1},"entry_id":"e","entry_version_id":"v"},"content":'
    )
    tail = "}]}\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1"

    def judge(stored: str, shown: str, *, truncated: bool, max_bytes: int = 8000) -> list[str]:
        content = json.dumps(shown, ensure_ascii=False)
        answer = answer_of(f'{head}{content},"truncated":{str(truncated).lower()}{tail}')
        world = world_of(*seed_of_one(stored))
        request = {"scope_id": "demo", "query": "x", "max_bytes": max_bytes}
        prepared = Prepared(request=request, answer=answer, world=world, principal_id="p")
        return [failure.kind for failure in check_prepare(prepared)]

    assert judge("x" * 2000, "x" * 2000, truncated=False) == []
    assert judge("x" * 2001, "x" * 1997 + "…", truncated=True) == []
    assert judge("x" * 2001, "x" * 1996 + "…", truncated=True) == ["cut"]
    frame = len((head + '"","truncated":true' + tail).encode())
    # Of 300 stored bytes at most 299 come, the ellipsis included; a quotation mark costs two bytes in JSON.
    assert judge("y" * 300, "y" * 296 + "…", truncated=True, max_bytes=frame + 300) == []
    assert judge("y" * 300, "y" * 297 + "…", truncated=True, max_bytes=frame + 300) == ["body-size"]
    assert judge('"' * 300, '"' * 98 + "…", truncated=True, max_bytes=frame + 200) == []
    assert judge('"' * 300, '"' * 97 + "…", truncated=True, max_bytes=frame + 200) == ["cut"]


def test_a_part_that_a_shown_text_holds_too_is_no_leak() -> None:
    prepared = right(text_of("right.txt"))
    prepared.world.apply(
        [WriteMemory("private", (EntryWrite("x", "y", "Shared advice on contract tests. Situation: The contract"),))]
    )
    assert check_prepare(prepared) == []


def test_a_short_body_counts_as_a_whole() -> None:
    prepared = right(text_of("right.txt"))
    prepared.world.apply([WriteMemory("private", (EntryWrite("x", "y", "swordfish"),))])
    assert check_prepare(prepared) == []
    leaking = dataclasses.replace(prepared, log="match: swordfish")
    assert [(failure.kind, failure.region) for failure in check_prepare(leaking)] == [("leak", "log")]


def test_a_small_scenario_is_judged_in_two_milliseconds() -> None:
    samples = []
    for _ in range(30):
        prepared = right(text_of("right.txt"))
        begin = time.perf_counter()
        check_prepare(prepared)
        samples.append(time.perf_counter() - begin)
    # Ten times the usual, so that a loaded machine does not fail it.
    assert min(samples) < 0.02
    print(f"check_prepare: {min(samples) * 1000:.2f} ms")


@pytest.mark.parametrize("name", ["right.txt", "older.txt"])
def test_no_small_damage_to_a_text_goes_unseen(name: str) -> None:
    random = Random(1)
    text = text_of(name)
    for _ in range(300):
        at = random.randrange(len(text))
        letter = random.choice('x 1\n\r\u2028\u200d>#"\\')
        damaged = random.choice([text[:at] + letter + text[at:], text[:at] + text[at + 1 :]])
        if damaged != text and not only_a_rank(text, damaged):
            assert check_prepare(right(damaged, older=name == "older.txt")), damaged[max(0, at - 30) : at + 30]


def only_a_rank(text: str, damaged: str) -> bool:
    """Say whether the damage may have made another legal rank, which no invariant can know."""
    return re.sub(r"rank: [1-9]+", "", text) == re.sub(r"rank: [1-9]+", "", damaged)
