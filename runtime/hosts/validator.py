"""The strict validator of a prepare's answer: four fields, each what SPEC.md 2 says, before a host uses the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from runtime.contract import SCHEMA
from runtime.http.client.messages import utf8_length

MAX_BODY_BYTES = 1_048_576
"""A text of 32768 bytes, each written as six characters, is far below."""

_FIELDS = {"schema", "status", "content", "content_bytes"}

Fault = Literal["too_large", "not_json", "not_object", "fields", "schema", "status", "content", "length", "over_budget"]
"""What is wrong, in a word that holds nothing of the answer."""


class ResponseInvalid(Exception):
    """An answer that is not of the contract; `fault` says which part."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class SchemaUnknown(ResponseInvalid):
    """An answer that names another schema: it may be right, for a host of another version."""


def validate(body: bytes, *, max_bytes: int) -> str | None:
    """Return the text of a 200's body, None of a valid `empty`; raises ResponseInvalid, SchemaUnknown.

    `max_bytes` is the host's own budget in UTF-8 bytes, whatever the server was asked for.
    """
    answer = _read(body)
    # First, since the rest is said of this schema alone.
    schema = answer.get("schema")
    if schema != SCHEMA:
        raise SchemaUnknown("schema") if isinstance(schema, str) else ResponseInvalid("schema")
    if set(answer) != _FIELDS:
        raise ResponseInvalid("fields")
    status, content, length = answer["status"], answer["content"], answer["content_bytes"]
    # True is an int to Python, and 0 == 0.0.
    if type(length) is not int:
        raise ResponseInvalid("length")
    if status == "empty":
        if content is not None:
            raise ResponseInvalid("content")
        if length != 0:
            raise ResponseInvalid("length")
        return None
    if status != "ready":
        raise ResponseInvalid("status")
    if not isinstance(content, str) or not content:
        raise ResponseInvalid("content")
    if (encoded_length := utf8_length(content)) is None:
        raise ResponseInvalid("content")
    if encoded_length != length:
        raise ResponseInvalid("length")
    if length > max_bytes:
        raise ResponseInvalid("over_budget")
    return content


def _read(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_BODY_BYTES:
        raise ResponseInvalid("too_large")
    fault: Fault = "not_object"
    value: object = None
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        fault = "not_json"
    if not isinstance(value, dict):
        # Raised here, since the errors above hold the body.
        raise ResponseInvalid(fault)
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object whose names are all different: two readers could take different ones of a repeated name."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ResponseInvalid("fields")
    return made
