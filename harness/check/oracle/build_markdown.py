"""Selection, text and budget of the Markdown form, by trying every legal cut (SPEC.md 3.5-3.8, 4 and 5)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from harness.check.display import ELLIPSIS, LINE_PREFIX, MAX_BODY_BYTES, MIN_CUT_BYTES, quoted
from harness.check.oracle.order import Candidates, CannotKnow, Offer, Order
from harness.check.parts import END, HEAD, TITLES
from harness.check.request import Asked
from runtime.artifacts import Citation, EntryAddress

_PREFIX_BYTES = len(LINE_PREFIX)
_ELLIPSIS_BYTES = len(ELLIPSIS.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class Placed:
    """One item in the text: its place in the section from 1, its rank, and what is shown of its body."""

    citation: Citation
    number: int
    rank: int
    shown: str
    truncated: bool


@dataclass
class Text:
    """A prepared text that grows: sections by title, with their items."""

    show: frozenset[str]
    max_bytes: int
    sections: list[tuple[str, list[Placed]]] = field(default_factory=list)

    @property
    def items(self) -> list[Placed]:
        """All items, in the order of the text."""
        return [item for _, items in self.sections for item in items]

    def encoded(self) -> bytes:
        """Return the text's bytes (SPEC.md 4)."""
        blocks: list[str] = []
        for title, items in self.sections:
            blocks.append(f"## {title}")
            for item in items:
                blocks += [f"### {title} {item.number}", metadata(item, self.show), quoted(item.shown)]
        return HEAD + "\n\n".join(blocks).encode("utf-8") + b"\n\n" + END

    def with_item(self, title: str, item: Placed) -> Text:
        """Return the text with one more item, below a new heading where the last section has another title."""
        sections = [(name, list(items)) for name, items in self.sections]
        if not sections or sections[-1][0] != title:
            sections.append((title, []))
        sections[-1][1].append(item)
        return replace(self, sections=sections)


def metadata(item: Placed, show: frozenset[str]) -> str:
    """Return the indented lines of an item's metadata."""
    citation = item.citation
    artifact = citation.memory if isinstance(citation, EntryAddress) else citation
    lines = [
        f"Scope: {json.dumps(artifact.scope_id)}",
        f"Artifact: family={json.dumps(artifact.family)}, id={json.dumps(artifact.artifact_id)}, "
        f"revision={artifact.revision}",
    ]
    if isinstance(citation, EntryAddress):
        lines.append(f"Entry: id={json.dumps(citation.entry_id)}, version={json.dumps(citation.entry_version_id)}")
    if "confidence" in show:
        lines.append("Confidence: unknown (not assessed)")
    if "recall_rank" in show:
        lines.append(f"Recall rank: {item.rank}")
    lines.append(f"Truncated: {'yes' if item.truncated else 'no'}")
    return "\n".join("    " + line for line in lines)


def build_markdown(asked: Asked, order: Order) -> tuple[bytes | None, tuple[Citation, ...]]:
    """Return the text that a request gets and its origins; None where nothing is placed. Raises CannotKnow."""
    text = Text(asked.show, asked.max_bytes)
    for family, limit in asked.sections or ():
        text = _fill(text, TITLES[family], order.get(family, Candidates()), limit)
    items = text.items
    return (text.encoded() if items else None), tuple(item.citation for item in items)


def _fill(text: Text, title: str, candidates: Candidates, limit: int) -> Text:
    number, place = 1, 0
    while number <= limit and (offer := candidates.at(place)) is not None:
        place += 1
        longer = placed(text, title, offer, number=number, rank=place)
        if longer is not None:
            text, number = longer, number + 1
    return text


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one candidate was tried (SPEC.md 5), all numbers in bytes.

    `longer` is the text with it, None where it must be skipped. `whole` is what the text would have with the whole
    body, None where the body is over 2000; `around` what it would have with an empty body, cut, and `cut` the longest
    body with its ellipsis that fits, both None where the whole body fits.
    """

    longer: Text | None
    whole: int | None
    around: int | None = None
    cut: int | None = None


def placed(text: Text, title: str, offer: Offer, *, number: int, rank: int) -> Text | None:
    """Return the text with one more item, whole or cut, or None where it must be skipped (SPEC.md 5)."""
    return attempt(text, title, offer, number=number, rank=rank).longer


def attempt(text: Text, title: str, offer: Offer, *, number: int, rank: int) -> Attempt:
    """Try to place one more item; raises CannotKnow."""

    def trial(shown: str, *, truncated: bool) -> Text:
        return text.with_item(title, Placed(offer.citation, number, rank, shown, truncated))

    beginning = offer.beginning()
    shown = offer.shown if beginning is None else "".join(beginning.parts) if beginning.whole else None
    whole = None
    if shown is not None and len(shown.encode("utf-8")) <= MAX_BODY_BYTES:
        longer = trial(shown, truncated=False)
        whole = len(longer.encoded())
        if whole <= text.max_bytes:
            return Attempt(longer, whole)
    if beginning is None:
        raise CannotKnow(f"where {offer.citation} may be cut")
    # Each part adds its own bytes and, if it is a line break, the next line's prefix; so one rendered text is enough.
    around = len(trial("", truncated=True).encoded())
    best, shown_bytes, text_bytes = 0, _ELLIPSIS_BYTES, around + _ELLIPSIS_BYTES
    for count, part in enumerate(beginning.parts, start=1):
        shown_bytes += len(part.encode("utf-8"))
        text_bytes += len(part.encode("utf-8")) + (_PREFIX_BYTES if part == "\n" else 0)
        if shown_bytes > MAX_BODY_BYTES or text_bytes > text.max_bytes:
            break
        best = count
    cut = "".join(beginning.parts[:best]) + ELLIPSIS
    size = len(cut.encode("utf-8"))
    if size < MIN_CUT_BYTES or around + _ELLIPSIS_BYTES > text.max_bytes:
        return Attempt(None, whole, around, size)
    longer = trial(cut, truncated=True)
    assert len(longer.encoded()) <= text.max_bytes
    return Attempt(longer, whole, around, size)
