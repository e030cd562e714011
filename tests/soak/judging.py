"""One answer held against all that was written: is there a moment within the request of which all of it is true?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from history import DOCUMENTS, LEFT, REFERENCES, RIGHT, Grant, History, State, bodies_of

from runtime.artifacts import Citation, EntryAddress

Caller = Literal["keeper", "guest", "visitor"]
"""Who may always read both Scopes; whose view of the second is part of its commits; whose view of the first comes and
goes by itself."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One item of an answer."""

    citation: Citation
    body: str
    truncated: bool = False

    @property
    def scope_id(self) -> str:
        return self.citation.memory.scope_id if isinstance(self.citation, EntryAddress) else self.citation.scope_id


@dataclass(frozen=True, slots=True)
class Observed:
    """One prepare: who asked where for what, from when to when, and what came."""

    caller: Caller
    scope_id: str
    families: frozenset[str]
    start: float
    end: float
    status: int
    items: tuple[Shown, ...] = ()
    complete: bool = True
    """Whether the request leaves room for everything, so that what is missing is missing by a fault."""


def judge(history: History, seen: Observed) -> str | None:
    """Return what is wrong with an answer, or None."""
    if seen.status not in (200, 403):
        return f"status {seen.status}"
    for item in seen.items:
        if problem := _judge_item(item):
            return problem
    scopes = REFERENCES[seen.scope_id]
    during = {scope_id: history.during(scope_id, seen.start, seen.end) for scope_id in scopes}
    visits: Sequence[Grant | None] = [None]
    if seen.caller == "visitor" and LEFT in scopes:
        visits = history.visits_during(seen.start, seen.end)
    if seen.status == 403:
        refusable = any(visit is not None and not visit.held for visit in visits)
        if seen.caller == "guest":
            refusable = any(not state.guest for state in during.get(RIGHT, ()))
        return None if refusable else f"{seen.caller} is refused, and held his view the whole time"
    fitting = {scope_id: _fitting(scope_id, during[scope_id], seen) for scope_id in scopes}
    for scope_id in scopes:
        if not fitting[scope_id]:
            return _why_none(scope_id, during[scope_id], seen)
    windows = [[(state.begun, state.superseded) for state in fitting[scope_id]] for scope_id in scopes]
    if not _meet(windows, seen.start, seen.end):
        return "the two Scopes are of two moments"
    held = [(visit.begun, visit.superseded) for visit in visits if visit is not None and visit.held]
    if seen.caller == "visitor" and LEFT in scopes and not _meet([*windows, held], seen.start, seen.end):
        return "visitor is answered, and his view was revoked before he asked"
    if seen.caller == "guest":
        allowed = [(state.begun, state.superseded) for state in fitting[RIGHT] if state.guest]
        if not _meet([*windows[:-1], allowed], seen.start, seen.end):
            return "guest is answered with what was written together with, or after, his revocation"
    return None


def _judge_item(item: Shown) -> str | None:
    """Say whether an item shows other bytes than those that were written under its citation."""
    if item.truncated:
        return f"a cut item: {item.citation}"
    if isinstance(item.citation, EntryAddress):
        tag = item.citation.entry_version_id.removeprefix("v-")
        if item.body not in bodies_of(item.citation.entry_id, tag):  # type: ignore[arg-type]
            return f"an Entry with a body that is not its own: {item.citation}"
        return None
    tags = {word for word in item.body.replace('"', " ").replace(",", " ").split() if word.startswith("tag-")}
    if len({tag.rstrip("}") for tag in tags}) != 1:
        return f"an item half old and half new: {item.citation} with {sorted(tags)}"
    return None


def _fitting(scope_id: str, states: Sequence[State], seen: Observed) -> list[State]:
    """Return the states of a Scope of which the answer can be."""
    families = seen.families if scope_id == seen.scope_id else seen.families - {"topic-memory"}
    shown = {item.citation: item.body for item in seen.items if item.scope_id == scope_id}
    fitting = []
    for state in states:
        items = state.items(scope_id, families)
        same = shown.keys() == items.keys() if seen.complete else shown.keys() <= items.keys()
        if same and all(body in bodies_of(items[c], state.slots[items[c]].tag) for c, body in shown.items()):
            fitting.append(state)
    return fitting


def _why_none(scope_id: str, states: Sequence[State], seen: Observed) -> str:
    """Tell the likeliest reason why no state of a Scope fits."""
    families = seen.families if scope_id == seen.scope_id else seen.families - {"topic-memory"}
    shown = {item.citation for item in seen.items if item.scope_id == scope_id}
    numbers = sorted(state.number for state in states)
    known = [set(state.items(scope_id, families)) for state in states]
    if strange := shown - set().union(*known):
        return f"{scope_id}: not of a moment of the request (commits {numbers}): {sorted(map(str, strange))[0]}"
    if shown in known:
        return f"{scope_id}: a body that was not written under its citation (commits {numbers})"
    if any(shown < items for items in known):
        missing = min((items - shown for items in known), key=len)
        return f"{scope_id}: something is missing (commits {numbers}): {sorted(map(str, missing))[0]}"
    return f"{scope_id}: items of two moments (commits {numbers})"


def _meet(choices: Sequence[Sequence[tuple[float, float]]], start: float, end: float) -> bool:
    """Say whether one window of each choice can be picked so that all have a moment between start and end in common."""
    if not choices:
        return start <= end
    return any(
        _meet(choices[1:], max(start, begun), min(end, over))
        for begun, over in choices[0]
        if max(start, begun) <= min(end, over)
    )


assert {*DOCUMENTS.values()} == {"experience", "profile", "topic-memory"}
