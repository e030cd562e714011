"""A plain reading of the prepare request (SPEC.md 2): what was asked for, or that it is no legal request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.check.display import is_blank
from runtime.artifacts import FAMILIES, Family

SHOWABLE = ("confidence", "recall_rank")
FIELDS = ("scope_id", "query", "max_bytes", "assembly", "format", "sections", "show", "family", "limit")
DEFAULT_TOTAL = 8
"""The Runtime's total of items, unless it is set up with another (SPEC.md 2)."""
_DEFAULT_SECTIONS: tuple[tuple[Family, int], ...] = (("memory", 6), ("experience", 2))
_OLDER_FAMILIES: frozenset[Family] = frozenset(("memory", "experience", "topic-memory"))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a legal request asks for, defaults applied; `sections` is None for the older output."""

    scope_id: str
    query: str
    max_bytes: int
    sections: tuple[tuple[Family, int], ...] | None
    show: frozenset[str]

    @property
    def families(self) -> frozenset[Family]:
        """The families that are recalled."""
        if self.sections is None:
            return _OLDER_FAMILIES
        return frozenset(family for family, _ in self.sections)

    @property
    def total(self) -> int:
        """The sum of all limits, 0 for the older output, which has none."""
        return sum(limit for _, limit in self.sections or ())

    @property
    def reads_references(self) -> bool:
        """Whether the referenced Scopes are read, and so must be readable (SPEC.md 3.2)."""
        return self.sections is None or bool(self.families - {"topic-memory"})

    def limit(self, family: str) -> int:
        """Return how many items of a family may be delivered; 0 of one that is not selected."""
        return next((limit for name, limit in self.sections or () if name == family), 0)


class Illegal(Exception):
    """A request that the request model must refuse: why, and the place in it, keys and indices from the outermost."""

    def __init__(self, why: str, *place: str | int) -> None:
        super().__init__(why, *place)
        self.why = why
        self.place = place

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.place))}: {self.why}" if self.place else self.why


def read_request(value: Any) -> Asked:
    """Return what a parsed JSON value asks for; raises Illegal where the request model refuses it (SPEC.md 2)."""
    request = _object(value, required=("scope_id", "query"), optional=("max_bytes", "assembly"))
    scope_id = _text(request["scope_id"], 256, "scope_id")
    query = _text(request["query"], 8192, "query")
    max_bytes = _integer(request.get("max_bytes", 8000), 512, 32768, "max_bytes")
    if "assembly" not in request:
        return Asked(scope_id, query, max_bytes, None, frozenset())
    assembly = _object(request["assembly"], "assembly", required=(), optional=("format", "sections", "show"))
    if assembly.get("format", "markdown") != "markdown":
        raise Illegal('"markdown" is expected', "assembly", "format")
    sections = _DEFAULT_SECTIONS
    if "sections" in assembly:
        given = _array(assembly["sections"], "assembly", "sections")
        sections = tuple(_section(section, "assembly", "sections", number) for number, section in enumerate(given))
    families = [family for family, _ in sections]
    for number, family in enumerate(families):
        if family in families[:number]:
            raise Illegal("a family is selected once", "assembly", "sections", number, "family")
    show = _array(assembly.get("show", []), "assembly", "show")
    for number, name in enumerate(show):
        if name not in SHOWABLE or name in show[:number]:
            raise Illegal(f"each of {', '.join(SHOWABLE)} may stand here once", "assembly", "show", number)
    return Asked(scope_id, query, max_bytes, sections, frozenset(show))


def _section(value: Any, *place: str | int) -> tuple[Family, int]:
    section = _object(value, *place, required=("family", "limit"), optional=())
    for family in FAMILIES:
        if section["family"] == family:
            return family, _integer(section["limit"], 1, 2 if family == "experience" else 8, *place, "limit")
    raise Illegal(f"one of {', '.join(FAMILIES)} is expected", *place, "family")


def _object(value: Any, *place: str | int, required: tuple[str, ...], optional: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Illegal("an object is expected", *place)
    for name in required:
        if name not in value:
            raise Illegal(f'the key "{name}" is missing', *place)
    for name in value:
        if name not in required + optional:
            raise Illegal("an unknown key", *place, name)
    return value


def _array(value: Any, *place: str | int) -> list[Any]:
    if not isinstance(value, list):
        raise Illegal("an array is expected", *place)
    return value


def _text(value: Any, most: int, name: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= most or is_blank(value):
        raise Illegal(f"a string of 1 to {most} characters is expected, not a blank one", name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Illegal("a lone surrogate", name) from None
    return value


def _integer(value: Any, least: int, most: int, *place: str | int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Illegal(f"an integer from {least} to {most} is expected", *place)
    return value
