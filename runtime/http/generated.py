"""Operations, limits and request models, from openapi.yaml by `make api-generate`; not to be edited."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from runtime.http import rules
from runtime.http.rules import Cap, Operation, Strict

GET_LIVENESS = Operation("get_liveness", "GET", "/health/live")
GET_READINESS = Operation("get_readiness", "GET", "/health/ready")
GET_CAPABILITIES = Operation("get_capabilities", "GET", "/v1/capabilities")
GET_CONTRACT = Operation("get_contract", "GET", "/openapi.json")
PREPARE_CONTEXT = Operation("prepare_context", "POST", "/v1/context/prepare")
GET_MEMORY_ENTRY = Operation("get_memory_entry", "POST", "/v1/memory/entries/get")
GET_ARTIFACT_REVISION = Operation(
    "get_artifact_revision", "GET", "/v1/scopes/{scope_id}/artifacts/{family}/{artifact_id}/revisions/{revision}"
)
OPERATIONS = (
    GET_LIVENESS,
    GET_READINESS,
    GET_CAPABILITIES,
    GET_CONTRACT,
    PREPARE_CONTEXT,
    GET_MEMORY_ENTRY,
    GET_ARTIFACT_REVISION,
)

IDENTIFIER_MAX_LENGTH = 256
Identifier = Annotated[
    str,
    Field(
        min_length=1,
        max_length=256,
        pattern="[^\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]",
    ),
]
"""1-256 characters, not blank, compared exactly. Blank is what holds nothing but white space of Unicode."""

QUERY_MAX_LENGTH = 8192
Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=8192,
        pattern="[^\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]",
    ),
]
"""1-8192 characters, whatever their number of bytes, not blank."""

MaxBytes = Annotated[int, Field(ge=512, le=32768)]
"""The budget of the whole text, in bytes of UTF-8."""

Family = Literal["memory", "experience", "profile", "topic-memory"]

Shown = Literal["confidence", "recall_rank"]
"""What is shown beside an item's citation."""

Limit = Annotated[int, Field(ge=1, le=8)]

Revision = Annotated[int, Field(ge=1, le=9223372036854775807)]

SCHEMA = "powercontext.prepared-context.v1"


class Section(Strict):
    """One family that the caller picks, and how many of its items at most; of Experience at most 2."""

    caps = (Cap("family", "experience", "limit", maximum=2),)

    family: Family
    limit: Limit


class Assembly(Strict):
    """Which families, in which order, how many of each, and what is shown beside them."""

    format: Literal["markdown"] = "markdown"
    sections: Annotated[
        list[Section],
        Field(max_length=4),
        AfterValidator(rules.each_once("family", "memory", "experience", "profile", "topic-memory")),
    ] = Field(default_factory=lambda: [Section(family="memory", limit=6), Section(family="experience", limit=2)])
    show: Annotated[list[Shown], Field(max_length=2), AfterValidator(rules.unique)] = Field(default_factory=list)

    @property
    def total(self) -> int:
        """The sum of each limit of sections, which the server bounds."""
        return sum(item.limit for item in self.sections)


class PrepareRequest(Strict):
    """What a prepared context is asked for by; without an assembly it is the older output."""

    scope_id: Identifier
    query: Query
    max_bytes: MaxBytes = 8000
    assembly: Annotated[Assembly | None, BeforeValidator(rules.not_null)] = None


class MemoryReference(Strict):
    """One revision of a Memory, as a citation names it."""

    family: Family
    artifact_id: Identifier
    revision: Revision


class EntryCitation(Strict):
    """One Entry version in one revision of a Memory."""

    memory_ref: MemoryReference
    entry_id: Identifier
    entry_version_id: Identifier


class EntryReadRequest(Strict):
    """Which Entry version is read."""

    scope_id: Identifier
    citation: EntryCitation


class RevisionReadRequest(Strict):
    """The parts of the path of an exact read."""

    scope_id: Identifier
    family: Family
    artifact_id: Identifier
    revision: Revision


FIELDS = frozenset(
    [
        "artifact_id",
        "assembly",
        "citation",
        "entry_id",
        "entry_version_id",
        "family",
        "format",
        "limit",
        "max_bytes",
        "memory_ref",
        "query",
        "revision",
        "scope_id",
        "sections",
        "show",
    ]
)
"""All names of fields of requests and paths."""
