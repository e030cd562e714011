"""The contract file: well-formed, the source of the Python beside it, and true of the errors that the runtime has."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import httpx
import pytest
from demo import answer_schema, judge, operations, resolved, served
from jsonschema import Draft202012Validator

from runtime import artifacts, contract, errors
from runtime.http import generate, generated, server
from runtime.http.generate import GENERATED, NotGenerated
from runtime.http.published import published
from runtime.storage import Storage

NO_ROUTE = {404: {"not_found"}}
BELOW_THE_ROUTES = {
    400: {"bad_request"},
    405: {"method_not_allowed"},
    408: {"request_timeout"},
    431: {"headers_too_large"},
    503: {"service_unavailable"},
}
"""Refused by `runtime.http.protocol` and by routing; SPEC.md 2."""


def parts(value: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return all objects of the document with their places."""
    if isinstance(value, dict):
        yield place, value
        for key, inner in value.items():
            yield from parts(inner, f"{place}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from parts(inner, f"{place}/{number}")


def examples() -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Return each example of the contract: its place, its schema, its value."""
    for place, part in parts(published()):
        if "schema" in part and "examples" in part and not place.endswith("/value"):
            for name, example in part["examples"].items():
                yield f"{place}/{name}", part["schema"], example["value"]


def codes(operation: Mapping[str, Any], status: str) -> set[str]:
    """Return the codes that an operation's answer of a status may have."""
    content = resolved(operation["responses"][status])["content"]["application/json"]
    return {example["value"]["error"]["code"] for example in content["examples"].values()}


def test_the_python_is_what_the_contract_says() -> None:
    assert GENERATED.read_text(encoding="utf-8") == generate.generate(published())


def test_a_stale_module_is_told_and_not_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = copy.deepcopy(dict(published()))
    changed["components"]["schemas"]["Limit"]["maximum"] = 9
    monkeypatch.setattr(generate, "published", lambda: changed)
    before = GENERATED.read_bytes()
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err == "generated.py is not what openapi.yaml says: make api-generate\n"
    assert GENERATED.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "keyword", "value"),
    [
        ("Query", "not", {"const": "x"}),
        ("Limit", "multipleOf", 2),
        ("PrepareRequest", "dependentRequired", {"assembly": ["max_bytes"]}),
        ("Section", "then", {"properties": {"limit": {"minimum": 2}}}),
        ("MemoryReference", "additionalProperties", True),
    ],
)
def test_a_rule_that_has_no_python_is_told_and_not_lost(name: str, keyword: str, value: Any) -> None:
    changed = copy.deepcopy(dict(published()))
    changed["components"]["schemas"][name][keyword] = value
    with pytest.raises(NotGenerated, match=f"#/components/schemas/{name}"):
        generate.generate(changed)


def as_a_query(operation: dict[str, Any]) -> None:
    operation["parameters"][-1]["in"] = "query"


def with_a_header(operation: dict[str, Any]) -> None:
    operation["parameters"] = [{"name": "X-Scope", "in": "header", "schema": {"type": "string"}}]


def without_need(operation: dict[str, Any]) -> None:
    operation["requestBody"]["required"] = False


def with_another_body(operation: dict[str, Any]) -> None:
    operation["requestBody"]["content"]["text/plain"] = {"schema": {"type": "string"}}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("get_artifact_revision", as_a_query),
        ("prepare_context", with_a_header),
        ("get_memory_entry", without_need),
        ("prepare_context", with_another_body),
    ],
)
def test_input_that_has_no_python_is_told_and_not_lost(name: str, change: Callable[[dict[str, Any]], None]) -> None:
    changed = copy.deepcopy(dict(published()))
    for item in changed["paths"].values():
        for operation in item.values():
            if operation["operationId"] == name:
                change(operation)
    with pytest.raises(NotGenerated, match=f"^{name}: no Python for "):
        generate.generate(changed)


@pytest.mark.parametrize("keyword", ["maximum", "minimum", "maxLength", "minLength", "pattern", "maxItems"])
def test_every_bound_of_a_request_reaches_the_python(keyword: str) -> None:
    needed = {"Identifier", "Query", "MaxBytes", "Limit", "Revision", "Assembly"}
    for name in needed:
        for place, part in parts(published()["components"]["schemas"][name]):
            if keyword in part:
                changed = copy.deepcopy(dict(published()))
                target = changed["components"]["schemas"][name]
                for step in place.split("/")[1:]:
                    target = target[int(step) if isinstance(target, list) else step]
                target[keyword] = "other" if keyword == "pattern" else target[keyword] + 1
                assert generate.generate(changed) != generate.generate(published()), (name, place)


def test_all_schemas_are_schemas() -> None:
    found = [(place, part["schema"]) for place, part in parts(published()) if "schema" in part and "value" not in part]
    found = [(place, schema) for place, schema in found if isinstance(schema, dict)]
    found += [(name, schema) for name, schema in published()["components"]["schemas"].items()]
    assert len(found) > 40
    for _, schema in found:
        Draft202012Validator.check_schema(schema)


