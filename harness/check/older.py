"""A strict reader of the older output's JSON envelope (SPEC.md 7)."""

from __future__ import annotations

import json
from typing import Any

from harness.check.display import older_json
from harness.check.parts import (
    OLDER_END,
    OLDER_HEAD,
    Delivered,
    DeliveredItem,
    Malformed,
    Span,
    citation_from,
    group_by_title,
)
from runtime.artifacts import MAX_REVISION, MEMORY, Citation

_START = '{"trust":"untrusted_history","items":['
_RAW_CHARACTERS = "\u0085\u2028\u2029"


def read_older(data: bytes, *, scope_id: str) -> Delivered:
    """Take an older output apart; `scope_id` is the current Scope's, which its citations leave out.

    Raises Malformed at the first byte of a region that is not as SPEC.md 7 says.
    """
    if not data.startswith(OLDER_HEAD):
        at = next((i for i, (a, b) in enumerate(zip(OLDER_HEAD, data, strict=False)) if a != b), len(data))
        raise Malformed("notice", at, "the notice or the begin marker is not the fixed one")
    end = b"\n" + OLDER_END
    if not data.endswith(end) or len(data) < len(OLDER_HEAD) + len(end):
        raise Malformed("end marker", len(data), "the text does not end with the end marker on a line of its own")
    start = len(OLDER_HEAD)
    line = data[start : len(data) - len(end)].decode("utf-8")
    try:
        value = json.loads(line)
    except ValueError as error:
        raise Malformed("JSON", start, f"no JSON: {error}") from None
    raw = any(character in line for character in _RAW_CHARACTERS)
    try:
        spelled = older_json(value, raw_line_characters=raw)
        spelled.encode("utf-8")
    except UnicodeEncodeError:
        raise Malformed("JSON", start, "a lone surrogate, which is no valid Unicode") from None
    if spelled != line:
        same = next((i for i, (a, b) in enumerate(zip(spelled, line, strict=False)) if a != b), len(line))
        at = start + len(line[:same].encode("utf-8"))
        raise Malformed("JSON", at, "the JSON is not spelled as compact JSON with the three line characters escaped")
    if not isinstance(value, dict) or list(value) != ["trust", "items"] or value["trust"] != "untrusted_history":
        raise Malformed("JSON", start, 'expected {"trust":"untrusted_history","items":[...]}')
    if not isinstance(value["items"], list) or not value["items"]:
        raise Malformed("JSON", start, "expected at least one item")
    items: list[DeliveredItem] = []
    at = start + len(_START)
    for number, item in enumerate(value["items"], start=1):
        spelled = older_json(item, raw_line_characters=raw)
        size = len(spelled.encode("utf-8"))
        items.append(_item(item, number=number, at=at, scope_id=scope_id, raw=raw))
        at += size + 1
    return Delivered("older", group_by_title(items), tuple(items), raw_line_characters=raw)


def _item(item: Any, *, number: int, at: int, scope_id: str, raw: bool) -> DeliveredItem:
    region = f'"item {number}"'

    def fail(message: str) -> Malformed:
        return Malformed(region, at, message)

    if not isinstance(item, dict) or list(item) not in (
        ["citation", "content", "truncated"],
        ["citation", "content", "truncated", "kind"],
    ):
        raise fail("expected citation, content, truncated and, of another family than memory, kind")
    if not isinstance(item["content"], str) or not isinstance(item["truncated"], bool):
        raise fail("content must be a string and truncated a boolean")
    citation, family, referenced = _citation(item["citation"], scope_id=scope_id, fail=fail)
    if item.get("kind", MEMORY) != family or ("kind" in item and family == MEMORY):
        raise fail(f"kind {item.get('kind')!r} of an item of family {family!r}")
    before = '{"citation":' + older_json(item["citation"], raw_line_characters=raw)
    content = ',"content":'
    body_start = at + len((before + content).encode("utf-8"))
    body_end = body_start + len(older_json(item["content"], raw_line_characters=raw).encode("utf-8"))
    return DeliveredItem(
        number=number,
        citation=citation,
        confidence=None,
        recall_rank=None,
        truncated=item["truncated"],
        body_text=item["content"],
        heading=Span(at, at),
        metadata=Span(at, body_start - len(content)),
        body=Span(body_start, body_end),
        referenced=referenced,
    )


def _citation(value: Any, *, scope_id: str, fail: Any) -> tuple[Citation, str, bool]:
    """Return a citation, its family, and whether it has the form of a referenced Scope."""
    keys = list(value) if isinstance(value, dict) else None
    entry_keys = ["entry_id", "entry_version_id"]
    if keys in (["memory_ref", *entry_keys], ["artifact_ref"]):
        artifact, referenced = value[keys[0]], False
    elif keys in (["memory", *entry_keys], ["artifact"]):
        wrapped = value[keys[0]]
        if not isinstance(wrapped, dict) or list(wrapped) != ["scope_id", "artifact"]:
            raise fail("a citation of a referenced Scope needs scope_id and artifact")
        artifact, referenced, scope_id = wrapped["artifact"], True, wrapped["scope_id"]
    else:
        raise fail("an unknown form of citation")
    if not isinstance(artifact, dict) or list(artifact) != ["family", "artifact_id", "revision"]:
        raise fail("a citation needs family, artifact_id and revision")
    family, artifact_id, revision = artifact["family"], artifact["artifact_id"], artifact["revision"]
    entry = (value["entry_id"], value["entry_version_id"]) if len(keys) == 3 else None
    if not all(isinstance(part, str) for part in (scope_id, family, artifact_id, *(entry or ()))):
        raise fail("ids of a citation must be strings")
    if type(revision) is not int or not 1 <= revision <= MAX_REVISION:
        raise fail("a citation's revision must be an integer from 1")
    if (family == MEMORY) != (entry is not None):
        raise fail(f"the citation's form does not fit family {family!r}")
    citation = citation_from(scope_id=scope_id, family=family, artifact_id=artifact_id, revision=revision, entry=entry)
    return citation, family, referenced
