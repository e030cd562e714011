"""Both clients against the runtime's server, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import Ask, both_clients
from demo import ADMINISTRATOR, SCOPE, TOKEN, fill, operations, served

from runtime.artifacts import Profile
from runtime.builder import Candidate
from runtime.http.client import (
    Assembly,
    AsyncClient,
    Client,
    ContextError,
    Forbidden,
    NotFound,
    RequestRefused,
    Section,
    ServiceUnavailable,
    Unauthorized,
)
from runtime.recall import RecallRequest, default_sources
from runtime.storage import Reader, Storage

IDS = [".", "..", "a/b", "//", "%", "%2F", "?", "#", " a ", "+", "\x00", "界", "e\u0301", "{scope_id}", "x" * 256]
READER = {"token": TOKEN}
ANSWERS = operations()["prepare_context"][2]["responses"]["200"]["content"]["application/json"]["examples"]


@pytest.fixture
def url(storage: Storage, database: str) -> Iterator[str]:
    fill(storage)
    with served(database) as url:
        yield url


@both_clients
def test_prepared_contexts_are_those_of_the_contracts_examples(url: str, ask: Ask) -> None:
    experience_first = Assembly(
        sections=[Section(family="experience", limit=2), Section(family="memory", limit=5)],
        show=["recall_rank", "confidence"],
    )
    for name, query, given in (
        ("default_sections", "contract tests", {"assembly": Assembly()}),
        ("default_sections", "contract tests", {"assembly": {}}),
        ("nothing_selected", "contract tests", {"assembly": Assembly(sections=[])}),
        ("experience_first", "contract tests", {"assembly": experience_first, "max_bytes": 2000}),
        ("older_output", "contract", {}),
    ):
        prepared = ask(url, "prepare", SCOPE, query, options=READER, **given)
        told = ANSWERS[name]["value"]
        assert (prepared.schema, prepared.status) == (told["schema"], told["status"])
        assert (prepared.content, prepared.content_bytes) == (told["content"], told["content_bytes"])
        assert len(prepared.received.request_id) == 32


@both_clients
def test_an_old_version_of_an_entry_is_read_exactly(url: str, ask: Ask) -> None:
    read = ask(url, "read_entry", SCOPE, "entry-1", "entry-1-v1", revision=1, options=READER)
    assert (read.kind, read.text, read.state) == ("fact", "Run the contract tests.", "active")
    memory = ask(url, "read_revision", SCOPE, "memory", "memory", 2, options=READER)
    entry = {"entry_id": "entry-1", "entry_version_id": "entry-1-v2", "kind": "fact", "state": "active"}
    assert memory.content == {"entries": [entry | {"text": "Regenerate, then run the contract tests."}]}


@both_clients
def test_any_legal_id_is_asked_for_by_its_own_name(url: str, storage: Storage, ask: Ask) -> None:
    with storage.writing() as writer:
        for number, scope_id in enumerate(IDS):
            writer.create_scope(scope_id)
            writer.grant("reader", scope_id)
            writer.write_document(scope_id, "profile", Profile(f"profile {number}"))
    for number, scope_id in enumerate(IDS):
        read = ask(url, "read_revision", scope_id, "profile", "profile", 1, options=READER)
        assert (read.scope_id, read.content) == (scope_id, {"content": f"profile {number}"})


@both_clients
def test_refusals_of_the_server_are_typed(url: str, ask: Ask) -> None:
    over_the_total = {"sections": [{"family": "memory", "limit": 8}, {"family": "profile", "limit": 1}]}
    cases: list[tuple[type[ContextError], str, str, dict[str, object], str]] = [
        (Unauthorized, "unauthorized", SCOPE, {}, "unknown"),
        (Forbidden, "forbidden", "unseen", {}, TOKEN),
        (Forbidden, "forbidden", "absent", {}, TOKEN),
        (NotFound, "scope_not_found", "absent", {}, ADMINISTRATOR),
        (RequestRefused, "invalid_request", SCOPE, {"assembly": over_the_total}, TOKEN),
        (RequestRefused, "invalid_request", " ", {}, TOKEN),
        (RequestRefused, "invalid_request", SCOPE, {"assembly": {"sections": None}}, TOKEN),
    ]
    for kind, code, scope_id, given, token in cases:
        with pytest.raises(kind) as caught:
            ask(url, "prepare", scope_id, "contract tests", options={"token": token}, **given)
        assert type(caught.value) is kind
        assert caught.value.code == code
    with pytest.raises(NotFound) as caught:
        ask(url, "read_revision", SCOPE, "memory", "memory", 9, options=READER)
    assert caught.value.code == "artifact_not_found"
    with pytest.raises(NotFound) as caught:
        ask(url, "read_entry", SCOPE, "entry-1", "entry-1-v2", revision=1, options=READER)
    assert caught.value.code == "memory_not_found"


@both_clients
def test_the_server_says_that_it_knows_assemblies(url: str, ask: Ask) -> None:
    told = ask(url, "capabilities")
    assert (told.context_versions, told.assembly) == (("powercontext.prepared-context.v1",), True)


class Failing:
    """A recall source that fails."""

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        raise RuntimeError("the secret text")


@both_clients
def test_a_failing_recall_is_no_empty_context(storage: Storage, database: str, ask: Ask) -> None:
    fill(storage)
    with served(database, sources={**default_sources(), "memory": Failing()}) as url:
        with pytest.raises(ServiceUnavailable) as caught:
            ask(url, "prepare", SCOPE, "contract tests", assembly={}, options=READER)
        assert (caught.value.status, caught.value.code) == (503, "service_unavailable")
        assert caught.value.__context__ is None


def test_many_threads_share_one_client(url: str) -> None:
    with Client(url, token=TOKEN, timeout_seconds=60) as client, ThreadPoolExecutor(16) as threads:
        budgets = range(512, 512 + 32)
        prepared = threads.map(
            lambda budget: client.prepare(SCOPE, "contract tests", assembly={}, max_bytes=budget), budgets
        )
        for budget, one in zip(budgets, prepared, strict=True):
            assert one.content_bytes <= budget


def test_many_tasks_share_one_client(url: str) -> None:
    async def asked() -> list[str | None]:
        async with AsyncClient(url, token=TOKEN, timeout_seconds=60) as client:
            prepared = await asyncio.gather(
                *(client.prepare(SCOPE, "contract tests", assembly={}, max_bytes=512 + number) for number in range(32))
            )
        return [one.content for one in prepared]

    contents = asyncio.run(asked())
    for number, content in enumerate(contents):
        assert content is None or len(content.encode()) <= 512 + number
