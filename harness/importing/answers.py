"""What an answer in a report tells: a status, a code, a prepared text, however much of it was pasted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.check.parts import NOTICE, TITLE
from harness.importing.exchange import Exchange

_HEAD = re.compile(r"(?:< )?HTTP/[\d.]+ ([1-5]\d\d)")
_NOISE = re.compile(
    r"(?m)^(?:[*<>] .*|[*<>] ?|[}{] \[\d+ bytes data\]"
    r"|[ \t]*% Total.*|[ \t]*Dload.*|[ \t]*\d+[ \t]+[\d.]+[kMG]?[ \t].*)\r?\n?"
)
"""What curl prints beside the answer, with `-v` and without `-s`."""
_CONTENT = re.compile(r'"content"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
_CODE = re.compile(r'"code"\s*:\s*"(\w+)"')
_VERDICT = re.compile(r'"status"\s*:\s*"(ready|empty)"')
_TRAILING_STATUS = re.compile(r"\b([1-5]\d\d)\b")
_TEXT_STARTS = (TITLE.decode().strip(), NOTICE.decode().split("\n")[0])


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of an answer; `is_whole` says whether all of it was there to read."""

    status: int | None = None
    verdict: str | None = None
    """`ready` or `empty`."""
    code: str | None = None
    content: str | None = None
    content_bytes: int | None = None
    is_whole: bool = True


def read_answer(exchange: Exchange) -> Told:
    """Take an answer apart: JSON, JSON that breaks off, or the prepared text alone."""
    if exchange.answer is None:
        return Told(status=exchange.status, code=exchange.code)
    text = exchange.answer.decode("utf-8", "replace")
    if text.lstrip().startswith(_TEXT_STARTS):
        content = text.lstrip()
        if content.rstrip().endswith("_V1"):
            # A terminal puts one line feed behind what it prints; a prepared text ends with its marker.
            content = content.rstrip()
        return Told(exchange.status or 200, "ready", None, content, len(content.encode("utf-8", "replace")))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _salvaged(exchange, text)
    return _from_json(exchange, value)


def _from_json(exchange: Exchange, value: Any) -> Told:
    if isinstance(value, str):
        return read_answer(Exchange(exchange.source, status=exchange.status, answer=value.encode("utf-8", "replace")))
    if not isinstance(value, Mapping):
        return Told(status=exchange.status, code=exchange.code, is_whole=False)
    error = value.get("error")
    if isinstance(error, Mapping):
        code = error.get("code")
        return Told(exchange.status, code=code if isinstance(code, str) else exchange.code)
    content, verdict, size = value.get("content"), value.get("status"), value.get("content_bytes")
    return Told(
        exchange.status or (200 if verdict in ("ready", "empty") else None),
        verdict if verdict in ("ready", "empty") else None,
        exchange.code,
        content if isinstance(content, str) else None,
        size if type(size) is int else None,
    )


def _salvaged(exchange: Exchange, text: str) -> Told:
    """Read what a broken JSON answer still tells."""
    content = None
    if found := _CONTENT.search(text):
        # The break may be in the middle of an escape.
        raw = re.sub(r"\\(u[0-9a-fA-F]{0,3})?$", "", found[1])
        try:
            content = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            content = None
    code, verdict = _CODE.search(text), _VERDICT.search(text)
    status = exchange.status or (200 if verdict or content else None)
    return Told(
        status, verdict[1] if verdict else None, code[1] if code else exchange.code, content, None, is_whole=False
    )


def split_output(output: str) -> tuple[int | None, bytes | None]:
    """Return status and body of what curl printed: with `-i` or `-v` the head too, with `-w` a status behind it."""
    status: int | None = None
    for found in _HEAD.finditer(output):
        status = int(found[1])
    text = output.strip("\r\n \t")
    while _HEAD.match(text) and not text.startswith("<"):
        _, gap, rest = text.replace("\r\n", "\n").partition("\n\n")
        text = rest.lstrip("\n") if gap else ""
    if not text.startswith(_TEXT_STARTS):
        text = _NOISE.sub("", text + "\n").strip("\r\n \t")
    start = text.find("{")
    if start >= 0 and not text.startswith(_TEXT_STARTS):
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        except ValueError:
            return status, text[start:].encode("utf-8", "surrogateescape")
        if status is None and (behind := _TRAILING_STATUS.search(text[end:] + " " + text[:start])):
            status = int(behind[1])
        return status, text[start:end].encode("utf-8", "surrogateescape")
    return status, text.encode("utf-8", "surrogateescape") if text else None
