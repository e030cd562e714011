"""The generated models and the contract's schemas judge requests alike, and where they cannot the contract says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from demo import judge
from hypothesis import example, given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from runtime.artifacts import FAMILIES
from runtime.contract import EntryReadRequest, PrepareRequest, RevisionReadRequest, validate
from runtime.errors import InvalidRequest
from runtime.http.generated import Identifier, Query
from runtime.http.published import published

SEED = 1489
BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
SEEN = "\u180e\u200b\u2060\ufeff\x00\x1b\x7f"
"""Not white space to Python, though some of them are invisible or were blank to others."""

PREPARE = {"$ref": "#/components/schemas/PrepareRequest"}
ENTRY = {"$ref": "#/components/schemas/EntryReadRequest"}


def by_schema(schema: dict[str, str], value: Any) -> bool:
    return bool(judge(schema).is_valid(value))


def by_model(model: type[BaseModel], value: Any) -> bool:
    try:
        validate(model, value)
    except InvalidRequest:
        return False
    return True


odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, -1, "", " ", "x", [], {}, [None], {"x": 1}, 2.5]
)
edges = st.sampled_from(["", " ", "\u2028\u3000", "\ufeff", "\x1f", "界" * 256, "x" * 257, "😀" * 8192, "x" * 8193])
texts: st.SearchStrategy[Any] = st.one_of(*[st.just("x")] * 6, edges, odd)
limits = st.integers(-1, 10) | odd
families = st.sampled_from([*FAMILIES, "atomic-memory", "Memory"]) | odd


def objects(required: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]]) -> Any:
    """Return objects that may lack a field or have one more."""
    unknown = {"unknown": odd, "schema": odd}
    whole = st.fixed_dictionaries(required, optional=optional)
    return whole | st.fixed_dictionaries({}, optional=required | optional | unknown)


sections = objects({"family": families, "limit": limits}, {})
good_sections = st.lists(
    st.sampled_from([{"family": family, "limit": limit} for family in FAMILIES for limit in (1, 2, 3, 8)]), max_size=5
)
assemblies = objects(
    {},
    {
        "format": st.sampled_from(["markdown", "text"]) | odd,
        "sections": good_sections | st.lists(sections, max_size=5) | odd,
        "show": st.lists(st.sampled_from(["confidence", "recall_rank", "score", None]), max_size=3) | odd,
    },
)
prepares = objects(
    {"scope_id": texts, "query": texts},
    {"max_bytes": st.sampled_from([511, 512, 8000, 32768, 32769]) | odd, "assembly": assemblies | odd},
)
revisions = st.sampled_from([0, 1, 2, 3, 2**63 - 1, 2**63]) | odd
references = objects({"family": st.sampled_from(FAMILIES) | families, "artifact_id": texts, "revision": revisions}, {})
citations = objects(
    {"memory_ref": references, "entry_id": texts, "entry_version_id": texts},
    {},
)
entries = objects({"scope_id": texts, "citation": citations}, {})
bounded = settings(max_examples=250, derandomize=True, deadline=None, database=None)
counted: dict[str, set[bool]] = {}


def agree(name: str, schema: dict[str, str], model: type[BaseModel], value: Any) -> None:
    verdict = by_schema(schema, value)
    counted.setdefault(name, set()).add(verdict)
    assert by_model(model, value) is verdict, json.dumps(value)[:400]


GOOD = {"scope_id": "demo", "query": "x"}


@seed(SEED)
@bounded
@given(prepares)
@example(GOOD | {"assembly": {"sections": [{"family": family, "limit": 2} for family in FAMILIES]}})
@example(GOOD | {"assembly": {"sections": [{"family": "profile", "limit": 1}, {"family": "profile", "limit": 2}]}})
@example(GOOD | {"assembly": {"sections": [{"family": "experience", "limit": 3}]}})
@example(GOOD | {"assembly": {"sections": [{"family": "memory", "limit": 1}] * 5}})
@example(GOOD | {"assembly": {"show": ["confidence", "confidence"]}})
@example(GOOD | {"assembly": None})
@example(None)
@example([])
def agree_on_a_prepare(value: Any) -> None:
    agree("prepare", PREPARE, PrepareRequest, value)


@seed(SEED)
@bounded
@given(entries)
def agree_on_an_entry(value: Any) -> None:
    agree("entry", ENTRY, EntryReadRequest, value)


def test_models_and_schemas_accept_and_refuse_the_same_requests() -> None:
    counted.clear()
    agree_on_a_prepare()
    agree_on_an_entry()
    assert counted == {"prepare": {True, False}, "entry": {True, False}}


def test_every_assembly_of_known_families_and_limits_is_judged_alike() -> None:
    for first in FAMILIES:
        for second in FAMILIES:
            for limit in range(10):
                chosen = [{"family": first, "limit": limit}, {"family": second, "limit": 1}]
                legal = first != second and 1 <= limit <= (2 if first == "experience" else 8)
                request = GOOD | {"assembly": {"sections": chosen}}
                assert by_schema(PREPARE, request) is by_model(PrepareRequest, request) is legal, chosen


FOUR = [{"family": family, "limit": 1} for family in FAMILIES]


@pytest.mark.parametrize(
    ("legal", "beyond"),
    [
        ({"scope_id": "x" * 256}, {"scope_id": "x" * 257}),
        ({"scope_id": "😀" * 256}, {"scope_id": ""}),
        ({"scope_id": "\ufeff"}, {"scope_id": "\u00a0"}),
        ({"query": "x" * 8192}, {"query": "x" * 8193}),
        ({"query": "😀" * 8192}, {"query": ""}),
        ({"max_bytes": 512}, {"max_bytes": 511}),
        ({"max_bytes": 32768}, {"max_bytes": 32769}),
        ({"assembly": {"format": "markdown"}}, {"assembly": {"format": "text"}}),
        ({"assembly": {"sections": FOUR}}, {"assembly": {"sections": [*FOUR, FOUR[0]]}}),
        ({"assembly": {"show": ["recall_rank", "confidence"]}}, {"assembly": {"show": ["recall_rank"] * 2}}),
        ({}, {"assembly": None}),
        ({}, {"unknown": None}),
        ({"assembly": {}}, {"assembly": {"unknown": None}}),
        ({"assembly": {"sections": FOUR[:1]}}, {"assembly": {"sections": [FOUR[0] | {"unknown": None}]}}),
        ({"max_bytes": 8000}, {"max_bytes": "8000"}),
        ({"assembly": {"sections": FOUR[:1]}}, {"assembly": {"sections": [{"family": "memory", "limit": True}]}}),
    ],
)
def test_the_bounds_are_those_of_the_specification(legal: dict[str, Any], beyond: dict[str, Any]) -> None:
    assert by_schema(PREPARE, GOOD | legal) is by_model(PrepareRequest, GOOD | legal) is True
    assert by_schema(PREPARE, GOOD | beyond) is by_model(PrepareRequest, GOOD | beyond) is False


def test_the_defaults_are_those_of_the_specification() -> None:
    request = validate(PrepareRequest, GOOD | {"assembly": {}})
    assert (request.max_bytes, validate(PrepareRequest, GOOD).assembly) == (8000, None)
    assert request.assembly is not None
    assert request.assembly.model_dump() == {
        "format": "markdown",
        "sections": [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}],
        "show": [],
    }
    assert request.assembly.total == 8


@pytest.mark.parametrize("blank", BLANKS)
def test_white_space_alone_is_blank_to_both(blank: str) -> None:
    for value in (blank, blank * 3):
        assert not by_schema(PREPARE, GOOD | {"query": value})
        assert not by_model(PrepareRequest, GOOD | {"query": value})
    assert by_schema(PREPARE, GOOD | {"query": f"{blank}x"})
    assert by_model(PrepareRequest, GOOD | {"query": f"{blank}x"})


@pytest.mark.parametrize("kind", [Query, Identifier], ids=["Query", "Identifier"])
def test_what_python_strips_is_what_the_contract_calls_blank(kind: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)

    def refused(letter: str) -> bool:
        try:
            adapter.validate_python(letter)
        except ValidationError:
            return True
        return False

    # Surrogates are refused before, as no Unicode.
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert [letter for letter in letters if refused(letter)] == [
        chr(code) for code in range(0x110000) if not chr(code).strip()
    ]


@pytest.mark.parametrize("seen", SEEN)
def test_invisible_characters_are_not_blank_to_either(seen: str) -> None:
    assert by_schema(PREPARE, GOOD | {"query": seen})
    assert by_model(PrepareRequest, GOOD | {"query": seen})


SAID = " ".join(str(published()["info"]["description"]).split())


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (GOOD | {"max_bytes": 8000.0}, "JSON Schema takes `8.0` for an integer, this server does not."),
        (GOOD | {"query": "\ud800"}, "a string with a lone surrogate is refused"),
    ],
)
def test_what_a_schema_cannot_refuse_is_said_and_refused(value: Any, sentence: str) -> None:
    assert by_schema(PREPARE, value)
    assert not by_model(PrepareRequest, value)
    assert sentence in SAID


def test_the_parts_of_a_path_are_judged_alike() -> None:
    parts = published()["paths"]["/v1/scopes/{scope_id}/artifacts/{family}/{artifact_id}/revisions/{revision}"]["get"]
    schemas = {part["name"]: part["schema"] for part in parts["parameters"]}
    good = {"scope_id": "demo", "family": "memory", "artifact_id": "memory", "revision": 1}
    wrong: dict[str, list[Any]] = {
        "scope_id": ["", " ", "x" * 257],
        "family": ["atomic-memory", ""],
        "artifact_id": ["", "\u3000", "界" * 257],
        "revision": [0, -1, 2**63],
    }
    right: dict[str, list[Any]] = {
        "scope_id": ["/", "..", "界" * 256],
        "family": list(FAMILIES),
        "artifact_id": ["%", " x "],
        "revision": [2**63 - 1],
    }
    for name, schema in schemas.items():
        for values, legal in ((wrong[name], False), (right[name], True)):
            for value in values:
                assert judge(schema).is_valid(value) is legal, (name, value)
                assert by_model(RevisionReadRequest, good | {name: value}) is legal, (name, value)
