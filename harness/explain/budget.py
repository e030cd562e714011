"""What each candidate costs of a budget, by the oracle's own builders (SPEC.md 5 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.check.display import MAX_BODY_BYTES, MIN_CUT_BYTES, older_json
from harness.check.oracle.build_markdown import Attempt, Placed, Text, attempt, metadata
from harness.check.oracle.build_older import MOST_ITEMS, Form, OlderAttempt, alternating
from harness.check.oracle.order import Candidates, Offer
from harness.check.parts import END, HEAD, TITLES
from harness.check.request import Asked
from harness.explain.names import Named
from runtime.artifacts import Citation, EntryAddress, Family

_BLANK_LINE = 2
"""What ends each block of the text."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One candidate that was tried: what it is, how it went, and its bytes.

    `number` is its place in the section, None where it is skipped. The bytes are those of the text that it adds, blank
    lines behind each part included: `section` is the section's heading where it becomes necessary. Of the older output
    `section` is the comma, `heading` nothing, `metadata` all of the item's JSON but its content. `total` is the whole
    text's size afterwards, `why` says in words why it is placed like this, or not at all.
    """

    title: str
    name: str
    citation: Citation
    rank: int
    number: int | None
    truncated: bool
    section: int
    heading: int
    metadata: int
    body: int
    total: int
    why: str


def markdown_costs(asked: Asked, offers: Mapping[Family, Sequence[Offer]], named: Named) -> tuple[int, list[Cost]]:
    """Return the bytes of the empty frame, and what every candidate that was tried comes to."""
    text = Text(asked.show, asked.max_bytes)
    costs: list[Cost] = []
    for family, limit in asked.sections or ():
        number = 1
        for rank, offer in enumerate(offers.get(family, ()), start=1):
            if number > limit:
                break
            tried = attempt(text, TITLES[family], offer, number=number, rank=rank)
            costs.append(_markdown_cost(asked, text, tried, TITLES[family], offer, number, rank, named))
            if tried.longer is not None:
                text, number = tried.longer, number + 1
    return len(HEAD) + len(END), costs


def _markdown_cost(
    asked: Asked, text: Text, tried: Attempt, title: str, offer: Offer, number: int, rank: int, named: Named
) -> Cost:
    is_new = not text.sections or text.sections[-1][0] != title
    section = len(f"## {title}") + _BLANK_LINE if is_new else 0
    heading = len(f"### {title} {number}") + _BLANK_LINE
    before = len(text.encoded()) if text.sections else len(HEAD) + len(END)
    item = tried.longer.items[-1] if tried.longer is not None else None
    about = item or Placed(offer.citation, number, rank, "", truncated=tried.whole is None)
    described = len(metadata(about, asked.show).encode()) + _BLANK_LINE
    total = before if tried.longer is None else len(tried.longer.encoded())
    if item is not None:
        body = total - before - section - heading - described
        why = "whole" if not item.truncated else _cut(tried.whole, tried.cut, asked.max_bytes, total)
    else:
        # What it would have taken, whole where that is legal.
        whole = tried.whole if tried.whole is not None else (tried.around or 0) + MAX_BODY_BYTES
        body = whole - before - section - heading - described
        why = _skipped(tried.whole, tried.around, tried.cut, asked.max_bytes)
    return Cost(
        title=title,
        name=named.item(offer.citation, current=asked.scope_id),
        citation=offer.citation,
        rank=rank,
        number=None if item is None else number,
        truncated=item is not None and item.truncated,
        section=section,
        heading=heading,
        metadata=described,
        body=body,
        total=total,
        why=why,
    )


def older_costs(asked: Asked, offers: Mapping[Family, Sequence[Offer]], named: Named) -> tuple[int, list[Cost]]:
    """Return the bytes of the frame without an item, and what every candidate that was tried comes to."""
    form = Form(asked, raw=False)
    order = {family: Candidates(tuple(some)) for family, some in offers.items()}
    items: list[Any] = []
    costs: list[Cost] = []
    for offer in alternating(order):
        if len(items) == MOST_ITEMS:
            break
        assert offer.older is not None
        tried = form.attempt(items, offer.citation, offer.older)
        costs.append(_older_cost(asked, form, items, tried, offer, named, _rank(offers, offer)))
        if tried.item is not None:
            items.append(tried.item)
    return len(form.encoded([])), costs


def _older_cost(
    asked: Asked, form: Form, items: list[Any], tried: OlderAttempt, offer: Offer, named: Named, rank: int
) -> Cost:
    before = len(form.encoded(items))
    comma = 1 if items else 0
    total = before if tried.item is None else len(form.encoded([*items, tried.item]))
    if tried.item is not None:
        is_cut = bool(tried.item["truncated"])
        body = len(older_json(tried.item["content"]).encode()) - 2
        described = total - before - comma - body
        why = "whole" if not is_cut else _cut(tried.whole, tried.cut, asked.max_bytes, total)
    else:
        is_cut = False
        described = (tried.around or before) - before - comma
        whole = tried.whole if tried.whole is not None else (tried.around or 0) + MAX_BODY_BYTES
        body = whole - before - comma - described
        why = _skipped(tried.whole, tried.around, tried.cut, asked.max_bytes)
    artifact = offer.citation.memory if isinstance(offer.citation, EntryAddress) else offer.citation
    return Cost(
        title=TITLES[artifact.family],
        name=named.item(offer.citation, current=asked.scope_id),
        citation=offer.citation,
        rank=rank,
        number=None if tried.item is None else len(items) + 1,
        truncated=is_cut,
        section=comma,
        heading=0,
        metadata=described,
        body=body,
        total=total,
        why=why,
    )


def _rank(offers: Mapping[Family, Sequence[Offer]], offer: Offer) -> int:
    return next(rank for some in offers.values() for rank, one in enumerate(some, start=1) if one is offer)


def _cut(whole: int | None, cut: int | None, max_bytes: int, total: int) -> str:
    unused = max_bytes - total
    if whole is None:
        reason = f"the body has over {MAX_BODY_BYTES} bytes"
    else:
        reason = f"whole it would make {whole}, {whole - max_bytes} over the budget"
    left = f", {unused} unused" if whole is not None and unused else ""
    return f"cut to {cut} bytes: {reason}{left}"


def _skipped(whole: int | None, around: int | None, cut: int | None, max_bytes: int) -> str:
    """Say what did not fit; `around` is the text with an empty body, cut."""
    parts = [
        f"the body has over {MAX_BODY_BYTES} bytes"
        if whole is None
        else f"whole it would make {whole}, {whole - max_bytes} over the budget"
    ]
    if around is not None and around > max_bytes:
        parts.append(f"without any body it would make {around}, {around - max_bytes} over")
    elif around is not None:
        room = max_bytes - around
        parts.append(f"the longest cut has {cut} bytes of {room} that are left, and {MIN_CUT_BYTES} are the least")
    return "skipped: " + "; ".join(parts)
