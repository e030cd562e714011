"""Plain values as they are written into a file that an author has begun."""

from __future__ import annotations

from typing import Any

from harness.explore.scalars import quoted, scalar
from harness.scenario.written import Entry, Value


def value_of(plain: Any, *, is_text: bool = False) -> Value:
    """Return a plain value in brackets, or on one line; a text of several lines (`is_text`) behind a `|-`."""
    if isinstance(plain, dict):
        return Value("mapping", entries=[entry_of(key, part) for key, part in plain.items()], flow=True)
    if isinstance(plain, list | tuple):
        items = [Entry(None, None, value_of(part)) for part in plain]
        return Value("sequence", entries=items, flow=True)
    if is_text and isinstance(plain, str) and _can_be_block(plain):
        lines = [f"  {line}" if line else "" for line in plain.split("\n")]
        return Value("scalar", "\n".join(["|-", *lines]), plain, "|")
    return Value("scalar", scalar(plain), str(plain))


def entry_of(key: str, plain: Any, *, is_text: bool = False) -> Entry:
    """Return a key with a plain value."""
    return Entry(scalar(key), key, value_of(plain, is_text=is_text))


def _can_be_block(text: str) -> bool:
    """Say whether a text behind `|-` would be seen as it is: nothing invisible, no blank at the end of a line."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and text[:1] not in ("", " ", "\n")
        and not text.endswith("\n")
        and not any(line.endswith(" ") for line in lines)
        and all(quoted(line) == '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"' for line in lines)
    )
