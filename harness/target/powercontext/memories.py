"""Memories of a released server: Entries of the Scope's Memory before 1.3, Artifacts of their own from then on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from backends.operations import Operation, WriteMemory
from harness.target.base import Answer
from harness.target.ids import Ids
from harness.target.powercontext import requests
from harness.target.powercontext.answers import stored_entry
from harness.target.powercontext.refusals import RequestRefused
from harness.target.powercontext.requests import Release, Request
from runtime.artifacts import EntryChange, EntryRetire, EntryWrite

Send = Callable[[Request], Answer]


@dataclass
class _Atomic:
    """A memory as it is now; its versions are those of the scenario, the first one being revision 1."""

    artifact: str
    revision: int
    state_version: int = 0
    forgotten: bool = False
    versions: list[str] = field(default_factory=list)


class AtomicMemories:
    """Memories from 1.3 on: what the scenario calls an Entry is an Artifact, its versions are the revisions."""

    def __init__(self, send: Send, ids: Ids, release: Release) -> None:
        self._send = send
        self._ids = ids
        self._release = release
        self._known: dict[tuple[str, str], _Atomic] = {}
        self._versions: dict[tuple[str, str], list[str]] = {}

    def revision_of(self, scope: str, artifact: str, version: str) -> int | None:
        """Return which revision of a memory a version of the scenario's is, all by real ids."""
        versions = self._versions.get((scope, artifact), [])
        return versions.index(version) + 1 if version in versions else None

    def write(self, scope_id: str, change: EntryChange) -> tuple[Operation, ...]:
        """Write one change; raises RequestRefused."""
        scope = self._ids.scope(scope_id)
        known = self._known.get((scope_id, change.entry_id))
        if isinstance(change, EntryRetire):
            return self._forget(scope, known or _Atomic(change.entry_id, 1))
        if known is None:
            answer = self._send(requests.create_atomic_memory(scope, change.kind, change.text))
            known = _Atomic(answer.json["artifact_id"], 0)
            self._known[scope_id, change.entry_id] = known
            self._versions[scope, known.artifact] = known.versions
            self._ids.learn_entry(scope_id, change.entry_id, known.artifact)
        else:
            request = requests.replace_atomic_memory(scope, known.artifact, known.revision, change.kind, change.text)
            answer = self._send(request)
        known.revision = answer.json["revision"]
        known.versions.append(change.entry_version_id)
        written = replace(stored_entry(change, self._release), entry_id=known.artifact)
        # A forgotten memory stays forgotten whatever is written to it.
        changes = (written, EntryRetire(known.artifact)) if known.forgotten else (written,)
        return (WriteMemory(scope, changes),)

    def _forget(self, scope: str, known: _Atomic) -> tuple[Operation, ...]:
        request = requests.forget_atomic_memory(scope, known.artifact, known.revision, known.state_version)
        known.state_version = self._send(request).json["records"][0]["state_version"]
        known.forgotten = True
        return (WriteMemory(scope, (EntryRetire(known.artifact),)),)


class EntriesOfMemory:
    """Memories before 1.3: Entries of one Memory, each change of which makes its next revision."""

    def __init__(self, send: Send, ids: Ids, release: Release) -> None:
        self._send = send
        self._ids = ids
        self._release = release
        self._revisions: dict[str, int] = {}
        self._known: dict[tuple[str, str], tuple[str, str]] = {}

    def write(self, scope_id: str, change: EntryChange) -> tuple[Operation, ...]:
        """Write one change; none comes back where the Memory stayed as it was. Raises RequestRefused."""
        scope = self._ids.scope(scope_id)
        known = self._known.get((scope_id, change.entry_id))
        revision = self._revisions.get(scope, 0)
        unknown = (change.entry_id, "unknown")
        citation = requests.entry_citation(max(revision, 1), *(known or unknown))
        if isinstance(change, EntryRetire):
            request = requests.retire(scope, citation)
        elif known is None:
            request = requests.remember(scope, change.kind, change.text)
        else:
            request = requests.revise(scope, citation, change.kind, change.text)
        answer = self._send(request)
        entry = answer.json["entry"]
        if entry is None:
            # It found an active Entry of the same kind and text: the scenario's has none of its own.
            raise RequestRefused(request, answer, code="equal_text")
        self._revisions[scope] = answer.json["memory"]["revision"]
        written = self._learn(scope_id, change, entry["citation"])
        return () if self._revisions[scope] == revision else (WriteMemory(scope, (written,)),)

    def _learn(self, scope_id: str, change: EntryChange, citation: dict[str, Any]) -> EntryChange:
        entry, version = citation["entry_id"], citation["entry_version_id"]
        if isinstance(change, EntryRetire):
            return EntryRetire(entry)
        self._known[scope_id, change.entry_id] = (entry, version)
        self._ids.learn_entry(scope_id, change.entry_id, entry)
        self._ids.learn_version(scope_id, change.entry_id, change.entry_version_id, version)
        stored = stored_entry(change, self._release)
        assert isinstance(stored, EntryWrite)
        return replace(stored, entry_id=entry, entry_version_id=version)
