"""Texts as YAML scalars: plain where nobody can misread them, otherwise quoted with nothing unseen left raw."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

from harness.errors import HarnessError
from harness.scenario.scalars import Refusal, plain

Piece = str | tuple[str, int]
"""A part of a text: as it is, or a unit and how often it is repeated."""

_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing although their category does not say so."""
_SELECTORS = re.compile("[\ufe00-\ufe0f\u180b-\u180f\U000e0100-\U000e01ef]")
_PLAIN = re.compile(r"[^\W\d_]([\w .@/;!?+()=-]*[\w.@/;!?+()=-])?")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", '"': '\\"', "\\": "\\\\"}
_REPEATED = re.compile(r"(.{1,12}?)\1{7,}", re.DOTALL)
_WORTH_REPEATING = 40


def scalar(value: object) -> str:
    """Return a text, number, boolean or null as one YAML scalar on one line."""
    if isinstance(value, str):
        return value if _is_plain(value) else quoted(value)
    return json.dumps(value)


def quoted(text: str) -> str:
    """Return a text in double quotes; raises HarnessError for a lone surrogate, which no scenario can hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise HarnessError(
            "unwritable_text", "a scenario cannot hold a lone surrogate", hint="use a `body: {hex: ...}`"
        )
    # A decomposed letter looks like its composed twin, so that its marks are spelled out.
    composed = unicodedata.is_normalized("NFC", text)
    return '"' + "".join(_escaped(character, composed=composed) for character in text) + '"'


def repetitions(text: str) -> list[Piece]:
    """Return a text in pieces, its long repetitions as unit and number."""
    found = list(_pieces(text)) if len(text) >= _WORTH_REPEATING else []
    return found if any(isinstance(piece, tuple) for piece in found) else [text]


def _pieces(text: str) -> Iterator[Piece]:
    at = 0
    for match in _REPEATED.finditer(text):
        if len(match[0]) < _WORTH_REPEATING:
            continue
        if match.start() > at:
            yield text[at : match.start()]
        yield match[1], len(match[0]) // len(match[1])
        at = match.end()
    if at < len(text):
        yield text[at:]


def _is_plain(text: str) -> bool:
    if not _PLAIN.fullmatch(text) or quoted(text) != f'"{text}"':
        return False
    try:
        return plain(text) == text
    except Refusal:
        return False


def _escaped(character: str, *, composed: bool) -> str:
    if character in _SHORT:
        return _SHORT[character]
    category = unicodedata.category(character)
    is_unseen = (
        category in _UNSEEN_CATEGORIES
        or character in _UNSEEN
        or (character.isspace() and character != " ")
        or _SELECTORS.match(character) is not None
        or (not composed and (category.startswith("M") or not unicodedata.is_normalized("NFC", character)))
    )
    if not is_unseen:
        return character
    code = ord(character)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
