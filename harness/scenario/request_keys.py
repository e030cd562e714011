"""Keys of a request that are probably mistyped; the loader does not judge them, since a scenario may send anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.errors import ScenarioError, did_you_mean
from harness.scenario.loader import Loaded

_REQUEST = ("scope_id", "query", "max_bytes", "assembly")
_ASSEMBLY = ("format", "sections", "show")
_SECTION = ("family", "limit")
_MEANT = ((401, "unauthorized"), (422, "invalid_request"))
"""What a step expects that sends such a key on purpose; without a token the request model is not even asked."""


def request_warnings(loaded: Loaded) -> Iterator[ScenarioError]:
    """Yield a warning for each unknown key of a prepare that is not expected to be refused for it."""
    for index, step in enumerate(loaded.scenario.steps):
        is_meant = any(step.expect.http == status or step.expect.error == code for status, code in _MEANT)
        if step.prepare is None or is_meant:
            continue
        place = ("steps", index, "prepare")
        yield from _unknown(loaded, step.prepare, place, _REQUEST)
        assembly = step.prepare.get("assembly")
        yield from _unknown(loaded, assembly, (*place, "assembly"), _ASSEMBLY)
        sections = assembly.get("sections") if isinstance(assembly, dict) else None
        for number, section in enumerate(sections if isinstance(sections, list) else []):
            yield from _unknown(loaded, section, (*place, "assembly", "sections", number), _SECTION)


def _unknown(
    loaded: Loaded, value: Any, place: tuple[str | int, ...], known: tuple[str, ...]
) -> Iterator[ScenarioError]:
    for key in value if isinstance(value, dict) else ():
        if key not in known:
            line, column = loaded.mark.key_at(*place, key)
            message = f'warning: unknown key "{key}" of the request; it is answered with 422'
            yield ScenarioError(loaded.path, line, column, message, did_you_mean(key, known))
