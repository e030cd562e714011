"""What a write makes, and what it refuses, on both engines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text
from worlds import (
    TWINS,
    document_at,
    entry_at,
    found,
    make_scopes,
    memory_at,
    write,
    write_document,
    write_memory,
)

from backends.seeding import digest
from runtime.artifacts import Document, Entry, EntryRetire, EntryWrite, Experience, Family, Memory, Profile, Topic
from runtime.errors import WriteRefused
from runtime.storage import Storage, Writer

MOST = 1_048_576
DOCUMENTS: list[tuple[Family, str, Document]] = [
    ("experience", "e", Experience("s", "a", "o", "l")),
    ("profile", "profile", Profile("p")),
    ("topic-memory", "t", Topic("t", "s", "d")),
]

REFUSALS: dict[str, tuple[str, Callable[[Writer], object]]] = {
    "empty scope id": ("invalid_id", lambda w: w.create_scope("")),
    "blank scope id": ("invalid_id", lambda w: w.create_scope(" \u3000")),
    "long scope id": ("invalid_id", lambda w: w.create_scope("x" * 257)),
    "surrogate scope id": ("invalid_unicode", lambda w: w.create_scope("\ud800")),
    "scope twice": ("revision_conflict", lambda w: w.create_scope("demo")),
    "blank entry id": ("invalid_id", lambda w: w.write_memory("demo", [write(" ")])),
    "long version id": ("invalid_id", lambda w: w.write_memory("demo", [write("e", version="x" * 257)])),
    "blank kind": ("invalid_id", lambda w: w.write_memory("demo", [EntryWrite("e", "v", "t", " ")])),
    "blank retired id": ("invalid_id", lambda w: w.write_memory("demo", [EntryRetire("")])),
    "blank artifact id": ("invalid_id", lambda w: w.write_document("demo", "\t", Topic("t", "s", "d"))),
    "another profile": ("invalid_id", lambda w: w.write_document("demo", "Profile", Profile("p"))),
    "blank principal": ("invalid_id", lambda w: w.create_principal("")),
    "blank reference": ("invalid_id", lambda w: w.set_references("demo", [" "])),
    "long memory": ("body_too_long", lambda w: w.write_memory("demo", [write("e", "x" * (MOST + 1))])),
    "long memory in bytes": ("body_too_long", lambda w: w.write_memory("demo", [write("e", "界" * 349_526)])),
    "long profile": ("body_too_long", lambda w: w.write_document("demo", "profile", Profile("x" * (MOST + 1)))),
    "long experience in all": (
        "body_too_long",
        lambda w: w.write_document("demo", "e", Experience("x" * MOST, "a", "", "")),
    ),
    "long candidate": (
        "body_too_long",
        lambda w: w.propose("demo", "profile", Profile("x" * (MOST + 1)), "pending"),
    ),
    "surrogate memory": ("invalid_unicode", lambda w: w.write_memory("demo", [write("e", "a\udfffb")])),
    "surrogate entry id": ("invalid_unicode", lambda w: w.write_memory("demo", [write("\ud800")])),
    "surrogate topic": ("invalid_unicode", lambda w: w.write_document("demo", "t", Topic("t", "\ud83d", "d"))),
    "unknown scope": ("unknown_scope", lambda w: w.write_memory("Demo", [write("e")])),
    "unknown scope of a document": ("unknown_scope", lambda w: w.write_document("demo ", "e", Topic("t", "s", "d"))),
    "unknown scope of a candidate": ("unknown_scope", lambda w: w.propose("x", "profile", Profile("p"), "pending")),
    "unknown scope of references": ("unknown_scope", lambda w: w.set_references("x", [])),
    "unknown granted scope": ("unknown_scope", lambda w: w.grant("alice", "x")),
    "unknown revoked scope": ("unknown_scope", lambda w: w.revoke("alice", "x")),
    "reference to itself": ("invalid_reference", lambda w: w.set_references("demo", ["demo"])),
    "reference to nothing": ("invalid_reference", lambda w: w.set_references("demo", ["s1", "x"])),
    "reference twice": ("invalid_reference", lambda w: w.set_references("demo", ["s1", "s2", "s1"])),
    "unknown retired": ("entry_unknown", lambda w: w.write_memory("demo", [EntryRetire("KEPT")])),
    "older head expected": (
        "revision_conflict",
        lambda w: w.write_memory("demo", [write("e")], expected_revision=0),
    ),
    "newer head expected": (
        "revision_conflict",
        lambda w: w.write_document("demo", "profile", Profile("p"), expected_revision=2),
    ),
    "version twice": ("revision_conflict", lambda w: w.write_memory("demo", [write("kept")])),
    "token twice": ("token_conflict", lambda w: w.store_token("bob", "a token")),
}


@pytest.mark.parametrize(("code", "refused"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_write_says_its_code_and_leaves_nothing(
    storage: Storage, code: str, refused: Callable[[Writer], object]
) -> None:
    make_scopes(storage, "demo", "s1", "s2")
    write_memory(storage, "demo", write("kept"))
    write_document(storage, "demo", "profile", Profile("kept"))
    with storage.writing() as writer:
        writer.store_token("alice", "a token")
    before = digest(storage)

    def write_all() -> None:
        with storage.writing() as writer:
            # What was accepted before in the same transaction goes too.
            writer.create_scope("before")
            writer.write_memory("before", [write("early")])
            refused(writer)

    with pytest.raises(WriteRefused) as caught:
        write_all()
    assert caught.value.code == code
    assert digest(storage) == before
    write_memory(storage, "demo", write("later"))
    assert found(storage, ["demo"], ["text"]) == {"demo": ["kept", "later"]}


def test_a_scope_refers_to_at_most_32_others(storage: Storage) -> None:
    names = [f"s{number}" for number in range(33)]
    make_scopes(storage, "demo", *names)
    with storage.writing() as writer:
        writer.set_references("demo", names[1:])
    with pytest.raises(WriteRefused, match="invalid_reference"), storage.writing() as writer:
        writer.set_references("demo", names)
    with storage.reading() as reader:
        assert [scope.scope_id for scope in reader.scopes("demo", None)] == ["demo", *names[1:]]


def test_each_accepted_write_is_one_revision(storage: Storage) -> None:
    make_scopes(storage, "demo", "other")
    assert write_memory(storage, "demo", write("a"), write("b")) == 1
    assert write_memory(storage, "demo", EntryRetire("a")) == 2
    assert write_memory(storage, "other", write("a")) == 1
    for _, artifact_id, content in DOCUMENTS:
        assert write_document(storage, "demo", artifact_id, content) == 1
        assert write_document(storage, "demo", artifact_id, content) == 2
    # The same id in another family is another Artifact.
    assert write_document(storage, "demo", "t", Experience("s", "a", "o", "l")) == 1


def test_a_revised_or_retired_entry_keeps_its_place_and_a_new_one_goes_to_the_end(storage: Storage) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("c"), write("a"), write("b"))
    write_memory(storage, "demo", EntryRetire("a"), write("c", "new", "v2"), write("aa"))
    write_memory(storage, "demo", write("a", "back", "v2"))
    memory = memory_at(storage, "demo", 3)
    assert memory == Memory(
        (
            Entry("c", "v2", "fact", "new"),
            Entry("a", "v2", "fact", "back"),
            Entry("b", "v1", "fact", "text"),
            Entry("aa", "v1", "fact", "text"),
        )
    )
    second = memory_at(storage, "demo", 2)
    assert second is not None
    assert [(e.entry_id, e.state) for e in second.entries] == [
        ("c", "active"),
        ("a", "retired"),
        ("b", "active"),
        ("aa", "active"),
    ]


def test_several_changes_of_one_entry_in_one_revision_end_in_the_last(storage: Storage) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("a", "one", "v1"), write("a", "two", "v2"), write("b"), EntryRetire("b"))
    memory = memory_at(storage, "demo", 1)
    assert memory is not None
    assert [(e.entry_id, e.entry_version_id, e.state) for e in memory.entries] == [
        ("a", "v2", "active"),
        ("b", "v1", "retired"),
    ]
    assert entry_at(storage, "demo", 1, "a", "v1") is None
    assert found(storage, ["demo"], ["one"]) == {}
    assert found(storage, ["demo"], ["two"]) == {"demo": ["a"]}


def test_a_retired_or_superseded_text_is_not_found(storage: Storage) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("a", "old"), write("b", "old"))
    write_memory(storage, "demo", write("a", "new", "v2"), EntryRetire("b"))
    assert found(storage, ["demo"], ["old"]) == {}
    write_memory(storage, "demo", write("b", "old", "v2"))
    assert found(storage, ["demo"], ["old", "new"]) == {"demo": ["a", "b"]}


def test_a_candidate_is_neither_head_nor_found_nor_read(storage: Storage) -> None:
    make_scopes(storage, "demo")
    for family, artifact_id, content in DOCUMENTS:
        with storage.writing() as writer:
            writer.propose("demo", artifact_id, content, "pending")
            writer.propose("demo", artifact_id, content, "rejected")
        assert document_at(storage, "demo", family, artifact_id, 1) is None
    assert found(storage, ["demo"], ["s", "d"], "experience") == {}
    assert found(storage, ["demo"], ["s", "d"], "topic-memory") == {}
    assert write_document(storage, "demo", "profile", Profile("first")) == 1


@pytest.mark.parametrize("size", [65_535, 65_536, MOST])
def test_a_body_comes_back_whole(storage: Storage, size: int) -> None:
    make_scopes(storage, "demo")
    body = ("界" * (size // 3)) + "x" * (size % 3)
    write_memory(storage, "demo", write("e", body))
    write_document(storage, "demo", "profile", Profile(body))
    entry = entry_at(storage, "demo", 1, "e", "v1")
    assert entry is not None
    assert entry.text == body
    assert document_at(storage, "demo", "profile", "profile", 1) == Profile(body)


@pytest.mark.parametrize(
    "body",
    [
        "",
        " ",
        "a ",
        "\x00",
        "a\x00b\x00",
        "".join(map(chr, range(0xA0))),
        "\r\n\r\n\u2028\u2029\x85",
        "\ufeffa\u200b\u200d\u202e\ufffe\uffff",
        "e\u0301 é ﬁ Ω Ω",
        "𪩘😀👩‍💻\U0010ffff",
        "'; DROP TABLE entries; -- \\ \\' %s %(x)s :name ? {} \"",
    ],
)
def test_every_character_comes_back_as_it_was(storage: Storage, body: str) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("e", body))
    write_document(storage, "demo", "t", Topic(body, body, body))
    entry = entry_at(storage, "demo", 1, "e", "v1")
    assert entry is not None
    assert entry.text == body
    assert document_at(storage, "demo", "topic-memory", "t", 1) == Topic(body, body, body)


def test_twins_are_different_scopes(storage: Storage) -> None:
    make_scopes(storage, *TWINS)
    for number, twin in enumerate(TWINS):
        write_memory(storage, twin, write("e", f"marker{number}"))
    for number, twin in enumerate(TWINS):
        entry = entry_at(storage, twin, 1, "e", "v1")
        assert entry is not None
        assert entry.text == f"marker{number}"
        assert found(storage, TWINS, [f"marker{number}"]) == {twin: ["e"]}


def test_twins_are_different_entries_and_versions(storage: Storage) -> None:
    make_scopes(storage, "demo")
    assert write_memory(storage, "demo", *(write(twin, twin) for twin in TWINS)) == 1
    for revision, twin in enumerate(TWINS, start=2):
        assert write_memory(storage, "demo", write("twin", twin, version=f"{twin}-v")) == revision
    memory = memory_at(storage, "demo", 1)
    assert memory is not None
    assert tuple(entry.entry_id for entry in memory.entries) == TWINS
    for revision, twin in enumerate(TWINS, start=2):
        entry = entry_at(storage, "demo", revision, "twin", f"{twin}-v")
        assert entry is not None
        assert entry.text == twin
    with storage.reading() as reader:
        hits = reader.search("memory", ["demo"], ["twin"], depth=64)["demo"]
    # Equal numbers of tokens are in the order of code points.
    assert [hit.entry_id for hit in hits if hit.entry_id.startswith("twin ")] == ["twin ", "twin  "]


def test_twins_are_different_artifacts(storage: Storage) -> None:
    make_scopes(storage, "demo")
    for twin in TWINS:
        assert write_document(storage, "demo", twin, Topic("same", twin, "")) == 1
    for twin in TWINS:
        assert document_at(storage, "demo", "topic-memory", twin, 1) == Topic("same", twin, "")
    assert found(storage, ["demo"], ["same"], "topic-memory")["demo"] != []


def test_twins_are_different_principals_with_different_tokens(storage: Storage) -> None:
    make_scopes(storage, "demo")
    with storage.writing() as writer:
        for twin in TWINS:
            writer.store_token(twin, f"token {twin}")
        writer.grant("Twin", "demo")
    with storage.reading() as reader:
        for twin in TWINS:
            principal = reader.principal(f"token {twin}")
            assert principal is not None
            assert principal.principal_id == twin
            (scope,) = reader.scopes("demo", twin)
            assert scope.granted == (twin == "Twin")
        assert reader.principal("token tWin") is None
        assert reader.principal("token twin   ") is None


def test_references_keep_their_order_and_are_replaced_as_a_whole(storage: Storage) -> None:
    make_scopes(storage, "demo", *(f"s{number}" for number in range(32)))
    order = [f"s{(number * 7) % 32}" for number in range(32)]
    for references in (order, order[::-1], [], ["s3"]):
        with storage.writing() as writer:
            writer.set_references("demo", references)
        with storage.reading() as reader:
            assert [scope.scope_id for scope in reader.scopes("demo", None)] == ["demo", *references]


def test_the_database_keeps_no_token(storage: Storage, database: str, engine_name: str) -> None:
    make_scopes(storage, "demo")
    with storage.writing() as writer:
        token = writer.create_token("alice")
    with storage.reading() as reader:
        assert reader.principal(token) is not None
    needle = token.encode()
    with storage.engine.connect() as connection:
        if engine_name == "sqlite":
            path = storage.engine.url.database
            assert path is not None
            for suffix in ("", "-wal"):
                with open(path + suffix, "rb") as file:
                    assert needle not in file.read()
        else:
            tables = connection.execute(text("SHOW TABLES")).scalars().all()
            for table in tables:
                for row in connection.execute(text(f"SELECT * FROM {table}")):
                    assert all(needle not in _bytes(value) for value in row)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
