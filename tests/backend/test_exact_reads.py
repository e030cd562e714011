"""Every old revision, against a model that copies the whole manifest at each write."""

from __future__ import annotations

import random

import pytest
from worlds import document_at, entry_at, make_scopes, memory_at, write_document, write_memory

from runtime.artifacts import Entry, EntryChange, EntryRetire, EntryWrite, Experience, Family, Memory, Profile, Topic
from runtime.errors import WriteRefused
from runtime.storage import Storage

NAMES = ["a", "A", "a ", "界", "😀", "e\u0301", "é", "b", "c"]


class Model:
    """A Memory as its revisions' manifests, each kept whole."""

    def __init__(self) -> None:
        self.revisions: list[list[Entry]] = []
        self.versions: set[tuple[str, str]] = set()

    def write(self, changes: list[EntryChange]) -> bool:
        """Write a revision, or say that it is refused."""
        manifest = list(self.revisions[-1]) if self.revisions else []
        versions = set(self.versions)
        for change in changes:
            places = [place for place, entry in enumerate(manifest) if entry.entry_id == change.entry_id]
            if isinstance(change, EntryRetire):
                if not places:
                    return False
                old = manifest[places[0]]
                manifest[places[0]] = Entry(old.entry_id, old.entry_version_id, old.kind, old.text, "retired")
                continue
            if (change.entry_id, change.entry_version_id) in versions:
                return False
            versions.add((change.entry_id, change.entry_version_id))
            entry = Entry(change.entry_id, change.entry_version_id, change.kind, change.text)
            if places:
                manifest[places[0]] = entry
            else:
                manifest.append(entry)
        self.revisions.append(manifest)
        self.versions = versions
        return True


def changes(chance: random.Random, number: int) -> list[EntryChange]:
    made: list[EntryChange] = []
    for place in range(chance.choice([1, 1, 1, 2, 4])):
        name = chance.choice(NAMES)
        if chance.random() < 0.3:
            made.append(EntryRetire(name))
        else:
            version = f"v{number}-{place}" if chance.random() < 0.9 else "v1-0"
            made.append(EntryWrite(name, version, f"text {number} {place}", chance.choice(["fact", "rule"])))
    return made


@pytest.mark.parametrize("seed", range(4))
def test_every_revision_stays_as_a_naive_model_has_it(storage: Storage, seed: int) -> None:
    chance = random.Random(seed)
    models = {"demo": Model(), "Demo": Model()}
    make_scopes(storage, *models)
    for number in range(40):
        scope_id = chance.choice(list(models))
        written = changes(chance, number)
        if models[scope_id].write(written):
            assert write_memory(storage, scope_id, *written) == len(models[scope_id].revisions)
        else:
            with pytest.raises(WriteRefused):
                write_memory(storage, scope_id, *written)
    for scope_id, model in models.items():
        for revision, manifest in enumerate(model.revisions, start=1):
            assert memory_at(storage, scope_id, revision) == Memory(tuple(manifest))
        assert memory_at(storage, scope_id, len(model.revisions) + 1) is None
        _check_entries(storage, scope_id, model, chance)


def _check_entries(storage: Storage, scope_id: str, model: Model, chance: random.Random) -> None:
    """Read each version at some revisions: it is there exactly where the manifest has it."""
    for entry_id, version in sorted(model.versions):
        for revision in chance.sample(range(1, len(model.revisions) + 1), min(4, len(model.revisions))):
            expected = next(
                (
                    entry
                    for entry in model.revisions[revision - 1]
                    if (entry.entry_id, entry.entry_version_id) == (entry_id, version)
                ),
                None,
            )
            assert entry_at(storage, scope_id, revision, entry_id, version) == expected


@pytest.mark.parametrize(
    ("family", "artifact_id", "first", "second"),
    [
        ("experience", "e", Experience("s1", "a1", "o1", "l1"), Experience("s2", "a2", "o2", "")),
        ("profile", "profile", Profile("one"), Profile("")),
        ("topic-memory", "t", Topic("t1", "s1", "d1"), Topic("t2", "s2", "d2")),
    ],
)
def test_old_documents_stay_as_they_were(
    storage: Storage, family: Family, artifact_id: str, first: Profile, second: Profile
) -> None:
    make_scopes(storage, "demo", "other")
    write_document(storage, "demo", artifact_id, first)
    write_document(storage, "demo", artifact_id, second)
    assert document_at(storage, "demo", family, artifact_id, 1) == first
    assert document_at(storage, "demo", family, artifact_id, 2) == second
    for scope_id, other, revision in (
        ("demo", artifact_id, 3),
        ("demo", artifact_id, 2**63 - 1),
        ("demo", artifact_id.upper(), 1),
        ("demo", artifact_id + " ", 1),
        ("other", artifact_id, 1),
        ("absent", artifact_id, 1),
    ):
        assert document_at(storage, scope_id, family, other, revision) is None


def test_a_version_is_read_only_where_the_manifest_has_it(storage: Storage) -> None:
    make_scopes(storage, "demo")
    write_memory(storage, "demo", EntryWrite("a", "v1", "one"))
    write_memory(storage, "demo", EntryWrite("a", "v2", "two"))
    write_memory(storage, "demo", EntryWrite("b", "v1", "other"))
    assert [entry_at(storage, "demo", revision, "a", "v1") is not None for revision in (1, 2, 3, 4)] == [
        True,
        False,
        False,
        False,
    ]
    # A later revision that changed something else still holds it.
    assert entry_at(storage, "demo", 3, "a", "v2") == Entry("a", "v2", "fact", "two")
    assert entry_at(storage, "demo", 3, "A", "v2") is None
