"""SPEC.md 2's table of errors, row by row, over HTTP on both engines."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from serving import ADMINISTRATOR, TOKEN, Failing, Served, code, sections, serving
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from runtime.artifacts import EntryWrite
from runtime.errors import StorageUnreachable
from runtime.storage import Storage, Writer, open_storage

PREPARE = "/v1/context/prepare"
ENTRY = "/v1/memory/entries/get"
REVISION = "/v1/scopes/demo/artifacts/memory/memory/revisions/1"
SECRET = "mary had a lamb"


def fill(writer: Writer) -> None:
    for scope_id in ("demo", "unseen", "seen"):
        writer.create_scope(scope_id)
        writer.write_memory(scope_id, [EntryWrite("e", "v1", "contract tests")])
    writer.create_principal("root", administrator=True)
    writer.store_token("root", ADMINISTRATOR)
    writer.store_token("reader", TOKEN)
    for scope_id in ("demo", "seen"):
        writer.grant("reader", scope_id)


@pytest.fixture
def filled(storage: Storage, database: str) -> str:
    with storage.writing() as writer:
        fill(writer)
    return database


@pytest.fixture
def served(filled: str) -> Iterator[Served]:
    with serving(filled) as served:
        yield served


def test_everything_is_refused_without_a_token_whatever_the_body(served: Served) -> None:
    bodies = [b"", b"{", b"\xff", b'{"scope_id":"demo","query":"x"}', b"x" * 1_048_577]
    for path in (PREPARE, ENTRY):
        for token in (None, "unknown", TOKEN + "x", TOKEN.upper()):
            for content in bodies:
                assert code(served.send("POST", path, token=token, content=content)) == (401, "unauthorized")
        text_body = served.http.post(path, content=b"x", headers={"content-type": "text/plain"})
        assert code(text_body) == (401, "unauthorized")
        assert code(served.http.post(path)) == (401, "unauthorized")
    for path in (REVISION, "/v1/scopes/%ff/artifacts/nothing/x/revisions/zero"):
        assert code(served.send("GET", path, token=None)) == (401, "unauthorized")
    for header in (f"Basic {TOKEN}", TOKEN, f"Bearer{TOKEN}", "Bearer", f"Bearer {TOKEN} {TOKEN}"):
        assert code(served.http.get(REVISION, headers={"authorization": header})) == (401, "unauthorized")
    for scheme in ("bearer", "BEARER"):
        assert served.http.get(REVISION, headers={"authorization": f"{scheme} {TOKEN}"}).status_code == 200


def test_unknown_routes_methods_media_types_and_sizes_have_codes_of_their_own(served: Served) -> None:
    for path in (
        "/",
        "/v1",
        "/v1/context",
        PREPARE + "/",
        "/health/live/",
        "/v1/scopes/demo",
        REVISION + "/x",
        "/docs",
    ):
        assert code(served.send("GET", path)) == (404, "not_found")
        assert code(served.send("GET", path, token=None)) == (404, "not_found")
    for method, path in (("GET", PREPARE), ("PUT", ENTRY), ("POST", REVISION), ("DELETE", "/health/live")):
        answer = served.send(method, path)
        assert code(answer) == (405, "method_not_allowed")
        assert answer.headers["allow"]
    body = b'{"scope_id":"demo","query":"contract tests"}'
    for media_type in ("", "text/plain", "application/jsonp", "application/x-www-form-urlencoded"):
        for path in (PREPARE, ENTRY):
            answer = served.send("POST", path, content=body, **{"content-type": media_type})
            assert code(answer) == (415, "unsupported_media_type")
    for media_type in ("application/json", "Application/JSON; charset=utf-8"):
        assert served.send("POST", PREPARE, content=body, **{"content-type": media_type}).status_code == 200
    assert served.send("POST", PREPARE, content=body + b" " * (1_048_576 - len(body))).status_code == 200
    for path in (PREPARE, ENTRY):
        assert code(served.send("POST", path, content=b" " * 1_048_577)) == (413, "payload_too_large")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{" * 100_000,
        b'{"scope_id":"demo","query":"\\ud800"}',
        json.dumps({"scope_id": "demo", "query": SECRET * 1000}).encode(),
        json.dumps({"scope_id": "demo", "query": "x", SECRET: SECRET}).encode(),
        json.dumps({"scope_id": SECRET * 30, "query": " ", "assembly": None, "max_bytes": SECRET}).encode(),
        b'{"scope_id":"demo","query":"x","max_bytes":NaN,"max_bytes":512}',
    ],
)
def test_what_the_model_refuses_is_told_without_the_callers_values(served: Served, content: bytes) -> None:
    answer = served.send("POST", PREPARE, content=content)
    assert code(answer) == (422, "invalid_request")
    errors = answer.json()["error"]["details"]["errors"]
    assert errors
    assert all(set(error) == {"type", "loc", "msg"} for error in errors)
    assert "mary" not in answer.text


def test_scopes_that_are_unreadable_and_absent_look_alike_to_a_reader(served: Served) -> None:
    unseen = served.prepare(scope_id="unseen")
    absent = served.prepare(scope_id="absent")
    assert code(unseen) == code(absent) == (403, "forbidden")
    assert unseen.json() == absent.json()
    assert code(served.prepare(scope_id="Demo")) == (403, "forbidden")
    assert code(served.prepare(scope_id="demo ")) == (403, "forbidden")


def test_the_administrator_learns_that_a_scope_is_absent_and_reads_nothing(served: Served) -> None:
    assert code(served.prepare(token=ADMINISTRATOR, scope_id="absent")) == (404, "scope_not_found")
    assert code(served.prepare(token=ADMINISTRATOR)) == (403, "forbidden")


def test_without_access_control_everybody_reads_and_absence_is_told(filled: str) -> None:
    with serving(filled, access_mode="disabled") as served:
        for token in (None, "unknown"):
            assert served.prepare(token=token, scope_id="unseen").json()["status"] == "ready"
            assert code(served.prepare(token=token, scope_id="absent")) == (404, "scope_not_found")


@pytest.mark.parametrize(
    ("assembly", "expected"),
    [
        (None, 403),
        ({}, 403),
        (sections("memory"), 403),
        (sections("experience"), 403),
        (sections("profile"), 403),
        (sections("topic-memory", "profile"), 403),
        (sections("topic-memory"), 200),
        ({"sections": []}, 200),
    ],
)
def test_a_reference_is_checked_exactly_where_it_is_read(
    storage: Storage, served: Served, assembly: dict[str, Any] | None, expected: int
) -> None:
    with storage.writing() as writer:
        writer.set_references("demo", ["seen", "unseen"])
    fields: dict[str, Any] = {} if assembly is None else {"assembly": assembly}
    answer = served.prepare(**fields)
    assert answer.status_code == expected
    if expected == 403:
        assert code(answer) == (403, "forbidden")
        assert "contract" not in answer.text
    with storage.writing() as writer:
        writer.set_references("demo", ["seen"])
    assert served.prepare(**fields).status_code == 200
    with storage.writing() as writer:
        writer.revoke("reader", "seen")
    assert served.prepare(**fields).status_code == expected


def test_the_total_is_checked_after_the_scope_and_before_the_references(filled: str, storage: Storage) -> None:
    with storage.writing() as writer:
        writer.set_references("demo", ["unseen"])
    with serving(filled, max_entries=7) as served:
        assert code(served.prepare(assembly={})) == (422, "invalid_request")
        assert code(served.prepare(assembly={}, scope_id="unseen")) == (403, "forbidden")
        assert code(served.prepare(assembly={}, scope_id="absent", token=ADMINISTRATOR)) == (404, "scope_not_found")
        assert code(served.prepare(assembly={}, token=None)) == (401, "unauthorized")
        assert code(served.prepare(assembly={"sections": [{"family": "memory", "limit": 7}]})) == (403, "forbidden")
        assert served.prepare(assembly={"sections": []}).json()["status"] == "empty"
        assert code(served.prepare()) == (403, "forbidden")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        TimeoutError(SECRET),
        OperationalError(SECRET, {}, Exception(SECRET)),
        ProgrammingError(SECRET, {}, Exception(SECRET)),
        StorageUnreachable(SECRET),
    ],
)
@pytest.mark.parametrize("family", ["memory", "experience", "profile", "topic-memory"])
def test_a_failing_source_is_a_service_error_exactly_where_it_is_selected(
    filled: str, family: str, error: Exception
) -> None:
    with serving(filled, sources={family: Failing(error)}) as served:
        others = [other for other in ("memory", "experience", "profile", "topic-memory") if other != family]
        answer = served.prepare(assembly=sections(*others[:1], family))
        assert code(answer) == (503, "service_unavailable")
        assert "mary" not in answer.text
        assert served.prepare(assembly=sections(*others)).status_code == 200
        assert served.prepare(assembly={"sections": []}).status_code == 200
        assert served.prepare().status_code == (200 if family == "profile" else 503)
        assert served.application.storage.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_an_unexpected_failure_hides_everything(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(filled) as served:

        def fail(*_: object) -> None:
            raise RuntimeError(SECRET)

        monkeypatch.setattr("runtime.application.builder.build", fail)
        answer = served.prepare(assembly={})
        assert code(answer) == (500, "internal_error")
        assert "mary" not in answer.text
        assert "mary" not in str(answer.headers)
        monkeypatch.undo()
        assert served.prepare(assembly={}).status_code == 200


def test_every_answer_has_an_id_of_its_own(served: Served) -> None:
    answers = [
        served.send("GET", "/health/live", token=None),
        served.send("GET", "/health/ready", token=None),
        served.send("GET", "/v1/capabilities", token=None),
        served.send("GET", "/nothing"),
        served.send("PUT", PREPARE),
        served.prepare(),
        served.prepare(token=None),
    ]
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    assert [answer.status_code for answer in answers[:3]] == [200, 200, 200]
    capabilities = answers[2].json()
    assert capabilities["context_versions"] == ["powercontext.prepared-context.v1"]
    assert capabilities["assembly"] is True


def test_a_storage_that_is_not_ready_is_told_until_it_is(fresh_database: str) -> None:
    storage = open_storage(fresh_database)
    with storage.engine.begin() as connection:
        connection.execute(text("CREATE TABLE customers (a INT)"))
    with serving(fresh_database) as served:
        assert served.send("GET", "/health/live").status_code == 200
        assert served.send("GET", "/v1/capabilities").status_code == 200
        assert code(served.send("GET", "/health/ready")) == (503, "runtime_not_ready")
        for answer in (served.prepare(), served.prepare(token=None), served.send("GET", REVISION)):
            assert code(answer) == (503, "runtime_not_ready")
            assert "customers" not in answer.text
        with storage.engine.begin() as connection:
            connection.execute(text("DROP TABLE customers"))
        assert served.send("GET", "/health/ready").status_code == 200
        assert code(served.prepare()) == (401, "unauthorized")
    storage.close()


def test_first_requests_at_once_make_the_schema_once(fresh_database: str) -> None:
    together = threading.Barrier(6)

    def ask(served: Served) -> int:
        together.wait(30)
        return served.send("GET", "/health/ready").status_code

    with serving(fresh_database) as served, ThreadPoolExecutor(6) as threads:
        assert [status.result() for status in [threads.submit(ask, served) for _ in range(6)]] == [200] * 6


def test_a_lost_database_is_a_service_error(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(filled) as served:
        assert served.prepare(assembly={}).status_code == 200

        def lose(*_: object, **__: object) -> None:
            raise OperationalError(SECRET, {}, Exception(SECRET))

        monkeypatch.setattr("runtime.storage.reads.Reader.scopes", lose)
        monkeypatch.setattr("runtime.storage.reads.Reader.ping", lose)
        for answer in (served.prepare(assembly={}), served.prepare(), served.send("GET", REVISION)):
            assert code(answer) == (503, "service_unavailable")
            assert "mary" not in answer.text
        assert code(served.send("GET", "/health/ready")) == (503, "service_unavailable")
        assert served.send("GET", "/health/live").status_code == 200


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
def test_a_database_dropped_under_the_server_is_a_service_error(fresh_database: str) -> None:
    storage = open_storage(fresh_database)
    storage.prepare()
    with storage.writing() as writer:
        fill(writer)
    with serving(fresh_database) as served:
        assert served.prepare(assembly={}).status_code == 200
        name = storage.engine.url.database
        with storage.engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        answer = served.prepare(assembly={})
        assert code(answer) == (503, "service_unavailable")
    storage.close()


def test_the_log_holds_no_query_and_no_id(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("runtime")
    kept = logger.propagate, logger.level
    logger.propagate = True
    logger.setLevel(logging.INFO)
    try:
        served.prepare(query=SECRET)
        served.send("GET", REVISION.replace("demo", "mary"))
    finally:
        logger.propagate, logger.level = kept
    assert "POST 200" in caplog.text
    assert "mary" not in caplog.text
