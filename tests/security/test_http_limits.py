"""What one client may take of a server: sizes, counts, time, connections; and how he is refused (SPEC.md 2)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from talking import BODY, PREPARE, REVISION, TOKEN, Guarded, fill, guarded, request

from runtime.artifacts import EntryWrite
from runtime.http.protocol import HttpLimits
from runtime.storage import Storage

CHUNKED = request("POST", PREPARE, None, b"content-type: application/json", b"transfer-encoding: chunked")
SHORT = HttpLimits(head_seconds=0.4, body_seconds=0.5, answer_seconds=0.5, connections=12, idle_seconds=1)


@pytest.fixture
def served(database: str, storage: Storage) -> Iterator[Guarded]:
    fill(storage)
    with guarded(database) as server:
        yield server


@pytest.fixture
def hurried(database: str, storage: Storage) -> Iterator[Guarded]:
    fill(storage)
    with guarded(database, limits=SHORT) as server:
        yield server
        assert "Traceback" not in server.log.text


only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
"""What is judged before the storage is asked."""


@only_sqlite
def test_a_body_has_1_mib_however_it_is_sent(served: Guarded) -> None:
    full = BODY + b" " * (1_048_576 - len(BODY))
    answer = served.ask(request(body=full))
    assert answer is not None
    assert answer.status == 200
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    for sent in (
        request(body=full + b" "),
        CHUNKED + chunk * 17 + b"0\r\n\r\n",
        request(body=None) + b"",
    ):
        for token in (TOKEN, "nobody-s"):
            answer = served.ask(sent.replace(TOKEN.encode(), token.encode()))
            assert answer is not None
            known = (415, "unsupported_media_type") if sent == request(body=None) else (413, "payload_too_large")
            assert (answer.status, answer.code) == (known if token == TOKEN else (401, "unauthorized"))


@only_sqlite
@pytest.mark.parametrize(
    "head",
    [
        b"\r\n".join(b"x-%d: y" % number for number in range(100)),
        b"x: " + b"y" * 16_400,
        b"y" * 17_000 + b": x",
        b"x: " + b"y" * 1_000_000,
        b"\r\n".join(b"x-%d: %s" % (number, b"y" * 1000) for number in range(20)),
    ],
    ids=["count", "value", "name", "endless", "sum"],
)
def test_headers_are_bounded(served: Guarded, head: bytes) -> None:
    answer = served.ask(request("POST", PREPARE, BODY, head))
    assert answer is not None
    assert (answer.status, answer.code, answer.error["details"]) == (431, "headers_too_large", None)
    assert answer.headers["connection"] == "close"


@only_sqlite
def test_a_target_is_bounded_and_the_longest_ids_fit(served: Guarded) -> None:
    answer = served.ask(request("GET", "/" + "x" * 16_400, None))
    assert answer is not None
    assert (answer.status, answer.code) == (431, "headers_too_large")
    longest = "%F0%9F%98%80" * 256
    answer = served.ask(request("GET", f"/v1/scopes/{longest}/artifacts/experience/{longest}/revisions/1", None))
    assert answer is not None
    assert (answer.status, answer.code) == (403, "forbidden")


@only_sqlite
@pytest.mark.parametrize(
    "sent",
    [
        b"\0\1\2\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"NONSENSE / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: \0\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        CHUNKED + b"zz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_shape_of_all_errors(served: Guarded, sent: bytes) -> None:
    answer = served.ask(sent)
    assert answer is not None
    assert (answer.status, answer.code) in {(400, "bad_request"), (404, "not_found")}
    assert "Traceback" not in served.log.text


@only_sqlite
def test_two_authorizations_are_none_and_a_trailer_is_not_heard(served: Guarded) -> None:
    shown = b"authorization: Bearer " + TOKEN.encode()
    for first, second in ((TOKEN, shown), ("other", shown), (TOKEN, b"authorization: Bearer other")):
        answer = served.ask(request("POST", PREPARE, BODY, second, token=first))
        assert answer is not None
        assert (answer.status, answer.code) == (401, "unauthorized")
    chunked = request(
        "POST", PREPARE, None, b"content-type: application/json", b"transfer-encoding: chunked", token=None
    )
    answer = served.ask(chunked, b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(BODY), BODY, shown))
    assert answer is not None
    assert (answer.status, answer.code) == (401, "unauthorized")


def test_a_refusal_waits_for_the_answers_before_it(served: Guarded) -> None:
    with served.line() as line:
        line.send(request() * 2 + b"nonsense\r\n\r\n")
        statuses = [answer.status if answer else None for answer in (line.answer() for _ in range(4))]
    assert statuses == [200, 200, 400, None]


@only_sqlite
@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", None),
        (b"POST /v1/context/prepare HTT", 408),
        (b"GET /health/live HTTP/1.1\r\nhost: x\r\n", 408),
        (request()[:-1], 408),
        (CHUNKED + b"5\r\na", 408),
        (b"\r\n\r\n\r\n", 408),
    ],
    ids=["silent", "line", "headers", "body", "chunk", "blank lines"],
)
def test_a_slow_client_is_cut_off(hurried: Guarded, sent: bytes, answered: int | None) -> None:
    began = time.monotonic()
    with hurried.line() as line:
        line.send(sent)
        answer = line.answer()
        assert (answer and answer.status) == answered
        if answer is not None:
            assert answer.code == "request_timeout"
        assert line.is_closed()
    assert time.monotonic() - began < 10


@only_sqlite
def test_a_client_that_drips_is_cut_off_although_something_always_comes(hurried: Guarded) -> None:
    with hurried.line(seconds=0.05) as line:
        line.send(b"POST /v1/context/prepare HTTP/1.1\r\n")
        began = time.monotonic()
        answer = None
        while answer is None and time.monotonic() - began < 10:
            line.send(b"x: y\r\n")
            try:
                answer = line.answer()
                break
            except TimeoutError:
                continue
    assert answer is not None
    assert answer.status == 408


@only_sqlite
def test_what_comes_behind_another_request_has_no_more_time(hurried: Guarded) -> None:
    with hurried.line() as line:
        line.send(request() + request()[:40])
        statuses = [answer.status if answer else None for answer in (line.answer() for _ in range(3))]
    assert statuses == [200, 408, None]


@only_sqlite
def test_after_an_answer_before_the_body_the_body_may_not_drip_on(hurried: Guarded) -> None:
    with hurried.line() as line:
        line.send(request("POST", "/nowhere", b"x" * 1000)[:-10])
        answer = line.answer()
        assert answer is not None
        assert answer.status == 404
        assert line.is_closed()


def test_a_client_that_does_not_read_is_cut_off(hurried: Guarded, storage: Storage) -> None:
    with storage.writing() as writer:
        writer.write_memory("demo", [EntryWrite(f"large-{n}", "v", "x" * 1_000_000) for n in range(12)])
    with hurried.line() as line:
        line.send(request("GET", REVISION.replace("revisions/1", "revisions/2"), None))
        deadline = time.monotonic() + 20
        # The first byte says that the answer is on its way; the rest is left unread.
        assert line.socket.recv(1) == b"H"
        while hurried.connections and time.monotonic() < deadline:
            time.sleep(0.02)
        assert hurried.connections == 0


@only_sqlite
def test_connections_are_bounded_and_the_others_go_on(hurried: Guarded) -> None:
    lines = [hurried.line() for _ in range(SHORT.connections)]
    for line in lines:
        line.send(request("GET", "/health/live", None))
        answer = line.answer()
        assert answer is not None
        assert answer.status == 200
    with hurried.line() as one_too_many:
        answer = one_too_many.answer()
        assert answer is not None
        assert (answer.status, answer.code) == (503, "service_unavailable")
        assert one_too_many.is_closed()
    lines[0].send(request())
    answer = lines[0].answer()
    assert answer is not None
    assert answer.status == 200
    for line in lines:
        assert line.is_closed()
        line.socket.close()
    answer = hurried.ask(request())
    assert answer is not None
    assert answer.status == 200


@only_sqlite
def test_an_error_lists_20_faults_at_most(served: Guarded) -> None:
    many = [b'"show":[' + b",".join([b'"x"'] * 200_000) + b"]", b",".join(b'"k%d":0' % n for n in range(80_000))]
    for fields in many:
        answer = served.ask(request(body=b'{"scope_id":"demo","query":"x","assembly":{%s}}' % fields))
        assert answer is not None
        assert answer.status == 422
        assert 1 <= len(answer.error["details"]["errors"]) <= 20
        assert len(answer.body) < 10_000
