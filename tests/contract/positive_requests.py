"""Hooks of Schemathesis: what a request that shall be accepted must be beyond its schema.

Generated requests that are meant to be refused stay as they are.
"""

from __future__ import annotations

from typing import Any

import schemathesis

SCOPE = "project:demo"


def without_fractions(value: Any) -> Any:
    """Return a value of JSON in which 8.0 is 8, since JSON Schema takes both for integers."""
    match value:
        case float():
            return int(value)
        case list():
            return [without_fractions(item) for item in value]
        case dict():
            return {key: without_fractions(item) for key, item in value.items()}
    return value


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Ask about the Scope that may be read, so that what was generated is really done."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if isinstance(case.body, dict):
        case.body = without_fractions(case.body) | {"scope_id": SCOPE}
    if "scope_id" in (case.path_parameters or {}):
        case.path_parameters["scope_id"] = SCOPE
