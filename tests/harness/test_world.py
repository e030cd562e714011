"""The harness's own picture of what is stored."""

from __future__ import annotations

import pytest

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.check.world import World
from runtime.artifacts import Address, EntryAddress, EntryRetire, EntryWrite, Experience, Profile, Topic


def memory_at(revision: int) -> Address:
    return Address("s", "memory", "memory", revision)


@pytest.fixture
def world() -> World:
    world = World()
    world.apply(
        [
            CreateScope("s"),
            CreateScope("t"),
            SetReferences("s", ("t",)),
            WriteMemory("s", (EntryWrite("a", "a1", "first"), EntryWrite("b", "b1", "second"))),
            WriteMemory("s", (EntryWrite("c", "c1", "third"), EntryWrite("a", "a2", "first again"))),
            WriteMemory("s", (EntryRetire("b"),)),
            WriteDocument("s", "x", Experience("s1", "a1", "o1", "l1")),
            WriteDocument("s", "x", Experience("s2", "a2", "o2", "l2")),
            Propose("s", "profile", Profile("pending words"), "pending"),
            WriteDocument("s", "topic", Topic("T", "S", "One line.\r\nAnother line.\n\n" + "é" * 300)),
            CreatePrincipal("alice", "token", administrator=True),
            Grant("alice", "s"),
        ]
    )
    return world


def test_each_revision_is_a_manifest_whose_entries_keep_their_places(world: World) -> None:
    def manifest(revision: int) -> list[tuple[str, str, str]]:
        memory = world.memory(memory_at(revision))
        assert memory is not None
        return [(entry.entry_id, entry.entry_version_id, entry.state) for entry in memory.entries]

    assert manifest(1) == [("a", "a1", "active"), ("b", "b1", "active")]
    assert manifest(2) == [("a", "a2", "active"), ("b", "b1", "active"), ("c", "c1", "active")]
    assert manifest(3) == [("a", "a2", "active"), ("b", "b1", "retired"), ("c", "c1", "active")]
    assert world.memory(memory_at(4)) is None
    assert world.memory(memory_at(0)) is None
    assert world.head_revision("s", "memory", "memory") == 3
    assert world.head_revision("t", "memory", "memory") is None


def test_an_entry_is_found_only_in_a_revision_that_holds_that_version(world: World) -> None:
    entry = world.entry(EntryAddress(memory_at(1), "a", "a1"))
    assert entry is not None
    assert entry.text == "first"
    assert world.entry(EntryAddress(memory_at(2), "a", "a1")) is None
    assert world.body(EntryAddress(memory_at(3), "a", "a2")) == "first again"


def test_documents_have_revisions_and_candidates_have_none(world: World) -> None:
    old = Address("s", "experience", "x", 1)
    assert world.document(old) == Experience("s1", "a1", "o1", "l1")
    assert world.body(old) == "Situation: s1\nAction: a1\nOutcome: o1\nLesson: l1"
    assert world.document(Address("s", "profile", "profile", 1)) is None
    assert world.document(Address("S", "experience", "x", 1)) is None
    assert [address.revision for address in world.heads("s", "experience")] == [2]


def test_a_topic_is_checked_with_the_snippet_that_was_delivered(world: World) -> None:
    topic = Address("s", "topic-memory", "topic", 1)
    head = "Title: T\n\nSummary: S"
    assert world.body(topic) == head
    assert world.body(topic, delivered=head) == head
    assert world.body(topic, delivered=head + "\n\nSnippet: Another line.") == head + "\n\nSnippet: Another line."
    assert world.body(topic, delivered=head + "\n\nSnippet: " + "é" * 240) == head + "\n\nSnippet: " + "é" * 240
    for snippet in ("Another", "One line. Another line.", "é" * 239, "é" * 241, ""):
        assert world.body(topic, delivered=head + "\n\nSnippet: " + snippet) is None
    assert world.body(topic, delivered=head + "\n\nSnippet: Ano", truncated=True) == head + "\n\nSnippet: Another line."
    assert world.body(topic, delivered="Title: U") is None


def test_a_grant_is_needed_to_read_whoever_it_is(world: World) -> None:
    assert world.readable("alice", "s")
    assert not world.readable("alice", "t")
    assert not world.readable("Alice", "s")
    assert not world.readable(None, "s")
    world.apply([Grant("alice", "absent"), Revoke("alice", "s")])
    assert not world.readable("alice", "s")
    assert not world.readable("alice", "absent")


def test_every_stored_text_has_its_place(world: World) -> None:
    texts = {(text.family, text.state, text.text) for text in world.texts()}
    assert {
        ("memory", "old", "first"),
        ("memory", "head", "first again"),
        ("memory", "retired", "second"),
        ("experience", "old", "l1"),
        ("experience", "head", "l2"),
        ("profile", "candidate", "pending words"),
        ("topic-memory", "head", "T"),
    } <= texts
    assert {"s", "t", "a", "a1", "a2", "x", "topic", "alice", "fact"} <= world.ids
    world.apply([WriteMemory("s", (EntryRetire("a"),))])
    assert ("memory", "retired", "first again") in {(one.family, one.state, one.text) for one in world.texts()}
