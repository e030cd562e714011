"""What of a scenario's request is probably not meant; the loader does not judge it, since it may send anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.check.request import DEFAULT_TOTAL, Illegal, read_request
from harness.errors import ScenarioError, did_you_mean
from harness.scenario.loader import Loaded
from harness.scenario.model import Expect, Step
from harness.scenario.operations import scope_ids
from runtime.artifacts import FAMILIES

_REQUEST = ("scope_id", "query", "max_bytes", "assembly")
_ASSEMBLY = ("format", "sections", "show")
_SECTION = ("family", "limit")
_MEANT = ((401, "unauthorized"), (422, "invalid_request"))
"""What a step expects that sends such a key on purpose; without a token the request model is not even asked."""


def request_warnings(loaded: Loaded) -> Iterator[ScenarioError]:
    """Yield a warning for whatever makes a prepare be refused that is not expected to be: keys, Scopes, values, limits.

    Each unknown key, family and Scope has its own, with a suggestion; of the rest the first thing that is refused.
    """
    known = scope_ids(loaded.scenario)
    for index, step in enumerate(loaded.scenario.steps):
        if step.prepare is None:
            continue
        place = ("steps", index, "prepare")
        if not _is_refused(step.expect):
            yield from _scope(loaded, step.prepare.get("scope_id"), (*place, "scope_id"), known)
        if any(step.expect.http == status or step.expect.error == code for status, code in _MEANT):
            continue
        mistyped = [*_mistyped(loaded, step.prepare, place)]
        yield from mistyped
        if not mistyped:
            yield from _illegal(loaded, step, place)


def _mistyped(loaded: Loaded, request: Mapping[str, Any], place: tuple[str | int, ...]) -> Iterator[ScenarioError]:
    yield from _unknown(loaded, request, place, _REQUEST)
    assembly = request.get("assembly")
    yield from _unknown(loaded, assembly, (*place, "assembly"), _ASSEMBLY)
    sections = assembly.get("sections") if isinstance(assembly, dict) else None
    for number, section in enumerate(sections if isinstance(sections, list) else []):
        where = (*place, "assembly", "sections", number)
        yield from _unknown(loaded, section, where, _SECTION)
        family = section.get("family") if isinstance(section, dict) else None
        if isinstance(family, str) and family not in FAMILIES:
            message = f'unknown family "{family}" of the request; it is answered with 422'
            yield _warning(loaded, loaded.mark.at(*where, "family"), message, did_you_mean(family, FAMILIES))


def _illegal(loaded: Loaded, step: Step, place: tuple[str | int, ...]) -> Iterator[ScenarioError]:
    try:
        asked = read_request(step.prepare)
    except Illegal as illegal:
        why, where = illegal.why, illegal.place
    else:
        total = loaded.scenario.runtime.max_entries or DEFAULT_TOTAL
        # The current Scope comes before the total in SPEC.md 2's order.
        if asked.total <= total or _is_refused(step.expect):
            return
        why, where = f"the limits come to {asked.total}, and the Runtime's total is {total}", ("assembly",)
    yield _warning(loaded, loaded.mark.at(*place, *where), f"{why}; it is answered with 422", None)


def _is_refused(expect: Expect) -> bool:
    return expect.error is not None or (expect.http is not None and expect.http >= 400)


def _scope(
    loaded: Loaded, named: Any, place: tuple[str | int, ...], known: Mapping[str, str]
) -> Iterator[ScenarioError]:
    if isinstance(named, str) and named not in known and named not in known.values():
        message = f'no Scope "{named}" in the scenario; it is answered with 403 or 404'
        yield _warning(loaded, loaded.mark.at(*place), message, did_you_mean(named, known))


def _unknown(
    loaded: Loaded, value: Any, place: tuple[str | int, ...], known: tuple[str, ...]
) -> Iterator[ScenarioError]:
    for key in value if isinstance(value, dict) else ():
        if key not in known:
            message = f'unknown key "{key}" of the request; it is answered with 422'
            yield _warning(loaded, loaded.mark.key_at(*place, key), message, did_you_mean(key, known))


def _warning(loaded: Loaded, place: tuple[int, int], message: str, hint: str | None) -> ScenarioError:
    return ScenarioError(loaded.path, *place, f"warning: {message}", hint)
