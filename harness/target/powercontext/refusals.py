"""Refused writes of a released server in the words of SPEC.md 1."""

from __future__ import annotations

from backends.operations import Operation, SetReferences, WriteMemory
from harness.target.base import Answer, Refused
from harness.target.powercontext.answers import error_code
from harness.target.powercontext.requests import Request
from runtime.artifacts import EntryRetire

CONFLICTS = ("revision_conflict", "scope_version_conflict", "idempotency_conflict", "atomic_memory_changed")
UNKNOWN = ("forbidden", "not_found", "memory_not_found", "artifact_not_found", "artifact_owner_pending")
"""How retiring an unknown memory is answered: before 1.4.1 the right to retire it is looked for first."""


class RequestRefused(Exception):
    """A request that was not accepted, or changed something else than it asked for."""

    def __init__(self, request: Request, answer: Answer, *, code: str | None = None) -> None:
        super().__init__(request, answer)
        self.request = request
        self.answer = answer
        self.code = code or error_code(answer)


def refusal(operation: Operation, refused: RequestRefused, *, known_scope: bool) -> Refused:
    """Return a refused write: with the code of SPEC.md 1 where the meaning is the same, else with the product's."""
    own = f"{refused.request.method} {refused.request.path.split('?')[0]}: {refused.answer.status} {refused.code}"
    return Refused(_code(operation, refused.code, known_scope, refused.answer.status), f"{_told(operation)} ({own})")


def _code(operation: Operation, code: str, known_scope: bool, status: int) -> str:
    if code in CONFLICTS:
        return "revision_conflict"
    if isinstance(operation, SetReferences) and known_scope and status in (404, 422):
        return "invalid_reference"
    if code == "scope_not_found":
        return "unknown_scope"
    if isinstance(operation, WriteMemory) and isinstance(operation.changes[0], EntryRetire) and code in UNKNOWN:
        return "entry_unknown"
    return code


def _told(operation: Operation) -> str:
    names = [
        getattr(operation, name) for name in ("scope_id", "artifact_id", "principal_id") if hasattr(operation, name)
    ]
    if isinstance(operation, WriteMemory):
        names.append(operation.changes[0].entry_id)
    return " ".join((type(operation).__name__, *map(repr, names)))
