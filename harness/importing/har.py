"""HAR files, as browsers and proxies write them: the entries that ask prepare, in their order."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from harness.errors import HarnessError
from harness.importing.exchange import Exchange, caller_of, is_prepare, kept_headers


def read_har(value: Mapping[str, Any]) -> list[Exchange]:
    """Return the prepare requests of a HAR file that was read as JSON; raises HarnessError where there is none."""
    entries = _mapping(value.get("log")).get("entries")
    if not isinstance(entries, list):
        raise HarnessError("unreadable_report", "the HAR file has no list `log.entries`")
    found: list[Exchange] = []
    tokens: dict[str, str] = {}
    for number, entry in enumerate(map(_mapping, entries), start=1):
        request, response = _mapping(entry.get("request")), _mapping(entry.get("response"))
        if is_prepare(str(request.get("method", "")), str(request.get("url", ""))):
            found.append(_exchange(number, request, response, tokens))
    if not found:
        raise HarnessError(
            "nothing_to_import",
            "no entry of the HAR file posts to /v1/context/prepare",
            cause=f"it has {len(entries)} entries",
            hint="record the request again, with its body",
        )
    return found


def _exchange(number: int, request: Mapping[str, Any], response: Mapping[str, Any], tokens: dict[str, str]) -> Exchange:
    headers = {
        str(header.get("name", "")): str(header.get("value", ""))
        for header in map(_mapping, request.get("headers") or [])
    }
    posted = _mapping(request.get("postData"))
    text = posted.get("text")
    if not isinstance(text, str):
        raise HarnessError(
            "unreadable_report",
            f"entry {number} of the HAR file has no request body (postData.text)",
            hint="save the HAR file with content",
        )
    if "mimeType" in posted and "content-type" not in {name.lower() for name in headers}:
        headers["content-type"] = str(posted["mimeType"])
    status = response.get("status")
    return Exchange(
        source=f"HAR entry {number}",
        body=_decoded(text, posted.get("encoding")),
        headers=kept_headers(headers),
        caller=caller_of(headers, tokens),
        status=status if type(status) is int and status > 0 else None,
        answer=_answer(_mapping(response.get("content"))),
    )


def _answer(content: Mapping[str, Any]) -> bytes | None:
    text = content.get("text")
    return _decoded(text, content.get("encoding")) if isinstance(text, str) and text else None


def _decoded(text: str, encoding: Any) -> bytes:
    if encoding == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise HarnessError("unreadable_report", "a body of the HAR file is no base64") from None
    return text.encode("utf-8", "surrogatepass")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
