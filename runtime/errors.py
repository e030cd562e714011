"""What can go wrong, as values: the errors of SPEC.md 2 and the refused writes of SPEC.md 1.

The life of one prepare and the error that each part can raise:

    token       Unauthorized
    request     InvalidRequest (the model, then the total)
    Scope       Forbidden, ScopeNotFound
    recall      ServiceUnavailable
    storage     RuntimeNotReady at start, ServiceUnavailable later

None of them carries a value of the caller's, a driver's name, SQL or a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a request: what kind it is, where it is, and a sentence about it."""

    type: str
    loc: tuple[str | int, ...]
    msg: str


class OperationError(Exception):
    """An operation's refusal, as one HTTP status, code and sentence."""

    status: ClassVar[int]
    code: ClassVar[str]
    message: ClassVar[str]

    @property
    def details(self) -> dict[str, object] | None:
        """Return the machine-readable part of the error, or None."""
        return None


class Unauthorized(OperationError):
    """No token, or one that nobody holds."""

    status, code, message = 401, "unauthorized", "A valid bearer token is required."


class InvalidRequest(OperationError):
    """A request that the contract refuses."""

    status, code, message = 422, "invalid_request", "The request is not valid."

    def __init__(self, *problems: Problem) -> None:
        super().__init__(self.message)
        self.problems = problems

    @property
    def details(self) -> dict[str, object]:
        """Return the problems under `errors`, each with `type`, `loc` and `msg`."""
        return {"errors": [{"type": p.type, "loc": list(p.loc), "msg": p.msg} for p in self.problems]}


class Forbidden(OperationError):
    """A Scope that the caller may not read, or that is absent, which look alike to him."""

    status, code, message = 403, "forbidden", "Reading this Scope, or one that it refers to, is not permitted."


class ScopeNotFound(OperationError):
    """An absent Scope, told only to the administrator or without access control."""

    status, code, message = 404, "scope_not_found", "There is no such Scope."


class ArtifactNotFound(OperationError):
    """A readable Scope has no such Artifact or revision."""

    status, code, message = 404, "artifact_not_found", "There is no such Artifact revision."


class MemoryNotFound(OperationError):
    """A readable Scope has no such Entry version in that revision."""

    status, code, message = 404, "memory_not_found", "There is no such Entry version in this revision."


class ServiceUnavailable(OperationError):
    """A selected family's recall, or the database, does not answer."""

    status, code, message = 503, "service_unavailable", "A service that this request needs does not answer."


class RuntimeNotReady(OperationError):
    """The storage was not ready when the server started."""

    status, code, message = 503, "runtime_not_ready", "The storage is not ready."


RefusalCode = Literal[
    "invalid_id",
    "body_too_long",
    "invalid_unicode",
    "unknown_scope",
    "invalid_reference",
    "revision_conflict",
    "entry_unknown",
    "token_conflict",
]


class WriteRefused(Exception):
    """A write that the storage does not accept; nothing of its transaction stays."""

    def __init__(self, code: RefusalCode, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence


SchemaCode = Literal[
    "schema_foreign",
    "schema_half_made",
    "schema_outdated",
    "schema_newer",
    "schema_damaged",
    "schema_inexact",
]
"""Another's; broken off while it was made; to be migrated; of a later runtime; lacking a part; folding or padding."""


class SchemaRefused(Exception):
    """A database whose schema this runtime cannot use as it is: a code, what was found, and what to do."""

    def __init__(self, code: SchemaCode, sentence: str, hint: str) -> None:
        super().__init__(f"{code}: {sentence} {hint}")
        self.code = code
        self.sentence = sentence
        self.hint = hint


class StorageUnreachable(Exception):
    """A database that does not answer; the cause is the driver's own error."""
