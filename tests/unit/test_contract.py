"""Which requests are legal, and what is told of the others."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from runtime.contract import (
    Assembly,
    EntryReadRequest,
    PreparedContext,
    PrepareRequest,
    RevisionReadRequest,
    Section,
    parse,
    validate,
)
from runtime.errors import InvalidRequest

GOOD: dict[str, Any] = {"scope_id": "demo", "query": "contract tests"}


def section(family: str = "memory", limit: Any = 1) -> dict[str, Any]:
    return {"family": family, "limit": limit}


def body(**changes: Any) -> bytes:
    return json.dumps(GOOD | changes).encode()


def refusal(raw: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        parse(PrepareRequest, raw)
    return caught.value


LEGAL = {
    "bare": {},
    "id of one character": {"scope_id": "x"},
    "id of 256 characters": {"scope_id": "界" * 256},
    "id with blanks around": {"scope_id": " a "},
    "query of 8192 characters": {"query": "😀" * 8192},
    "least budget": {"max_bytes": 512},
    "most budget": {"max_bytes": 32768},
    "empty assembly": {"assembly": {}},
    "no sections": {"assembly": {"sections": []}},
    "four sections": {
        "assembly": {"sections": [section(f) for f in ("topic-memory", "profile", "experience", "memory")]}
    },
    "limits at their ends": {"assembly": {"sections": [section("memory", 8), section("experience", 2)]}},
    "both shown": {"assembly": {"show": ["recall_rank", "confidence"]}},
    "markdown": {"assembly": {"format": "markdown"}},
}

ILLEGAL = {
    "blank scope_id": {"scope_id": " \t\u3000"},
    "empty scope_id": {"scope_id": ""},
    "long scope_id": {"scope_id": "x" * 257},
    "number as scope_id": {"scope_id": 5},
    "null scope_id": {"scope_id": None},
    "blank query": {"query": "\u2028\x1f"},
    "long query": {"query": "界" * 8193},
    "list as query": {"query": ["x"]},
    "511 bytes": {"max_bytes": 511},
    "32769 bytes": {"max_bytes": 32769},
    "true bytes": {"max_bytes": True},
    "text bytes": {"max_bytes": "8000"},
    "float bytes": {"max_bytes": 8000.0},
    "null bytes": {"max_bytes": None},
    "huge bytes": {"max_bytes": 10**4000},
    "null assembly": {"assembly": None},
    "list assembly": {"assembly": []},
    "text assembly": {"assembly": "markdown"},
    "other format": {"assembly": {"format": "Markdown"}},
    "null format": {"assembly": {"format": None}},
    "null sections": {"assembly": {"sections": None}},
    "object sections": {"assembly": {"sections": {}}},
    "unknown family": {"assembly": {"sections": [section("atomic-memory")]}},
    "missing limit": {"assembly": {"sections": [{"family": "memory"}]}},
    "missing family": {"assembly": {"sections": [{"limit": 1}]}},
    "limit 0": {"assembly": {"sections": [section(limit=0)]}},
    "limit 9": {"assembly": {"sections": [section(limit=9)]}},
    "limit true": {"assembly": {"sections": [section(limit=True)]}},
    "limit text": {"assembly": {"sections": [section(limit="8")]}},
    "limit float": {"assembly": {"sections": [section(limit=8.0)]}},
    "experience 3": {"assembly": {"sections": [section("experience", 3)]}},
    "family twice": {"assembly": {"sections": [section(), section()]}},
    "five sections": {
        "assembly": {"sections": [section(f) for f in ("memory", "experience", "profile", "topic-memory", "memory")]}
    },
    "shown twice": {"assembly": {"show": ["confidence", "confidence"]}},
    "unknown shown": {"assembly": {"show": ["score"]}},
    "null shown": {"assembly": {"show": None}},
}


@pytest.mark.parametrize("changes", LEGAL.values(), ids=LEGAL.keys())
def test_a_legal_request_is_taken_alike_from_http_and_from_a_program(changes: dict[str, Any]) -> None:
    assert parse(PrepareRequest, body(**changes)) == validate(PrepareRequest, GOOD | changes)


@pytest.mark.parametrize("changes", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_request_is_refused_with_its_places(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate(PrepareRequest, GOOD | changes)
    errors: Any = caught.value.details["errors"]
    assert errors
    for error in errors:
        assert set(error) == {"type", "loc", "msg"}
        assert error["loc"][:2] == ["body", next(iter(changes))]


@pytest.mark.parametrize("changes", [c for n, c in ILLEGAL.items() if n != "huge bytes"])
def test_http_and_programs_are_refused_alike(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate(PrepareRequest, GOOD | changes)
    assert refusal(body(**changes)).details == caught.value.details


SECRET = "mary had a lamb"


@pytest.mark.parametrize(
    "changes",
    [
        {"query": SECRET * 1000},
        {"query": [SECRET]},
        {"scope_id": {SECRET: 1}},
        {SECRET: SECRET},
        {"max_bytes": SECRET},
        {"assembly": {SECRET: SECRET}},
        {"assembly": {"format": SECRET, "show": [SECRET]}},
        {"assembly": {"sections": [{"family": SECRET, "limit": SECRET, SECRET: 1}]}},
    ],
)
def test_no_value_and_no_made_up_name_of_the_callers_is_told(changes: dict[str, Any]) -> None:
    assert SECRET not in json.dumps(refusal(body(**changes)).details)


@pytest.mark.parametrize("key", [(SECRET,), SECRET.encode(), 77_777])
def test_a_programs_odd_keys_are_not_told(key: Any) -> None:
    for value in (GOOD | {key: 1}, GOOD | {"assembly": {key: 1}}):
        with pytest.raises(InvalidRequest) as caught:
            validate(PrepareRequest, value)
        told = json.dumps(caught.value.details)
        assert SECRET not in told
        assert "77777" not in told


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        '{"scope_id":"demo","query":"x"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"scope_id":"demo","query":"x"}',
        b'{"scope_id":"demo","query":"\xed\xa0\x80"}',
        b'{"scope_id":"demo","query":"x\x01"}',
        b"{'scope_id':'demo','query':'x'}",
        b'{"scope_id":"demo","query":"x"} {}',
        b'{"scope_id":"demo","query":"x","max_bytes":NaN}',
        b'{"scope_id":"demo","query":"x","max_bytes":NaN,"max_bytes":512}',
        b'{"scope_id":"demo","query":"x","max_bytes":-Infinity,"max_bytes":512}',
        b'{"scope_id":"demo","query":"x","max_bytes":' + b"9" * 5000 + b"}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
    ],
)
def test_a_body_that_is_no_json_in_utf_8_is_refused(raw: bytes) -> None:
    (problem,) = refusal(raw).problems
    assert problem.type == "json_invalid"


@pytest.mark.parametrize("raw", [b"null", b"5", b'"x"', b"[]", b"true", b"[" * 300 + b"]" * 300])
def test_json_that_is_no_object_is_refused(raw: bytes) -> None:
    assert refusal(raw).problems


@pytest.mark.parametrize(
    "raw",
    [
        b'{"scope_id":"demo","query":"\\ud800"}',
        b'{"scope_id":"\\udfff","query":"x"}',
        b'{"scope_id":"demo","query":"x","assembly":{"show":["\\ud800"]}}',
        b'{"scope_id":"demo","query":"x","\\ud800":1}',
        b'{"scope_id":"demo","query":"\\ude00\\ud83d"}',
    ],
)
def test_a_lone_surrogate_anywhere_is_refused(raw: bytes) -> None:
    told = json.dumps(refusal(raw).details, ensure_ascii=False)
    told.encode("utf-8")


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert parse(PrepareRequest, b'{"scope_id":"demo","query":"\\ud83d\\ude00"}').query == "😀"


def test_of_repeated_keys_the_last_counts() -> None:
    raw = b'{"scope_id":"demo","query":5,"query":"x","assembly":null,"assembly":{"sections":null,"sections":[]}}'
    request = parse(PrepareRequest, raw)
    assert request.query == "x"
    assert request.assembly is not None
    assert request.assembly.sections == []


def test_defaults_are_those_of_the_contract() -> None:
    request = parse(PrepareRequest, body())
    assert (request.max_bytes, request.assembly) == (8000, None)
    assembly = parse(PrepareRequest, body(assembly={})).assembly
    assert assembly is not None
    assert [(s.family, s.limit) for s in assembly.sections] == [("memory", 6), ("experience", 2)]
    assert (assembly.format, assembly.show, assembly.total) == ("markdown", [], 8)


unchecked: Any = PrepareRequest.model_construct
unchecked_assembly: Any = Assembly.model_construct


@pytest.mark.parametrize(
    "request_",
    [
        unchecked(scope_id="demo", query=""),
        unchecked(scope_id="demo"),
        unchecked(scope_id=5, query="x"),
        unchecked(scope_id="demo", query="\ud800"),
        unchecked(scope_id="demo", query="x", assembly=None),
        unchecked(scope_id="demo", query="x", max_bytes=math.nan),
        unchecked(scope_id="demo", query="x", max_bytes=10**9),
        unchecked(scope_id="demo", query="x", assembly=unchecked_assembly(sections=[section(limit=99)])),
        unchecked(
            scope_id="demo",
            query="x",
            assembly=unchecked_assembly(sections=[Section.model_construct(family="experience", limit=8)]),
        ),
        GOOD | {"assembly": unchecked_assembly(sections=[Section.model_construct(family="memory", limit=99)])},
        GOOD | {"assembly": unchecked_assembly(show=["confidence", "confidence"])},
        None,
        5,
        "text",
    ],
)
def test_an_object_made_without_its_checks_is_checked(request_: Any) -> None:
    with pytest.raises(InvalidRequest):
        validate(PrepareRequest, request_)


def test_an_object_made_with_its_checks_is_taken_as_it_is() -> None:
    for request in (
        PrepareRequest(scope_id="demo", query="x"),
        PrepareRequest(scope_id="demo", query="x", assembly=Assembly()),
        PrepareRequest(scope_id="demo", query="x", assembly=Assembly(sections=[])),
    ):
        assert validate(PrepareRequest, request) == request


def citation(**changes: Any) -> dict[str, Any]:
    reference = {"family": "memory", "artifact_id": "memory", "revision": 1} | changes.pop("memory_ref", {})
    return {"memory_ref": reference, "entry_id": "e", "entry_version_id": "v"} | changes


@pytest.mark.parametrize(
    "cited",
    [
        citation(entry_id=" "),
        citation(entry_version_id="x" * 257),
        citation(extra=1),
        citation(memory_ref={"family": "atomic-memory"}),
        citation(memory_ref={"revision": 0}),
        citation(memory_ref={"revision": 2**63}),
        citation(memory_ref={"revision": "1"}),
        citation(memory_ref={"extra": 1}),
        None,
    ],
)
def test_an_illegal_citation_is_refused(cited: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse(EntryReadRequest, json.dumps({"scope_id": "demo", "citation": cited}).encode())


def test_a_revision_reaches_to_the_end_of_64_bits() -> None:
    value = {"scope_id": "demo", "family": "memory", "artifact_id": "memory", "revision": 2**63 - 1}
    assert validate(RevisionReadRequest, value).revision == 2**63 - 1
    legal = {"scope_id": "demo", "citation": citation(memory_ref={"revision": 2**63 - 1})}
    assert parse(EntryReadRequest, json.dumps(legal).encode()).scope_id == "demo"


def test_the_answer_has_four_fields() -> None:
    assert PreparedContext("é").serializable() == {
        "schema": "powercontext.prepared-context.v1",
        "status": "ready",
        "content": "é",
        "content_bytes": 2,
    }
    assert PreparedContext(None).serializable() == {
        "schema": "powercontext.prepared-context.v1",
        "status": "empty",
        "content": None,
        "content_bytes": 0,
    }
