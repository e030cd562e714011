"""How requests of the prepare path are validated, and its answer (SPEC.md 2 and 6).

What a request may hold stands in `http/openapi.yaml`, from which the models are generated.
Whatever is wrong with a request comes out as InvalidRequest; its problems name places and rules, never the
caller's values or the names of fields that he made up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from runtime.errors import InvalidRequest, Problem
from runtime.http.generated import (
    QUERY_MAX_LENGTH,
    SCHEMA,
    Assembly,
    EntryCitation,
    EntryReadRequest,
    MemoryReference,
    PrepareRequest,
    RevisionReadRequest,
    Section,
)

__all__ = [
    "MAX_PROBLEMS",
    "MAX_QUERY_CHARACTERS",
    "SCHEMA",
    "Assembly",
    "EntryCitation",
    "EntryReadRequest",
    "MemoryReference",
    "PrepareRequest",
    "PreparedContext",
    "RevisionReadRequest",
    "Section",
    "parse",
    "validate",
]

MAX_QUERY_CHARACTERS = QUERY_MAX_LENGTH
MAX_PROBLEMS = 20
"""How many faults of one request are told: an answer of 25 MB could be had for a body of 1 MB."""

_Request = TypeVar("_Request", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PreparedContext:
    """The four fields of the answer; `content_bytes` counts the UTF-8 bytes of `content`."""

    content: str | None

    def serializable(self) -> dict[str, object]:
        """Return the answer as JSON has it."""
        return {
            "schema": SCHEMA,
            "status": "empty" if self.content is None else "ready",
            "content": self.content,
            "content_bytes": 0 if self.content is None else len(self.content.encode()),
        }


def parse(model: type[_Request], body: bytes) -> _Request:
    """Read a request body: UTF-8, JSON, then the model's rules; of repeated keys the last one counts.

    Raises InvalidRequest.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(Problem("json_invalid", ("body",), "The body is not JSON in UTF-8.")) from error
    return validate(model, value)


def validate(model: type[_Request], value: BaseModel | Mapping[str, Any] | Any) -> _Request:
    """Judge a request, already parsed or made by a direct caller; raises InvalidRequest."""
    if isinstance(value, BaseModel):
        # An object may have been made without its checks; what was not given stays absent. The serializer's warnings
        # would quote its values.
        value = value.model_dump(exclude_unset=True, warnings=False)
    if _holds_surrogate(value):
        raise InvalidRequest(Problem("unicode_invalid", ("body",), "A string holds a lone surrogate."))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequest(*map(_problem, problems[:MAX_PROBLEMS])) from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _problem(error: Any) -> Problem:
    # The name of an unknown field is the caller's own text, so the place ends at the object that holds it.
    place = error["loc"][:-1] if error["type"] in ("extra_forbidden", "invalid_key") else error["loc"]
    return Problem(error["type"], ("body", *place), error["msg"])


def _holds_surrogate(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    except (TypeError, ValueError, RecursionError):
        return False
    return False
