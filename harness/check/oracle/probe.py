"""The order of the candidates as far as probe requests show it: for targets whose search is not known.

A probe asks for one family alone, with the largest budget, the largest limit and the ranks shown. What it delivers is
known; what it skips for want of room, and what comes behind its limit, is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.check.bodies import SNIPPET_LABEL, topic_head
from harness.check.delivered import Delivered, DeliveredItem, Malformed, read_delivered
from harness.check.display import LINE_PREFIX, MAX_BODY_BYTES, is_blank
from harness.check.oracle.build_markdown import Placed, metadata
from harness.check.oracle.order import (
    Candidates,
    Offer,
    Order,
    Undetermined,
    active_entries,
    beginning,
    topic_offer,
)
from harness.check.parts import TITLES
from harness.check.request import Asked
from harness.check.world import World
from harness.target.base import Answer
from runtime.artifacts import FAMILIES, MEMORY, TOPIC_MEMORY, Citation, EntryAddress, Family, Topic

PROBE_BYTES = 32768
PROBE_LIMITS: dict[Family, int] = {"memory": 8, "experience": 2, "profile": 8, "topic-memory": 8}
_MOST_PROFILES = 33
_POOLS: dict[Family, int] = {"memory": 16, "experience": 8, "profile": _MOST_PROFILES, "topic-memory": 8}
_LARGEST_BODY_BYTES = (MAX_BODY_BYTES + 1) * (1 + len(LINE_PREFIX))
"""No displayed body takes more room: 2000 line breaks and the prefixes of 2001 lines."""
_SHOW = frozenset(("recall_rank",))

Bodies = Callable[[DeliveredItem], list[str]]
"""Returns every original body that may stand behind a delivered item."""


def probe_requests(asked: Asked, *, max_entries: int = 8) -> dict[Family, dict[str, Any]]:
    """Return the probe request for each family that a request selects, `scope_id` and `query` being the same."""
    return {
        family: {
            "scope_id": asked.scope_id,
            "query": asked.query,
            "max_bytes": PROBE_BYTES,
            "assembly": {
                "sections": [{"family": family, "limit": min(PROBE_LIMITS[family], max_entries)}],
                "show": ["recall_rank"],
            },
        }
        for family in FAMILIES
        if family in asked.families
    }


def candidate_order_from_probe(
    world: World,
    asked: Asked,
    answers: Mapping[Family, Answer],
    *,
    max_entries: int = 8,
    bodies: Bodies | None = None,
) -> Order:
    """Return each family's candidates as far as the answers to `probe_requests` show them.

    `bodies` says what a delivered item may stand for, where the World does not hold it under its citation.
    """
    bodies = bodies or (lambda item: stored_bodies(world, item))
    order: dict[Family, Candidates] = {}
    for family in FAMILIES:
        if family not in asked.families:
            continue
        answer = answers.get(family)
        if answer is None or answer.status != 200:
            order[family] = Candidates(more=Undetermined(f"the probe of {family} was not answered"))
            continue
        delivered: Delivered | Malformed | None = None
        if answer.content is not None:
            try:
                delivered = read_delivered(answer.content, scope_id=asked.scope_id)
            except Malformed as malformed:
                delivered = malformed
        if isinstance(delivered, Malformed):
            order[family] = Candidates(more=Undetermined(f"the probe of {family} is malformed: {delivered}"))
            continue
        items = delivered.items if delivered else ()
        limit = min(PROBE_LIMITS[family], max_entries)
        size = len(answer.content.encode("utf-8")) if answer.content is not None else 0
        order[family] = _candidates(world, asked, family, items, limit=limit, size=size, bodies=bodies)
    return order


def stored_bodies(world: World, item: DeliveredItem) -> list[str]:
    """Return every body of the World that a delivered item may show."""
    return world.bodies(item.citation, delivered=item.uncut_text, truncated=item.truncated)


def _candidates(
    world: World,
    asked: Asked,
    family: Family,
    items: tuple[DeliveredItem, ...],
    *,
    limit: int,
    size: int,
    bodies: Bodies,
) -> Candidates:
    offers: list[Offer | Undetermined] = []
    if asked.sections is None and any(_is_blank(world, citation) for citation, _ in _possible(world, asked, family)):
        return Candidates(more=Undetermined(f"a blank {family}, which no probe shows, may be in the older output"))
    for item in items:
        rank = item.recall_rank
        if rank is None or rank <= len(offers):
            return Candidates(tuple(offers), Undetermined(f"the probe of {family} shows no rising ranks"))
        while len(offers) < rank - 1:
            offers.append(Undetermined(f"{family} of rank {len(offers) + 1} does not fit into the probe"))
        offers.append(_offer(world, item, bodies(item)))
    if len(offers) >= _POOLS[family]:
        return Candidates(tuple(offers))
    if len(items) >= limit:
        reason = f"{family} of rank {len(offers) + 1} lies behind the probe's limit of {limit}"
        return Candidates(tuple(offers), Undetermined(reason))
    delivered = {item.citation for item in items}
    for citation, room in _possible(world, asked, family):
        if citation not in delivered and size + room > PROBE_BYTES:
            reason = f"{family} of rank {len(offers) + 1} may not have fitted into the probe"
            return Candidates(tuple(offers), Undetermined(reason))
    return Candidates(tuple(offers))


def _offer(world: World, item: DeliveredItem, possible: list[str]) -> Offer | Undetermined:
    """Return a delivered item as a candidate: its original where all possible ones show alike."""
    beginnings = {beginning(body) for body in possible}
    body = possible[0] if len(beginnings) == 1 else None
    if body is None and item.truncated:
        return Undetermined(f"which text {item.citation} shows")
    unknown = Offer(item.citation, body, None, shown=item.body_text)
    if item.address.family != TOPIC_MEMORY:
        return unknown if body is None else Offer(item.citation, body, body)
    topic = world.document(item.address)
    # Equal beginnings do not make equal JSON: there the cut comes later, since title and summary stand unescaped.
    if len(possible) != 1 or not isinstance(topic, Topic):
        return unknown
    snippet = possible[0].removeprefix(topic_head(topic) + SNIPPET_LABEL)
    return topic_offer(item.citation, topic, None if snippet == possible[0] else snippet)


def _possible(world: World, asked: Asked, family: Family) -> Iterator[tuple[Citation, int]]:
    """Yield all that could be a candidate of a family, and the most bytes that it adds to a text."""
    references = () if family == TOPIC_MEMORY else world.references.get(asked.scope_id, ())
    for scope_id in (asked.scope_id, *references):
        cited: list[Citation] = [*world.heads(scope_id, family)]
        if family == MEMORY:
            cited = [citation for citation, _ in active_entries(world, scope_id)]
        for citation in cited:
            yield citation, _most_room(citation, family)


def _is_blank(world: World, citation: Citation) -> bool:
    return isinstance(citation, EntryAddress) and is_blank(world.body(citation) or "")


def _most_room(citation: Citation, family: Family) -> int:
    """Return the most bytes that an item with this citation adds, its section's heading and the frame included."""
    item = Placed(citation, number=8, rank=_MOST_PROFILES, shown="", truncated=True)
    frame = 700
    headings = 2 * len(f"### {TITLES[family]} 8\n\n".encode())
    return frame + headings + len(metadata(item, _SHOW).encode()) + 2 + _LARGEST_BODY_BYTES + 2
