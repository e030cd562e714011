"""Recall sources, time-outs and rerankers behind a server, and the same rules by direct call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from serving import TOKEN, Fixed, Hanging, Served, code, sections, serving
from worlds import write

from runtime.application import ContextApplication
from runtime.artifacts import Address, EntryAddress, EntryWrite
from runtime.builder import Candidate
from runtime.contract import Assembly, PrepareRequest, Section
from runtime.errors import Forbidden, InvalidRequest, OperationError, ScopeNotFound, ServiceUnavailable
from runtime.recall import MemorySource, RerankedHit, default_sources
from runtime.storage import Principal, Storage

READER = Principal("reader", administrator=False)
ROOT = Principal("root", administrator=True)


@pytest.fixture
def filled(storage: Storage, database: str) -> str:
    with storage.writing() as writer:
        writer.store_token("reader", TOKEN)
        for scope_id in ("demo", "shared", "unseen"):
            writer.create_scope(scope_id)
            writer.write_memory(scope_id, [write(f"e{n:02}", f"contract tests {n}") for n in range(20)])
        writer.set_references("demo", ["shared"])
        for scope_id in ("demo", "shared"):
            writer.grant("reader", scope_id)
    return database


def entry(name: str, revision: int = 1) -> EntryAddress:
    return EntryAddress(Address("demo", "memory", "memory", revision), name, "v1")


def placed(content: str) -> list[tuple[str, str]]:
    """Return Scope and entry of each item."""
    scopes = re.findall(r'^ {4}Scope: "(.*)"$', content, re.MULTILINE)
    return list(zip(scopes, re.findall(r'^ {4}Entry: id="(.*?)"', content, re.MULTILINE), strict=True))


def test_exact_repeats_and_blank_bodies_of_a_source_are_dropped(filled: str) -> None:
    found = [
        Candidate.of(entry("a"), "same"),
        Candidate.of(entry("b"), " \n\u3000"),
        Candidate.of(entry("a"), "same"),
        Candidate.of(entry("a", revision=2), "same"),
        Candidate.of(entry("c"), "same"),
    ]
    with serving(filled, sources={"memory": Fixed(found)}) as served:
        content = served.prepare(assembly={"show": ["recall_rank"]}).json()["content"]
    assert [name for _, name in placed(content)] == ["a", "a", "c"]
    assert re.findall(r"Recall rank: (\d)", content) == ["1", "2", "3"]
    assert re.findall(r"revision=(\d)", content) == ["1", "2", "1"]


def test_a_family_without_a_source_has_no_candidates(filled: str) -> None:
    with serving(filled) as served:
        del served.application._sources["memory"]  # type: ignore[attr-defined]
        assert served.prepare(assembly=sections("memory")).json()["status"] == "empty"
        assert served.prepare().json()["status"] == "empty"


def pool(served: Served) -> Any:
    return served.application.storage.engine.pool


def test_a_hanging_source_is_given_up_and_its_connection_comes_back(filled: str) -> None:
    hanging = Hanging()
    calls = 12
    with serving(filled, sources={"profile": hanging}, recall_timeout_seconds=1) as served:
        with ThreadPoolExecutor(calls) as threads:
            asked = [threads.submit(served.prepare, assembly=sections("profile", "memory")) for _ in range(calls)]
            answers = [future.result() for future in asked]
        assert {code(answer) for answer in answers} == {(503, "service_unavailable")}
        assert max(answer.elapsed.total_seconds() for answer in answers) < 20
        # Those who hang still read; the others are served all the same.
        assert pool(served).checkedout() == calls
        assert served.prepare(assembly=sections("memory")).status_code == 200
        hanging.release(calls)
        # A connection goes back right after the source is through, in the source's own thread.
        served.application._recalls.shutdown(wait=True)
        assert pool(served).checkedout() == 0


def test_a_hanging_source_that_comes_back_in_time_is_waited_for(filled: str) -> None:
    hanging = Hanging()
    hanging.released.set()
    with serving(filled, sources={"profile": hanging}, recall_timeout_seconds=30) as served:
        assert served.prepare(assembly=sections("profile")).json()["status"] == "empty"
        assert pool(served).checkedout() == 0


class Reversing:
    """A reranker that turns each Scope's hits round, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[list[RerankedHit]] = []

    def order(self, query: str, hits: Sequence[RerankedHit]) -> Sequence[int]:
        assert query == "contract tests"
        self.seen.append(list(hits))
        return range(len(hits) - 1, -1, -1)


