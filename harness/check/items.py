"""What always holds of the sections and items of a prepared text, each rule a small function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.check.context import Prepared
from harness.check.delivered import Delivered, DeliveredItem
from harness.check.display import is_blank
from harness.check.failure import Failure, differs
from harness.check.fitting import judge_markdown_body, judge_older_body
from harness.check.parts import END, OLDER_END, TITLES
from harness.check.world import ATOMIC_MEMORY
from runtime.artifacts import MEMORY, MEMORY_ID, PROFILE, PROFILE_ID, EntryAddress

OLDER_LIMIT = 8
OLDER_EXPERIENCES = 2
POOLS = {"Memory": 16, "Experience": 8, "Topic Memory": 8, "Profile": 33}
"""How many candidates a section has at most: a Profile of the current Scope and of each of 32 references."""
_REST_OF_MARKDOWN = len(b"\n\n" + END)
_REST_OF_OLDER = len(b"}]}\n" + OLDER_END)


def check_section_order(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Sections come in the requested order, each once, and only of requested families."""
    asked = prepared.asked
    wanted = [TITLES[family] for family, _ in (asked.sections or ())] if asked else []
    got = [section.title for section in delivered.sections]
    if got != [title for title in wanted if title in got]:
        region = next((title for at, title in enumerate(got) if title not in wanted or title in got[:at]), got[0])
        yield differs("section-order", f"section {region}", "sections in the order", expected=wanted, got=got)


