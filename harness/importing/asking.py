"""One exchange of a report, taken apart: what was asked, what came, and which items were delivered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.check.display import MIN_CUT_BYTES
from harness.importing.answers import Told, read_answer
from harness.importing.bodies import UNREPORTED
from harness.importing.exchange import Exchange
from harness.importing.history import History, told
from harness.importing.items import Found, found_items
from harness.importing.requests import asked_of, request_of
from runtime.artifacts import MAX_ID_CHARACTERS, MEMORY

QUERY = "contract tests"
"""What is asked where the report does not tell."""
_PLACEHOLDER = b'{"scope_id": "demo", "query": "%s", "assembly": {}}' % QUERY.encode()
_FILLER = UNREPORTED * 2100
_ROOM_OF_A_CUT = 2 * MIN_CUT_BYTES
"""Bytes; with more of them left a long body would have been cut and not left out."""


@dataclass
class Asking:
    """One exchange, taken apart."""

    exchange: Exchange
    body: bytes
    value: Any
    told: Told
    items: list[Found]
    broken: str | None
    is_right: bool

    @property
    def is_placeholder(self) -> bool:
        """Whether the report does not hold the request."""
        return self.exchange.body is None

    @property
    def scope_id(self) -> str | None:
        """The Scope that is asked for, None where the request names none that can be."""
        named = self.value.get("scope_id") if isinstance(self.value, dict) else None
        return named if isinstance(named, str) and named.strip() and len(named) <= MAX_ID_CHARACTERS else None

    @property
    def query(self) -> str:
        """The query, as far as there is one."""
        query = self.value.get("query") if isinstance(self.value, dict) else None
        return query if isinstance(query, str) else QUERY

    @property
    def is_nobody(self) -> bool:
        """Whether no token was shown, and that was what the answer is about."""
        return self.exchange.caller is None and self.told.status == 401


def take_apart(exchange: Exchange, is_right: bool) -> Asking:
    """Read an exchange's request and answer."""
    body = _PLACEHOLDER if exchange.body is None else exchange.body
    value, answer = request_of(body), read_answer(exchange)
    asked = asked_of(value)
    scope_id = value.get("scope_id") if isinstance(value, dict) else ""
    items, broken = found_items(
        answer, scope_id=scope_id if isinstance(scope_id, str) else "", max_bytes=asked.max_bytes if asked else 8000
    )
    return Asking(exchange, body, value, answer, items, broken, is_right)


def skipped(asking: Asking, history: History) -> Iterator[Found]:
    """Yield a guess for each Memory candidate that the shown ranks leave out: it was too long for what was left.

    Where there was room enough for it, the ranks themselves are what is wrong, and nothing is made up.
    """
    asked = asked_of(asking.value)
    ranked = [found for found in asking.items if found.family == MEMORY and found.rank is not None and found.entry]
    if asked is None or asking.told.content is None:
        return
    room = asked.max_bytes - len(asking.told.content.encode("utf-8", "replace"))
    previous = 0
    for found in ranked:
        assert found.rank is not None
        assert found.entry is not None
        fitted = room + len(found.fields["text"].encode("utf-8", "replace"))
        for _ in range(min(found.rank - previous - 1, 16) if fitted < _ROOM_OF_A_CUT else 0):
            known = history.entry_ids(found.scope_id)
            entry = _before(found.entry[0], known)
            guess = f"a candidate of rank {found.rank - 1} was not delivered; this one is too long for what was left"
            yield Found(
                found.scope_id,
                MEMORY,
                found.artifact_id,
                found.revision,
                (entry, f"{entry}-v1"),
                {"text": found.fields["text"].rstrip(UNREPORTED) + _FILLER},
                (guess,),
                True,
                None,
                None,
            )
        previous = found.rank


def _before(entry: str, known: set[str]) -> str:
    """Return an id that nobody has and that sorts right before another."""
    stem, last = entry[:-1], ord(entry[-1])
    start = stem + chr(last - 1) if chr(last - 1).isalnum() else stem
    return next(name for count in range(1, 100) if (name := f"{start}{'z' * count}") not in known)


def came(asking: Asking) -> str:
    """Return an answer in a line, ids marked."""
    told_ = asking.told
    if asking.exchange.answer is None and told_.status is None:
        return "nothing is reported of the answer"
    parts = [str(told_.status) if told_.status is not None else "an unknown status"]
    parts += [part for part in (told_.verdict, told_.code) if part]
    size = len((told_.content or "").encode("utf-8", "replace"))
    words = " ".join(parts) + (f", {size} bytes" if told_.content is not None and told_.is_whole else "")
    if told_.content_bytes is not None and told_.content is not None and told_.content_bytes != size:
        words += f" (content_bytes says {told_.content_bytes})"
    shown = [
        (f"{told(found.scope_id)}/" if found.scope_id != asking.scope_id else "")
        + (
            f"{told(found.entry[0])}@{told(found.entry[1])}"
            if found.entry
            else f"{told(found.artifact_id)}#{found.revision}"
        )
        + (" cut" if found.is_cut else "")
        for found in asking.items
    ]
    return words + (f": {', '.join(shown)}" if shown else "")
