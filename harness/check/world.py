"""The harness's own picture of what is stored: a plain model of SPEC.md 1, fed with the writes that were accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.check.bodies import document_body, family_of, fields, older_topic_bodies, topic_bodies, topic_head
from runtime.artifacts import (
    MEMORY,
    MEMORY_ID,
    Address,
    CandidateState,
    Citation,
    Content,
    Document,
    Entry,
    EntryAddress,
    EntryChange,
    EntryWrite,
    Family,
    Memory,
    Topic,
)

TextState = Literal["head", "old", "retired", "candidate"]
Place = tuple[str, Family, str]
"""Scope id, family, artifact id."""
Vector = tuple[float, ...]
ATOMIC_MEMORY = "atomic-memory"
"""The family under which releases since 1.3 keep each Entry as an Artifact of its own, its revisions its versions."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who may call, with the token that he shows."""

    principal_id: str
    token: str
    administrator: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed revision, pending or rejected."""

    scope_id: str
    artifact_id: str
    content: Document
    state: CandidateState


@dataclass(frozen=True, slots=True)
class StoredText:
    """One stored string and where it lies: the text of an Entry version, or one field of a document.

    `state` is "head" only for what recall may see: an active Entry of the Memory's Head, a field of a document's Head.
    """

    scope_id: str
    family: Family
    artifact_id: str
    field: str
    state: TextState
    text: str

    def __str__(self) -> str:
        return f"{self.field} of {self.family} {self.artifact_id!r} ({self.state}) in Scope {self.scope_id!r}"


class World:
    """All Scopes, Artifacts, Candidates, principals and grants that a target must hold now.

    `apply` changes it in place; the caller applies exactly the writes that the target accepted. `version` counts them.
    `references` keeps the Scopes in the order of their creation, `ids` holds every id and kind that is stored.
    `vectors` holds what the fixture embedder says of what recall may see: by place and entry id, "" for a document.
    `snippet_windows` says that topics show stretches of their detail, as releases do.
    """

    def __init__(self, *, snippet_windows: bool = False) -> None:
        self.version = 0
        self.snippet_windows = snippet_windows
        self.references: dict[str, tuple[str, ...]] = {}
        self.revisions: dict[Place, list[Content]] = {}
        self.candidates: list[Candidate] = []
        self.principals: dict[str, Principal] = {}
        self.grants: set[tuple[str, str]] = set()
        self.ids: set[str] = set()
        self.vectors: dict[tuple[Place, str], Vector] = {}
        self._artifacts: dict[tuple[str, Family], list[str]] = {}
        self._versions: dict[str, dict[tuple[str, str], str]] = {}
        self._texts: tuple[StoredText, ...] | None = None

    def apply(self, operations: Iterable[Operation]) -> None:
        """Take over writes that the target accepted, in their order."""
        for operation in operations:
            self._apply(operation)
        self.version += 1
        self._texts = None

    def _apply(self, operation: Operation) -> None:
        match operation:
            case CreateScope(scope_id):
                self.references[scope_id] = ()
                self.ids.add(scope_id)
            case SetReferences(scope_id, references):
                self.references[scope_id] = references
            case WriteMemory(scope_id, changes):
                self._write_memory(scope_id, changes)
            case WriteDocument(scope_id, artifact_id, content, vector):
                place = (scope_id, family_of(content), artifact_id)
                self._revisions(place).append(content)
                self._set_vector(place, "", vector)
                self.ids.add(artifact_id)
            case Propose(scope_id, artifact_id, content, state):
                self.candidates.append(Candidate(scope_id, artifact_id, content, state))
                self.ids.add(artifact_id)
            case CreatePrincipal(principal_id, token, administrator):
                self.principals[principal_id] = Principal(principal_id, token, administrator)
                self.ids.add(principal_id)
            case Grant(principal_id, scope_id):
                self.grants.add((principal_id, scope_id))
            case Revoke(principal_id, scope_id):
                self.grants.discard((principal_id, scope_id))

    def _write_memory(self, scope_id: str, changes: tuple[EntryChange, ...]) -> None:
        place = (scope_id, MEMORY, MEMORY_ID)
        revisions = self._revisions(place)
        revisions.append(_changed(revisions[-1] if revisions else None, changes))
        versions = self._versions.setdefault(scope_id, {})
        for change in changes:
            self._set_vector(place, change.entry_id, change.vector if isinstance(change, EntryWrite) else None)
            if isinstance(change, EntryWrite):
                versions[change.entry_id, change.entry_version_id] = change.text
                self.ids.update((change.entry_id, change.entry_version_id, change.kind))

    def _revisions(self, place: Place) -> list[Content]:
        if place not in self.revisions:
            self.revisions[place] = []
            self._artifacts.setdefault(place[:2], []).append(place[2])
        return self.revisions[place]

    def _set_vector(self, place: Place, entry_id: str, vector: Vector | None) -> None:
        self.vectors.pop((place, entry_id), None)
        if vector is not None:
            self.vectors[place, entry_id] = vector

    def exists(self, scope_id: str) -> bool:
        """Say whether there is such a Scope; ids are compared exactly."""
        return scope_id in self.references

    def readable(self, principal_id: str | None, scope_id: str) -> bool:
        """Say whether a principal is viewer of a Scope that exists, with access control enforced."""
        return principal_id is not None and self.exists(scope_id) and (principal_id, scope_id) in self.grants

    def content(self, address: Address) -> Content | None:
        """Return what one revision holds, or None where there is no such revision."""
        revisions = self.revisions.get((address.scope_id, address.family, address.artifact_id), [])
        return revisions[address.revision - 1] if 1 <= address.revision <= len(revisions) else None

    def memory(self, address: Address) -> Memory | None:
        """Return one revision's manifest."""
        content = self.content(address)
        return content if isinstance(content, Memory) else None

    def document(self, address: Address) -> Document | None:
        """Return one revision of an Experience, a Profile or a topic."""
        content = self.content(address)
        return None if isinstance(content, Memory) else content

    def entry(self, address: EntryAddress) -> Entry | None:
        """Return the Entry version that stands in exactly that revision's manifest."""
        memory = self.memory(address.memory)
        for entry in memory.entries if memory else ():
            if (entry.entry_id, entry.entry_version_id) == (address.entry_id, address.entry_version_id):
                return entry
        return None

    def entry_texts(self, scope_id: str, entry_id: str) -> list[str]:
        """Return the text of every version of an Entry, in the order in which they were first written."""
        return [text for (name, _), text in self._versions.get(scope_id, {}).items() if name == entry_id]

    def entry_versions(self, scope_id: str, entry_id: str) -> list[str]:
        """Return the id of every version of an Entry, in the order in which they were first written."""
        return [version for name, version in self._versions.get(scope_id, {}) if name == entry_id]

    def active_entry(self, scope_id: str, entry_id: str) -> Entry | None:
        """Return an Entry as the Memory's Head holds it, None where it is retired or was never written."""
        revisions = self.revisions.get((scope_id, MEMORY, MEMORY_ID), [])
        head = revisions[-1] if revisions else None
        entries = head.entries if isinstance(head, Memory) else ()
        return next((one for one in entries if one.entry_id == entry_id and one.state == "active"), None)

    def head_revision(self, scope_id: str, family: str, artifact_id: str) -> int | None:
        """Return the newest official revision's number; of an atomic memory, that of its newest version."""
        if family == ATOMIC_MEMORY:
            return len(self.entry_versions(scope_id, artifact_id)) or None
        return len(self.revisions.get((scope_id, family, artifact_id), [])) or None  # type: ignore[arg-type]

    def heads(self, scope_id: str, family: Family) -> list[Address]:
        """Return the Heads of a family in a Scope, in the order in which the Artifacts were first written."""
        return [
            Address(scope_id, family, artifact_id, revision=len(self.revisions[scope_id, family, artifact_id]))
            for artifact_id in self._artifacts.get((scope_id, family), ())
        ]

    def body(self, citation: Citation, *, delivered: str | None = None, truncated: bool = False) -> str | None:
        """Return the original body that an item with this citation shows (SPEC.md 3, "Bodies").

        `delivered` is what the answer shows, without a final ellipsis; it decides which snippet of a topic is meant.
        None where nothing is stored there, or where a topic shows a snippet that SPEC.md 10 does not know.
        """
        found = self.bodies(citation, delivered=delivered, truncated=truncated)
        return found[0] if found else None

    def bodies(self, citation: Citation, *, delivered: str | None = None, truncated: bool = False) -> list[str]:
        """Return every original body that fits what was delivered: one, or of a topic one for each possible snippet."""
        if isinstance(citation, EntryAddress):
            entry = self.entry(citation)
            return [entry.text] if entry else []
        if citation.family == ATOMIC_MEMORY:
            texts = self.entry_texts(citation.scope_id, citation.artifact_id)
            return texts[citation.revision - 1 : citation.revision]
        content = self.document(citation)
        if isinstance(content, Topic):
            if delivered is None:
                return [topic_head(content)]
            return topic_bodies(content, delivered=delivered, truncated=truncated, windows=self.snippet_windows)
        return [] if content is None else [document_body(content)]

    def older_bodies(self, citation: Citation, *, delivered: str, truncated: bool) -> list[str]:
        """Return every original content that fits what the older output delivered; a topic's is JSON (SPEC.md 7)."""
        content = None if isinstance(citation, EntryAddress) else self.document(citation)
        if isinstance(content, Topic):
            return older_topic_bodies(content, delivered=delivered, truncated=truncated, windows=self.snippet_windows)
        return self.bodies(citation)

    def texts(self) -> tuple[StoredText, ...]:
        """Return every stored text with its place, each revision of it once."""
        if self._texts is None:
            self._texts = tuple(self._walk())
        return self._texts

    def _walk(self) -> Iterator[StoredText]:
        for scope_id, versions in self._versions.items():
            head = self.revisions[scope_id, MEMORY, MEMORY_ID][-1]
            states = {
                (entry.entry_id, entry.entry_version_id): entry.state
                for entry in (head.entries if isinstance(head, Memory) else ())
            }
            for (entry_id, version_id), text in versions.items():
                state = _TEXT_STATES[states.get((entry_id, version_id))]
                yield StoredText(scope_id, MEMORY, MEMORY_ID, f"entry {entry_id!r}@{version_id!r}", state, text)
        for (scope_id, family, artifact_id), revisions in self.revisions.items():
            for content in revisions if family != MEMORY else ():
                state = "head" if content is revisions[-1] else "old"
                for name, text in fields(content):
                    yield StoredText(scope_id, family, artifact_id, name, state, text)
        for candidate in self.candidates:
            family = family_of(candidate.content)
            for name, text in fields(candidate.content):
                yield StoredText(candidate.scope_id, family, candidate.artifact_id, name, "candidate", text)


_TEXT_STATES: dict[str | None, TextState] = {"active": "head", "retired": "retired", None: "old"}


def _changed(before: Content | None, changes: Iterable[EntryChange]) -> Memory:
    """Return the next manifest: a changed Entry keeps its place, a new one goes to the end."""
    entries = {entry.entry_id: entry for entry in before.entries} if isinstance(before, Memory) else {}
    for change in changes:
        if isinstance(change, EntryWrite):
            entries[change.entry_id] = Entry(change.entry_id, change.entry_version_id, change.kind, change.text)
        else:
            old = entries[change.entry_id]
            entries[change.entry_id] = Entry(old.entry_id, old.entry_version_id, old.kind, old.text, state="retired")
    return Memory(entries=tuple(entries.values()))
