"""What exists at one moment of a scenario, so far as its own text tells: Scopes, references, items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from backends.operations import CreateScope, Operation, Propose, SetReferences, WriteDocument, WriteMemory
from harness.scenario.model import ItemSpec
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, TOPIC_MEMORY, EntryWrite, Family, family_of

TITLES: dict[str, Family] = {
    "Memory": MEMORY,
    "Experience": EXPERIENCE,
    "Profile": PROFILE,
    "Topic Memory": TOPIC_MEMORY,
}


@dataclass
class ScopeState:
    """What was ever written into one Scope."""

    references: tuple[str, ...] = ()
    entries: dict[str, set[str]] = field(default_factory=dict)
    """The versions of each Entry."""
    artifacts: dict[Family, dict[str, int]] = field(default_factory=dict)
    """The number of official revisions of each Artifact, by family and id."""


@dataclass
class World:
    """All Scopes by id, as far as the operations applied so far have made them."""

    scopes: dict[str, ScopeState] = field(default_factory=dict)

    def apply(self, operations: Iterable[Operation]) -> None:
        """Carry the world forward; operations on Scopes that do not exist change nothing."""
        for operation in operations:
            match operation:
                case CreateScope(scope_id):
                    self.scopes.setdefault(scope_id, ScopeState())
                case SetReferences(scope_id, references) if scope_id in self.scopes:
                    self.scopes[scope_id].references = references
                case WriteMemory(scope_id, changes) if scope_id in self.scopes:
                    entries = self.scopes[scope_id].entries
                    for change in changes:
                        if isinstance(change, EntryWrite):
                            entries.setdefault(change.entry_id, set()).add(change.entry_version_id)
                case WriteDocument(scope_id, artifact_id, content) if scope_id in self.scopes:
                    family = self.scopes[scope_id].artifacts.setdefault(family_of(content), {})
                    family[artifact_id] = family.get(artifact_id, 0) + 1
                case Propose(scope_id, artifact_id, content) if scope_id in self.scopes:
                    self.scopes[scope_id].artifacts.setdefault(family_of(content), {}).setdefault(artifact_id, 0)

    def seen_from(self, scope: str | None) -> list[str]:
        """Return the Scopes that a prepare of this Scope may read; all of them where it is unknown."""
        if scope is None:
            return list(self.scopes)
        if scope not in self.scopes:
            return []
        return [scope, *(name for name in self.scopes[scope].references if name in self.scopes)]

    def places(self, item: ItemSpec, families: Iterable[Family], scopes: Iterable[str]) -> list[tuple[str, Family]]:
        """Return where an item of these parts exists, by Scope and family."""
        return [
            (scope, family) for scope in scopes for family in families if self._holds(self.scopes[scope], item, family)
        ]

    def names(self, families: Iterable[Family], scopes: Iterable[str]) -> Iterator[str]:
        """Give the ids of all items of these families in these Scopes."""
        for scope in scopes:
            for family in families:
                state = self.scopes[scope]
                yield from state.entries if family == MEMORY else state.artifacts.get(family, {})

    @staticmethod
    def _holds(state: ScopeState, item: ItemSpec, family: Family) -> bool:
        if family == MEMORY:
            if item.entry is None:
                return False
            versions = state.entries.get(item.entry)
            return versions is not None and (item.version is None or item.version in versions)
        if item.id is None:
            return False
        revisions = state.artifacts.get(family, {}).get(item.id)
        return revisions is not None and (item.revision is None or item.revision <= revisions)
