"""Requests as bytes, and results from bytes: what both clients share; no input, no output.

A request is exactly what was given: a field that was not given is not sent, `{}` and `[]` are sent as they are, and
nobody but the server judges whether it accepts them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeVar, cast
from urllib.parse import quote

from runtime.http.client.errors import AnswerInvalid, RequestUnusable, VersionMismatch, refusal
from runtime.http.generated import (
    GET_ARTIFACT_REVISION,
    GET_CAPABILITIES,
    GET_MEMORY_ENTRY,
    PREPARE_CONTEXT,
    SCHEMA,
    Assembly,
    PrepareRequest,
)
from runtime.http.rules import Operation

MAX_PREPARED_BYTES = 1_048_576
"""Of a prepared context as JSON: 32768 bytes, each perhaps escaped, fit many times."""
MAX_READ_BYTES = 268_435_456
"""Of an exact read: the Memory of a Scope has any number of Entries, each of up to 1 MiB."""

_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)


class Omitted(Enum):
    """The kind of the value that stands for "not given"."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = Omitted.OMITTED
"""A field that is not sent, unlike None, which is refused, and `{}`, which is sent."""

_DEFAULT_MAX_BYTES: int = PrepareRequest.model_fields["max_bytes"].default
"""The budget of a request that names none."""

AssemblyValue = Assembly | Mapping[str, Any]
"""An assembly: typed and judged when it is made, or a mapping as a configuration holds it, judged by the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What came with a result: the body as it was sent, the request's number, and how often it was asked."""

    raw: bytes = field(repr=False)
    request_id: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared context: the four fields of SPEC.md 2, `content` to be passed on unchanged."""

    schema: str
    status: Literal["ready", "empty"]
    content: str | None = field(repr=False)
    content_bytes: int
    received: Received = field(compare=False)

    @property
    def raw(self) -> bytes:
        """The body of the answer as the server sent it."""
        return self.received.raw


@dataclass(frozen=True, slots=True)
class Revision:
    """One Artifact revision, read exactly; `content` has the fields of its family (SPEC.md 6)."""

    scope_id: str
    family: str
    artifact_id: str
    revision: int
    content: Mapping[str, Any] = field(repr=False)
    received: Received = field(compare=False)


@dataclass(frozen=True, slots=True)
class EntryVersion:
    """One Entry version, read exactly."""

    kind: str
    text: str = field(repr=False)
    state: str
    received: Received = field(compare=False)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server says of itself; `assembly` is None where it says nothing about that."""

    context_versions: tuple[str, ...]
    assembly: bool | None
    received: Received = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call(Generic[_Result_co]):
    """One request, how its answer is read, and whether it may be asked again."""

    operation: Operation
    path: str
    body: bytes | None
    read: Callable[[Mapping[str, Any], Received], _Result_co]
    repeatable: bool
    max_answer_bytes: int = MAX_READ_BYTES

    def result(self, status: int, headers: Mapping[str, str], raw: bytes, attempts: int) -> _Result_co:
        """Read an answer; raises Refused and its kinds, AnswerInvalid, VersionMismatch."""
        request_id = headers.get("x-request-id") or headers.get("x-powercontext-request-id")
        body = _json(raw)
        if status >= 400:
            raise refusal(status, body, request_id)
        if status != 200:
            raise AnswerInvalid(
                "status_unexpected",
                "The server answered with a status that the contract does not have.",
                cause=f"HTTP status {status}",
                hint="give the client the server's own URL; redirections are not followed",
            )
        if not isinstance(body, Mapping):
            raise _invalid("it is no JSON object in UTF-8")
        return self.read(body, Received(raw=raw, request_id=request_id, attempts=attempts))


def prepare(
    scope_id: str,
    query: str,
    *,
    max_bytes: int | Omitted = OMITTED,
    assembly: AssemblyValue | Omitted = OMITTED,
) -> Call[Prepared]:
    """Return the request for a prepared context; raises RequestUnusable."""
    if assembly is None:
        raise RequestUnusable(
            "assembly_null",
            "An assembly is an object or is not given; null is neither.",
            hint="leave it out, or pass OMITTED, for the older output; pass {} for the default sections",
        )
    fields: dict[str, Any] = {"scope_id": scope_id, "query": query}
    if max_bytes is not OMITTED:
        fields["max_bytes"] = max_bytes
    if assembly is not OMITTED:
        fields["assembly"] = as_given(assembly)
    budget = max_bytes if isinstance(max_bytes, int) else _DEFAULT_MAX_BYTES

    def read(body: Mapping[str, Any], received: Received) -> Prepared:
        return _prepared(body, received, budget)

    return Call(PREPARE_CONTEXT, PREPARE_CONTEXT.path, _encoded(fields), read, False, MAX_PREPARED_BYTES)


def read_revision(scope_id: str, family: str, artifact_id: str, revision: int) -> Call[Revision]:
    """Return the request for one Artifact revision; raises RequestUnusable."""
    scope, kind, artifact = map(_segment, (scope_id, family, artifact_id))
    number = _decimal(revision)

    def read(body: Mapping[str, Any], received: Received) -> Revision:
        asked = {"scope_id": scope_id, "family": family, "artifact_id": artifact_id, "revision": revision}
        _need_same(asked, {name: body.get(name) for name in asked})
        return Revision(scope_id, family, artifact_id, revision, _taken(body, "content", dict), received)

    path = GET_ARTIFACT_REVISION.path.format(scope_id=scope, family=kind, artifact_id=artifact, revision=number)
    return Call(GET_ARTIFACT_REVISION, path, None, read, repeatable=True)