def test_a_reranker_orders_at_most_16_hits_of_each_scope(filled: str) -> None:
    reranker = Reversing()
    with serving(filled, sources={"memory": MemorySource(reranker=reranker)}) as served:
        content = served.prepare(assembly={"sections": [{"family": "memory", "limit": 4}]}).json()["content"]
    assert [[hit.scope_id for hit in hits] for hits in reranker.seen] == [["demo"] * 16, ["shared"] * 16]
    assert [hit.entry_id for hit in reranker.seen[0]] == [f"e{n:02}" for n in range(16)]
    assert [hit.text for hit in reranker.seen[0]] == [f"contract tests {n}" for n in range(16)]
    assert placed(content) == [("demo", "e15"), ("shared", "e15"), ("demo", "e14"), ("shared", "e14")]


class Misplacing(Reversing):
    """A reranker that names a place that is not there."""

    def order(self, query: str, hits: Sequence[RerankedHit]) -> Sequence[int]:
        return [99]


def test_a_failing_reranker_is_the_familys_failure(filled: str) -> None:
    with serving(filled, sources={"memory": MemorySource(reranker=Misplacing())}) as served:
        assert code(served.prepare(assembly=sections("memory"))) == (503, "service_unavailable")
        assert served.prepare(assembly=sections("experience")).status_code == 200


def test_a_limit_never_widens_the_pool(filled: str) -> None:
    with serving(filled) as served:
        for limit in (1, 8):
            content = served.prepare(assembly={"sections": [{"family": "memory", "limit": limit}]}).json()["content"]
            expected = [(scope, f"e{n:02}") for n in range(4) for scope in ("demo", "shared")]
            assert placed(content) == expected[:limit]


# By direct call


@pytest.fixture
def direct(storage: Storage, filled: str) -> Iterator[ContextApplication]:
    application = ContextApplication(storage, sources=default_sources())
    yield application
    application._recalls.shutdown()


@pytest.mark.parametrize(
    ("principal", "changes", "expected"),
    [
        (READER, {"query": " "}, InvalidRequest),
        (READER, {"max_bytes": 511}, InvalidRequest),
        (READER, {"max_bytes": True}, InvalidRequest),
        (READER, {"assembly": None}, InvalidRequest),
        (READER, {"extra": 1}, InvalidRequest),
        (READER, {"query": "\ud800"}, InvalidRequest),
        (READER, {"assembly": {"sections": [{"family": "experience", "limit": 3}]}}, InvalidRequest),
        (READER, {"assembly": Assembly.model_construct(show=["confidence", "confidence"])}, InvalidRequest),
        (
            READER,
            {"assembly": Assembly(sections=[Section(family="memory", limit=8), Section(family="profile", limit=1)])},
            InvalidRequest,
        ),
        (READER, {"scope_id": "unseen"}, Forbidden),
        (READER, {"scope_id": "absent"}, Forbidden),
        (ROOT, {"scope_id": "absent"}, ScopeNotFound),
        (ROOT, {}, Forbidden),
        (None, {}, Forbidden),
    ],
)
def test_a_direct_call_is_refused_as_over_http(
    direct: ContextApplication, principal: Principal | None, changes: dict[str, Any], expected: type[OperationError]
) -> None:
    with pytest.raises(expected):
        direct.prepare(principal, {"scope_id": "demo", "query": "contract tests"} | changes)


def test_a_direct_call_gives_the_bytes_of_http_and_the_origins(direct: ContextApplication, filled: str) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"assembly": {}},
        {"assembly": {"sections": []}},
        {"assembly": {}, "max_bytes": 700},
    ]
    for fields in variants:
        prepared = direct.prepare(READER, {"scope_id": "demo", "query": "contract tests"} | fields)
        with serving(filled) as served:
            assert served.prepare(**fields).json()["content"] == prepared.content
    prepared = direct.prepare(READER, PrepareRequest(scope_id="demo", query="contract tests", assembly=Assembly()))
    cited = [(o.memory.scope_id, o.entry_id) for o in prepared.origins if isinstance(o, EntryAddress)]
    assert cited == placed(prepared.content or "")
    assert len(cited) == 6


def test_a_direct_call_on_a_lost_database_is_a_service_error(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("mysql+oceanbase://root@127.0.0.1:1/x") as served, pytest.raises(ServiceUnavailable):
        served.application.prepare(READER, {"scope_id": "demo", "query": "x"})


def test_a_citation_names_the_head_at_the_moment_of_recall(storage: Storage, filled: str) -> None:
    with serving(filled) as served:
        for revision in (1, 2, 3):
            content = served.prepare(assembly=sections("memory")).json()["content"]
            assert f'id="memory", revision={revision}\n' in content
            assert placed(content) == [("demo", "e00")]
            with storage.writing() as writer:
                writer.write_memory("demo", [EntryWrite("zz", f"v{revision}", "unrelated")])
