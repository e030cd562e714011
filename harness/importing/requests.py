"""A reported request as the step of a scenario, and what the contract says of it before anything is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from harness.check.request import DEFAULT_TOTAL, Asked, Illegal, read_request
from harness.errors import HarnessError
from harness.explore.writing import text_of
from harness.importing.answers import Told
from harness.importing.exchange import Exchange

MAX_BODY_BYTES = 1 << 20


def request_of(body: bytes) -> Any:
    """Return a request's body read as JSON, or None where it is none."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def asked_of(value: Any) -> Asked | None:
    """Return what a request asks for, None where the contract refuses it."""
    try:
        return read_request(value)
    except Illegal:
        return None


def as_step(body: bytes, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a request as the keys of a step: `prepare` where that sends the same JSON, else `body`.

    `names` holds the Scopes' names by id.
    """
    value = request_of(body)
    if isinstance(value, dict) and _is_faithful(body, value):
        scope_id = value.get("scope_id")
        named = names.get(scope_id, scope_id) if isinstance(scope_id, str) else scope_id
        return {"prepare": {key: named if key == "scope_id" else part for key, part in value.items()}}
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return {"body": {"hex": body.hex()}}
    return {"body": text}


def expected(exchange: Exchange, told: Told, asked: Asked | None) -> dict[str, Any]:
    """Return what the contract expects of a request that it refuses whatever is stored; empty where it does not."""
    declared = exchange.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    if exchange.caller is None and told.status == 401:
        return {"http": 401, "error": "unauthorized"}
    if declared != "application/json":
        return {"http": 415, "error": "unsupported_media_type"}
    if exchange.body is not None and len(exchange.body) > MAX_BODY_BYTES:
        return {"http": 413, "error": "payload_too_large"}
    if asked is None or (asked.total > DEFAULT_TOTAL and told.status not in (None, 200)):
        return {"http": 422, "error": "invalid_request"}
    return {}


def _is_faithful(body: bytes, value: dict[str, Any]) -> bool:
    """Say whether a mapping in a scenario sends the same JSON: no key twice, nothing that YAML cannot hold."""
    twice = False

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        twice = twice or len(dict(pairs)) < len(pairs)
        return dict(pairs)

    json.loads(body.decode("utf-8"), object_pairs_hook=once)
    if twice or not all(map(_is_plain, _leaves(value))):
        return False
    try:
        text_of({"prepare": value})
    except (HarnessError, RecursionError):
        return False
    return True


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in (key, *_leaves(part))]
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list) else [value]


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) < 10**300
