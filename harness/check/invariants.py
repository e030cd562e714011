"""What holds of every prepare answer of every target, written by nobody (DESIGN.md, "What always holds")."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from harness.check.context import Prepared
from harness.check.delivered import Delivered, Malformed
from harness.check.errors import caller_values, check_error, check_request_id, check_verdict
from harness.check.failure import Failure, differs
from harness.check.items import (
    check_bodies,
    check_citations,
    check_limits,
    check_metadata,
    check_numbers,
    check_ranks,
    check_section_order,
)
from harness.check.leaks import check_leaks
from harness.check.reads import check_reads
from harness.check.regions import first_difference

SCHEMA = "powercontext.prepared-context.v1"
_FIELDS = ("schema", "status", "content", "content_bytes")


def check_prepare(prepared: Prepared) -> list[Failure]:
    """Judge one prepare by everything that always holds; an empty list says that all of it does."""
    failures = [*check_request_id(prepared.answer), *check_verdict(prepared)]
    if prepared.answer.status == 200:
        failures += check_envelope(prepared)
        failures += check_text(prepared)
    else:
        failures += check_error(prepared.answer, values=caller_values(prepared))
    failures += check_repeated(prepared)
    failures += check_leaks(prepared)
    return failures


def check_envelope(prepared: Prepared) -> Iterator[Failure]:
    """Exactly four fields, schema, status and content that agree, the byte count, the budget."""
    duplicates: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) < len(found):
            duplicates.append("a key twice")
        return value

    try:
        value = json.loads(prepared.answer.body.decode("utf-8"), object_pairs_hook=pairs)
    except ValueError:
        yield differs("fields", "response", "a JSON object", expected="of four fields", got="no JSON")
        return
    if not isinstance(value, dict) or set(value) != set(_FIELDS) or duplicates:
        got = sorted(value) + duplicates if isinstance(value, dict) else type(value).__name__
        yield differs("fields", "response", "exactly the fields", expected=sorted(_FIELDS), got=got)
    if not isinstance(value, dict):
        return
    status, content, size = value.get("status"), value.get("content"), value.get("content_bytes")
    if value.get("schema") != SCHEMA:
        yield differs("schema", "response", "the schema", expected=SCHEMA, got=value.get("schema"))
    ready = isinstance(content, str) and content != "" and status == "ready"
    empty = content is None and status == "empty"
    if not ready and not empty:
        got = f"status {status!r} with content {'null' if content is None else repr(content)[:20]}"
        yield differs("status", "response", "ready with content or empty with null", expected="", got=got)
    real = len(content.encode("utf-8", errors="surrogatepass")) if isinstance(content, str) else 0
    if type(size) is not int or size != real:
        yield differs("byte-count", "response", "content_bytes", expected=real, got=size)
    if prepared.asked is not None and real > prepared.asked.max_bytes:
        yield differs("budget", "response", "at most bytes", expected=prepared.asked.max_bytes, got=real)
    if content is not None and prepared.asked is not None and prepared.asked.sections == ():
        yield differs("sections", "response", "no section selected, so status", expected="empty", got=status)


_MARKDOWN: tuple[Callable[[Prepared, Delivered], Iterator[Failure]], ...] = (
    check_section_order,
    check_numbers,
    check_limits,
    check_metadata,
    check_ranks,
    check_citations,
    check_bodies,
)
_OLDER: tuple[Callable[[Prepared, Delivered], Iterator[Failure]], ...] = (
    check_limits,
    check_citations,
    check_bodies,
)


def check_text(prepared: Prepared) -> Iterator[Failure]:
    """The prepared text: its frame, its form, its items and what they cite."""
    delivered, asked = prepared.delivered, prepared.asked
    if isinstance(delivered, Malformed):
        message = f"{delivered.message} (byte {delivered.offset})"
        yield Failure("frame", delivered.region, "the fixed frame of SPEC.md", delivered.message, message)
        return
    if delivered is None or asked is None:
        return
    form = "older" if asked.sections is None else "markdown"
    if delivered.form != form:
        yield differs("form", "response", "the form", expected=form, got=delivered.form)
        return
    if delivered.raw_line_characters and not prepared.raw_line_characters:
        yield differs("escaping", "JSON", "U+0085, U+2028 and U+2029", expected="escaped", got="raw")
    for check in _MARKDOWN if form == "markdown" else _OLDER:
        yield from check(prepared, delivered)
    yield from check_reads(prepared, delivered)


def check_repeated(prepared: Prepared) -> Iterator[Failure]:
    """The same request again gives the same status and the same bytes."""
    first, second = prepared.answer, prepared.repeated
    if second is None:
        return
    if first.status != second.status:
        yield differs("repeat", "status", "the same request again", expected=first.status, got=second.status)
        return
    if first.body == second.body:
        return
    difference = None
    if first.content is not None and second.content is not None:
        difference = first_difference(
            first.content.encode("utf-8", "surrogatepass"), second.content.encode("utf-8", "surrogatepass")
        )
    difference = difference or first_difference(first.body, second.body)
    if difference is not None:
        message = f"the same request again differs at {difference}"
        yield Failure("repeat", difference.region, difference.expected, difference.got, message)
