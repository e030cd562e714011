"""How one prepare ended for a host, and the line that says so without anything of the caller's or the server's."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from runtime.hosts.validator import ResponseInvalid, SchemaUnknown
from runtime.http.client.errors import (
    AnswerInvalid,
    ContextError,
    Misuse,
    NotFound,
    Refused,
    RequestRefused,
    RequestUnusable,
    ServerFailed,
    ServiceUnavailable,
    TimedOut,
    Unreachable,
    VersionMismatch,
)

Name = Literal["ready", "empty", "server_unavailable", "version_mismatch", "invalid_response", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a prepare gave: a text when ready, and otherwise a reason out of this module's words."""

    name: Name
    text: str | None = field(default=None, repr=False)
    reason: str | None = None
    http_status: int | None = None
    """Of an answer that was a refusal."""

    @property
    def line(self) -> str:
        """The diagnostic: one line of JSON, of `event`, `outcome`, and where known `reason` and `http_status`."""
        told: dict[str, object] = {"event": "powercontext_prepare", "outcome": self.name}
        told |= {} if self.reason is None else {"reason": self.reason}
        told |= {} if self.http_status is None else {"http_status": self.http_status}
        return json.dumps(told)


def tell(outcome: Outcome) -> None:
    """Write the diagnostic to stderr; a text that came needs none, and a closed stderr stops nobody."""
    if outcome.name != "ready":
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(outcome.line + "\n")
            sys.stderr.flush()


def of_error(error: BaseException, *, assembly_sent: bool) -> Outcome:
    """Return the outcome of a prepare that raised.

    A server that does not know the operation, the schema, or a request with an assembly is of another version. A
    server that refuses such a request for its total (SPEC.md 2) looks the same from here.
    """
    status = error.status if isinstance(error, Refused) else None
    match error:
        case SchemaUnknown() | VersionMismatch():
            return Outcome("version_mismatch", reason="schema")
        case ResponseInvalid():
            return Outcome("invalid_response", reason=error.fault)
        case TimedOut():
            return Outcome("server_unavailable", reason="timeout")
        case Unreachable():
            return Outcome("server_unavailable", reason="connection")
        case ServiceUnavailable() | ServerFailed():
            return Outcome("server_unavailable", reason="status", http_status=status)
        case RequestRefused() if assembly_sent and status in (400, 422):
            return Outcome("version_mismatch", reason="request_refused", http_status=status)
        case NotFound() if error.code != "scope_not_found":
            return Outcome("version_mismatch", reason="operation_unknown", http_status=status)
        case Refused():
            return Outcome("invalid_response", reason="refused", http_status=status)
        case AnswerInvalid():
            return Outcome("invalid_response", reason="answer")
        case Misuse():
            return Outcome("skipped", reason="configuration")
        case RequestUnusable():
            return Outcome("skipped", reason="request")
        case ContextError():
            return Outcome("invalid_response", reason="answer")
        case _:
            # A fault of ours must not end the host's turn either; the kind of error holds nothing of the caller's.
            return Outcome("skipped", reason=f"internal {type(error).__name__}")