def test_all_references_lead_somewhere() -> None:
    references = [part for _, part in parts(published()) if "$ref" in part]
    assert len(references) > 80
    for reference in references:
        assert resolved(reference)


READY = {"schema": "powercontext.prepared-context.v1", "status": "ready", "content": "x", "content_bytes": 1}
NONE = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}


@pytest.mark.parametrize(
    "answer",
    [
        READY | {"items": []},
        READY | {"schema": "powercontext.prepared-context.v2"},
        READY | {"status": "full"},
        READY | {"status": "empty"},
        READY | {"content": None},
        READY | {"content": "", "content_bytes": 0},
        READY | {"content": "x" * 32769, "content_bytes": 32768},
        READY | {"content_bytes": 0},
        READY | {"content_bytes": 32769},
        READY | {"content_bytes": True},
        READY | {"content_bytes": "1"},
        NONE | {"reason": "x"},
        NONE | {"status": "ready"},
        NONE | {"content": ""},
        NONE | {"content_bytes": 1},
        *({key: value for key, value in READY.items() if key != name} for name in READY),
        *({key: value for key, value in NONE.items() if key != name} for name in NONE),
    ],
)
def test_an_answer_is_exactly_the_four_fields(answer: Mapping[str, Any]) -> None:
    _, _, operation = operations()["prepare_context"]
    schema = answer_schema(operation, 200)
    assert judge(schema).is_valid(READY)
    assert judge(schema).is_valid(NONE)
    assert not judge(schema).is_valid(answer)


def test_no_object_of_an_answer_takes_more_fields_but_the_capabilities_and_the_contract() -> None:
    open_ones = {
        place
        for place, part in parts(published()["components"]["schemas"])
        if part.get("type") == "object" and part.get("additionalProperties") is not False
    }
    assert open_ones == {"/Capabilities"}


@pytest.mark.parametrize(("place", "schema", "value"), [pytest.param(*one, id=one[0]) for one in examples()])
def test_every_example_is_valid(place: str, schema: Mapping[str, Any], value: Any) -> None:
    assert list(judge(schema).iter_errors(value)) == []
    if isinstance(value, dict) and value.get("status") == "ready" and "content" in value:
        assert value["content_bytes"] == len(value["content"].encode("utf-8"))


def test_each_answer_has_examples_and_a_request_number() -> None:
    for _, path, operation in operations().values():
        for status, answer in operation["responses"].items():
            told = resolved(answer)
            assert "X-Request-Id" in told["headers"], (path, status)
            content = told["content"]["application/json"]
            assert content.get("examples") or path == "/openapi.json", (path, status)


def test_every_error_of_the_runtime_is_in_the_contract_and_no_other() -> None:
    known: dict[int, set[str]] = {500: {"internal_error"}}
    for module in (errors, server):
        for kind in vars(module).values():
            if inspect.isclass(kind) and issubclass(kind, errors.OperationError) and kind is not errors.OperationError:
                known.setdefault(kind.status, set()).add(kind.code)
    known[404] |= NO_ROUTE[404]
    told: dict[int, set[str]] = {}
    for _, _, operation in operations().values():
        for status in operation["responses"]:
            if status not in ("200", "default"):
                told.setdefault(int(status), set()).update(codes(operation, status))
        assert codes(operation, "default") == set().union(*BELOW_THE_ROUTES.values())
    assert told == known


def test_the_routes_the_client_and_the_contract_have_the_same_operations() -> None:
    told = {name: (method, path) for name, (method, path, _) in operations().items()}
    assert {one.name: (one.method, one.path) for one in generated.OPERATIONS} == told


def test_limits_that_the_storage_has_too_are_the_same() -> None:
    schemas = published()["components"]["schemas"]
    assert schemas["Identifier"]["maxLength"] == artifacts.MAX_ID_CHARACTERS
    assert schemas["Revision"]["maximum"] == artifacts.MAX_REVISION
    assert schemas["Family"]["enum"] == list(artifacts.FAMILIES)
    assert schemas["EntryState"]["enum"] == list(get_args(artifacts.EntryState))
    assert schemas["Schema"]["const"] == contract.SCHEMA == "powercontext.prepared-context.v1"
    listed = schemas["RequestError"]["properties"]["error"]["properties"]["details"]["properties"]["errors"]
    assert listed["maxItems"] == contract.MAX_PROBLEMS
    assert f"{server.MAX_REQUEST_BYTES:,} bytes" in published()["info"]["description"].replace("\n", " ")


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_the_server_publishes_the_contract_without_a_token(storage: Storage, database: str) -> None:
    with served(database) as url:
        answer = httpx.get(f"{url}/openapi.json", trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == published()
    _, _, operation = operations()["get_contract"]
    judge(answer_schema(operation, 200)).validate(answer.json())
