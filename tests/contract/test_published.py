"""The contract beside the one that a release publishes: what both accept, and every difference with its reason.

A request is judged four times: by this contract's schema and this server, by the release's schema and its server. The
row of DIFFERENCES says which of the four dissent from this schema; a difference without a row is a failure, and so is
a row without its difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

import httpx
import pytest
from demo import SCOPE, TOKEN, fill, judge, operations, served
from releases import NEW, Remembering, remembering, told

from runtime.http.published import published
from runtime.storage import Storage

pytestmark = pytest.mark.released

Judge = Literal["our server", "its schema", "its server"]

DEMO = "demo"
"""Stands for the Scope that a server has."""
GOOD: dict[str, Any] = {"scope_id": DEMO, "query": "contract tests"}
CITATION = {
    "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 1},
    "entry_id": "entry-1",
    "entry_version_id": "entry-1-v1",
}


def sections(*chosen: tuple[Any, Any]) -> dict[str, Any]:
    return GOOD | {"assembly": {"sections": [{"family": family, "limit": limit} for family, limit in chosen]}}


PREPARES: dict[str, Any] = {
    "no assembly": GOOD,
    "empty assembly": GOOD | {"assembly": {}},
    "no section": GOOD | {"assembly": {"sections": []}},
    "null assembly": GOOD | {"assembly": None},
    "list as assembly": GOOD | {"assembly": []},
    "null sections": GOOD | {"assembly": {"sections": None}},
    "null show": GOOD | {"assembly": {"show": None}},
    "markdown": GOOD | {"assembly": {"format": "markdown"}},
    "plain text": GOOD | {"assembly": {"format": "text"}},
    "all that is shown": GOOD | {"assembly": {"show": ["recall_rank", "confidence"]}},
    "shown twice": GOOD | {"assembly": {"show": ["confidence", "confidence"]}},
    "unknown shown": GOOD | {"assembly": {"show": ["score"]}},
    "unknown field": GOOD | {"unknown": 1},
    "unknown field of the assembly": GOOD | {"assembly": {"unknown": 1}},
    "unknown field of a section": GOOD | {"assembly": {"sections": [{"family": "memory", "limit": 1, "unknown": 1}]}},
    "section without a limit": GOOD | {"assembly": {"sections": [{"family": "memory"}]}},
    "section without a family": GOOD | {"assembly": {"sections": [{"limit": 1}]}},
    "every family": sections(("memory", 1), ("experience", 2), ("profile", 1), ("topic-memory", 1)),
    "family twice": sections(("memory", 1), ("memory", 2)),
    "five sections": sections(*[("memory", 1)] * 5),
    "unknown family": sections(("atomic-memory", 1)),
    "limit 0": sections(("memory", 0)),
    "limit 8": sections(("memory", 8)),
    "limit 9": sections(("memory", 9)),
    "limit as text": sections(("memory", "8")),
    "limit true": sections(("memory", True)),
    "limit 1.0": sections(("memory", 1.0)),
    "Experience 2": sections(("experience", 2)),
    "Experience 3": sections(("experience", 3)),
    "limits over the total": sections(("memory", 8), ("profile", 1)),
    "no query": {"scope_id": DEMO},
    "null query": GOOD | {"query": None},
    "empty query": GOOD | {"query": ""},
    "query of a blank": GOOD | {"query": " "},
    "query of an ideographic space": GOOD | {"query": "\u3000"},
    "query of a line separator": GOOD | {"query": "\u2028"},
    "query of a file separator": GOOD | {"query": "\x1c"},
    "query of a next line": GOOD | {"query": "\x85"},
    "query of a byte order mark": GOOD | {"query": "\ufeff"},
    "query of a zero-width space": GOOD | {"query": "\u200b"},
    "query behind a line break": GOOD | {"query": "\nx"},
    "query of 8192 wide characters": GOOD | {"query": "界" * 8192},
    "query of 8192 astral characters": GOOD | {"query": "😀" * 8192},
    "query of 8193": GOOD | {"query": "x" * 8193},
    "no Scope": {"query": "x"},
    "blank Scope": GOOD | {"scope_id": " "},
    "Scope of 256": GOOD | {"scope_id": "界" * 256},
    "Scope of 257": GOOD | {"scope_id": "x" * 257},
    "budget 511": GOOD | {"max_bytes": 511},
    "budget 512": GOOD | {"max_bytes": 512},
    "budget 32768": GOOD | {"max_bytes": 32768},
    "budget 32769": GOOD | {"max_bytes": 32769},
    "budget 8000.0": GOOD | {"max_bytes": 8000.0},
    "budget as text": GOOD | {"max_bytes": "8000"},
    "null budget": GOOD | {"max_bytes": None},
    "code asked for": GOOD | {"include_code": False},
    "reason asked for": GOOD | {"explain": False},
    "bootstrap receipt": GOOD | {"bootstrap_receipt_id": "receipt"},
    "a list": [GOOD],
    "null": None,
}
ENTRIES: dict[str, Any] = {
    "Entry": {"scope_id": DEMO, "citation": CITATION},
    "Entry without a version": {"scope_id": DEMO, "citation": {**CITATION, "entry_version_id": ""}},
    "Entry of an unknown field": {"scope_id": DEMO, "citation": CITATION, "unknown": 1},
    "no citation": {"scope_id": DEMO},
    "null citation": {"scope_id": DEMO, "citation": None},
}
PATH = {"scope_id": DEMO, "family": "experience", "artifact_id": "absent", "revision": 1}
REVISIONS: dict[str, Any] = {
    "revision": PATH,
    "revision of a Memory": PATH | {"family": "memory"},
    "revision of a Profile": PATH | {"family": "profile"},
    "revision of a topic": PATH | {"family": "topic-memory"},
    "revision of an atomic memory": PATH | {"family": "atomic-memory"},
    "revision of an unknown family": PATH | {"family": "nothing"},
    "revision 0": PATH | {"revision": 0},
    "revision 2^63-1": PATH | {"revision": 2**63 - 1},
    "revision 2^63": PATH | {"revision": 2**63},
    "artifact id of 128": PATH | {"artifact_id": "x" * 128},
    "artifact id of 129": PATH | {"artifact_id": "x" * 129},
    "artifact id of 257": PATH | {"artifact_id": "x" * 257},
    "artifact id with a blank": PATH | {"artifact_id": "a b"},
    "artifact id beyond ASCII": PATH | {"artifact_id": "界"},
    "blank artifact id": PATH | {"artifact_id": " "},
}
CASES: dict[str, tuple[str, Any]] = {
    **{name: ("prepare_context", value) for name, value in PREPARES.items()},
    **{name: ("get_memory_entry", value) for name, value in ENTRIES.items()},
    **{name: ("get_artifact_revision", value) for name, value in REVISIONS.items()},
}

BOTH_SERVERS: set[Judge] = {"our server", "its server"}
ALL_OF_IT: set[Judge] = {"its schema", "its server"}
NO_FRACTIONS = "JSON Schema takes it for an integer; the RFC's types are strict, and both servers refuse it"
UNSAID = "its schema is OpenAPI 3.0 and does not say this rule of the RFC; its server refuses it all the same"
FIELD_OF_ITS_OWN = "a field that the release has beside those of the RFC, for another purpose"
ITS_IDS = "its artifact ids are 1-128 visible ASCII characters, which it makes itself; here any 1-256 characters"

DIFFERENCES: dict[str, tuple[set[Judge], str]] = {
    "limit 1.0": (BOTH_SERVERS, NO_FRACTIONS),
    "budget 8000.0": (BOTH_SERVERS, NO_FRACTIONS),
    "limits over the total": (BOTH_SERVERS, "the total is a setting of each server, so that no schema has it"),
    "family twice": ({"its schema"}, UNSAID),
    "Experience 3": ({"its schema"}, UNSAID),
    "code asked for": (ALL_OF_IT, FIELD_OF_ITS_OWN),
    "reason asked for": (ALL_OF_IT, FIELD_OF_ITS_OWN),
    "bootstrap receipt": (ALL_OF_IT, FIELD_OF_ITS_OWN),
    "Entry": ({"its server"}, "from 1.3 on memories are Artifacts of their own; a citation of an Entry is refused"),
    "Entry without a version": ({"its schema"}, "its schema takes any object for a citation; its server refuses all"),
    "revision of a Memory": (
        {"its server"},
        "from 1.3 on the Memory as a whole is not read; its schema still lists it",
    ),
    "revision of an atomic memory": (ALL_OF_IT, "a family that came with 1.3; here a memory is an Entry"),
    "revision 2^63": (ALL_OF_IT, "its schema has no maximum; its server does not refuse it, but fails on SQLite"),
    "artifact id of 129": (ALL_OF_IT, ITS_IDS),
    "artifact id with a blank": (ALL_OF_IT, ITS_IDS),
    "artifact id beyond ASCII": (ALL_OF_IT, ITS_IDS),
}


def published_schema(document: Mapping[str, Any], operation_id: str) -> dict[str, Any]:
    """Return the schema of an operation's request, its path's parts as an object."""
    for item in document["paths"].values():
        for operation in item.values():
            if operation.get("operationId") != operation_id:
                continue
            if "requestBody" in operation:
                schema: dict[str, Any] = operation["requestBody"]["content"]["application/json"]["schema"]
                return schema
            return {"properties": {one["name"]: one["schema"] for one in operation["parameters"]}}
    raise AssertionError(f"{operation_id} is not published")


def without_nullable(part: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as one of JSON Schema: what is nullable may be null."""
    if isinstance(part, list):
        return [without_nullable(item) for item in part]
    if not isinstance(part, dict):
        return part
    changed = {key: without_nullable(value) for key, value in part.items() if key != "nullable"}
    return {"anyOf": [changed, {"type": "null"}]} if part.get("nullable") is True else changed


