"""Exact reads over HTTP: any legal id in the URL, revision forms, and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from serving import ADMINISTRATOR, TOKEN, Served, code, serving
from worlds import TWINS

from harness.target.reference import ReferenceTarget
from runtime.artifacts import Address, EntryAddress, EntryRetire, EntryWrite, Experience, Profile, Topic
from runtime.storage import Storage

IDS = [
    *("/", "a/b", "//", "%", "%2F", "%2525", "a%", "?", "a?b=c", "#", "a#b", ".", "..", "../..", "...", "a b", " a "),
    *("+", "a+b", ";a=b", ":", "@", "\\", '"', "\x00", "a\n", "a\t", "\x7f", "\x80", "界", "😀", "e\u0301", "\u200b"),
    *("a\u2028", "{scope_id}", "revisions", "x" * 256, "界" * 256),
]


@pytest.fixture
def served(storage: Storage, database: str) -> Iterator[Served]:
    with storage.writing() as writer:
        for scope_id in ("demo", "unseen"):
            writer.create_scope(scope_id)
            writer.write_memory(scope_id, [EntryWrite("e", "v1", "old"), EntryWrite("r", "v1", "other", "rule")])
            writer.write_memory(scope_id, [EntryWrite("e", "v2", "new"), EntryRetire("r")])
            writer.write_document(scope_id, "profile", Profile("p"))
            writer.propose(scope_id, "e", Experience("s", "a", "o", "l"), "pending")
        writer.create_principal("root", administrator=True)
        writer.store_token("root", ADMINISTRATOR)
        writer.store_token("reader", TOKEN)
        writer.grant("reader", "demo")
    with serving(database) as served:
        yield served


def path(*segments: str) -> str:
    scope, family, artifact, revision = (quote(part, safe="").replace(".", "%2E") for part in segments)
    return f"/v1/scopes/{scope}/artifacts/{family}/{artifact}/revisions/{revision}"


def read(served: Served, *segments: str, token: str | None = TOKEN) -> httpx.Response:
    return served.send("GET", path(*segments), token=token)


def read_entry(
    served: Served,
    scope_id: str,
    revision: Any,
    entry_id: str,
    version: str,
    *,
    token: str | None = TOKEN,
    family: str = "memory",
    artifact_id: str = "memory",
) -> httpx.Response:
    reference = {"family": family, "artifact_id": artifact_id, "revision": revision}
    citation = {"memory_ref": reference, "entry_id": entry_id, "entry_version_id": version}
    body = json.dumps({"scope_id": scope_id, "citation": citation}).encode()
    return served.send("POST", "/v1/memory/entries/get", token=token, content=body)


def test_every_legal_id_makes_its_way_through_the_url(storage: Storage, served: Served) -> None:
    with storage.writing() as writer:
        for identity in IDS:
            writer.create_scope(identity)
            writer.grant("reader", identity)
            writer.write_document(identity, identity, Topic(identity, "s", "d"))
    for identity in IDS:
        answer = read(served, identity, "topic-memory", identity, "1")
        assert answer.status_code == 200, ascii(identity)
        assert answer.json() == {
            "scope_id": identity,
            "family": "topic-memory",
            "artifact_id": identity,
            "revision": 1,
            "content": {"title": identity, "summary": "s", "detail": "d"},
        }


def test_twins_are_told_apart_by_the_whole_way(target: ReferenceTarget, storage: Storage) -> None:
    with storage.writing() as writer:
        writer.store_token("reader", TOKEN)
        writer.create_scope("demo")
        writer.grant("reader", "demo")
        writer.write_memory("demo", [EntryWrite(twin, f"{twin}-v", f"marker {twin}") for twin in TWINS])
        for twin in TWINS:
            writer.write_document("demo", twin, Topic(twin, "", ""))
    for twin in TWINS:
        answer = target.read(Address("demo", "topic-memory", twin, 1), token=TOKEN)
        assert answer.json["content"]["title"] == twin
        memory = Address("demo", "memory", "memory", 1)
        answer = target.read(EntryAddress(memory, twin, f"{twin}-v"), token=TOKEN)
        assert answer.json["text"] == f"marker {twin}"
        answer = target.read(EntryAddress(memory, twin, f"{twin}-V"), token=TOKEN)
        assert (answer.status, answer.json["error"]["code"]) == (404, "memory_not_found")


def test_a_manifest_is_read_in_its_order_at_every_revision(served: Served) -> None:
    first, second = (read(served, "demo", "memory", "memory", revision).json()["content"] for revision in "12")
    kept = {"entry_id": "r", "entry_version_id": "v1", "kind": "rule", "text": "other"}
    assert first == {
        "entries": [
            {"entry_id": "e", "entry_version_id": "v1", "kind": "fact", "text": "old", "state": "active"},
            kept | {"state": "active"},
        ]
    }
    assert second == {
        "entries": [
            {"entry_id": "e", "entry_version_id": "v2", "kind": "fact", "text": "new", "state": "active"},
            kept | {"state": "retired"},
        ]
    }


def test_an_entry_version_is_read_as_it_stands_in_the_revision(served: Served) -> None:
    answer = read_entry(served, "demo", 1, "e", "v1").json()
    assert answer == {
        "citation": {
            "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 1},
            "entry_id": "e",
            "entry_version_id": "v1",
        },
        "kind": "fact",
        "text": "old",
        "state": "active",
    }
    assert read_entry(served, "demo", 1, "r", "v1").json()["state"] == "active"
    assert read_entry(served, "demo", 2, "r", "v1").json()["state"] == "retired"


@pytest.mark.parametrize(
    "revision", ["0", "01", "+1", "-1", "1.0", "1e0", "one", " 1", "1 ", "١", "½", "1\n", str(2**63)]
)
def test_a_revision_is_a_decimal_without_leading_zeros(served: Served, revision: str) -> None:
    assert code(read(served, "demo", "profile", "profile", revision)) == (422, "invalid_request")


def test_a_revision_of_thousands_of_digits_is_refused(served: Served) -> None:
    assert code(read(served, "demo", "profile", "profile", "9" * 5000)) == (422, "invalid_request")


@pytest.mark.parametrize("revision", [0, -1, 2**63, "1", 1.0, True, None, 10**400])
def test_a_cited_revision_is_an_integer_of_the_range(served: Served, revision: Any) -> None:
    assert code(read_entry(served, "demo", revision, "e", "v1")) == (422, "invalid_request")


@pytest.mark.parametrize("family", ["atomic-memory", "Memory", "memory ", "topic_memory", "topics"])
def test_a_family_outside_the_four_is_refused(served: Served, family: str) -> None:
    assert code(read(served, "demo", family, "x", "1")) == (422, "invalid_request")
    assert code(read_entry(served, "demo", 1, "e", "v1", family=family)) == (422, "invalid_request")


def test_what_a_readable_scope_does_not_have_is_not_found(served: Served) -> None:
    for segments in (
        ("demo", "memory", "memory", "3"),
        ("demo", "memory", "Memory", "1"),
        ("demo", "memory", "memory", str(2**63 - 1)),
        ("demo", "profile", "profile", "2"),
        ("demo", "experience", "e", "1"),
        ("demo", "topic-memory", "x", "1"),
    ):
        assert code(read(served, *segments)) == (404, "artifact_not_found")
    for arguments in ((3, "e", "v2"), (2, "e", "v1"), (1, "e", "v2"), (1, "E", "v1"), (1, "e ", "v1")):
        assert code(read_entry(served, "demo", *arguments)) == (404, "memory_not_found")
    assert code(read_entry(served, "demo", 1, "e", "v1", artifact_id="other")) == (404, "memory_not_found")
    assert code(read_entry(served, "demo", 1, "e", "v1", family="profile")) == (404, "memory_not_found")


def test_unreadable_and_absent_scopes_are_told_as_by_prepare(served: Served) -> None:
    for scope_id in ("unseen", "absent", "Demo"):
        assert code(read(served, scope_id, "memory", "memory", "1")) == (403, "forbidden")
        assert code(read_entry(served, scope_id, 1, "e", "v1")) == (403, "forbidden")
    for scope_id, verdict in (("absent", (404, "scope_not_found")), ("demo", (403, "forbidden"))):
        assert code(read(served, scope_id, "memory", "memory", "1", token=ADMINISTRATOR)) == verdict
        assert code(read_entry(served, scope_id, 1, "e", "v1", token=ADMINISTRATOR)) == verdict


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        ("/v1/scopes/%ff/artifacts/memory/memory/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/%ed%a0%80/artifacts/memory/memory/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/%c0%ae/artifacts/memory/memory/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/%20/artifacts/memory/memory/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/demo/artifacts/memory/%e3%80%80/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/" + "x" * 257 + "/artifacts/memory/memory/revisions/1", (422, "invalid_request")),
        ("/v1/scopes/%zz/artifacts/memory/memory/revisions/1", (403, "forbidden")),
        ("/v1/scopes/demo/artifacts/memory/%/revisions/1", (404, "artifact_not_found")),
        ("/v1/scopes//artifacts/memory/memory/revisions/1", (404, "not_found")),
        ("/v1/scopes/demo/artifacts/memory/memory/revisions/", (404, "not_found")),
        ("/v1/scopes/demo/artifacts/memory/memory/revisions/1/", (404, "not_found")),
        ("/v1/scopes/demo/artifacts/memory/a/b/revisions/1", (404, "not_found")),
    ],
)
def test_a_path_is_judged_as_it_was_sent(served: Served, raw: str, verdict: tuple[int, str]) -> None:
    assert code(served.send("GET", raw)) == verdict


def test_a_segment_is_decoded_once_and_a_query_string_is_nothing(served: Served) -> None:
    assert served.send("GET", "/v1/scopes/%64emo/artifacts/pro%66ile/profile/revisions/%31").status_code == 200
    assert served.send("GET", path("demo", "profile", "profile", "1") + "?revision=9").status_code == 200
    assert code(served.send("GET", "/v1/scopes/%2564emo/artifacts/profile/profile/revisions/1")) == (403, "forbidden")
