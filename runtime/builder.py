"""Rank, place, budget: from the candidates of each family to the text and its origins (SPEC.md 3.5-3.8 and 5).

The cost is linear in the bytes rendered: each candidate is displayed once, and only as far as it can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime import text
from runtime.artifacts import Citation, Family
from runtime.contract import Assembly


@dataclass(frozen=True, slots=True)
class Candidate:
    """One recalled item: where it is stored, and its body.

    `body` may be a prefix of a longer stored body, as long as it holds all that can be shown; then `whole` is False
    and `size` still counts the UTF-8 bytes of all of it. `blank` speaks of the whole body.
    """

    citation: Citation
    body: str
    size: int
    whole: bool = True
    blank: bool = False

    @classmethod
    def of(cls, citation: Citation, body: str) -> Candidate:
        """Make a candidate from a whole body."""
        return cls(citation, body, len(body.encode()), blank=not body.strip())


@dataclass(frozen=True, slots=True)
class Prepared:
    """A finished text, or None, and the origins of exactly the items placed in it, in their order."""

    content: str | None
    origins: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its place in its family's list, counted from 1."""

    rank: int
    candidate: Candidate


def rank(candidates: Iterable[Candidate]) -> list[Ranked]:
    """Drop blank bodies and repeats of an exact identity, keeping the first, and number what is left."""
    kept: dict[Citation, Candidate] = {}
    for candidate in candidates:
        if not candidate.blank:
            kept.setdefault(candidate.citation, candidate)
    return [Ranked(number, candidate) for number, candidate in enumerate(kept.values(), start=1)]


def build(candidates: Mapping[Family, Sequence[Candidate]], assembly: Assembly, *, max_bytes: int) -> Prepared:
    """Assemble the Markdown text of at most `max_bytes` UTF-8 bytes, or none where no item can be placed."""
    shows_confidence = "confidence" in assembly.show
    shows_rank = "recall_rank" in assembly.show
    blocks: list[bytes] = [text.HEADER]
    origins: list[Citation] = []
    room = max_bytes - len(text.HEADER) - len(text.END_MARKER)
    for section in assembly.sections:
        placed = 0
        for ranked in rank(candidates.get(section.family, ())):
            if placed == section.limit:
                break
            heading = text.item_heading(section.family, placed + 1)
            if placed == 0:
                heading = text.section_heading(section.family) + heading
            item = _render(
                heading, ranked, room, confidence=shows_confidence, recall_rank=ranked.rank if shows_rank else None
            )
            if item is not None:
                blocks.append(item)
                origins.append(ranked.candidate.citation)
                room -= len(item)
                placed += 1
    if not origins:
        return Prepared(None)
    return Prepared((b"".join(blocks) + text.END_MARKER).decode(), tuple(origins))


def _render(heading: bytes, ranked: Ranked, room: int, *, confidence: bool, recall_rank: int | None) -> bytes | None:
    """Return an item with its headings and the blank lines after each block, whole or cut, or None."""
    candidate = ranked.candidate
    body = text.display(candidate.body)
    if candidate.whole and body.fits_whole:
        metadata = text.metadata_block(
            candidate.citation, confidence=confidence, recall_rank=recall_rank, truncated=False
        )
        item = heading + metadata + b"\n\n" + text.body_block(body.data) + b"\n\n"
        if len(item) <= room:
            return item
    metadata = text.metadata_block(candidate.citation, confidence=confidence, recall_rank=recall_rank, truncated=True)
    start = heading + metadata + b"\n\n"
    cut = body.cut(room - len(start) - len(b"\n\n"))
    return None if cut is None else start + text.body_block(cut) + b"\n\n"
