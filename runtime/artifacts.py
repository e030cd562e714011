"""References, addresses and the contents of the four families (SPEC.md 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Family = Literal["memory", "experience", "profile", "topic-memory"]

MEMORY: Family = "memory"
EXPERIENCE: Family = "experience"
PROFILE: Family = "profile"
TOPIC_MEMORY: Family = "topic-memory"
FAMILIES: tuple[Family, ...] = (MEMORY, EXPERIENCE, PROFILE, TOPIC_MEMORY)

MEMORY_ID = "memory"
"""The artifact id of a Scope's only Memory."""
PROFILE_ID = "profile"
"""The artifact id of a Scope's only Profile."""

MAX_ID_CHARACTERS = 256
MAX_BODY_BYTES = 1_048_576
MAX_REFERENCES = 32
MAX_REVISION = 2**63 - 1

EntryState = Literal["active", "retired"]
CandidateState = Literal["pending", "rejected"]


@dataclass(frozen=True, slots=True)
class Address:
    """The exact place of one revision of one Artifact."""

    scope_id: str
    family: Family
    artifact_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class EntryAddress:
    """The exact place of one Entry version, in one revision of a Scope's Memory."""

    memory: Address
    entry_id: str
    entry_version_id: str


Citation = Address | EntryAddress
"""What an item of a prepared text names as its origin."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a Memory revision's manifest."""

    entry_id: str
    entry_version_id: str
    kind: str
    text: str
    state: EntryState = "active"


@dataclass(frozen=True, slots=True)
class Memory:
    """A Memory revision's manifest, in its order."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Experience:
    """What was met, done, got and learned."""

    situation: str
    action: str
    outcome: str
    lesson: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One text snapshot of a Scope."""

    content: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic with its summary and its detail."""

    title: str
    summary: str
    detail: str


Document = Experience | Profile | Topic
"""The content of every family but Memory."""

Content = Memory | Document


def family_of(content: Content) -> Family:
    """Return the family that a content belongs to."""
    match content:
        case Memory():
            return MEMORY
        case Experience():
            return EXPERIENCE
        case Profile():
            return PROFILE
        case Topic():
            return TOPIC_MEMORY


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """A new Entry, or a new version of one; it keeps its place in the manifest, a new one goes to the end."""

    entry_id: str
    entry_version_id: str
    text: str
    kind: str = "fact"
    vector: tuple[float, ...] | None = field(default=None)
    """What a fixture embedder would say of the text; None keeps the Entry out of the vector channel."""


@dataclass(frozen=True, slots=True)
class EntryRetire:
    """An Entry that is no longer recalled; it stays in the manifest."""

    entry_id: str


EntryChange = EntryWrite | EntryRetire
