"""The older output: what a request without `assembly` gets (SPEC.md 7)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any

from runtime import text
from runtime.artifacts import EXPERIENCE, MEMORY, TOPIC_MEMORY, Address, Citation, EntryAddress, Family
from runtime.builder import Candidate, Prepared

MAX_ITEMS = 8
MAX_EXPERIENCES = 2
FAMILIES: tuple[Family, ...] = (MEMORY, TOPIC_MEMORY, EXPERIENCE)
"""The families of the older output, in the order in which they alternate."""

_START = f"{text.NOTICE}\n\nBEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1\n".encode()
_OPENING = b'{"trust":"untrusted_history","items":['
_CLOSING = b"]}"
_END = b"\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1"
_LINE_CHARACTERS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def build(candidates: Mapping[Family, Sequence[Candidate]], *, scope_id: str, max_bytes: int) -> Prepared:
    """Assemble the JSON form of at most `max_bytes` UTF-8 bytes; `scope_id` is the current Scope."""
    items: list[bytes] = []
    origins: list[Citation] = []
    room = max_bytes - len(_START) - len(_OPENING) - len(_CLOSING) - len(_END)
    for candidate in _alternate(candidates):
        if len(items) == MAX_ITEMS:
            break
        item = _fit(candidate, scope_id, room - (1 if items else 0))
        if item is not None:
            room -= len(item) + (1 if items else 0)
            items.append(item)
            origins.append(candidate.citation)
    if not items:
        return Prepared(None)
    content = _START + _OPENING + b",".join(items) + _CLOSING + _END
    return Prepared(content.decode(), tuple(origins))


def _alternate(candidates: Mapping[Family, Sequence[Candidate]]) -> Iterable[Candidate]:
    """Take one candidate of each family in turn."""
    lists = [candidates.get(family, ())[: MAX_EXPERIENCES if family == EXPERIENCE else None] for family in FAMILIES]
    return (candidate for turn in zip_longest(*lists) for candidate in turn if candidate is not None)


def _fit(candidate: Candidate, scope_id: str, room: int) -> bytes | None:
    if candidate.size <= text.MAX_BODY_BYTES:
        item = _item(candidate, candidate.body, scope_id, truncated=False)
        if len(item) <= room:
            return item
    room -= len(_item(candidate, "", scope_id, truncated=True))
    cut = _longest_cut(candidate, room)
    return None if cut is None else _item(candidate, cut, scope_id, truncated=True)


def _longest_cut(candidate: Candidate, room: int) -> str | None:
    """Return the longest cut, ellipsis included, within its own limit and within `room` bytes of JSON."""
    ellipsis = len(text.ELLIPSIS)
    limit = min(text.MAX_BODY_BYTES, candidate.size - 1) - ellipsis
    source = candidate.body[: text.MAX_BODY_BYTES]
    plain = list(accumulate(len(character.encode()) for character in source))
    encoded = list(accumulate(map(_json_width, source)))
    end = min(bisect_right(plain, limit), bisect_right(encoded, room - ellipsis))
    if end == 0 or plain[end - 1] + ellipsis < text.MIN_CUT_BYTES:
        return None
    return source[:end] + "…"


def _item(candidate: Candidate, content: str, scope_id: str, *, truncated: bool) -> bytes:
    citation = candidate.citation
    address = citation.memory if isinstance(citation, EntryAddress) else citation
    value: dict[str, Any] = {
        "citation": _citation(citation, local=address.scope_id == scope_id),
        "content": content,
        "truncated": truncated,
    }
    if address.family != MEMORY:
        value["kind"] = address.family
    return _json(value)


def _citation(citation: Citation, *, local: bool) -> dict[str, Any]:
    if isinstance(citation, EntryAddress):
        key, value = ("memory_ref", _reference(citation.memory)) if local else ("memory", _scoped(citation.memory))
        return {key: value, "entry_id": citation.entry_id, "entry_version_id": citation.entry_version_id}
    return {"artifact_ref": _reference(citation)} if local else {"artifact": _scoped(citation)}


def _reference(address: Address) -> dict[str, Any]:
    return {"family": address.family, "artifact_id": address.artifact_id, "revision": address.revision}


def _scoped(address: Address) -> dict[str, Any]:
    return {"scope_id": address.scope_id, "artifact": _reference(address)}


@lru_cache(maxsize=8192)
def _json_width(character: str) -> int:
    return len(_json(character)) - len(b'""')


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_LINE_CHARACTERS).encode()
