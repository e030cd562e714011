"""One consistent view of each prepare, and fresh commits at once (SPEC.md 8)."""

from __future__ import annotations

import pytest
from worlds import document_at, make_scopes, write, write_document, write_memory

from backends.seeding import digest
from runtime.application import ContextApplication
from runtime.artifacts import Address, Entry, EntryRetire, Experience, Family, Memory, Profile, Topic
from runtime.builder import Candidate
from runtime.recall import ProfileSource, RecallRequest, RecallSource, default_sources
from runtime.storage import Principal, Reader, Storage


def application(storage: Storage) -> ContextApplication:
    return ContextApplication(storage, sources=default_sources(), access_mode="disabled", max_entries=9)


def test_a_write_between_two_reads_of_one_snapshot_is_invisible(storage: Storage) -> None:
    make_scopes(storage, "demo", "other")
    write_memory(storage, "demo", write("a", "old"))
    with storage.writing() as writer:
        writer.store_token("alice", "token")
        writer.grant("alice", "demo")
    with storage.reading() as reader:
        principal = Principal("alice", administrator=False)
        assert reader.principal("token") == principal
        with storage.writing() as writer:
            writer.write_memory("demo", [write("a", "new", "v2"), write("b", "old")])
            writer.write_document("demo", "profile", Profile("new"))
            writer.set_references("demo", ["other"])
            writer.create_scope("third")
            writer.revoke("alice", "demo")
            writer.create_principal("alice", administrator=True)
        assert reader.principal("token") == principal
        (scope,) = reader.scopes("demo", "alice")
        assert scope.granted
        assert reader.scopes("third", None) == []
        hits = reader.search("memory", ["demo"], ["old", "new"], depth=16)
        (entry,) = reader.entries([("demo", hit) for hit in hits["demo"]], at_most=100).values()
        assert (entry.address.memory.revision, entry.text.text) == (1, "old")
        assert reader.documents("profile", [("demo", "profile")], at_most=100) == {}
        assert reader.memory(Address("demo", "memory", "memory", 2)) is None
        assert reader.memory(Address("demo", "memory", "memory", 1)) == Memory((Entry("a", "v1", "fact", "old"),))
    with storage.reading() as reader:
        assert len(reader.search("memory", ["demo"], ["old", "new"], depth=16)["demo"]) == 2
        assert [scope.granted for scope in reader.scopes("demo", "alice")] == [False, False]


class WritingBetween:
    """A source that has somebody write before it reads."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def recall(self, reader: Reader, request: RecallRequest) -> list[Candidate]:
        write_memory(self._storage, "demo", write("late", "contract tests"), EntryRetire("early"))
        write_document(self._storage, "demo", "profile", Profile("late"))
        return list(ProfileSource().recall(reader, request))


def test_a_prepare_is_of_one_moment_whatever_is_written_between_its_families(storage: Storage) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("early", "contract tests"))
    write_document(storage, "demo", "profile", Profile("early"))
    asked = {
        "scope_id": "demo",
        "query": "contract tests",
        "assembly": {"sections": [{"family": "profile", "limit": 1}, {"family": "memory", "limit": 8}]},
    }
    sources: dict[Family, RecallSource] = {**default_sources(), "profile": WritingBetween(storage)}
    prepared = ContextApplication(storage, sources=sources, access_mode="disabled", max_entries=9).prepare(None, asked)
    assert prepared.content is not None
    assert ">     early" in prepared.content
    assert 'Entry: id="early"' in prepared.content
    assert "late" not in prepared.content
    fresh = application(storage).prepare(None, asked).content
    assert fresh is not None
    assert ">     late" in fresh
    assert 'Entry: id="late"' in fresh
    assert "early" not in fresh


def test_a_fresh_commit_is_visible_at_once(storage: Storage) -> None:
    make_scopes(storage, "demo")
    reading = application(storage)
    asked = {"scope_id": "demo", "query": "needle", "assembly": {"sections": [{"family": "memory", "limit": 1}]}}
    for number in range(60):
        write_memory(storage, "demo", write("e", f"needle {number}", f"v{number}"))
        content = reading.prepare(None, asked).content
        assert content is not None
        assert f">     needle {number}\n" in content
        assert f"revision={number + 1}\n" in content


def test_a_fresh_vector_is_visible_at_once(vector_storage: Storage) -> None:
    make_scopes(vector_storage, "demo")
    for number in range(20):
        with vector_storage.writing() as writer:
            writer.write_document("demo", f"t{number}", Topic("x", "", ""), vector=(float(20 - number), 0.0))
        with vector_storage.reading() as reader:
            hits = reader.search("topic-memory", ["demo"], [], depth=1, vector=(0.0, 0.0))
        assert [hit.artifact_id for hit in hits["demo"]] == [f"t{number}"]


@pytest.mark.parametrize(
    "assembly", [None, {}, {"sections": []}, {"sections": [{"family": "topic-memory", "limit": 8}]}]
)
def test_a_prepare_writes_nothing(storage: Storage, assembly: dict[str, object] | None) -> None:
    make_scopes(storage, "demo", "other")
    write_memory(storage, "demo", write("a", "contract tests"))
    write_document(storage, "demo", "e", Experience("contract", "a", "o", "l"))
    write_document(storage, "demo", "t", Topic("contract", "s", "tests"))
    with storage.writing() as writer:
        writer.set_references("demo", ["other"])
    before = digest(storage)
    asked = {"scope_id": "demo", "query": "contract tests"} | ({} if assembly is None else {"assembly": assembly})
    application(storage).prepare(None, asked)
    assert digest(storage) == before
    assert document_at(storage, "demo", "profile", "profile", 1) is None
