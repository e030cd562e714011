"""A scenario as a YAML file that a person reads, and that loads again to an equal scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from harness.errors import HarnessError
from harness.explore.scalars import Piece, repetitions, scalar
from harness.scenario.model import Scenario
from harness.scenario.schema import schema_place

Plain = dict[str, Any]
"""A scenario as plain values, as its YAML file holds them."""

_WIDTH = 118
_LONGEST_KEY = 256
"""Characters of a written key; libyaml wants longer ones to be announced by a question mark."""
_SPREAD = {"report": 2, "scopes": 3, "principals": 2, "steps": 2}
"""How many levels below a top key are always written one item for each line."""
_APART = {"scopes", "principals", "runtime", "steps"}
"""Top keys with a blank line before them."""


def plain_of(scenario: Scenario) -> Plain:
    """Return a scenario as the plain values that its file would hold, in the short forms of the format."""
    value: Plain = _lists(scenario.model_dump(by_alias=True, exclude_unset=True))
    contents = list(value.get("scopes", {}).values())
    for step in value["steps"]:
        contents += step.get("write", {}).values()
    for content in contents:
        if "memory" in content:
            content["memory"] = [changes[0] if len(changes) == 1 else changes for changes in content["memory"]]
        if "profile" in content:
            content["profile"] = [
                item["content"] if item.keys() == {"content"} else item for item in content["profile"]
            ]
    return value


def text_of(scenario: Scenario | Mapping[str, Any], *, comments: Sequence[str] = (), schema: str | None = None) -> str:
    """Return a scenario's YAML text; raises HarnessError for one that no file can hold.

    `comments` are lines below the schema's, `schema` is where the schema lies as the editor is told.
    """
    value = plain_of(scenario) if isinstance(scenario, Scenario) else scenario
    lines = [] if schema is None else [f"# yaml-language-server: $schema={schema}"]
    lines += [f"# {comment}" for comment in comments]
    for key, part in value.items():
        if key in _APART:
            lines.append("")
        lines += _member(key, part, 0, spread=_SPREAD.get(key, 0))
    return "\n".join(lines) + "\n"


def schema_for(path: PurePath) -> str | None:
    """Return the schema's place relative to a file, as the editor is told."""
    return schema_place(path)


def _member(key: str, value: Any, indent: int, *, spread: int) -> list[str]:
    """Return a key with its value; `spread` counts the levels that are written out whatever their length."""
    margin, name = " " * indent, scalar(key)
    if len(name) > _LONGEST_KEY:
        return [f"{margin}? {name}", *_behind(f"{margin}:", value, indent, spread=spread)]
    return _behind(f"{margin}{name}:", value, indent, spread=spread)


def _behind(start: str, value: Any, indent: int, *, spread: int) -> list[str]:
    value = _expanded(value)
    short = _flow(value)
    # A Scope's references read better on one line; bug reports each need their own (a `#` begins a comment).
    leaf = spread <= 1 and isinstance(value, list) and all(isinstance(part, str | int) for part in value)
    one_line = short is not None and (not isinstance(value, dict | list) or not value)
    if one_line or (short is not None and (spread <= 0 or leaf) and len(start) + 1 + len(short) <= _WIDTH):
        return [f"{start} {short}"]
    return [start, *_block(value, indent + 2, spread=spread - 1)]


def _block(value: Any, indent: int, *, spread: int) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict):
        for key, part in value.items():
            lines += _member(key, part, indent, spread=spread)
        return lines
    margin = " " * indent
    for part in map(_expanded, value):
        short = _flow(part)
        is_small = short is not None and len(margin) + 2 + len(short) <= _WIDTH
        if short is not None and (not isinstance(part, dict | list) or not part or (spread <= 0 and is_small)):
            lines.append(f"{margin}- {short}")
            continue
        first, *rest = _block(part, indent + 2, spread=spread - 1)
        lines += [f"{margin}- {first[indent + 2 :]}", *rest]
    return lines


def _flow(value: Any) -> str | None:
    """Return a value on one line, or None where a key is too long for that."""
    if isinstance(value, dict):
        parts = [(scalar(key), _flow(_expanded(part))) for key, part in value.items()]
        if any(len(name) > _LONGEST_KEY or part is None for name, part in parts):
            return None
        return "{" + ", ".join(f"{name}: {part}" for name, part in parts) + "}"
    if isinstance(value, list):
        items = [_flow(_expanded(part)) for part in value]
        return None if None in items else "[" + ", ".join(item or "" for item in items) + "]"
    return scalar(value)


def _expanded(value: Any) -> Any:
    """Return a text with long repetitions in the format's forms for them; of other values nothing changes."""
    if isinstance(value, _Form):
        return value
    if isinstance(value, dict) and _reads_as_text(value):
        raise HarnessError("unwritable_value", f"a mapping of {', '.join(value)} would be read as a text")
    if not isinstance(value, str):
        return value
    pieces = list(map(_form, repetitions(value)))
    if pieces == [value]:
        return value
    return pieces[0] if len(pieces) == 1 else _Form(join=pieces)


class _Form(dict[str, Any]):
    """A mapping that stands for a text."""


def _form(piece: Piece) -> str | _Form:
    return piece if isinstance(piece, str) else _Form(repeat=piece[0], times=piece[1])


def _reads_as_text(value: Mapping[str, Any]) -> bool:
    repeats = isinstance(value.get("repeat"), str) and value.keys() <= {"repeat", "times"}
    return repeats or (value.keys() == {"join"} and isinstance(value["join"], list))


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(part) for key, part in value.items()}
    return [_lists(part) for part in value] if isinstance(value, list | tuple) else value


def lines_in(text: str) -> Iterator[str]:
    """Yield the lines of a scenario's text that say something: no blank ones, no comments."""
    yield from (line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
