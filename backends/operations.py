"""What a seed consists of: the writes that make a world, as data, in the order in which they happen."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.artifacts import CandidateState, Document, EntryChange


@dataclass(frozen=True, slots=True)
class CreateScope:
    """A new Scope without references."""

    scope_id: str


@dataclass(frozen=True, slots=True)
class SetReferences:
    """A Scope's Context References, replaced as a whole, in their order."""

    scope_id: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteMemory:
    """One revision of a Scope's Memory, made by one or several changes."""

    scope_id: str
    changes: tuple[EntryChange, ...]


@dataclass(frozen=True, slots=True)
class WriteDocument:
    """One official revision of an Experience, a Profile or a topic."""

    scope_id: str
    artifact_id: str
    content: Document
    vector: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Propose:
    """A Candidate: a proposed revision that is pending or rejected."""

    scope_id: str
    artifact_id: str
    content: Document
    state: CandidateState


@dataclass(frozen=True, slots=True)
class CreatePrincipal:
    """Who may call, with the bearer token that he shows."""

    principal_id: str
    token: str
    administrator: bool = False


@dataclass(frozen=True, slots=True)
class Grant:
    """A principal becomes viewer of a Scope."""

    principal_id: str
    scope_id: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """A principal is no longer viewer of a Scope."""

    principal_id: str
    scope_id: str


Operation = CreateScope | SetReferences | WriteMemory | WriteDocument | Propose | CreatePrincipal | Grant | Revoke
