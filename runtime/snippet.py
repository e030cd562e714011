"""The part of a topic's detail that a query meets (SPEC.md 10)."""

from __future__ import annotations

import re
from collections.abc import Set

from runtime.storage.tokenizer import count_held, first_match

MAX_CHARACTERS = 240
BEFORE_MATCH = 120

_LINE_BREAK = re.compile("\r\n|[\r\n\u2028\u2029]")


def snippet(detail: str, wanted: Set[str]) -> str | None:
    """Return the line of `detail` with most of the wanted tokens, at most 240 code points of it.

    The first of equal lines; None where no line has any.
    """
    if not wanted:
        return None
    best, most = "", 0
    # Each distinct line once, in the order of their first: of equal ones the first is wanted.
    for line in dict.fromkeys(_LINE_BREAK.split(detail)):
        found = count_held(line, wanted)
        if found > most:
            best, most = line, found
            if most == len(wanted):
                break
    if most == 0:
        return None
    if len(best) <= MAX_CHARACTERS:
        return best
    match = first_match(best, wanted) or 0
    start = min(max(match - BEFORE_MATCH, 0), len(best) - MAX_CHARACTERS)
    return best[start : start + MAX_CHARACTERS]
