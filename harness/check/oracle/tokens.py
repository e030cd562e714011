"""The tokens of a string, with the places where they begin: a plain reading of SPEC.md 10."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

CJK_RANGES: tuple[tuple[int, int], ...] = (
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
"""The CJK characters, as first and last code points."""
LONGEST_TOKEN_BYTES = 64

_LETTERS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
_MARKS = frozenset(("Mn", "Mc"))
_RUN = re.compile("c+|w[wm]*")
"""A run of CJK characters, or a word: marks count only behind a letter or digit."""
_LONG_TEXT_CHARACTERS = 10_000


class _Kinds(dict[int, str]):
    """The kind of each code point: `c` CJK, `w` letter or digit, `m` mark, a blank for all that separates."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        if any(first <= code <= last for first, last in CJK_RANGES):
            kind = "c"
        else:
            kind = "w" if category in _LETTERS else "m" if category in _MARKS else " "
        self[code] = kind
        return kind


_KINDS = _Kinds()


def folded(text: str) -> str:
    """Return a text as it is compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def places(folded_text: str) -> Iterator[tuple[int, str]]:
    """Yield each token of a folded text with the place of its first code point, in the order of the places."""
    for run in _RUN.finditer(folded_text.translate(_KINDS)):
        start, end = run.span()
        if run[0][0] == "w":
            yield start, _indexed(folded_text[start:end])
            continue
        for place in range(start, end):
            yield place, folded_text[place]
            if place + 1 < end:
                yield place, folded_text[place : place + 2]


def tokens(text: str) -> frozenset[str]:
    """Return the distinct tokens of a text; what was asked before is remembered, of long texts only a few."""
    return _long(text) if len(text) > _LONG_TEXT_CHARACTERS else _short(text)


def _tokens(text: str) -> frozenset[str]:
    return frozenset(token for _, token in places(folded(text)))


_short = lru_cache(maxsize=20_000)(_tokens)
_long = lru_cache(maxsize=32)(_tokens)


def _indexed(token: str) -> str:
    data = token.encode("utf-8")
    return token if len(data) <= LONGEST_TOKEN_BYTES else hashlib.sha256(data).hexdigest()
