"""What the clients send, compared byte for byte."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import pytest
from asking import Ask, both_clients
from recorder import EMPTY, Sent, error, http, recording

from runtime.http.client import OMITTED, Assembly, Client, Misuse, RequestUnusable, Section

TOKEN = "a-token"


def revision(identity: str, number: int) -> dict[str, Any]:
    named = {"scope_id": identity, "family": "profile", "artifact_id": identity, "revision": number}
    return named | {"content": {"content": "p"}}


CITATION = {
    "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 3},
    "entry_id": "e",
    "entry_version_id": "v",
}
ENTRY = {"citation": CITATION, "kind": "fact", "text": "t", "state": "active"}


def prepared(ask: Ask, *arguments: Any, **named: Any) -> Sent:
    with recording(http(200, EMPTY)) as recorder:
        ask(recorder.url, "prepare", *arguments, **named)
    (sent,) = recorder.sent
    assert sent.line == "POST /v1/context/prepare HTTP/1.1"
    assert sent.headers["content-type"] == "application/json"
    return sent


@both_clients
@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({}, b'{"scope_id":"demo","query":"contract tests"}'),
        ({"assembly": OMITTED, "max_bytes": OMITTED}, b'{"scope_id":"demo","query":"contract tests"}'),
        ({"assembly": {}}, b'{"scope_id":"demo","query":"contract tests","assembly":{}}'),
        ({"assembly": Assembly()}, b'{"scope_id":"demo","query":"contract tests","assembly":{}}'),
        ({"assembly": {"sections": []}}, b'{"scope_id":"demo","query":"contract tests","assembly":{"sections":[]}}'),
        (
            {"assembly": Assembly(sections=[])},
            b'{"scope_id":"demo","query":"contract tests","assembly":{"sections":[]}}',
        ),
        ({"assembly": Assembly(show=[])}, b'{"scope_id":"demo","query":"contract tests","assembly":{"show":[]}}'),
        ({"max_bytes": 8000}, b'{"scope_id":"demo","query":"contract tests","max_bytes":8000}'),
        (
            {
                "max_bytes": 512,
                "assembly": Assembly(sections=[Section(family="profile", limit=8)], show=["recall_rank"]),
            },
            b'{"scope_id":"demo","query":"contract tests","max_bytes":512,"assembly":'
            b'{"sections":[{"family":"profile","limit":8}],"show":["recall_rank"]}}',
        ),
        # A mapping is not judged here: the server does it.
        (
            {"assembly": {"sections": None}},
            b'{"scope_id":"demo","query":"contract tests","assembly":{"sections":null}}',
        ),
        # A list is no assembly, and is not made one on the way.
        ({"assembly": []}, b'{"scope_id":"demo","query":"contract tests","assembly":[]}'),
        # Nor one that was made without its checks, of which nobody is warned with what it holds.
        (
            {"assembly": Assembly.model_construct(sections="x")},  # type: ignore[arg-type]
            b'{"scope_id":"demo","query":"contract tests","assembly":{"sections":"x"}}',
        ),
        ({"assembly": ""}, b'{"scope_id":"demo","query":"contract tests","assembly":""}'),
        ({"assembly": 0}, b'{"scope_id":"demo","query":"contract tests","assembly":0}'),
        ({"assembly": MappingProxyType({})}, b'{"scope_id":"demo","query":"contract tests","assembly":{}}'),
        (
            {"assembly": {"format": "text"}},
            b'{"scope_id":"demo","query":"contract tests","assembly":{"format":"text"}}',
        ),
    ],
)
def test_what_is_given_is_sent_and_nothing_else(given: dict[str, Any], body: bytes, ask: Ask) -> None:
    assert prepared(ask, "demo", "contract tests", **given).body == body


@both_clients
def test_a_text_is_sent_as_utf_8_and_only_what_json_needs_is_escaped(ask: Ask) -> None:
    sent = prepared(ask, "界", 'a"\\\n\u2028\u0000😀')
    assert sent.body == '{"scope_id":"界","query":"a\\"\\\\\\n\u2028\\u0000😀"}'.encode()
    assert sent.headers["content-length"] == str(len(sent.body))


@both_clients
def test_a_token_is_sent_as_a_bearer_and_without_one_there_is_no_header(ask: Ask) -> None:
    assert prepared(ask, "s", "q", options={"token": TOKEN}).headers["authorization"] == "Bearer a-token"
    assert "authorization" not in prepared(ask, "s", "q").headers


@both_clients
def test_what_a_server_sets_is_not_sent_back_to_it(ask: Ask) -> None:
    with recording(error(503, "service_unavailable", "set-cookie: a=b"), http(200, ENTRY)) as recorder:
        ask(recorder.url, "read_entry", "s", "e", "v", revision=3)
    assert len(recorder.sent) == 2
    assert "cookie" not in recorder.sent[1].headers


@both_clients
def test_the_environment_adds_neither_a_proxy_nor_a_password(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert prepared(ask, "s", "q").headers.keys().isdisjoint({"proxy-authorization", "authorization", "cookie"})


@both_clients
@pytest.mark.parametrize("prefix", ["", "/", "/below", "/below/"])
def test_a_server_may_be_below_a_path(prefix: str, ask: Ask) -> None:
    with recording(http(200, EMPTY)) as recorder:
        ask(recorder.url + prefix, "prepare", "s", "q")
    assert recorder.sent[0].line == f"POST {prefix.rstrip('/')}/v1/context/prepare HTTP/1.1"


@both_clients
@pytest.mark.parametrize(
    ("identity", "segment"),
    [
        ("project:demo", "project%3Ademo"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("%2F", "%252F"),
        ("?#", "%3F%23"),
        ("a b+", "a%20b%2B"),
        ("界\x00", "%E7%95%8C%00"),
        ("{family}", "%7Bfamily%7D"),
        ("a-_~", "a-_~"),
    ],
)
def test_ids_are_percent_encoded_once(identity: str, segment: str, ask: Ask) -> None:
    with recording(http(200, revision(identity, 7))) as recorder:
        ask(recorder.url, "read_revision", identity, "profile", identity, 7)
    (sent,) = recorder.sent
    assert sent.line == f"GET /v1/scopes/{segment}/artifacts/profile/{segment}/revisions/7 HTTP/1.1"
    assert sent.body == b""
    assert "content-type" not in sent.headers


@both_clients
def test_an_entry_is_asked_for_by_its_citation(ask: Ask) -> None:
    with recording(http(200, ENTRY)) as recorder:
        read = ask(recorder.url, "read_entry", "s", "e", "v", revision=3)
    (sent,) = recorder.sent
    assert sent.line == "POST /v1/memory/entries/get HTTP/1.1"
    assert sent.body == (
        b'{"scope_id":"s","citation":{"memory_ref":{"family":"memory","artifact_id":"memory","revision":3},'
        b'"entry_id":"e","entry_version_id":"v"}}'
    )
    assert (read.kind, read.text, read.state) == ("fact", "t", "active")


NOT_SENT: list[tuple[dict[str, Any], str]] = [
    ({"assembly": None}, "assembly_null"),
    ({"query": "\ud800 secret"}, "unicode_invalid"),
    ({"scope_id": "\udfff"}, "unicode_invalid"),
    ({"assembly": {"sections": {1, 2}}}, "json_impossible"),
    ({"assembly": {"sections": [{"limit": math.nan}]}}, "json_impossible"),
    ({"query": b"secret"}, "json_impossible"),
]


@both_clients
@pytest.mark.parametrize(("given", "code"), NOT_SENT)
def test_what_cannot_be_sent_is_a_typed_error_and_is_not_sent(given: dict[str, Any], code: str, ask: Ask) -> None:
    with recording(http(200, EMPTY)) as recorder, pytest.raises(RequestUnusable) as caught:
        ask(recorder.url, "prepare", **{"scope_id": "s", "query": "q"} | given)
    assert recorder.sent == []
    assert caught.value.code == code
    assert caught.value.sentence.endswith(".")
    assert "secret" not in repr(caught.value) + str(caught.value)
    # What it refers to would be printed below it.
    assert caught.value.__context__ is None


@both_clients
def test_an_id_that_is_no_unicode_is_not_sent(ask: Ask) -> None:
    with recording(http(200, revision("s", 1))) as recorder, pytest.raises(RequestUnusable) as caught:
        ask(recorder.url, "read_revision", "\ud800", "profile", "profile", 1)
    assert recorder.sent == []
    assert (caught.value.code, caught.value.__context__) == ("unicode_invalid", None)


@both_clients
@pytest.mark.parametrize(
    ("identity", "number", "code"),
    [
        ("secret", "1", "revision_malformed"),
        ("secret", 1.0, "revision_malformed"),
        ("secret", None, "revision_malformed"),
        ("secret", 10**5000, "revision_malformed"),
        ("secret" * 20_000, 1, "url_too_long"),
    ],
    ids=["text", "fraction", "None", "5000 digits", "long"],
)
def test_a_path_that_cannot_be_sent_is_a_typed_error(identity: str, number: Any, code: str, ask: Ask) -> None:
    with recording(http(200, revision("s", 1))) as recorder, pytest.raises(RequestUnusable) as caught:
        ask(recorder.url, "read_revision", identity, "profile", "profile", number)
    assert recorder.sent == []
    assert (caught.value.code, caught.value.__context__) == (code, None)
    assert "secret" not in repr(caught.value) + str(caught.value)


@pytest.mark.parametrize(
    ("url", "options", "code"),
    [
        ("", {}, "url_malformed"),
        ("127.0.0.1:8000", {}, "url_malformed"),
        ("ftp://127.0.0.1", {}, "url_malformed"),
        ("http://user:secret@127.0.0.1", {}, "url_malformed"),
        ("http://127.0.0.1/?token=secret", {}, "url_malformed"),
        ("http://127.0.0.1:x/secret", {}, "url_malformed"),
        ("http://127.0.0.1/\ud800secret", {}, "url_malformed"),
        ("http://secret..example", {}, "url_malformed"),
        (f"http://{'secret' * 11}.example", {}, "url_malformed"),
        ("http://127.0.0.1", {"token": ""}, "token_malformed"),
        ("http://127.0.0.1", {"token": "secret\r\nx: y"}, "token_malformed"),
        ("http://127.0.0.1", {"token": "secret\u00e9"}, "token_malformed"),
        ("http://127.0.0.1", {"token": " secret"}, "token_malformed"),
        ("http://127.0.0.1", {"timeout_seconds": 0}, "option_malformed"),
        ("http://127.0.0.1", {"timeout_seconds": math.nan}, "option_malformed"),
        ("http://127.0.0.1", {"timeout_seconds": math.inf}, "option_malformed"),
        ("http://127.0.0.1", {"timeout_seconds": 86_401}, "option_malformed"),
        ("http://127.0.0.1", {"retries": -1}, "option_malformed"),
    ],
)
def test_a_client_that_cannot_work_is_not_made(url: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(Misuse) as caught:
        Client(url, **options)
    assert caught.value.code == code
    assert "secret" not in f"{caught.value!r}{caught.value}{caught.value.__context__!r}"


def test_a_closed_client_says_so() -> None:
    client = Client("http://127.0.0.1:1")
    client.close()
    with pytest.raises(Misuse, match="client_closed"):
        client.prepare("s", "q")
