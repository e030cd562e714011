"""Selection, text and budget of the older output (SPEC.md 7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from harness.check.display import ELLIPSIS, MAX_BODY_BYTES, MIN_CUT_BYTES, older_json
from harness.check.oracle.order import Candidates, CannotKnow, Offer, Order
from harness.check.parts import OLDER_END, OLDER_HEAD
from harness.check.request import Asked
from harness.target.base import Style
from runtime.artifacts import EXPERIENCE, MEMORY, TOPIC_MEMORY, Address, Citation, EntryAddress

MOST_ITEMS = 8
MOST_EXPERIENCES = 2
_ELLIPSIS_BYTES = len(ELLIPSIS.encode("utf-8"))


def build_older(asked: Asked, order: Order, *, style: Style = "in-tree") -> tuple[bytes | None, tuple[Citation, ...]]:
    """Return the older output that a request gets and its origins; None where nothing fits. Raises CannotKnow."""
    form = Form(asked, raw=style == "1.0-1.2")
    items: list[Any] = []
    origins: list[Citation] = []
    for offer in alternating(order):
        if len(items) == MOST_ITEMS:
            break
        if offer.older is None:
            raise CannotKnow(f"what {offer.citation} holds")
        item = form.attempt(items, offer.citation, offer.older).item
        if item is not None:
            items.append(item)
            origins.append(offer.citation)
    return (form.encoded(items) if items else None), tuple(origins)


def alternating(order: Order) -> Iterator[Offer]:
    """Yield one candidate of each family in turn; of Experience only the first two take part."""
    for place in count():
        left = False
        for family in (MEMORY, TOPIC_MEMORY, EXPERIENCE):
            if family == EXPERIENCE and place >= MOST_EXPERIENCES:
                continue
            offer = order.get(family, Candidates()).at(place)
            if offer is not None:
                left = True
                yield offer
        if not left:
            return


@dataclass(frozen=True, slots=True)
class OlderAttempt:
    """How one candidate was tried: the item or None, and numbers in bytes as those of the Markdown form's Attempt."""

    item: dict[str, Any] | None
    whole: int | None
    around: int | None = None
    cut: int | None = None


class Form:
    """How one request's items are written and measured."""

    def __init__(self, asked: Asked, *, raw: bool) -> None:
        self._asked = asked
        self._raw = raw

    def encoded(self, items: list[Any]) -> bytes:
        """Return the whole output with these items."""
        value = {"trust": "untrusted_history", "items": items}
        return OLDER_HEAD + self._json(value) + b"\n" + OLDER_END

    def attempt(self, items: list[Any], citation: Citation, content: str) -> OlderAttempt:
        """Try to place one more item, whole or cut."""
        stored = len(content.encode("utf-8"))
        size = None
        if stored <= MAX_BODY_BYTES:
            whole = self._item(citation, content, truncated=False)
            size = len(self.encoded([*items, whole]))
            if size <= self._asked.max_bytes:
                return OlderAttempt(whole, size)
        # Each code point adds its own bytes and nothing else; so one written output is enough for all cuts.
        around = len(self.encoded([*items, self._item(citation, ELLIPSIS, truncated=True)]))
        used = around
        most = min(MAX_BODY_BYTES, stored - 1)
        best, cut_bytes = 0, _ELLIPSIS_BYTES
        for length, character in enumerate(content, start=1):
            cut_bytes += len(character.encode("utf-8"))
            used += len(self._json(character)) - 2
            if cut_bytes > most or used > self._asked.max_bytes:
                break
            best = length
        cut = content[:best] + ELLIPSIS
        item = self._item(citation, cut, truncated=True)
        shown = len(cut.encode("utf-8"))
        fits = shown >= MIN_CUT_BYTES and len(self.encoded([*items, item])) <= self._asked.max_bytes
        return OlderAttempt(item if fits else None, size, around - _ELLIPSIS_BYTES, shown)

    def _json(self, value: Any) -> bytes:
        return older_json(value, raw_line_characters=self._raw).encode("utf-8")

    def _item(self, citation: Citation, content: str, *, truncated: bool) -> dict[str, Any]:
        artifact = citation.memory if isinstance(citation, EntryAddress) else citation
        item = {"citation": self._citation(citation, artifact), "content": content, "truncated": truncated}
        return item if artifact.family == MEMORY else {**item, "kind": artifact.family}

    def _citation(self, citation: Citation, artifact: Address) -> dict[str, Any]:
        written: dict[str, Any] = {
            "family": artifact.family,
            "artifact_id": artifact.artifact_id,
            "revision": artifact.revision,
        }
        referenced = artifact.scope_id != self._asked.scope_id
        if referenced:
            written = {"scope_id": artifact.scope_id, "artifact": written}
        if isinstance(citation, EntryAddress):
            entry = {"entry_id": citation.entry_id, "entry_version_id": citation.entry_version_id}
            return {"memory" if referenced else "memory_ref": written, **entry}
        return {"artifact" if referenced else "artifact_ref": written}
