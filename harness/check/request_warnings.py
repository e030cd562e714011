"""What of a scenario's request is probably not meant; the loader does not judge it, since it may send anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.check.request import DEFAULT_TOTAL, Illegal, read_request
from harness.errors import ScenarioError, did_you_mean, nearest
from harness.scenario.loader import Loaded
from harness.scenario.model import Expect, Step
from harness.scenario.operations import scope_ids
from runtime.artifacts import FAMILIES

_REQUEST, _ASSEMBLY, _SECTION = "the request itself", "`assembly`", "an item of `sections`"
_KEYS = {
    _REQUEST: ("scope_id", "query", "max_bytes", "assembly"),
    _ASSEMBLY: ("format", "sections", "show"),
    _SECTION: ("family", "limit"),
}
"""The keys of a request by the part of it that they stand in (SPEC.md 2)."""
_LIKELY = 0.75
"""How like a Scope's name another must be to be a slip, where a Scope that is absent may be meant."""
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
        yield from _scope(loaded, step, (*place, "scope_id"), known)
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
    loaded: Loaded, step: Step, place: tuple[str | int, ...], known: Mapping[str, str]
) -> Iterator[ScenarioError]:
    """Warn of a Scope that the scenario has not; where a refusal is expected, only of what looks like a slip."""
    named = (step.prepare or {}).get("scope_id")
    if not isinstance(named, str) or named in known or named in known.values():
        return
    hint = did_you_mean(named, known)
    if _is_refused(step.expect):
        near = nearest(named, known, cutoff=_LIKELY)
        # Names that differ in case or blanks alone are told apart on purpose.
        if near is None or named.strip().casefold() == near.strip().casefold():
            return
    yield _warning(
        loaded, loaded.mark.at(*place), f'no Scope "{named}" in the scenario; it is answered with 403 or 404', hint
    )


def _unknown(loaded: Loaded, value: Any, place: tuple[str | int, ...], part: str) -> Iterator[ScenarioError]:
    for key in value if isinstance(value, dict) else ():
        if key not in _KEYS[part]:
            message = f'unknown key "{key}" of the request; it is answered with 422'
            proper = next((other for other, keys in _KEYS.items() if key in keys), None)
            hint = did_you_mean(key, _KEYS[part]) if proper is None else f"it belongs into {proper}"
            yield _warning(loaded, loaded.mark.key_at(*place, key), message, hint)


def _warning(loaded: Loaded, place: tuple[int, int], message: str, hint: str | None) -> ScenarioError:
    return ScenarioError(loaded.path, *place, f"warning: {message}", hint)
