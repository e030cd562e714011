"""Seeded texts and queries: words of Zipf frequencies, the same for every backend and every run of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from runtime.artifacts import EntryWrite, Experience

VOCABULARY = 20_000
SHORTEST_TEXT, LONGEST_TEXT = 8, 60
"""Words of a text."""
FIRST_RANK, LAST_RANK = 50, 5_000
"""The ranks, from 1, between which a bounded query's words are drawn."""

CURRENT, REFERENCED = "bench:current", "bench:referenced"
READER, TOKEN = "bench-reader", "bench-token"

_SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnpqrst" for vowel in "aeiou"]


class Corpus:
    """Words by rank, and what is made of them."""

    def __init__(self, seed: int, *, vocabulary: int = VOCABULARY) -> None:
        self._seed = seed
        codes = random.Random(f"{seed} words").sample(range(len(_SYLLABLES) ** 3), vocabulary)
        self.words = [_word(code) for code in codes]
        """The most frequent one first."""

    @cached_property
    def _weights(self) -> list[float]:
        return list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def texts(self, name: str, count: int) -> Iterator[str]:
        """Yield texts, the same for a name."""
        source = random.Random(f"{self._seed} {name}")
        for _ in range(count):
            length = source.randint(SHORTEST_TEXT, LONGEST_TEXT)
            yield " ".join(source.choices(self.words, cum_weights=self._weights, k=length))

    def common_queries(self, name: str, count: int, *, words: int) -> list[str]:
        """Return queries whose words are as frequent as in the texts."""
        source = random.Random(f"{self._seed} {name}")
        return [" ".join(source.choices(self.words, cum_weights=self._weights, k=words)) for _ in range(count)]

    def ranked_queries(self, name: str, count: int, *, words: int) -> list[str]:
        """Return queries of words drawn log-uniformly from the middle ranks."""
        source = random.Random(f"{self._seed} {name}")
        last = min(LAST_RANK, len(self.words))

        def word() -> str:
            return self.words[int(FIRST_RANK * ((last + 1) / FIRST_RANK) ** source.random()) - 1]

        return [" ".join(word() for _ in range(words)) for _ in range(count)]

    def world(self, *, current: int, referenced: int, experiences: int) -> list[Operation]:
        """Return two Scopes, the first referring to the second, and one who reads both."""
        operations: list[Operation] = [CreateScope(CURRENT), CreateScope(REFERENCED)]
        operations += [SetReferences(CURRENT, (REFERENCED,)), CreatePrincipal(READER, TOKEN)]
        for scope_id, memories in ((CURRENT, current), (REFERENCED, referenced)):
            operations.append(Grant(READER, scope_id))
            if memories:
                operations.append(self.memories(scope_id, 0, memories))
            fields = list(self.texts(f"{scope_id} experiences", 4 * experiences))
            for number in range(experiences):
                experience = Experience(*fields[4 * number : 4 * number + 4])
                operations.append(WriteDocument(scope_id, f"experience-{number:02d}", experience))
        return operations

    def memories(self, scope_id: str, first: int, count: int) -> WriteMemory:
        """Return one revision that adds Entries, numbered from `first`."""
        texts = self.texts(f"{scope_id} {first}", count)
        changes = (
            EntryWrite(f"entry-{number:06d}", f"entry-{number:06d}-v1", text)
            for number, text in enumerate(texts, start=first)
        )
        return WriteMemory(scope_id, tuple(changes))


def _word(code: int) -> str:
    base: Sequence[str] = _SYLLABLES
    first, rest = divmod(code, len(base) ** 2)
    second, third = divmod(rest, len(base))
    return base[first] + base[second] + base[third]
