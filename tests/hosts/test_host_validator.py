from __future__ import annotations

import json

import pytest

from runtime.hosts import ResponseInvalid, SchemaUnknown, validate

READY = {"schema": "powercontext.prepared-context.v1", "status": "ready", "content": "é…😀", "content_bytes": 9}
EMPTY = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}


def body(value: object) -> bytes:
    return json.dumps(value).encode()


def test_a_ready_answer_gives_its_text_unchanged() -> None:
    # 2, 3 and 4 bytes of UTF-8.
    assert validate(body(READY), max_bytes=9) == "é…😀"
    text = "  a\r\n\x00\u2028\ufeff>     b  \n"
    answer = READY | {"content": text, "content_bytes": len(text.encode("utf-8"))}
    assert validate(body(answer), max_bytes=100) == text
    assert validate(json.dumps(answer, ensure_ascii=False).encode("utf-8"), max_bytes=100) == text


def test_an_empty_answer_gives_nothing() -> None:
    assert validate(body(EMPTY), max_bytes=512) is None


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"items": []}, "fields"),
        ({"schema": None}, "schema"),
        ({"schema": 1}, "schema"),
        ({"status": "READY"}, "status"),
        ({"status": None}, "status"),
        ({"status": True}, "status"),
        ({"status": ["ready"]}, "status"),
        ({"status": "empty"}, "content"),
        ({"content": None}, "content"),
        ({"content": None, "content_bytes": 0}, "content"),
        ({"content": "", "content_bytes": 0}, "content"),
        ({"content": ["é"]}, "content"),
        ({"content": 7}, "content"),
        ({"content": "\ud800", "content_bytes": 3}, "content"),
        # Characters, UTF-16 units, one byte less and one more.
        ({"content_bytes": 3}, "length"),
        ({"content_bytes": 4}, "length"),
        ({"content_bytes": 8}, "length"),
        ({"content_bytes": 10}, "length"),
        ({"content_bytes": 9.0}, "length"),
        ({"content_bytes": "9"}, "length"),
        ({"content_bytes": None}, "length"),
        ({"content_bytes": -9}, "length"),
        ({"content": "x", "content_bytes": True}, "length"),
        ({"content": "x" * 10, "content_bytes": 10}, "over_budget"),
    ],
)
def test_a_ready_answer_that_is_wrong_in_one_point_is_refused(fields: dict[str, object], fault: str) -> None:
    with pytest.raises(ResponseInvalid) as refused:
        validate(body(READY | fields), max_bytes=9)
    assert (refused.value.fault, refused.value.__context__) == (fault, None)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"content": ""}, "content"),
        ({"content": False}, "content"),
        ({"content": []}, "content"),
        ({"content_bytes": 1}, "length"),
        ({"content_bytes": False}, "length"),
        ({"content_bytes": 0.0}, "length"),
        ({"content_bytes": None}, "length"),
        ({"reason": "no hits"}, "fields"),
    ],
)
def test_an_empty_answer_that_is_wrong_in_one_point_is_refused(fields: dict[str, object], fault: str) -> None:
    with pytest.raises(ResponseInvalid) as refused:
        validate(body(EMPTY | fields), max_bytes=512)
    assert refused.value.fault == fault


@pytest.mark.parametrize("missing", ["schema", "status", "content", "content_bytes"])
@pytest.mark.parametrize("answer", [READY, EMPTY], ids=["ready", "empty"])
def test_no_field_may_be_missing(answer: dict[str, object], missing: str) -> None:
    with pytest.raises(ResponseInvalid):
        validate(body({name: value for name, value in answer.items() if name != missing}), max_bytes=512)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'"ready"',
        b"7",
        b"<html></html>",
        body(READY)[:-1],
        body(READY) + b"}",
        b"\xff" + body(READY),
        b"\xef\xbb\xbf" + body(READY),
        body(READY).decode().encode("utf-16"),
        b"[" * 100_000,
        b'{"content_bytes": ' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_object_in_utf_8_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ResponseInvalid) as refused:
        validate(raw, max_bytes=512)
    assert refused.value.fault in ("not_json", "not_object")
    # What it refers to would hold the body.
    assert refused.value.__context__ is None


def test_a_repeated_field_is_refused() -> None:
    raw = body(READY)[:-1] + b', "content_bytes": 9}'
    assert json.loads(raw) == READY
    with pytest.raises(ResponseInvalid) as refused:
        validate(raw, max_bytes=512)
    assert refused.value.fault == "fields"


def test_a_body_beyond_all_bounds_is_not_read() -> None:
    with pytest.raises(ResponseInvalid) as refused:
        validate(body(EMPTY) + b" " * 1_048_576, max_bytes=512)
    assert refused.value.fault == "too_large"


def test_another_schema_is_another_version_whatever_else_it_has() -> None:
    with pytest.raises(SchemaUnknown):
        validate(body({"schema": "powercontext.prepared-context.v2", "parts": []}), max_bytes=512)
