"""What a plain (unquoted) YAML scalar means: YAML 1.2's core schema, without what 1.1 reads otherwise.

Source: YAML 1.2.2, section 10.3.2. A word that some YAML reader takes for something else than its text is refused
rather than guessed, so that a file means the same to every reader and to its author.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_SWITCHES = {"yes", "no", "on", "off"}
_NUMERIC_START = frozenset("0123456789+-.<")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")
_OLD_INTEGER = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?)")
_MOST_DIGITS = 1000


class Refusal(ValueError):
    """A plain scalar that must be quoted, or has no place in a scenario."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def plain(text: str) -> Scalar:
    """Return the value of a plain scalar; raises Refusal for one that YAML readers disagree about."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMERIC_START:
        return _numeric(text)
    if len(text) <= 3 and text.lower() in _SWITCHES:
        raise Refusal(f"unquoted {text}: some YAML readers take it for a boolean", _quote(text, "true or false"))
    return text


def _numeric(text: str) -> Scalar:
    if text == "<<":
        raise Refusal("merge keys are not part of the format", "write the keys out")
    if _LEADING_ZERO.match(text) and _FLOAT.fullmatch(text):
        raise Refusal(f"number with a leading zero: {text}", _quote(text, "the number without the zero"))
    if _INTEGER.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            raise Refusal(f"a number of {len(text)} digits", f"at most {_MOST_DIGITS}")
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise Refusal(f"{text} is no finite number", _quote(text))
        return value
    if _NOT_FINITE.fullmatch(text):
        raise Refusal(f"{text} is no finite number", _quote(text))
    if _SEXAGESIMAL.fullmatch(text):
        raise Refusal(f"unquoted {text}: some YAML readers take it for a number in base 60", _quote(text))
    if _DATE.fullmatch(text):
        raise Refusal(f"unquoted date {text}", _quote(text))
    if _OLD_INTEGER.fullmatch(text):
        raise Refusal(f"unquoted {text}: some YAML readers take it for a number", _quote(text, "plain digits"))
    return text


def _quote(text: str, otherwise: str | None = None) -> str:
    return f'write "{text}" in quotes' + (f", or {otherwise}" if otherwise else "")
