"""How a reported answer breaks the contract, whatever was stored: by its form, numbers and bytes alone.

The rebuilt world is partly a guess, so that citations, originals and the order of recall are left to a run. An older
output may hold the three line characters raw, since a report names no release (SPEC.md 7).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from harness.check.context import Prepared
from harness.check.delivered import Delivered, Malformed
from harness.check.display import ELLIPSIS, INVISIBLE, LINE_BREAKS, MAX_BODY_BYTES, MIN_CUT_BYTES
from harness.check.failure import Failure, differs
from harness.check.invariants import SCHEMA, check_envelope
from harness.check.items import (
    check_limits,
    check_metadata,
    check_numbers,
    check_ranks,
    check_section_order,
    region_of,
)
from harness.check.parts import END, OLDER_END
from harness.check.request import DEFAULT_TOTAL
from harness.check.world import World
from harness.importing.asking import Asking
from harness.importing.requests import asked_of
from harness.target.base import Answer

_ENDS = (END.decode(), OLDER_END.decode())
_RAW = (INVISIBLE | LINE_BREAKS) - {"\n"}


def faults(asking: Asking) -> Iterator[Failure]:
    """Yield what is wrong with a reported 200 that is there as a whole; nothing of any other answer."""
    answer = _answer(asking)
    if answer is None:
        return
    asked = asked_of(asking.value)
    if asked is None:
        yield differs("verdict", "status", "a refusal of this request:", expected=422, got=200)
        return
    # A total over the default one is taken for the server's setting, as in the rebuilt scenario.
    total = max(DEFAULT_TOTAL, asked.total)
    prepared = Prepared(asking.value, answer, World(), max_entries=total)
    yield from check_envelope(prepared)
    delivered = prepared.delivered
    if isinstance(delivered, Malformed):
        message = f"{delivered.message} (byte {delivered.offset})"
        yield Failure("frame", delivered.region, "the fixed frame of SPEC.md", delivered.message, message)
    elif delivered is not None:
        yield from _text(prepared, delivered, form="older" if asked.sections is None else "markdown")


def is_judged(asking: Asking) -> bool:
    """Say whether a reported answer is a 200 that is there as a whole, so that `faults` judges it."""
    return _answer(asking) is not None


def _answer(asking: Asking) -> Answer | None:
    told, raw = asking.told, asking.exchange.answer
    if told.status != 200 or not told.is_whole or raw is None:
        return None
    answer = Answer(200, (), raw)
    if isinstance(answer.json, dict):
        return answer
    if told.content is None or not told.content.endswith(_ENDS):
        return None
    # The text was pasted alone; nothing is known of the envelope.
    size = len(told.content.encode("utf-8", "surrogatepass"))
    value = {"schema": SCHEMA, "status": "ready", "content": told.content, "content_bytes": size}
    return Answer(200, (), json.dumps(value).encode())


def _text(prepared: Prepared, delivered: Delivered, *, form: str) -> Iterator[Failure]:
    if delivered.form != form:
        yield differs("form", "response", "the form", expected=form, got=delivered.form)
        return
    yield from check_limits(prepared, delivered)
    if form == "markdown":
        for check in (check_section_order, check_numbers, check_metadata, check_ranks):
            yield from check(prepared, delivered)
    for citation, times in Counter(item.citation for item in delivered.items).items():
        if times > 1:
            item = next(one for one in reversed(delivered.items) if one.citation == citation)
            region = region_of(delivered, item, "metadata")
            yield differs("duplicate", region, "each citation", expected="once", got=f"{times} times")
    yield from _bodies(delivered)


def _bodies(delivered: Delivered) -> Iterator[Failure]:
    """Judge each body by what holds of any original (SPEC.md 4, 5 and 7)."""
    for item in delivered.items:
        region, size = region_of(delivered, item, "body"), len(item.body_text.encode("utf-8"))
        raw = next((character for character in item.body_text if character in _RAW), None)
        if delivered.form == "markdown" and raw is not None:
            yield differs("escaping", region, f"U+{ord(raw):04X}", expected="escaped", got="raw")
        if size > MAX_BODY_BYTES:
            yield differs("body-size", region, "bytes of a body at most", expected=MAX_BODY_BYTES, got=size)
        if item.truncated and not item.body_text.endswith(ELLIPSIS):
            yield differs("cut", region, "at the end of a cut body", expected=ELLIPSIS, got=item.body_text[-1:])
        if item.truncated and size < MIN_CUT_BYTES:
            yield differs("cut", region, "bytes of a cut body at least", expected=MIN_CUT_BYTES, got=size)