def read_entry(
    scope_id: str, entry_id: str, entry_version_id: str, *, revision: int, artifact_id: str = "memory"
) -> Call[EntryVersion]:
    """Return the request for one Entry version in one revision of a Memory; raises RequestUnusable."""
    reference = {"family": "memory", "artifact_id": artifact_id, "revision": revision}
    citation = {"memory_ref": reference, "entry_id": entry_id, "entry_version_id": entry_version_id}

    def read(body: Mapping[str, Any], received: Received) -> EntryVersion:
        _need_same(citation, body.get("citation"))
        return EntryVersion(_taken(body, "kind", str), _taken(body, "text", str), _taken(body, "state", str), received)

    body = _encoded({"scope_id": scope_id, "citation": citation})
    return Call(GET_MEMORY_ENTRY, GET_MEMORY_ENTRY.path, body, read, repeatable=True)


def capabilities() -> Call[Capabilities]:
    """Return the request for what a server can do."""

    def read(body: Mapping[str, Any], received: Received) -> Capabilities:
        versions = _taken(body, "context_versions", list)
        assembly = body.get("assembly")
        return Capabilities(tuple(map(str, versions)), assembly if isinstance(assembly, bool) else None, received)

    return Call(GET_CAPABILITIES, GET_CAPABILITIES.path, None, read, repeatable=True)


def as_given(assembly: AssemblyValue) -> object:
    """Return an assembly as it goes out; what is neither typed nor a mapping is the server's to judge, as it is."""
    given = assembly.model_dump(exclude_unset=True, warnings=False) if isinstance(assembly, Assembly) else assembly
    return dict(given) if isinstance(given, Mapping) else given


def utf8_length(text: str) -> int | None:
    """Return the number of bytes of a text in UTF-8, None where a lone surrogate has none."""
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return None


def _prepared(body: Mapping[str, Any], received: Received, max_bytes: int) -> Prepared:
    """Read the four fields strictly; raises AnswerInvalid, VersionMismatch."""
    schema = _taken(body, "schema", str)
    if schema != SCHEMA:
        raise VersionMismatch(
            "schema_unknown",
            "The server prepares contexts of another version.",
            cause=f"this client knows {SCHEMA}",
            hint="use a client and a server of the same version",
        )
    if set(body) != {"schema", "status", "content", "content_bytes"}:
        raise _invalid("it has not exactly the four fields")
    status, content, count = body["status"], body["content"], body["content_bytes"]
    if type(count) is not int:
        raise _invalid("content_bytes is no integer")
    if status == "empty":
        if content is not None or count != 0:
            raise _invalid("it is empty and has content")
    elif status != "ready":
        raise _invalid("status is neither ready nor empty")
    elif not isinstance(content, str) or not content:
        raise _invalid("it is ready and has no content")
    elif count != utf8_length(content):
        raise _invalid("content_bytes is not the number of bytes of content")
    elif count > max_bytes:
        raise _invalid("it holds more bytes than were asked for")
    return Prepared(schema, cast("Literal['ready', 'empty']", status), content, count, received)


def _taken(body: Mapping[str, Any], name: str, kind: type[_Result]) -> _Result:
    value = body.get(name)
    if not isinstance(value, kind):
        raise _invalid(f"{name} is missing or of another type")
    return value


def _need_same(asked: object, told: object) -> None:
    """Refuse an answer about something else: an exact citation is never replaced by another one."""
    # 1, 1.0 and true are equal to Python, and three things in JSON.
    if told != asked or json.dumps(told, sort_keys=True) != json.dumps(asked, sort_keys=True):
        raise _invalid("it is about another revision or Entry version than was asked for")


def _invalid(cause: str) -> AnswerInvalid:
    return AnswerInvalid("answer_invalid", "The answer is not what the contract says.", cause=cause)


def _json(raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _encoded(fields: Mapping[str, Any]) -> bytes:
    """Return compact JSON in UTF-8, the fields in their order; raises RequestUnusable."""
    code, cause = "json_impossible", "a value is none of JSON's"
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        code, cause = "unicode_invalid", "a string holds a lone surrogate"
    except (TypeError, ValueError, RecursionError):
        pass
    # Raised here, since the errors above hold the text.
    raise RequestUnusable(code, "The request cannot be written as JSON.", cause=cause)


def _decimal(revision: int) -> str:
    try:
        return f"{revision:d}"
    except (TypeError, ValueError):
        pass
    cause = "it is no integer, or has thousands of digits"
    raise RequestUnusable("revision_malformed", "A revision cannot be written into an URL.", cause=cause)


def _segment(text: str) -> str:
    """Encode one segment of a path; dots too, since `.` and `..` are resolved away on the way."""
    try:
        return quote(text, safe="", errors="strict").replace(".", "%2E")
    except (UnicodeEncodeError, TypeError):
        pass
    raise RequestUnusable("unicode_invalid", "An id cannot be written into an URL.", cause="it is no valid Unicode")
