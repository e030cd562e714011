"""JSON reports: `{"request": ..., "response": ...}`, a list of such, or a request alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.errors import HarnessError
from harness.importing.exchange import Exchange, caller_of, is_prepare, kept_headers

_WRAPPED = {"body", "json", "method", "url", "headers", "content"}
_SHAPE = 'write {"request": {"scope_id": ..., "query": ...}, "response": {...}}, or a list of such'


def read_pairs(value: Any) -> list[Exchange]:
    """Return the requests of a JSON report with their responses; raises HarnessError for another shape."""
    tokens: dict[str, str] = {}
    items = value if isinstance(value, list) else [value]
    found = [
        exchange
        for number, item in enumerate(items, start=1)
        if (exchange := _exchange(item, number, tokens)) is not None
    ]
    if not found:
        raise HarnessError("nothing_to_import", "the JSON file holds no prepare request", hint=_SHAPE)
    return found


def _exchange(item: Any, number: int, tokens: dict[str, str]) -> Exchange | None:
    if isinstance(item, Mapping) and "request" not in item and ("scope_id" in item or "query" in item):
        item = {"request": item}
    if not isinstance(item, Mapping) or "request" not in item:
        raise HarnessError("unreadable_report", f"item {number} of the JSON file is no report", hint=_SHAPE)
    request = item["request"]
    headers: dict[str, str] = {}
    if isinstance(request, Mapping) and "scope_id" not in request and _WRAPPED & request.keys():
        given = request.get("headers")
        headers = {str(name): str(content) for name, content in given.items()} if isinstance(given, Mapping) else {}
        if "url" in request and not is_prepare(str(request.get("method", "POST")), str(request["url"])):
            return None
        request = next((request[key] for key in ("body", "json", "content") if key in request), None)
    status, answer = _response(item.get("response"))
    return Exchange(
        source=f"request {number}",
        body=None if request is None else _bytes(request),
        headers=kept_headers(headers),
        # Such a file shows no headers as a rule, so that a missing token says nothing.
        caller=caller_of(headers, tokens) or "caller-1",
        status=status,
        answer=answer,
        is_right=item.get("right") is True,
    )


def _response(value: Any) -> tuple[int | None, bytes | None]:
    """Return status and body of a response: an HTTP answer with its body, or the body alone."""
    if value is None:
        return None, None
    if isinstance(value, Mapping):
        status = next((value[key] for key in ("status", "status_code", "http") if type(value.get(key)) is int), None)
        if status is not None or (_WRAPPED - {"content"}) & value.keys():
            body = next((value[key] for key in ("body", "json", "text", "content") if value.get(key) is not None), None)
            if body is None and "error" in value:
                body = {"error": value["error"]}
            return status, None if body is None else _bytes(body)
    return None, _bytes(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    # As the harness's own client spells it; a lone surrogate can only go out as an escape.
    text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value).encode("utf-8")
