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
_KINDS = "a curl command, a HAR file, a JSON of request and response, or lines of a server's log"


def read_report(raw: bytes, *, response: bytes | None = None) -> list[Exchange]:
    """Return the exchanges of a report, whose kind its content shows; raises HarnessError.

    `response` is the answer where it lies in a file of its own, and there is one request.
    """
    if len(raw) > MAX_REPORT:
        raise HarnessError("unreadable_report", f"the report has {len(raw)} bytes, at most {MAX_REPORT}")
    if not raw.strip():
        raise HarnessError("unreadable_report", "the report is empty", hint=f"give it {_KINDS}")
    exchanges = _read(raw.removeprefix(b"\xef\xbb\xbf"))
    if response is None:
        return exchanges
    if len(exchanges) != 1:
        raise HarnessError(
            "response_of_several", f"one response, and {len(exchanges)} requests", hint="leave --response out"
        )
    return [replace(exchanges[0], answer=response)]


def _read(raw: bytes) -> list[Exchange]:
    text = raw.decode("utf-8", "surrogateescape")
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
