"""The contract's examples, carried out: the answer of the same name comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from demo import ADMINISTRATOR, SCOPE, TOKEN, answer_schema, fill, judge, operations, resolved, served

from runtime.storage import Storage


def requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return operation and name of each example of an answer of 200, and the request that goes with it."""
    for operation_id, (method, path, operation) in operations().items():
        content = operation["responses"]["200"]["content"]["application/json"]
        for name in content.get("examples", ()):
            sent: dict[str, Any] = {"method": method, "url": path}
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]["examples"][name]["value"]
                sent |= {"content": json.dumps(body), "headers": {"content-type": "application/json"}}
            elif "parameters" in operation:
                values = {one["name"]: one["examples"][name]["value"] for one in operation["parameters"]}
                sent["url"] = path.format(**values)
            yield operation_id, name, sent


EXAMPLES = list(requests())


@pytest.fixture
def client(storage: Storage, database: str) -> Iterator[httpx.Client]:
    fill(storage)
    with (
        served(database) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30, headers={"authorization": f"Bearer {TOKEN}"}) as client,
    ):
        yield client


def test_no_example_of_a_request_is_left_out() -> None:
    told = {
        (operation_id, name)
        for operation_id, (_, _, operation) in operations().items()
        for part in (
            *operation.get("requestBody", {}).get("content", {}).values(),
            *operation.get("parameters", ()),
        )
        for name in part["examples"]
    }
    assert told <= {(operation_id, name) for operation_id, name, _ in EXAMPLES}
    assert len(told) == 7


@pytest.mark.parametrize(("operation_id", "name", "sent"), [pytest.param(*one, id=one[1]) for one in EXAMPLES])
def test_an_example_is_answered_by_the_example_of_its_name(
    operation_id: str, name: str, sent: dict[str, Any], client: httpx.Client
) -> None:
    _, _, operation = operations()[operation_id]
    content = operation["responses"]["200"]["content"]["application/json"]
    answer = client.request(**sent)
    assert answer.status_code == 200
    assert answer.json() == content["examples"][name]["value"]
    judge(content["schema"]).validate(answer.json())


def test_a_token_is_asked_for_where_the_contract_says_so_and_nowhere_else(client: httpx.Client) -> None:
    del client.headers["authorization"]
    by_contract = {name: operation.get("security") != [] for name, (_, _, operation) in operations().items()}
    # SPEC.md 2: what tells of the server itself, and not of a Scope, is open.
    told = {"get_liveness", "get_readiness", "get_capabilities", "get_contract"}
    assert {name for name, asked in by_contract.items() if not asked} == told
    for operation_id, _, sent in EXAMPLES:
        answer = client.request(**sent)
        assert (answer.status_code == 401) is by_contract[operation_id], operation_id


PREPARE = "/v1/context/prepare"
ENTRY = "/v1/memory/entries/get"
READ = "/v1/scopes/{}/artifacts/{}/{}/revisions/{}"
GOOD = {"scope_id": SCOPE, "query": "x"}


def citation(scope_id: str, version: str) -> dict[str, Any]:
    reference = {"family": "memory", "artifact_id": "memory", "revision": 1}
    return {
        "scope_id": scope_id,
        "citation": {"memory_ref": reference, "entry_id": "entry-1", "entry_version_id": version},
    }


REFUSED: list[tuple[str, str, str, Any, str | None, int, str]] = [
    ("prepare_context", "POST", PREPARE, GOOD, None, 401, "unauthorized"),
    ("prepare_context", "POST", PREPARE, GOOD | {"scope_id": "unseen"}, TOKEN, 403, "forbidden"),
    ("prepare_context", "POST", PREPARE, GOOD | {"scope_id": "absent"}, TOKEN, 403, "forbidden"),
    ("prepare_context", "POST", PREPARE, GOOD | {"scope_id": "absent"}, ADMINISTRATOR, 404, "scope_not_found"),
    ("prepare_context", "POST", PREPARE, GOOD | {"query": "x" * 1_048_576}, TOKEN, 413, "payload_too_large"),
    ("prepare_context", "POST", PREPARE, GOOD | {"assembly": None}, TOKEN, 422, "invalid_request"),
    ("prepare_context", "PUT", PREPARE, GOOD, TOKEN, 405, "method_not_allowed"),
    ("get_memory_entry", "POST", ENTRY, citation(SCOPE, "absent"), TOKEN, 404, "memory_not_found"),
    ("get_memory_entry", "POST", ENTRY, citation("unseen", "entry-1-v1"), TOKEN, 403, "forbidden"),
    ("get_memory_entry", "POST", ENTRY, {"scope_id": SCOPE}, TOKEN, 422, "invalid_request"),
    ("get_artifact_revision", "GET", READ.format(SCOPE, "memory", "memory", 3), None, TOKEN, 404, "artifact_not_found"),
    ("get_artifact_revision", "GET", READ.format("unseen", "memory", "memory", 1), None, TOKEN, 403, "forbidden"),
    ("get_artifact_revision", "GET", READ.format(SCOPE, "memory", "memory", "01"), None, TOKEN, 422, "invalid_request"),
    (
        "get_artifact_revision",
        "GET",
        READ.format(SCOPE, "memory", "memory", "1.0"),
        None,
        TOKEN,
        422,
        "invalid_request",
    ),
    (
        "get_artifact_revision",
        "GET",
        READ.format(SCOPE, "memory", "memory", "%2B1"),
        None,
        TOKEN,
        422,
        "invalid_request",
    ),
    ("get_artifact_revision", "GET", READ.format(SCOPE, "memory", "", 1), None, TOKEN, 404, "not_found"),
    ("get_liveness", "POST", "/health/live", None, TOKEN, 405, "method_not_allowed"),
]


def test_refusals_are_those_of_the_contract(client: httpx.Client) -> None:
    for operation_id, method, path, body, token, status, code in REFUSED:
        headers = {"content-type": "application/json", "authorization": "" if token is None else f"Bearer {token}"}
        answer = client.request(method, path, content=b"" if body is None else json.dumps(body), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), (path, body)
        _, _, operation = operations()[operation_id]
        judge(answer_schema(operation, status)).validate(answer.json())
        number = resolved(operation["responses"].get(str(status), operation["responses"]["default"]))["headers"]
        judge(resolved(number["X-Request-Id"])["schema"]).validate(answer.headers["x-request-id"])


def test_another_media_type_is_refused_as_the_contract_says(client: httpx.Client) -> None:
    answer = client.post(PREPARE, content=json.dumps(GOOD), headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")
    _, _, operation = operations()["prepare_context"]
    judge(answer_schema(operation, 415)).validate(answer.json())
