"""The invariants pass right answers and catch the small wrong ones of miniatures/, each with the right verdict."""

from __future__ import annotations

import dataclasses
import json
import re
from random import Random
from typing import Any

import pytest
import yaml
from judged import DEMO, HEADERS, MINIATURES, answer_of, right, text_of, world_of

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    WriteDocument,
    WriteMemory,
)
from harness.check.context import Prepared
from harness.check.invariants import check_prepare
from harness.target.base import Answer
from runtime.artifacts import EntryWrite, Experience


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