def takes(url: str, token: str, scope_id: str, operation_id: str, value: Any) -> bool:
    """Ask a server whether it takes a request: whatever it then answers, unless it finds the request malformed."""
    method, path, _ = operations()[operation_id]
    if isinstance(value, dict) and value.get("scope_id") == DEMO:
        value = value | {"scope_id": scope_id}
    sent: dict[str, Any] = {"headers": {"authorization": f"Bearer {token}"}}
    if method == "GET":
        path = path.format(**{name: quote(str(part), safe="") for name, part in value.items()})
    else:
        sent["content"] = json.dumps(value)
        sent["headers"]["content-type"] = "application/json"
    answer = httpx.request(method, url + path, trust_env=False, timeout=60, **sent)
    assert answer.status_code in (200, 400, 403, 404, 422, 500), answer.text
    return answer.status_code not in (400, 422)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remembering]:
    with remembering(NEW, tmp_path_factory.mktemp("new")) as server:
        yield server


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_release_takes_the_same_requests_but_for_what_is_listed(
    new: Remembering, storage: Storage, database: str
) -> None:
    fill(storage)
    headers = {"authorization": f"Bearer {new.token}"}
    answer = httpx.get(f"{new.url}/openapi.json", headers=headers, trust_env=False, timeout=60)
    document = without_nullable(told(answer, 200))
    assert document["info"]["version"] == NEW
    found: dict[str, tuple[set[str], bool]] = {}
    with served(database) as url:
        for name, (operation_id, value) in CASES.items():
            accepted = judge(published_schema(published(), operation_id)).is_valid(value)
            verdicts = {
                "our server": takes(url, TOKEN, SCOPE, operation_id, value),
                "its schema": judge(published_schema(document, operation_id), document).is_valid(value),
                "its server": takes(new.url, new.token, new.scope_id, operation_id, value),
            }
            if dissent := {who for who, verdict in verdicts.items() if verdict is not accepted}:
                found[name] = dissent, accepted
    assert {name: dissent for name, (dissent, _) in found.items()} == {
        name: who for name, (who, _) in DIFFERENCES.items()
    }, found


def test_every_difference_has_a_reason_and_a_request() -> None:
    assert set(DIFFERENCES) <= set(CASES)
    for _, reason in DIFFERENCES.values():
        assert reason
