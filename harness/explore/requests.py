"""Generated requests: every form of a legal one, and the illegal ones that SPEC.md 2 names."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from harness.explore.texts import queries

Plain = dict[str, Any]
FAMILIES = ("memory", "experience", "profile", "topic-memory")
ABSENT = "absent"
"""A Scope that no world has."""

_ILLEGAL: tuple[Plain, ...] = (
    {"assembly": None},
    {"assembly": []},
    {"assembly": "markdown"},
    {"assembly": {"format": "html"}},
    {"assembly": {"format": None}},
    {"assembly": {"sections": None}},
    {"assembly": {"sections": {}}},
    {"assembly": {"sections": [{"family": "memory", "limit": 0}]}},
    {"assembly": {"sections": [{"family": "memory", "limit": 9}]}},
    {"assembly": {"sections": [{"family": "memory", "limit": "2"}]}},
    {"assembly": {"sections": [{"family": "memory", "limit": 2.0}]}},
    {"assembly": {"sections": [{"family": "memory", "limit": True}]}},
    {"assembly": {"sections": [{"family": "memory"}]}},
    {"assembly": {"sections": [{"family": "Memory", "limit": 1}]}},
    {"assembly": {"sections": [{"family": "experience", "limit": 3}]}},
    {"assembly": {"sections": [{"family": "profile", "limit": 1}, {"family": "profile", "limit": 1}]}},
    {"assembly": {"sections": [{"family": "profile", "limit": 1, "budget": 100}]}},
    {"assembly": {"show": ["score"]}},
    {"assembly": {"show": ["confidence", "confidence"]}},
    {"assembly": {"show": "confidence"}},
    {"assembly": {"limit": 3}},
    {"max_bytes": 511},
    {"max_bytes": 32769},
    {"max_bytes": "8000"},
    {"max_bytes": 8000.0},
    {"max_bytes": True},
    {"max_bytes": None},
    {"query": ""},
    {"query": " \n\u3000"},
    {"query": "x" * 8193},
    {"query": 7},
    {"scope_id": "\t"},
    {"scope_id": "x" * 257},
    {"scope_id": None},
    {"filter": {}},
)
_BODIES = (
    "",
    "[]",
    "{",
    '{"scope_id": "s1"}',
    '{"scope_id": "s1", "query": "\\ud800"}',
    '{"scope_id": "s1", "query": "tea", "query": "契约", "assembly": {}}',
    '{"scope_id": "s1", "query": "tea", "assembly": null, "assembly": {"sections": []}}',
    ' {"query": "\\u0074ea", "scope_id": "\\u00731"}\n',
)


@st.composite
def assemblies(draw: st.DrawFn) -> Plain | None:
    """Draw an assembly of any legal form, None for an absent one."""
    form = draw(st.sampled_from(("absent", "default", "chosen", "chosen", "chosen", "none")))
    if form == "absent":
        return None
    made: Plain = {}
    if form == "none":
        made["sections"] = []
    if form == "chosen":
        families = draw(st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=4, unique=True))
        left = draw(st.sampled_from((8, 8, 8, 4, 26)))
        made["sections"] = []
        for family in families:
            limit = min(draw(st.integers(1, 2 if family == "experience" else 8)), left)
            left -= limit
            if limit:
                made["sections"].append({"family": family, "limit": limit})
    show = draw(st.lists(st.sampled_from(("recall_rank", "confidence")), unique=True, max_size=2))
    if show:
        made["show"] = show
    if draw(st.integers(0, 9)) == 9:
        made["format"] = "markdown"
    return made


@st.composite
def requests(draw: st.DrawFn, scopes: list[str]) -> Plain:
    """Draw a legal request, without a budget, for one of these Scopes or an absent one."""
    scope = ABSENT if draw(st.integers(0, 15)) == 15 else draw(st.sampled_from(scopes))
    request: Plain = {"scope_id": scope, "query": draw(queries())}
    assembly = draw(assemblies())
    if assembly is not None:
        request["assembly"] = assembly
    return request


def illegal() -> st.SearchStrategy[Plain]:
    """Draw what makes a legal request an illegal one."""
    return st.sampled_from(_ILLEGAL)


def bodies() -> st.SearchStrategy[str]:
    """Draw a request's body as text: no JSON, not enough, or JSON in an unusual form."""
    return st.sampled_from(_BODIES)


def budgets() -> st.SearchStrategy[int | None]:
    """Draw a budget, small ones more often; None for the default."""
    small = st.integers(512, 1100)
    return st.one_of(st.none(), small, small, st.sampled_from((512, 32768)), st.integers(512, 32768))
