"""Ids for ids: as long, of the same kinds of characters, in the same order, and twins still twins.

The order matters, since recall breaks ties by it; near-identical ids (case, a blank more) are what some reports are
about. So a character is replaced by what stands before it, the same in both cases, and smaller ones stay smaller.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from random import Random

from harness.anonymizing.words import Words
from runtime.artifacts import PROFILE_ID

_TRIES = 20
_KEPT = frozenset((PROFILE_ID, "memory"))


class Ids:
    """The other ids; all of them must be known before the first is asked for."""

    def __init__(self, known: Iterable[str], random: Random, words: Words) -> None:
        self._words = words
        self._following: dict[str, set[str]] = {}
        for name in known:
            for at, character in enumerate(name):
                self._following.setdefault(name[:at].casefold(), set()).add(character.casefold())
        self._random = random
        self._chosen: dict[str, dict[str, str]] = {}
        self.kept: set[str] = set()
        """Characters that stay: what is no letter and no digit, and letters with marks."""

    def __call__(self, name: str) -> str:
        """Return what an id is called; one that was not known before is treated alike, without a promise of order."""
        if name in _KEPT:
            return name
        return "".join(self._character(name, at) for at in range(len(name)))

    def _character(self, name: str, at: int) -> str:
        character = name[at]
        if not character.isascii() or not character.isalnum():
            # Of other scripts no order is promised; ties between such ids are rare.
            other = self._words.letter(character) if character.isalpha() else character
            if other == character:
                self.kept.add(character)
            return other
        prefix, folded = name[:at].casefold(), character.casefold()
        chosen = self._choices(prefix, folded)[folded]
        return chosen.upper() if character.isupper() else chosen

    def _choices(self, prefix: str, needed: str) -> dict[str, str]:
        choices = self._chosen.setdefault(prefix, {})
        if needed not in choices:
            characters = {needed} if choices else {*self._following.get(prefix, ()), needed}
            for alphabet in (string.digits, string.ascii_lowercase):
                ours = sorted(characters & set(alphabet))
                choices.update(zip(ours, self._drawn(ours, alphabet, set(choices.values())), strict=True))
        return choices

    def _drawn(self, ours: Sequence[str], alphabet: str, used: set[str]) -> list[str]:
        """Draw as many characters, in rising order, and none in its own place as far as that can be had."""
        free = [one for one in alphabet if one not in used]
        for _ in range(_TRIES):
            drawn = sorted(self._random.sample(free, len(ours)))
            if all(one != other for one, other in zip(ours, drawn, strict=True)):
                break
        return drawn
