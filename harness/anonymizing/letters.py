"""Letters by script, kind and length, and texts in the runs that recall takes for words (SPEC.md 10)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache

from faker import Faker

from harness.anonymizing.frame import FRAME_TEXT

LETTERS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
MARKS = frozenset(("Mn", "Mc", "Me"))
LOCALES = {"CJK": "zh_CN", "HIRAGANA": "ja_JP", "KATAKANA": "ja_JP"}
"""Where Faker has texts in a script."""


def runs(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text in runs: a `word`, characters that count `singly`, and what is `between`."""
    kind, start = "", 0
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        if category in MARKS and kind == "word":
            continue
        now = "singly" if _is_single(character) else "word" if category in LETTERS else "between"
        if now != kind:
            if at > start:
                yield kind, text[start:at]
            kind, start = now, at
    if len(text) > start:
        yield kind, text[start:]


def script(character: str) -> str:
    """Return the first word of a character's name, which is its script for letters."""
    return unicodedata.name(character, "UNNAMED").partition(" ")[0].partition("-")[0]


def _is_single(character: str) -> bool:
    code = ord(character)
    return (
        code in (0x3005, 0x3007)
        or 0x3041 <= code <= 0x30FF
        or 0x31F0 <= code <= 0x31FF
        or 0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7A3
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x323AF
    )


@cache
def english() -> list[str]:
    """Return Faker's words, without what the frame of every answer holds: that could not be expected to be absent."""
    words = {word.lower() for word in Faker("en_US").get_words_list()}
    return sorted(word for word in words if word.isascii() and word.isalpha() and word not in FRAME_TEXT)


@cache
def written(locale: str) -> list[str]:
    """Return the letters of Faker's texts in a language."""
    faker = Faker(locale)
    faker.seed_instance(0)
    drawn = {character for _ in range(60) for character in faker.text(200)}
    return sorted(one for one in drawn if unicodedata.category(one) in LETTERS)


def kind(character: str) -> tuple[str, str, int]:
    """Return a character's script, category and length in bytes."""
    return script(character), unicodedata.category(character), len(character.encode())


@cache
def is_simple(character: str) -> bool:
    """Say whether a character is one under every folding, so that another simple one behaves alike."""
    if unicodedata.category(character) == "Cn":
        # Of a character that this Python does not know, nothing is known to be alike.
        return False
    folded = unicodedata.normalize("NFKC", character).casefold()
    return (len(folded) == 1 and unicodedata.normalize("NFKD", character) == character) or _is_hangul(character)


def _is_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3"


@cache
def pool(name: str, category: str, size: int) -> list[str]:
    """Return the letters of a script, a category and a length in bytes; those of two cases in both lengths alike."""
    last = {2: 0x7FF, 3: 0xFFFF, 4: 0x323AF if name == "CJK" else 0x1FFFF}.get(size, 0x7F)
    found = []
    for code in range(0x80, last + 1):
        one = chr(code)
        if (
            len(one.encode("utf-8", "replace")) == size
            and unicodedata.category(one) == category
            and script(one) == name
            and is_simple(one)
            and one.casefold() == one
            and one.upper().casefold() == one
            and (category != "Ll" or one.upper() != one)
            and len(one.upper()) == 1
            and len(one.upper().encode()) == size
        ):
            found.append(one)
    return found
