"""A scenario file's bytes as text, with the characters refused that an editor does not show."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from harness.errors import ScenarioError, ScenarioErrors

_UNSEEN = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)")
_NAMES = {
    "\t": "tab",
    "\r": "carriage return",
    "\x00": "NUL",
    "\x85": "next line",
    "\ufeff": "byte order mark",
}
_MANY = 20


def decode(raw: bytes, path: Path) -> str:
    """Return the text of a file; raises ScenarioErrors for bytes that are no UTF-8 and for unseen characters.

    CRLF stays as it is: YAML itself reads it as one line break.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        start = raw.rfind(b"\n", 0, problem.start) + 1
        line = raw.count(b"\n", 0, problem.start) + 1
        column = len(raw[start : problem.start].decode("utf-8")) + 1
        message = f"the file is not UTF-8: byte 0x{raw[problem.start]:02x}"
        raise ScenarioErrors(path, [ScenarioError(path, line, column, message, "save it as UTF-8")]) from None
    if found := list(_UNSEEN.finditer(text)):
        raise ScenarioErrors(path, [_refuse(text, match.start(), path) for match in found[:_MANY]])
    return text


def _refuse(text: str, position: int, path: Path) -> ScenarioError:
    character = text[position]
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    name = _NAMES.get(character) or unicodedata.name(character, "control character").lower()
    escape = {"\t": r"\t", "\r": r"\r", "\0": r"\0"}.get(character, f"\\u{ord(character):04X}")
    hint = f'write "{escape}" in double quotes'
    if character == "\t":
        hint = f"indent with blanks; in text {hint}"
    elif character == "\r":
        hint = f"end lines with LF or CRLF; in text {hint}"
    elif character == "\ufeff" and position == 0:
        hint = "save the file as UTF-8 without it"
    return ScenarioError(path, line, column, f"raw {name} (U+{ord(character):04X})", hint)
