"""What the Scopes of a report are called in its scenario."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")


def scope_names(scope_ids: Sequence[str]) -> dict[str, str]:
    """Return a name for each Scope by its id: the id itself where it is a plain word, else its last part."""
    names: dict[str, str] = {}
    taken = {scope_id for scope_id in scope_ids if _PLAIN_NAME.fullmatch(scope_id)}
    for number, scope_id in enumerate(scope_ids, start=1):
        if scope_id in taken:
            names[scope_id] = scope_id
            continue
        last = re.split(r"[:/]", scope_id)[-1]
        fallback = "current" if number == 1 else f"scope-{number}"
        name = next(
            one
            for one in (last, fallback, *(f"scope-{number}-{more}" for more in range(100)))
            if _PLAIN_NAME.fullmatch(one) and one not in taken and one not in scope_ids
        )
        taken.add(name)
        names[scope_id] = name
    return names
