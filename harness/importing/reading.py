"""Whatever a report was written in, as its exchanges."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from harness.errors import HarnessError
from harness.importing.curl import read_curl
from harness.importing.exchange import MAX_REPORT, Exchange
from harness.importing.har import read_har
from harness.importing.log_lines import is_log, read_log
from harness.importing.pairs import read_pairs

_CURL = re.compile(r"(?m)(^|[$#%> \t])curl[ \t\\]")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_KINDS = "a curl command, a HAR file, a JSON of request and response, or lines of a server's log"


def read_report(raw: bytes, *, response: bytes | None = None) -> list[Exchange]:
    """Return the exchanges of a report, whose kind its content shows; raises HarnessError.

    `response` is the answer where it lies in a file of its own, and there is one request.
    """
    if len(raw) > MAX_REPORT:
        raise HarnessError("unreadable_report", f"the report has {len(raw)} bytes, at most {MAX_REPORT}")
    if not raw.strip():
        raise HarnessError("unreadable_report", "the report is empty", hint=f"give it {_KINDS}")
    exchanges = _read(_text(raw, "the report"))
    if response is None:
        return exchanges
    answer = _text(response, "the response").encode()
    if len(exchanges) != 1:
        raise HarnessError(
            "response_of_several", f"one response, and {len(exchanges)} requests", hint="leave --response out"
        )
    return [replace(exchanges[0], answer=answer)]


def _text(raw: bytes, what: str) -> str:
    """Return the text of a file; another encoding would change the very bytes that are reported."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        message = f"{what} is not UTF-8: byte 0x{raw[problem.start]:02x} at offset {problem.start}, line {line}"
        hint = "it is UTF-16; save it as UTF-8" if raw.startswith(_UTF_16) else "save it as UTF-8"
        raise HarnessError("unreadable_report", message, hint=hint) from None


def _read(text: str) -> list[Exchange]:
    value = _json(text)
    if isinstance(value, dict) and "log" in value and "request" not in value:
        return read_har(value)
    if isinstance(value, dict | list) and not is_log(text):
        return read_pairs(value)
    if _CURL.search(text):
        return read_curl(text)
    if is_log(text):
        return read_log(text)
    raise HarnessError("unreadable_report", "the report is none of the kinds that are known", hint=f"give it {_KINDS}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
