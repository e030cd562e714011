"""What was written into the reported Scopes, in which order, so that every cited revision exists when it is cited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.importing.bodies import UNREPORTED
from harness.importing.items import ATOMIC_MEMORY, Found
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, TOPIC_MEMORY

MOST_FILLED = 200
"""So many earlier revisions are filled up at most: a scenario is a page, not a history."""
_LISTS: dict[str, str] = {EXPERIENCE: "experience", PROFILE: "profile", TOPIC_MEMORY: "topics"}
_SPARE_ENTRY = "unreported"

Item = dict[str, Any] | list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Write:
    """One item below a Scope's key, and what is to be said above it."""

    scope_id: str
    key: str
    """memory, experience, profile or topics."""
    item: Item
    notes: tuple[str, ...] = ()


@dataclass
class _Memory:
    """What a Scope's Memory is known to have held, by revision."""

    cited: dict[int, list[Found]] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    """The step that cites a revision first."""


class History:
    """All that was cited, and the writes that come before each step."""

    def __init__(self) -> None:
        self._memories: dict[str, _Memory] = {}
        self._documents: dict[tuple[str, str, str], dict[int, tuple[int, Found]]] = {}
        self.notes: list[str] = []

    def add(self, step: int, found: Found) -> None:
        """Take notice of an item that a step's answer holds."""
        if found.family == MEMORY and found.entry is not None:
            memory = self._memories.setdefault(found.scope_id, _Memory())
            memory.first.setdefault(found.revision, step)
            entries = memory.cited.setdefault(found.revision, [])
            same = next((at for at, one in enumerate(entries) if one.entry == found.entry), None)
            if same is None:
                entries.append(found)
            else:
                entries[same] = _better(entries[same], found)
        elif found.family in (*_LISTS, ATOMIC_MEMORY):
            revisions = self._documents.setdefault((found.scope_id, found.family, found.artifact_id), {})
            known = revisions.get(found.revision)
            revisions[found.revision] = (step, found) if known is None else (known[0], _better(known[1], found))
        else:
            self.notes.append(f"an item of family {found.family} is not rebuilt")

    def texts(self, scope_id: str) -> Iterator[str]:
        """Yield all texts that are known of a Scope."""
        for found in self._all():
            if found.scope_id == scope_id:
                yield from found.fields.values()

    def entry_ids(self, scope_id: str) -> set[str]:
        """Return the ids of the Entries that are known of a Scope."""
        return {found.entry[0] for found in self._all() if found.scope_id == scope_id and found.entry is not None}

    def is_elsewhere(self, found: Found) -> bool:
        """Say whether another Scope has an item that is called the same, so that a name needs its Scope."""
        return any(one.scope_id != found.scope_id and one.name == found.name for one in self._all())

    def writes(self) -> dict[int | None, list[Write]]:
        """Return the writes of the seed (None), and those that come right before a step."""
        writes: dict[int | None, list[Write]] = {}
        for scope_id, memory in self._memories.items():
            for when, write in self._memory_writes(scope_id, memory):
                writes.setdefault(when, []).append(write)
        for key, revisions in self._documents.items():
            for when, write in self._document_writes(key, revisions):
                writes.setdefault(when, []).append(write)
        return writes

    def _all(self) -> Iterator[Found]:
        for memory in self._memories.values():
            for entries in memory.cited.values():
                yield from entries
        for revisions in self._documents.values():
            yield from (found for _, found in revisions.values())

    def _memory_writes(self, scope_id: str, memory: _Memory) -> Iterator[tuple[int | None, Write]]:
        written: set[tuple[str, str] | None] = set()
        fillers = 0
        for when, revision, head in self._moments(memory.first, f"the Memory of {told(scope_id)}"):
            entries = [found for found in memory.cited[revision] if found.entry not in written]
            written |= {found.entry for found in entries}
            count = min(revision - head, MOST_FILLED + max(1, len(entries)))
            missing = max(0, count - max(1, len(entries))) if entries else count
            for number in range(missing):
                fillers += 1
                entry = entries[0].entry[0] if entries and entries[0].entry else _SPARE_ENTRY
                item = {"entry": entry, "version": f"before-{fillers}", "text": UNREPORTED}
                yield when, Write(scope_id, "memory", item, _filled(missing) if number == 0 else ())
            # More Entries than revisions: the last of them came in one.
            single = entries[: max(0, count - 1)] if len(entries) > count else entries
            together = entries[len(single) :]
            for found in single:
                yield when, Write(scope_id, "memory", _entry(found), _guessed(found))
            if together:
                notes = tuple(note for found in together for note in _guessed(found))
                grouped: Item = [_entry(found) for found in together]
                made = "one was" if count == 1 else f"{count} were"
                guess = f"guess: these {len(together)} Entries in one revision, for no more than {made} made until then"
                yield when, Write(scope_id, "memory", grouped, (guess, *notes))

    def _document_writes(
        self, key: tuple[str, str, str], revisions: Mapping[int, tuple[int, Found]]
    ) -> Iterator[tuple[int | None, Write]]:
        scope_id, family, artifact_id = key
        first = {revision: step for revision, (step, _) in revisions.items()}
        for when, revision, head in self._moments(first, f"{told(artifact_id)} in {told(scope_id)}"):
            found = revisions[revision][1]
            missing = min(revision - head - 1, MOST_FILLED)
            for number in range(missing):
                empty = replace(found, fields=dict.fromkeys(found.fields, UNREPORTED))
                notes = _filled(missing) if number == 0 else ()
                yield when, Write(scope_id, _key(family), _document(empty), notes)
            yield when, Write(scope_id, _key(family), _document(found), _guessed(found))

    def _moments(self, first: Mapping[int, int], what: str) -> Iterator[tuple[int | None, int, int]]:
        """Yield each revision with the step that it must be written before, None for the seed, and the one before."""
        head, began = 0, min(first.values())
        for step, revision in sorted((step, revision) for revision, step in first.items()):
            if revision <= head:
                self.notes.append(f"guess: {what} is cited at revision {revision} after {head}; it is not turned back")
                continue
            if revision - head > MOST_FILLED + 1:
                self.notes.append(
                    f"guess: {what} is cited at revision {revision}; no more than {MOST_FILLED} are filled up, so "
                    "that citations may be shorter"
                )
            yield None if step == began else step, revision, head
            head = revision


def told(identity: str) -> str:
    """Return an id as a note holds it: marked, so that `--anonymize` finds it again."""
    return f"\x02{identity}\x03"


def _better(one: Found, other: Found) -> Found:
    """Return which of two deliveries of one item shows more of it."""
    if one.is_cut != other.is_cut:
        return other if one.is_cut else one
    longer = sum(map(len, other.fields.values())) > sum(map(len, one.fields.values()))
    return other if one.is_cut and longer else one


def _filled(count: int) -> tuple[str, ...]:
    many = f"{count} earlier revisions" if count > 1 else "an earlier revision"
    return (f"guess: {many}, of which nothing is reported",)


def _guessed(found: Found) -> tuple[str, ...]:
    return tuple(f"guess: {note}" for note in found.guesses)


def _entry(found: Found) -> dict[str, Any]:
    assert found.entry is not None
    entry, version = found.entry
    return {"entry": entry, "version": version, **found.fields}


def _key(family: str) -> str:
    return _LISTS.get(family, "memory")


def _document(found: Found) -> dict[str, Any]:
    if found.family == ATOMIC_MEMORY:
        return {"entry": found.artifact_id, **found.fields}
    return dict(found.fields) if found.family == PROFILE else {"id": found.artifact_id, **found.fields}
