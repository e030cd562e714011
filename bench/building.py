"""The builder alone: eight candidates, bodies of several kinds, the largest budget."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from bench.context import Bench
from bench.figures import Figure, Spread
from runtime import builder
from runtime.artifacts import MEMORY, MEMORY_ID, Address, EntryAddress
from runtime.builder import Candidate
from runtime.contract import Assembly, Section

CANDIDATES = 8
MAX_BYTES = 32_768
BOUNDS: Mapping[str, float] = {"100,000 characters": 2.0}
"""Milliseconds of the median."""

_SENTENCE = "The release was held back until the contract tests had passed. "
_MIXED = "Zwölf Prüfungen – 数据库测试通过了 😀, und weiter im Text.\n"


def _filled(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


BODIES: Mapping[str, str] = {
    "1 KB": _filled(_SENTENCE, 1_024),
    "100,000 characters": _filled(_SENTENCE, 100_000),
    "100,000 characters, mixed": _filled(_MIXED, 100_000),
    "4,000 zero-width characters": "\u200b" * 4_000,
}


def build(bench: Bench) -> Iterator[Figure]:
    """Build one text of each kind of body, in turns; sizes and blankness are known beforehand, as from storage."""
    assembly = Assembly(sections=[Section(family=MEMORY, limit=CANDIDATES)])
    worlds = {
        case: {MEMORY: [Candidate.of(_citation(number), body) for number in range(CANDIDATES)]}
        for case, body in BODIES.items()
    }
    values: dict[str, list[float]] = {case: [] for case in worlds}
    for turn in range(bench.sizes.builds + 1):
        for case, candidates in worlds.items():
            started = time.perf_counter()
            builder.build(candidates, assembly, max_bytes=MAX_BYTES)
            if turn:
                values[case].append(1000 * (time.perf_counter() - started))
    for case, milliseconds in values.items():
        yield Figure("builder", case, None, "ms", Spread.of(milliseconds), BOUNDS.get(case))


def _citation(number: int) -> EntryAddress:
    memory = Address("bench:current", MEMORY, MEMORY_ID, 7)
    return EntryAddress(memory, f"entry-{number}", f"entry-{number}-v1")
