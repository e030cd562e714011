"""Stored texts and exact reads of released servers in the terms of the contract."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backends.operations import SetReferences, WriteDocument, WriteMemory
from harness.target.base import Answer
from harness.target.powercontext.answers import (
    entry_of_atomic_memory,
    reduced_entry,
    reduced_revision,
    stored_document,
    stored_entry,
)
from harness.target.powercontext.refusals import RequestRefused, refusal
from harness.target.powercontext.requests import Request
from runtime.artifacts import EntryRetire, EntryWrite, Experience, Profile

OLD, NEW = (1, 2, 0), (1, 4, 1)


def answer(value: Any, status: int = 200) -> Answer:
    return Answer(status, (), json.dumps(value).encode())


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("plain", "plain"),
        ("  inner  blanks \n", "inner  blanks"),
        ("\u00a0e\u0301\u3000", "é"),
        ("\ufeffa\r\nb\u200b", "\ufeffa\r\nb\u200b"),
    ],
)
def test_a_memory_is_composed_and_trimmed(written: str, stored: str) -> None:
    for release in (OLD, NEW):
        assert stored_entry(EntryWrite("e", "v", written), release).text == stored


def test_a_kind_is_trimmed_before_atomic_memories_alone() -> None:
    change = EntryWrite("e", "v", "text", " e\u0301 ")
    assert (stored_entry(change, OLD).kind, stored_entry(change, NEW).kind) == ("é", " e\u0301 ")


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("a", "a\n"),
        ("a\n\n", "a\n"),
        ("\ufeffe\u0301\r\nb\rc", "é\nb\nc\n"),
        (" a \r\n", " a \n"),
        ("\ufeff\ufeffa", "\ufeffa\n"),
    ],
)
def test_a_profile_ends_with_one_line_feed(written: str, stored: str) -> None:
    assert stored_document(Profile(written)) == Profile(stored)


def test_an_experience_stays_as_it_is() -> None:
    content = Experience(" e\u0301\r\n", "a", "o", "l")
    assert stored_document(content) is content


def test_an_exact_read_is_reduced_to_the_contract() -> None:
    named = {"scope_id": "scp_a", "artifact_id": "art_a", "revision": 2}
    more = {"sources": [], "content_digest": "sha256:0", "created_at": "2026-01-01T00:00:00Z"}
    experience = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}
    cases = [
        ("experience", {**experience, "failure": None}, experience),
        ("experience", {**experience, "failure": {"kind": "x"}}, {**experience, "failure": {"kind": "x"}}),
        ("profile", {"schema": "p", "content": "text\n", "generation": {}}, {"content": "text\n"}),
        ("topic-memory", {"title": "t", "summary": "s", "detail": "d"}, {"title": "t", "summary": "s", "detail": "d"}),
        ("atomic-memory", {"schema": "a", "kind": "fact", "text": "t", "creation": None}, {"text": "t"}),
    ]
    for family, content, reduced in cases:
        got = reduced_revision(answer({**named, "family": family, "content": content, **more}))
        assert got.json == {**named, "family": family, "content": reduced}


def test_an_entry_is_reduced_to_the_contract() -> None:
    entry = {
        "citation": {"entry_id": "e"},
        "version": 3,
        "kind": "fact",
        "text": "t",
        "state": "inactive",
        "source_refs": [],
    }
    reduced = {"citation": {"entry_id": "e"}, "kind": "fact", "text": "t", "state": "retired"}
    assert reduced_entry(answer(entry)).json == reduced
    atomic = {"content": {"kind": "fact", "text": "t"}}
    got = entry_of_atomic_memory(answer(atomic), {"entry_id": "e"})
    assert got.json == {"citation": {"entry_id": "e"}, "kind": "fact", "text": "t"}


@pytest.mark.parametrize("value", [{"error": {"code": "forbidden"}}, {"family": "experience"}, [], "text"])
def test_what_is_no_such_answer_stays_as_it_came(value: Any) -> None:
    for reduce in (reduced_revision, reduced_entry):
        assert reduce(answer(value)) == answer(value)
        assert reduce(answer(value, 404)) == answer(value, 404)


@pytest.mark.parametrize(
    ("operation", "status", "code", "known", "told"),
    [
        (SetReferences("s", ("nowhere",)), 404, "scope_not_found", True, "invalid_reference"),
        (SetReferences("s", ()), 404, "scope_not_found", False, "unknown_scope"),
        (SetReferences("s", ("s",)), 422, "invalid_scope_relationship", True, "invalid_reference"),
        (SetReferences("s", ()), 409, "scope_version_conflict", True, "revision_conflict"),
        (WriteDocument("s", "p", Profile("x")), 409, "idempotency_conflict", True, "revision_conflict"),
        (WriteDocument("s", "p", Profile("x")), 422, "invalid_access_request", True, "invalid_access_request"),
        (WriteMemory("s", (EntryRetire("e"),)), 403, "forbidden", True, "entry_unknown"),
        (WriteMemory("s", (EntryRetire("e"),)), 404, "scope_not_found", False, "unknown_scope"),
        (WriteMemory("s", (EntryWrite("e", "v", "t"),)), 403, "forbidden", True, "forbidden"),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_contract(
    operation: Any, status: int, code: str, known: bool, told: str
) -> None:
    refused = RequestRefused(Request("PUT", "/v1/x"), answer({"error": {"code": code}}, status))
    found = refusal(operation, refused, known_scope=known)
    assert found.code == told
    assert f"(PUT /v1/x: {status} {code})" in found.at
