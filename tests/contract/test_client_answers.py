"""What the clients make of answers, of none, and of nonsense."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from typing import Any

import pytest
from asking import Ask, both_clients
from recorder import EMPTY, Script, error, http, recording

from runtime.http.client import (
    AnswerInvalid,
    Conflict,
    ContextError,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    RequestRefused,
    Retry,
    ServerFailed,
    ServiceUnavailable,
    TimedOut,
    Unauthorized,
    Unreachable,
    VersionMismatch,
)

SECRETS = ("the-secret-token", "the secret query", "the-secret-scope", "the secret text")
TOKEN, QUERY, SCOPE, TEXT = SECRETS
READY = {"schema": "powercontext.prepared-context.v1", "status": "ready", "content": "é\n", "content_bytes": 3}
SLOW = 0.5


def refused(ask: Ask, *scripts: Script, **named: Any) -> tuple[ContextError, int]:
    """Return what a prepare ends in, and how often it was sent."""
    with recording(*scripts) as recorder, pytest.raises(ContextError) as caught:
        ask(recorder.url, "prepare", SCOPE, QUERY, options={"token": TOKEN} | named.pop("options", {}), **named)
    keeps_secrets(caught.value)
    return caught.value, len(recorder.sent)


def keeps_secrets(raised: ContextError) -> None:
    """Look at all that a log could show of an error."""
    assert raised.__context__ is None
    assert raised.__cause__ is None
    told = f"{raised!r}{raised}{vars(raised)!r}"
    assert [secret for secret in SECRETS if secret in told] == []
    assert raised.code
    assert raised.sentence.endswith(".")


@both_clients
def test_the_four_fields_come_as_they_are(ask: Ask) -> None:
    raw = json.dumps(READY, ensure_ascii=False, indent=1).encode()
    with recording(http(200, raw, "x-request-id: abc")) as recorder:
        prepared = ask(recorder.url, "prepare", "s", "q")
    assert (prepared.schema, prepared.status) == ("powercontext.prepared-context.v1", "ready")
    assert (prepared.content, prepared.content_bytes) == ("é\n", 3)
    assert prepared.raw == raw
    assert (prepared.received.request_id, prepared.received.attempts) == ("abc", 1)
    assert "é" not in repr(prepared)


@both_clients
def test_an_empty_context_is_a_result(ask: Ask) -> None:
    with recording(http(200, EMPTY)) as recorder:
        prepared = ask(recorder.url, "prepare", "s", "q")
    assert (prepared.status, prepared.content, prepared.content_bytes) == ("empty", None, 0)


@both_clients
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRefused),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (413, RequestRefused),
        (415, RequestRefused),
        (418, Refused),
        (422, RequestRefused),
        (500, ServerFailed),
        (503, ServiceUnavailable),
        (504, ServerFailed),
    ],
)
def test_each_status_is_an_error_of_its_kind_and_a_prepare_is_sent_once(
    status: int, kind: type[Refused], ask: Ask
) -> None:
    answer = http(status, {"error": {"code": "a_code", "message": QUERY, "details": None}}, "x-request-id: abc")
    raised, sent = refused(ask, answer)
    assert type(raised) is kind
    assert isinstance(raised, Refused)
    assert (raised.code, raised.status, raised.request_id, sent) == ("a_code", status, "abc", 1)
    assert raised.cause == f"HTTP status {status}"


@both_clients
def test_a_refusal_tells_places_by_the_names_of_the_contract_alone(ask: Ask) -> None:
    problems = [
        {"type": "int_type", "loc": ["body", "assembly", "sections", 0, "limit"], "msg": f"not {QUERY}"},
        {"type": "extra_forbidden", "loc": ["body", QUERY], "msg": ""},
        {"type": QUERY, "loc": [True, None, {"x": QUERY}, ["y"]], "msg": ""},
        QUERY,
    ]
    raised, _ = refused(ask, error(422, "invalid_request", message=TEXT, details={"errors": problems}))
    assert isinstance(raised, RequestRefused)
    assert raised.problems == (
        Problem("int_type", ("body", "assembly", "sections", 0, "limit")),
        Problem("extra_forbidden", ("body", "...")),
        Problem("unknown", ("...", "...", "...", "...")),
        Problem("unknown", ()),
    )
    assert "int_type at body.assembly.sections.0.limit" in str(raised)
    assert str(raised).startswith("invalid_request: The server does not accept the request.\n  cause: HTTP status 422")
    assert "\n  hint: " in str(raised)


@both_clients
@pytest.mark.parametrize(
    "answer",
    [
        http(422, b"<html>the secret query</html>"),
        http(422, b"\xff"),
        http(422, []),
        http(422, {"error": QUERY}),
        http(422, {"detail": QUERY}),
        error(422, None),
        error(422, QUERY),
        error(422, "x" * 65),
        error(422, {"code": "x"}),
    ],
)
def test_a_refusal_of_another_shape_is_told_by_its_status(answer: bytes, ask: Ask) -> None:
    raised, sent = refused(ask, answer)
    assert type(raised) is RequestRefused
    assert (raised.code, sent) == ("http_422", 1)


@both_clients
def test_a_request_number_that_is_none_is_not_told(ask: Ask) -> None:
    raised, _ = refused(ask, http(500, {}, f"x-request-id: {QUERY}"))
    assert isinstance(raised, ServerFailed)
    assert raised.request_id is None


NONSENSE: list[tuple[Any, int | None]] = [
    (b"", None),
    (b"the secret text", None),
    (b"\xff\xfe", None),
    (b"[" * 100_000, None),
    (None, None),
    ([], None),
    ({}, None),
    (READY | {"reason": "x"}, None),
    ({key: value for key, value in READY.items() if key != "content"}, None),
    (READY | {"schema": 1}, None),
    (READY | {"status": "full"}, None),
    (READY | {"status": "empty"}, None),
    (READY | {"content": None}, None),
    (READY | {"content": "", "content_bytes": 0}, None),
    (READY | {"content": ["x"]}, None),
    (READY | {"content_bytes": 2}, None),
    (READY | {"content_bytes": 3.0}, None),
    (READY | {"content_bytes": "3"}, None),
    (READY | {"content": "\ud800"}, None),
    (READY | {"content": "x", "content_bytes": True}, None),
    (EMPTY | {"content_bytes": 1}, None),
    (EMPTY | {"content_bytes": False}, None),
    (EMPTY | {"content": ""}, None),
    (READY | {"content": "x" * 513, "content_bytes": 513}, 512),
    # The budget that the server takes where none is given (SPEC.md 2).
    (READY | {"content": "x" * 8001, "content_bytes": 8001}, None),
]


@both_clients
@pytest.mark.parametrize(("body", "max_bytes"), NONSENSE)
def test_an_answer_that_is_not_of_the_contract_is_refused(body: Any, max_bytes: int | None, ask: Ask) -> None:
    raised, sent = refused(ask, http(200, body), **({} if max_bytes is None else {"max_bytes": max_bytes}))
    assert type(raised) is AnswerInvalid
    assert (raised.code, sent) == ("answer_invalid", 1)


@both_clients
def test_a_context_that_fills_its_budget_is_a_result(ask: Ask) -> None:
    with recording(http(200, READY | {"content": "x" * 512, "content_bytes": 512})) as recorder:
        assert ask(recorder.url, "prepare", "s", "q", max_bytes=512).content_bytes == 512


@both_clients
def test_an_answer_is_not_unpacked(ask: Ask) -> None:
    # 64 MiB packed twice; such an answer of four kilobytes can hold gigabytes.
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    bomb = gzip.compress(packed, 9)
    raised, _ = refused(ask, http(200, bomb, "content-encoding: gzip, gzip"))
    assert (type(raised), raised.code) == (AnswerInvalid, "answer_invalid")
    raised, _ = refused(ask, http(200, gzip.compress(json.dumps(READY).encode()), "content-encoding: gzip"))
    assert (type(raised), raised.code) == (AnswerInvalid, "answer_invalid")


@both_clients
def test_a_context_of_another_version_is_a_mismatch(ask: Ask) -> None:
    raised, _ = refused(ask, http(200, {"schema": "powercontext.prepared-context.v2", "text": TEXT}))
    assert type(raised) is VersionMismatch
    assert raised.code == "schema_unknown"


@both_clients
@pytest.mark.parametrize("status", [201, 204, 302])
def test_another_status_is_not_followed_and_no_result(status: int, ask: Ask) -> None:
    raised, sent = refused(ask, http(status, b"", "location: /elsewhere"))
    assert (type(raised), raised.code, sent) == (AnswerInvalid, "status_unexpected", 1)


@both_clients
def test_an_answer_too_large_is_not_read_to_its_end(ask: Ask) -> None:
    raised, _ = refused(ask, http(200, b" " * 2_000_000))
    assert (type(raised), raised.code) == (AnswerInvalid, "answer_too_large")


@both_clients
@pytest.mark.parametrize(
    "script", [b"the secret text\r\n\r\n", b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{", "close"]
)
def test_a_connection_that_ends_or_speaks_no_http_is_lost(script: Script, ask: Ask) -> None:
    raised, sent = refused(ask, script)
    assert (type(raised), raised.code, sent) == (Unreachable, "connection_lost", 1)


@both_clients
@pytest.mark.parametrize("script", ["hang", "drip"])
def test_a_server_that_takes_too_long_is_given_up(script: Script, ask: Ask) -> None:
    raised, sent = refused(ask, script, options={"timeout_seconds": SLOW})
    assert (type(raised), raised.code, sent) == (TimedOut, "timed_out", 1)


@both_clients
def test_nobody_there_is_unreachable(ask: Ask) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable) as caught:
            ask(f"http://127.0.0.1:{nobody.getsockname()[1]}", "prepare", SCOPE, QUERY, options={"token": TOKEN})
    keeps_secrets(caught.value)
    assert caught.value.code == "server_unreachable"


PROFILE = {
    "scope_id": SCOPE,
    "family": "profile",
    "artifact_id": "profile",
    "revision": 1,
    "content": {"content": TEXT},
}
CITATION: dict[str, Any] = {
    "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 1},
    "entry_id": "e",
    "entry_version_id": "v",
}
ENTRY = {"citation": CITATION, "kind": "fact", "text": TEXT, "state": "active"}
BUSY = error(503, "service_unavailable")
READS: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = [
    ("read_revision", (SCOPE, "profile", "profile", 1), {}, PROFILE),
    ("read_entry", (SCOPE, "e", "v"), {"revision": 1}, ENTRY),
    ("capabilities", (), {}, {"context_versions": ["v"], "assembly": True}),
]
reads = pytest.mark.parametrize(("method", "arguments", "named", "body"), READS, ids=[read[0] for read in READS])


@both_clients
@reads
@pytest.mark.parametrize("script", ["close", BUSY])
def test_an_exact_read_is_tried_again_and_says_so(
    script: Script, method: str, arguments: tuple[Any, ...], named: dict[str, Any], body: Any, ask: Ask
) -> None:
    told: list[Retry] = []
    with recording(script, script, http(200, body)) as recorder:
        read = ask(recorder.url, method, *arguments, options={"token": TOKEN, "on_retry": told.append}, **named)
    assert len({sent.line for sent in recorder.sent}) == 1
    assert (len(recorder.sent), read.received.attempts) == (3, 3)
    assert [retry.attempt for retry in told] == [2, 3]
    for retry in told:
        keeps_secrets(retry.error)
    assert TEXT not in repr(read)


@both_clients
@reads
def test_retries_are_bounded(
    method: str, arguments: tuple[Any, ...], named: dict[str, Any], body: Any, ask: Ask
) -> None:
    for retries in (0, 1, 2):
        told: list[Retry] = []
        with recording(BUSY) as recorder, pytest.raises(ServiceUnavailable) as caught:
            ask(recorder.url, method, *arguments, options={"retries": retries, "on_retry": told.append}, **named)
        assert (len(recorder.sent), len(told)) == (retries + 1, retries)
        keeps_secrets(caught.value)


@both_clients
@reads
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500])
def test_a_read_that_was_refused_is_not_tried_again(
    status: int, method: str, arguments: tuple[Any, ...], named: dict[str, Any], body: Any, ask: Ask
) -> None:
    with recording(error(status, "a_code")) as recorder, pytest.raises(Refused):
        ask(recorder.url, method, *arguments, **named)
    assert len(recorder.sent) == 1


@both_clients
@reads
def test_a_read_of_another_shape_is_refused(
    method: str, arguments: tuple[Any, ...], named: dict[str, Any], body: Any, ask: Ask
) -> None:
    answer = http(200, {"content": 5, "kind": "fact", "context_versions": {}})
    with recording(answer) as recorder, pytest.raises(AnswerInvalid) as caught:
        ask(recorder.url, method, *arguments, **named)
    assert len(recorder.sent) == 1
    keeps_secrets(caught.value)


@both_clients
@pytest.mark.parametrize(
    "body",
    [
        PROFILE | {"revision": 2},
        PROFILE | {"revision": True},
        PROFILE | {"revision": 1.0},
        PROFILE | {"scope_id": "other"},
        PROFILE | {"artifact_id": "other"},
        PROFILE | {"family": "experience"},
        {"content": {"content": TEXT}},
    ],
)
def test_another_revision_is_no_answer(body: Any, ask: Ask) -> None:
    with recording(http(200, body)) as recorder, pytest.raises(AnswerInvalid):
        ask(recorder.url, "read_revision", SCOPE, "profile", "profile", 1)


@both_clients
@pytest.mark.parametrize(
    "changed",
    [
        {"entry_version_id": "v2"},
        {"entry_id": "f"},
        {"memory_ref": None},
        {"memory_ref": CITATION["memory_ref"] | {"revision": True}},
    ],
)
def test_another_entry_version_is_no_answer(changed: Any, ask: Ask) -> None:
    answer = http(200, ENTRY | {"citation": CITATION | changed})
    with recording(answer) as recorder, pytest.raises(AnswerInvalid):
        ask(recorder.url, "read_entry", SCOPE, "e", "v", revision=1)


@both_clients
def test_a_hung_read_is_given_up_after_its_last_attempt(ask: Ask) -> None:
    told: list[Retry] = []
    options = {"timeout_seconds": SLOW, "retries": 1, "on_retry": told.append}
    with recording("hang") as recorder, pytest.raises(TimedOut):
        ask(recorder.url, "read_revision", SCOPE, "profile", "profile", 1, options=options)
    assert [(retry.attempt, type(retry.error)) for retry in told] == [(2, TimedOut)]
