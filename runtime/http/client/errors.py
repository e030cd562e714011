"""What a call can end in, as one exception for each cause.

The life of a call and the error that each part can raise:

    client      Misuse: an URL or a token that cannot be used
    request     RequestUnusable: it is never sent
    connection  Unreachable, TimedOut
    answer      Refused and its kinds by status; AnswerInvalid, VersionMismatch when it is not of the contract

None of them, nor what they refer to, carries a token, a query, an id or a text: they can be logged as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from runtime.http.generated import FIELDS

_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,63}", re.ASCII)
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_PLACES = FIELDS | {"body", "path"}
"""Names that the contract gives; any other name in a refusal is somebody's own text."""
_MAX_PROBLEMS = 20


class ContextError(Exception):
    """A call without a result: a code, one sentence, and where known the cause and a hint."""

    code: str
    sentence: str
    cause: str | None
    hint: str | None

    def __init__(self, code: str, sentence: str, *, cause: str | None = None, hint: str | None = None) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence
        self.cause = cause
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.sentence}"]
        lines += [f"  {name}: {text}" for name, text in (("cause", self.cause), ("hint", self.hint)) if text]
        return "\n".join(lines)


class Misuse(ContextError):
    """A client that cannot be used so: `url_malformed`, `token_malformed`, `option_malformed`, `client_closed`."""


class RequestUnusable(ContextError):
    """A request that cannot be sent.

    `assembly_null`, `json_impossible`, `unicode_invalid`, `revision_malformed`, `url_too_long`.
    """


class Unreachable(ContextError):
    """No connection, or one that ended before the answer: `server_unreachable`, `connection_lost`."""


class TimedOut(ContextError):
    """No answer in time: `timed_out`."""


class AnswerInvalid(ContextError):
    """An answer that is not of the contract: `answer_invalid`, `answer_too_large`, `status_unexpected`."""


class VersionMismatch(AnswerInvalid):
    """A prepared context of another version than this client knows: `schema_unknown`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault that a server found in a request: its kind, and its place in words of the contract."""

    type: str
    loc: tuple[str | int, ...]


class Refused(ContextError):
    """An answer of the server that it did not do it.

    `code` is the server's own. `problems` are the kinds and places of what it found wrong, without its sentences,
    which may quote the request.
    """

    sentences: ClassVar[str] = "The server did not answer the request."
    hint_of_kind: ClassVar[str | None] = None

    def __init__(
        self, status: int, code: str, *, request_id: str | None = None, problems: tuple[Problem, ...] = ()
    ) -> None:
        places = "; ".join(f"{problem.type} at {'.'.join(map(str, problem.loc))}" for problem in problems)
        cause = f"HTTP status {status}" + (f": {places}" if places else "")
        super().__init__(code, self.sentences, cause=cause, hint=self.hint_of_kind)
        self.status = status
        self.request_id = request_id
        self.problems = problems


class Unauthorized(Refused):
    """401: no token, or one that the server does not know."""

    sentences = "The server does not know the token."
    hint_of_kind = "give the client a token of this server"


class Forbidden(Refused):
    """403: the Scope, or one that it refers to, may not be read, or is absent."""

    sentences = "Reading this Scope, or one that it refers to, is not permitted."
    hint_of_kind = "ask for a grant; an absent Scope looks the same"


class NotFound(Refused):
    """404: no such Scope, revision, Entry or route."""

    sentences = "The server has no such thing."


class Conflict(Refused):
    """409: what the request needs is being changed."""

    sentences = "The request met another writer."
    hint_of_kind = "ask again"


class RequestRefused(Refused):
    """400, 413, 415 or 422: the server does not take this request, and is not asked again."""

    sentences = "The server does not accept the request."
    hint_of_kind = "change the request, or use a server that knows its fields; it is never relaxed by itself"


class ServiceUnavailable(Refused):
    """503: the server, or a service that it needs, is not ready."""

    sentences = "The server, or a service that it needs, is not available."
    hint_of_kind = "ask again later"


class ServerFailed(Refused):
    """Any other 5xx."""

    sentences = "The server failed."
    hint_of_kind = "look for the request's number in the server's log"


_KINDS: dict[int, type[Refused]] = {
    400: RequestRefused,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: RequestRefused,
    415: RequestRefused,
    422: RequestRefused,
    503: ServiceUnavailable,
}


def refusal(status: int, body: object, request_id: str | None) -> ContextError:
    """Return what an answer other than 200 says; `body` is its JSON, or None where it is none."""
    kind = _KINDS.get(status, ServerFailed if status >= 500 else Refused)
    told = body.get("error") if isinstance(body, Mapping) else None
    error: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    code = error.get("code")
    if not (isinstance(code, str) and _WORD.fullmatch(code)):
        code = f"http_{status}"
    details = error.get("details")
    listed = details.get("errors") if isinstance(details, Mapping) else None
    problems = tuple(map(_problem, listed[:_MAX_PROBLEMS])) if isinstance(listed, list) else ()
    known = request_id if request_id is not None and _REQUEST_ID.fullmatch(request_id) else None
    return kind(status, code, request_id=known, problems=problems)


def _problem(told: object) -> Problem:
    fault: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    kind, loc = fault.get("type"), fault.get("loc")
    places = loc if isinstance(loc, list) else []
    return Problem(
        kind if isinstance(kind, str) and _WORD.fullmatch(kind) else "unknown",
        tuple(map(_place, places[:8])),
    )


def _place(told: object) -> str | int:
    if type(told) is int:
        return told
    return told if isinstance(told, str) and told in _PLACES else "..."
