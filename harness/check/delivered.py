"""A strict reader of the prepared text, in both of its forms (SPEC.md 4 and 7)."""

from __future__ import annotations

from harness.check.markdown import read_markdown
from harness.check.older import read_older
from harness.check.parts import NOTICE, Delivered, DeliveredItem, Malformed, Section, Span
from harness.check.regions import Difference, Region, first_difference, region_at, regions
from runtime.artifacts import Citation

__all__ = [
    "Delivered",
    "DeliveredItem",
    "Difference",
    "Malformed",
    "Region",
    "Section",
    "Span",
    "citations_of",
    "encode",
    "first_difference",
    "read_delivered",
    "region_at",
    "regions",
]


def read_delivered(content: str | bytes, *, scope_id: str) -> Delivered:
    """Take a prepared text apart; `scope_id` is the request's, which older citations leave out.

    Raises Malformed at the first byte that the fixed frame does not allow. Order and numbers of sections and items are
    not judged here.
    """
    data = encode(content)
    if data.startswith(NOTICE):
        return read_older(data, scope_id=scope_id)
    return read_markdown(data)


def citations_of(content: str | bytes | None, *, scope_id: str) -> tuple[Citation, ...]:
    """Return what a prepared text cites, in its order; nothing of a text that is missing or malformed."""
    if content is None:
        return ()
    try:
        return tuple(item.citation for item in read_delivered(content, scope_id=scope_id).items)
    except Malformed:
        return ()


def encode(content: str | bytes) -> bytes:
    """Return a text's UTF-8; raises Malformed where it is no valid Unicode."""
    if isinstance(content, bytes):
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Malformed("content", error.start, "no valid UTF-8") from None
        return content
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        offset = len(content[: error.start].encode("utf-8"))
        raise Malformed("content", offset, "a lone surrogate, which is no valid Unicode") from None
