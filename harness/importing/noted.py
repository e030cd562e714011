"""A scenario's text with remarks above its parts, as comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.check.display import escape_for_human
from harness.explore.writing import schema_for, text_of
from harness.scenario.loader import parse

_ID = re.compile("\x02([^\x03]*)\x03")
_PRIVATE = re.compile("\x04([^\x05]*)\x05")
_LONGEST_REMARK = 400


def text_with_notes(
    plain: Mapping[str, Any],
    path: Path,
    *,
    head: Sequence[str] = (),
    notes: Mapping[tuple[str | int, ...], Sequence[str]] | None = None,
    called: Callable[[str], str] = str,
) -> str:
    """Return a scenario's YAML text; raises HarnessError for one that no file can hold or the loader refuses.

    `called` says what an id in a note is called in the scenario; where it calls any otherwise, a report's own words are
    left out.
    """
    text = text_of(plain, comments=[shown_note(one, called) for one in head], schema=schema_for(path))
    lines = text.split("\n")
    mark = parse(text.encode("utf-8"), path).mark
    above: dict[int, list[str]] = {}
    for location, remarks in (notes or {}).items():
        above.setdefault(mark.key_at(*location)[0], []).extend(shown_note(one, called) for one in remarks)
    for number, remarks in sorted(above.items(), reverse=True):
        margin = " " * (len(lines[number - 1]) - len(lines[number - 1].lstrip(" ")))
        lines[number - 1 : number - 1] = [f"{margin}# {one}" for one in remarks]
    whole = "\n".join(lines)
    # A remark must not have changed what is read.
    parse(whole.encode("utf-8"), path)
    return whole


def shown_note(remark: str, called: Callable[[str], str] = str) -> str:
    """Return a note as one line that shows everything; see `text_with_notes` for `called`."""
    told = _PRIVATE.sub(r"\1" if called is str else "", remark)
    told = _ID.sub(lambda match: called(match[1]), told)
    shown = "".join(map(escape_for_human, told.encode("utf-8", "replace").decode("utf-8")))
    return shown if len(shown) <= _LONGEST_REMARK else f"{shown[:_LONGEST_REMARK]} ..."
