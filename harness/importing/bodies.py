"""Delivered bodies back to what was stored: escapes undone, labels taken off, the cut end made up."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from harness.check.display import ELLIPSIS, INVISIBLE
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE

_ESCAPE = re.compile(r"(?<!\\)(?:\\u([0-9a-f]{4})|\\U([0-9a-f]{8}))")
_EXPERIENCE = ("situation", "action", "outcome", "lesson")
_TOPIC_SNIPPET = "\n\nSnippet: "
UNREPORTED = "~"
"""A text that holds no word, so that no query finds it."""
_ENOUGH = 2100
"""More bytes than any body is shown of."""
_WIDTHS = {1: "~", 2: "§", 3: "€", 4: "😀"}
"""Characters that are no part of a word, by their bytes."""

Fields = dict[str, str]
"""What a scenario writes of an item, beside its id."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What was probably stored, and what of it is a guess."""

    fields: Fields
    guesses: tuple[str, ...] = ()


def undisplay(shown: str) -> tuple[str, tuple[str, ...]]:
    """Return a displayed text with the characters that its escapes stand for, and those escapes.

    An escape that the product never writes (of a letter, of a line break, in upper case) is the text itself.
    """
    found: list[str] = []

    def character(match: re.Match[str]) -> str:
        code = int(match[1] or match[2], 16)
        if (match[2] and code <= 0xFFFF) or code > 0x10FFFF or chr(code) not in INVISIBLE or chr(code) in "\r\n":
            return match[0]
        found.append(match[0])
        return chr(code)

    return _ESCAPE.sub(character, shown), tuple(dict.fromkeys(found))


def stored(family: str, shown: str, *, is_older: bool, is_cut: bool, spare: int) -> Stored:
    """Return what was stored of an item that is shown so.

    `spare` is how many more bytes would have fitted behind a cut body: what comes next did not.
    """
    guesses: list[str] = []
    text = shown.removesuffix(ELLIPSIS) if is_cut else shown
    if not is_older:
        text, escapes = undisplay(text)
        if escapes:
            guesses.append(f"{', '.join(escapes)} in it: taken for the character, not for that text")
    rest = ""
    if is_cut:
        rest = _beyond(spare, is_older=is_older)
        guesses.append(f"cut in the report behind {len(text.encode('utf-8', 'replace'))} bytes: the end is made up")
    if family == EXPERIENCE:
        return Stored(_experience(text, rest, guesses), tuple(guesses))
    if family == PROFILE:
        return Stored({"content": text + rest}, tuple(guesses))
    if family.endswith(MEMORY) and family != "topic-memory":
        return Stored({"text": text + rest}, tuple(guesses))
    fields = _older_topic(text, rest) if is_older else _topic(text, rest)
    guesses.append("of the detail no more than the snippet is shown")
    return Stored(fields, tuple(guesses))


def _beyond(spare: int, *, is_older: bool) -> str:
    """Return an end that does not fit: the first character has more bytes than were left."""
    first = "\n" if not is_older and 3 < spare <= 6 else _WIDTHS[min(max(spare, 0), 3) + 1]
    return first + UNREPORTED * _ENOUGH


def _experience(text: str, rest: str, guesses: list[str]) -> Fields:
    fields: Fields = {}
    for name, following in zip(_EXPERIENCE, (*_EXPERIENCE[1:], None), strict=True):
        text = text.removeprefix(f"{name.title()}: ")
        label = f"\n{following.title()}: " if following else None
        if label is not None and text.count(label) > 1:
            guesses.append(f"a field holds the label {following.title() if following else ''} too")
        value, mark, after = text.partition(label) if label is not None else (text, "", "")
        if not mark and rest:
            # The cut is in this field; of those behind it nothing is shown.
            fields[name] = value + rest
            rest, text = "", UNREPORTED
            continue
        fields[name], text = value, after
    return {name: value or UNREPORTED for name, value in fields.items()}


def _topic(text: str, rest: str) -> Fields:
    title, mark, after = text.removeprefix("Title: ").partition("\n\nSummary: ")
    if not mark:
        return {"title": title + rest, "summary": UNREPORTED, "detail": UNREPORTED}
    summary, mark, snippet = after.partition(_TOPIC_SNIPPET)
    if not mark:
        return {"title": title, "summary": summary + rest, "detail": UNREPORTED}
    return {"title": title, "summary": summary, "detail": (snippet + rest) or UNREPORTED}


def _older_topic(text: str, rest: str) -> Fields:
    found = dict(re.findall(r'"(title|summary|snippet)":"((?:[^"\\]|\\.)*)', text))
    values = {}
    for name, written in found.items():
        whole = re.sub(r"\\(u[0-9a-fA-F]{0,3})?$", "", written)
        try:
            values[name] = json.loads(f'"{whole}"', strict=False)
        except ValueError:
            values[name] = whole
    if values and rest:
        values[list(values)[-1]] += rest
    return {
        "title": values.get("title") or UNREPORTED,
        "summary": values.get("summary") or UNREPORTED,
        "detail": values.get("snippet") or UNREPORTED,
    }
