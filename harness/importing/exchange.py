"""What a report holds, whatever it was written in: requests as they went out, and answers as far as they are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PREPARE = re.compile(r"/v1/context/prepare/?")

MAX_REPORT = 32 * 1024 * 1024
"""Bytes of a report; what people paste is far smaller."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a report with its answer; None where the report does not tell."""

    source: str
    """Where in the report it stands, in a few words."""
    body: bytes | None = None
    """The request's body as it went out."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The request's headers, names in lower case, without the token."""
    caller: str | None = None
    """What tells this caller's token from another's, never the token itself; None where none was shown."""
    status: int | None = None
    code: str | None = None
    """The error code, where it is told beside the answer (a log line has no answer)."""
    answer: bytes | None = None
    """The answer's body, possibly cut."""
    is_right: bool = False
    """Whether the report says that this answer is the right one."""
    notes: tuple[str, ...] = ()
    """What a reader of the scenario must know of how this was read."""


def private(words: str) -> str:
    """Return words of the report's own as a note holds them: marked, so that `--anonymize` leaves them out."""
    return f"\x04{words}\x05"


def is_prepare(method: str, url: str) -> bool:
    """Say whether a request is one of prepare's; a URL may begin with a shell variable or with its path."""
    path = urlsplit(url).path if "://" in url else "/" + url.partition("?")[0].partition("/")[2]
    return method.upper() == "POST" and _PREPARE.search(path) is not None


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that can change an answer: the media type, and no token or cookie."""
    return {
        name.lower(): value.strip()
        for name, value in headers.items()
        if name.lower() == "content-type" and value.isascii() and value.isprintable() and value.strip()
    }


def caller_of(headers: Mapping[str, str], seen: dict[str, str]) -> str | None:
    """Return a name for the caller by the token that he shows; `seen` holds the names so far, by token."""
    shown = next((value for name, value in headers.items() if name.lower() == "authorization"), None)
    if shown is None or not shown.strip():
        return None
    return seen.setdefault(shown, f"caller-{len(seen) + 1}")