def check_numbers(_: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Items are numbered from 1 inside each section, without gaps."""
    for section in delivered.sections:
        for right, item in enumerate(section.items, start=1):
            if item.number != right:
                region = f'heading of "{section.title} {item.number}"'
                yield differs("numbering", region, "the number", expected=right, got=item.number)


def check_limits(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """No section holds more than its limit and the text no more than the total; the older output at most 8 items."""
    asked = prepared.asked
    if asked is None:
        return
    total = prepared.max_entries if asked.sections is not None else OLDER_LIMIT
    if len(delivered.items) > total:
        yield differs("limit", "response", "items in all at most", expected=total, got=len(delivered.items))
    limits = {TITLES[family]: limit for family, limit in asked.sections or ()}
    if asked.sections is None:
        limits = {"Experience": OLDER_EXPERIENCES}
    for section in delivered.sections:
        if len(section.items) > limits.get(section.title, len(section.items)):
            region, most = f"section {section.title}", limits[section.title]
            yield differs("limit", region, "items at most", expected=most, got=len(section.items))


def check_metadata(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """The lines `Confidence:` and `Recall rank:` stand in every item when asked for, and in none otherwise."""
    show = prepared.asked.show if prepared.asked else frozenset()
    for section in delivered.sections:
        for item in section.items:
            shown = {"confidence": item.confidence is not None, "recall_rank": item.recall_rank is not None}
            for name, is_shown in shown.items():
                if is_shown != (name in show):
                    yield differs(
                        "metadata",
                        f'metadata of "{section.title} {item.number}"',
                        name,
                        expected="shown" if name in show else "hidden",
                        got="shown" if is_shown else "hidden",
                    )


def check_ranks(_: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Ranks rise strictly inside a section, begin at 1 or later, and stay within the pool."""
    for section in delivered.sections:
        before = 0
        for item in section.items:
            if item.recall_rank is None:
                continue
            region = f'metadata of "{section.title} {item.number}"'
            most = POOLS[section.title]
            if not before < item.recall_rank <= most:
                expected = f"over {before} and at most {most}"
                yield differs("rank", region, "a recall rank", expected=expected, got=item.recall_rank)
            before = item.recall_rank


def check_citations(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Citations are unique, fit their section, name a Scope that is read, and what is stored there now."""
    for citation, times in Counter(item.citation for item in delivered.items).items():
        if times > 1:
            first = next(item for item in reversed(delivered.items) if item.citation == citation)
            region = region_of(delivered, first, "metadata")
            yield differs("duplicate", region, "each citation", expected="once", got=f"{times} times")
    for item in delivered.items:
        yield from _check_citation(prepared, item, region_of(delivered, item, "metadata"))


def _check_citation(prepared: Prepared, item: DeliveredItem, region: str) -> Iterator[Failure]:
    asked, world, address = prepared.asked, prepared.world, item.address
    if asked is None:
        return
    scopes = (asked.scope_id,) if address.family == "topic-memory" else prepared.scopes_read
    if item.scope_id not in scopes:
        expected = "the current one or a direct reference of it" if len(scopes) > 1 else "the current one"
        yield differs("scope", region, "a Scope:", expected=expected, got=repr(item.scope_id))
        return
    if not prepared.may_read(item.scope_id):
        yield differs("scope", region, "a Scope", expected="readable by the caller", got=repr(item.scope_id))
    if item.referenced is not None and item.referenced != (item.scope_id != asked.scope_id):
        expected = "the form of a referenced Scope" if not item.referenced else "the form of the current Scope"
        yield differs("citation", region, "a citation of", expected=expected, got="the other one")
    if not item.known_family and address.family not in prepared.other_families:
        yield differs("family", region, "a family", expected="one of the four", got=repr(address.family))
        return
    selected = MEMORY if address.family == ATOMIC_MEMORY else address.family
    if selected not in asked.families:
        yield differs("family", region, "a family", expected=sorted(asked.families), got=repr(address.family))
    only = {MEMORY: MEMORY_ID, PROFILE: PROFILE_ID}.get(address.family)
    if only is not None and address.artifact_id != only:
        yield differs("citation", region, "an artifact id", expected=repr(only), got=repr(address.artifact_id))
        return
    head = world.head_revision(item.scope_id, address.family, address.artifact_id)
    if head is None or not world.bodies(item.citation, delivered="", truncated=True):
        expected = "something that is stored" if head is None else "something that this revision holds"
        yield differs("citation", region, "a citation of", expected=expected, got=str(item.citation))
    elif address.revision != head:
        yield differs("revision", region, "the Head's revision", expected=head, got=address.revision)
    elif isinstance(item.citation, EntryAddress):
        entry = world.entry(item.citation)
        if entry is not None and entry.state != "active":
            yield differs("citation", region, "an Entry that is", expected="active", got=entry.state)
    elif address.family == ATOMIC_MEMORY and world.active_entry(item.scope_id, address.artifact_id) is None:
        yield differs("citation", region, "a memory that is", expected="active", got="retired")


def check_bodies(prepared: Prepared, delivered: Delivered) -> Iterator[Failure]:
    """Each body is the stored original, escaped, whole or the longest prefix that fits; `Truncated` says which."""
    if prepared.asked is None:
        return
    for item in delivered.items:
        if not item.known_family and item.address.family not in prepared.other_families:
            continue
        originals = prepared.world.bodies(item.citation, delivered=item.uncut_text, truncated=item.truncated)
        if delivered.form == "older":
            originals = prepared.world.older_bodies(item.citation, delivered=item.uncut_text, truncated=item.truncated)
        region = region_of(delivered, item, "body")
        # Of the older output none of the new rules hold.
        if delivered.form == "markdown" and any(is_blank(original) for original in originals):
            yield differs("body", region, "a body", expected="that is not blank", got=repr(item.body_text))
        problems = []
        for original in originals:
            if delivered.form == "markdown":
                problem = judge_markdown_body(
                    original,
                    item.body_text,
                    truncated=item.truncated,
                    bytes_around=item.body.start + _REST_OF_MARKDOWN,
                    max_bytes=prepared.asked.max_bytes,
                )
            else:
                problem = judge_older_body(
                    original,
                    item.body_text,
                    truncated=item.truncated,
                    bytes_around=_older_bytes_around(item),
                    max_bytes=prepared.asked.max_bytes,
                )
            if problem is None:
                break
            problems.append(problem)
        else:
            kind, message = problems[0] if problems else ("body", "the body is none that is stored under its citation")
            yield Failure(kind, region, "the stored original, whole or the longest cut", item.body_text[-60:], message)


def _older_bytes_around(item: DeliveredItem) -> int:
    """Return the bytes of a text that ends with this item, less the inside of its content's quotation marks."""
    kind = "" if item.address.family == MEMORY else f',"kind":"{item.address.family}"'
    behind = len(f',"truncated":{"true" if item.truncated else "false"}{kind}'.encode())
    return item.body.start + 2 + behind + _REST_OF_OLDER


def region_of(delivered: Delivered, item: DeliveredItem, part: str) -> str:
    """Return an item's region as verdict lines name it."""
    if delivered.form == "older":
        return f'body of "item {item.number}"' if part == "body" else f'"item {item.number}"'
    title = next(section.title for section in delivered.sections if item in section.items)
    return f'{part} of "{title} {item.number}"'
