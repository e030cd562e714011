"""Requests, responses and limits of the prepare path, and their validation (SPEC.md 2 and 6).

Whatever is wrong with a request comes out as InvalidRequest; its problems name places and rules, never the
caller's values or the names of fields that he made up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runtime.artifacts import EXPERIENCE, MAX_ID_CHARACTERS, MAX_REVISION, MEMORY, Family
from runtime.errors import InvalidRequest, Problem

SCHEMA = "powercontext.prepared-context.v1"
MAX_QUERY_CHARACTERS = 8192
MAX_LIMIT = 8
MAX_EXPERIENCE_LIMIT = 2
MAX_SECTIONS = 4
MAX_PROBLEMS = 20
"""How many faults of one request are told: an answer of 25 MB could be had for a body of 1 MB."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("must be left out or be an object")
    return value


Identifier = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS), AfterValidator(_not_blank)]
"""1-256 characters, not blank."""


class _Strict(BaseModel):
    """A request object: no unknown fields, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, revalidate_instances="always")


class Section(_Strict):
    """One family that the caller picks, and how many of its items at most."""

    family: Family
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)]


def _limits_and_families(sections: list[Section]) -> list[Section]:
    families = [section.family for section in sections]
    if len(set(families)) < len(families):
        raise ValueError("a family may be selected once")
    if any(section.family == EXPERIENCE and section.limit > MAX_EXPERIENCE_LIMIT for section in sections):
        raise ValueError(f"the limit of experience is at most {MAX_EXPERIENCE_LIMIT}")
    return sections


def _no_repeats(show: list[str]) -> list[str]:
    if len(set(show)) < len(show):
        raise ValueError("a field may be shown once")
    return show


def _default_sections() -> list[Section]:
    return [Section(family=MEMORY, limit=6), Section(family=EXPERIENCE, limit=2)]


class Assembly(_Strict):
    """Which families, in which order, how many of each, and what is shown beside them."""

    format: Literal["markdown"] = "markdown"
    sections: Annotated[list[Section], Field(max_length=MAX_SECTIONS), AfterValidator(_limits_and_families)] = Field(
        default_factory=_default_sections
    )
    show: Annotated[list[Literal["confidence", "recall_rank"]], Field(max_length=2), AfterValidator(_no_repeats)] = (
        Field(default_factory=list)
    )

    @property
    def total(self) -> int:
        """The sum of all limits, which the Runtime bounds."""
        return sum(section.limit for section in self.sections)


class PrepareRequest(_Strict):
    """What `POST /v1/context/prepare` takes; without `assembly` it asks for the older output."""

    scope_id: Identifier
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS), AfterValidator(_not_blank)]
    max_bytes: Annotated[int, Field(ge=512, le=32768)] = 8000
    assembly: Annotated[Assembly | None, BeforeValidator(_not_null)] = None


class MemoryReference(_Strict):
    """One revision of a Memory, as a citation names it."""

    family: Family
    artifact_id: Identifier
    revision: Annotated[int, Field(ge=1, le=MAX_REVISION)]


class EntryCitation(_Strict):
    """One Entry version in one revision of a Memory."""

    memory_ref: MemoryReference
    entry_id: Identifier
    entry_version_id: Identifier


class EntryReadRequest(_Strict):
    """What `POST /v1/memory/entries/get` takes."""

    scope_id: Identifier
    citation: EntryCitation


class RevisionReadRequest(_Strict):
    """The parts of the path of an exact Artifact read."""

    scope_id: Identifier
    family: Family
    artifact_id: Identifier
    revision: Annotated[int, Field(ge=1, le=MAX_REVISION)]


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
