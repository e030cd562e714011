"""The items of a reported text, read by the strict reader, and by a lenient one where a wrong build broke the frame."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.check.delivered import Delivered, read_delivered
from harness.check.display import ELLIPSIS, LINE_PREFIX, MAX_BODY_BYTES
from harness.check.parts import DeliveredItem, Malformed
from harness.importing.answers import Told
from harness.importing.bodies import Fields, stored
from runtime.artifacts import EntryAddress

ATOMIC_MEMORY = "atomic-memory"
"""The family of releases since 1.3 that an Entry is an Artifact of."""

_STRING = r'("(?:[^"\\]|\\.)*")'
_METADATA = re.compile(
    r" *Scope: " + _STRING + r"\s*\n *Artifact: family=" + _STRING + r", id=" + _STRING + r", revision=(\d{1,18})"
    r"(?:\s*\n *Entry: id=" + _STRING + r", version=" + _STRING + r")?"
)
_RANK = re.compile(r" *Recall rank: (\d{1,8})")


@dataclass(frozen=True, slots=True)
class Found:
    """An item of a reported answer: what it cites, and what was probably stored of it."""

    scope_id: str
    family: str
    artifact_id: str
    revision: int
    entry: tuple[str, str] | None
    """An Entry's id and version; of an atomic Memory None."""
    fields: Fields
    guesses: tuple[str, ...]
    is_cut: bool
    rank: int | None
    is_referenced: bool | None

    @property
    def name(self) -> tuple[bool, str]:
        """What a scenario calls it beside its Scope: an Entry's id (True), or an Artifact's."""
        is_entry = self.entry is not None or self.family == ATOMIC_MEMORY
        return is_entry, self.entry[0] if self.entry is not None else self.artifact_id


def found_items(told: Told, *, scope_id: str, max_bytes: int) -> tuple[list[Found], str | None]:
    """Return the items of an answer, and how its text leaves the fixed frame, None where it does not."""
    if told.content is None:
        return [], None
    try:
        delivered = read_delivered(told.content, scope_id=scope_id)
    except Malformed as problem:
        return list(_lenient(told.content)), str(problem)
    size = len(told.content.encode("utf-8"))
    return [_found(item, delivered, max_bytes - size) for item in delivered.items], None


def _found(item: DeliveredItem, delivered: Delivered, left: int) -> Found:
    address, is_older = item.address, delivered.form == "older"
    entry = (
        (item.citation.entry_id, item.citation.entry_version_id) if isinstance(item.citation, EntryAddress) else None
    )
    # A cut body ends where the text is full or where the body is; what binds it is the smaller room.
    spare = min(left, MAX_BODY_BYTES - len(item.body_text.encode("utf-8"))) if item.truncated else 0
    whole = stored(address.family, item.body_text, is_older=is_older, is_cut=item.truncated, spare=spare)
    return Found(
        address.scope_id,
        address.family,
        address.artifact_id,
        address.revision,
        entry,
        whole.fields,
        whole.guesses,
        item.truncated,
        item.recall_rank,
        item.referenced,
    )


def _lenient(content: str) -> Iterator[Found]:
    """Yield what looks like an item of the Markdown form, whatever stands around it."""
    found = list(_METADATA.finditer(content))
    ends = [*(one.start() for one in found[1:]), len(content)][: len(found)]
    for match, following in zip(found, ends, strict=True):
        try:
            scope_id, family, artifact_id, *entry = (
                json.loads(match[group]) for group in (1, 2, 3, 5, 6) if match[group] is not None
            )
        except ValueError:
            continue
        rest = content[match.end() : following]
        lines = [line for line in rest.split("\n") if line.startswith((LINE_PREFIX, ">"))]
        body = "\n".join(line.removeprefix(">").removeprefix(LINE_PREFIX[1:]) for line in lines)
        is_cut = "Truncated: yes" in rest or body.endswith(ELLIPSIS) or not lines
        whole = stored(family, body, is_older=False, is_cut=is_cut, spare=0)
        rank = _RANK.search(rest)
        yield Found(
            scope_id,
            family,
            artifact_id,
            max(1, int(match[4])),
            (entry[0], entry[1]) if len(entry) == 2 else None,
            whole.fields,
            whole.guesses,
            is_cut,
            int(rank[1]) if rank else None,
            None,
        )
