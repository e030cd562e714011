"""Words for words: as long in bytes, of the same kind of characters, the same word always by the same other one.

Words are runs of letters and digits, as recall takes them (SPEC.md 10), so that a query finds the same items by other
words. Chinese, Japanese and Korean characters are replaced one by one, since recall compares them singly and in pairs.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import product
from random import Random

from harness.anonymizing.frame import FORGED, FRAME_WORDS, QUOTED, RUNS, is_of_frame
from harness.anonymizing.letters import LOCALES, MARKS, english, is_simple, runs, written
from harness.anonymizing.letters import kind as kind_of
from harness.anonymizing.letters import pool as pool_of

_TRIES = 200
_WIDE = 0xFEE0
"""How far full-width letters stand behind their plain ones."""


class Words:
    """The other words, drawn from Faker by a seed; one object for all that must stay consistent."""

    def __init__(self, seed: int) -> None:
        self._random = Random(f"words {seed}")
        self._by_length: dict[int, list[str]] = {}
        for word in self._random.sample(english(), len(english())):
            self._by_length.setdefault(len(word), []).append(word)
        self._words: dict[str, str] = {}
        self._taken: set[str] = set(FRAME_WORDS)
        self._characters: dict[str, str] = {}
        self._pools: dict[str, list[str]] = {}
        self.kept: Counter[str] = Counter()
        """How many characters stayed as they are, by why."""

    def text(self, text: str) -> str:
        """Return a text with other words, everything between words as it is; as many code points and bytes."""
        parts: list[str] = []
        at = 0
        for found in FORGED.finditer(text):
            parts += [self._plain(text[at : found.start()]), found[0]]
            self.kept["words of the product's own frame, and what looks like its escapes"] += 1
            at = found.end()
        return "".join((*parts, self._plain(text[at:])))

    def _plain(self, text: str) -> str:
        return "".join(self._word(part) if kind == "word" else self._between(kind, part) for kind, part in runs(text))

    def _between(self, kind: str, part: str) -> str:
        if kind == "singly":
            return "".join(map(self._character, part))
        return part

    def framed(self, text: str, ids: Callable[[str], str | None]) -> str:
        """Return a part of an answer with other words: its frame stays, and ids are what `ids` calls them."""
        parts: list[str] = []
        for at, part in enumerate(QUOTED.split(text)):
            called = ids(_spoken(part)) if at % 2 else None
            parts.append(self._framed_part(part) if called is None else json.dumps(called))
        return "".join(parts)

    def _framed_part(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        for found in (*FORGED.finditer(text), None):
            pieces = enumerate(RUNS.split(text[at : found.start() if found else len(text)]))
            parts += [run if place % 2 and is_of_frame(run) else self._plain(run) for place, run in pieces]
            if found is not None:
                parts.append(found[0])
                at = found.end()
        return "".join(parts)

    def letter(self, character: str) -> str:
        """Return what a letter outside of ASCII is replaced by where it stands in an id: always the same."""
        folded = _key(character)
        if len(folded) != 1 or not is_simple(folded):
            return character
        return _dressed(self._character(folded), character, folded)

    def _word(self, word: str) -> str:
        composed = unicodedata.normalize("NFC", word)
        key = _key(composed)
        if len(key) != len(composed):
            # A letter that folds to several stays, and parts the word.
            self.kept["letters that another case has as several"] += 1
            pieces = re.split(f"([{''.join(one for one in composed if len(_key(one)) != 1)}])", word)
            return "".join(piece if at % 2 or not piece else self._word(piece) for at, piece in enumerate(pieces))
        if key not in self._words:
            self._words[key] = self._other(key)
            self._taken.add(self._words[key])
        other = "".join(
            _dressed(new, old, folded) for new, old, folded in zip(self._words[key], composed, key, strict=True)
        )
        return other if word == composed else _apart(other, word)

    def _other(self, key: str) -> str:
        if key.isascii() and key.isalpha():
            for word in self._by_length.get(len(key), []):
                if word not in self._taken and word != key:
                    return word
        for _ in range(_TRIES):
            word = "".join(map(self._like, key))
            if word not in self._taken and word != key:
                return word
        if key.isascii() and len(key) <= 2:
            # Nearly all of its kind are in use.
            kinds = [string.digits if one.isdigit() else string.ascii_lowercase for one in key]
            return next((word for word in map("".join, product(*kinds)) if word not in self._taken), key)
        return key

    def _like(self, character: str) -> str:
        """Return a character of the same kind, script and length, or the character itself where there is none."""
        if character.isascii():
            if character.isdigit():
                return self._random.choice(string.digits)
            return self._random.choice(string.ascii_lowercase) if character.isalpha() else character
        category = unicodedata.category(character)
        pool = [] if category in MARKS else pool_of(*kind_of(character))
        if not pool or not is_simple(character):
            self.kept["letters with marks, and letters of compatibility"] += 1
            return character
        return self._random.choice(pool)

    def _character(self, character: str) -> str:
        """Return what a Chinese, Japanese or Korean character is replaced by, always the same."""
        if character not in self._characters:
            used = set(self._characters.values())
            kind = kind_of(character)
            pool = self._singles(kind[0])
            chosen = next((one for one in pool if kind_of(one) == kind and one not in used and one != character), None)
            if chosen is None:
                near = pool_of(*kind) if is_simple(character) else []
                free = [one for one in near if one not in used and one != character]
                chosen = self._random.choice(free) if free else character
            if chosen == character:
                self.kept["characters of which there is no other of their kind"] += 1
            self._characters[character] = chosen
        return self._characters[character]

    def _singles(self, kind: str) -> list[str]:
        """Return characters of real texts of a script, in an order of the seed's."""
        if kind not in self._pools:
            found = written(LOCALES[kind]) if kind in LOCALES else []
            self._pools[kind] = self._random.sample(found, len(found))
        return self._pools[kind]


def _spoken(literal: str) -> str:
    """Return what a JSON string says, or the string itself where it is none."""
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal


def _key(word: str) -> str:
    """Return what a word is known by, whatever its case and width."""
    return "".join(chr(ord(one) - _WIDE) if _is_wide(one) else one for one in word).casefold()


def _is_wide(character: str) -> bool:
    return "\uff01" <= character <= "\uff5e"


def _dressed(new: str, old: str, folded: str) -> str:
    """Return a character in the width and the case that its original has."""
    wide = _is_wide(old)
    plain = chr(ord(old) - _WIDE) if wide else old
    # A small letter may fold to another one: the micro sign does.
    cased = new.upper() if plain != folded and not plain.islower() else new
    if wide and cased.isascii():
        cased = chr(ord(cased) + _WIDE)
    return cased if len(cased.encode()) == len(old.encode()) else old


def _apart(other: str, word: str) -> str:
    """Return another word with its marks apart from their letters where the original has them so."""
    clusters: list[str] = []
    for character in word:
        if clusters and unicodedata.category(character) in MARKS:
            clusters[-1] += character
        else:
            clusters.append(character)
    result = []
    at = 0
    for cluster in clusters:
        composed = unicodedata.normalize("NFC", cluster)
        new = other[at : at + len(composed)]
        at += len(composed)
        result.append(cluster if new == composed else new)
    joined = "".join(result)
    return joined if len(joined.encode()) == len(word.encode()) else word
