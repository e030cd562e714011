"""A scenario file in its usual form: two blanks of indent, keys in the format's order, comments and quotes kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from harness.errors import HarnessError
from harness.scenario.loader import parse
from harness.scenario.model import (
    VERBS,
    Embedder,
    Expect,
    ExperienceItem,
    Fault,
    ItemSpec,
    MemoryChange,
    PrincipalSpec,
    ProfileItem,
    Read,
    RuntimeSpec,
    Scenario,
    ScopeSpec,
    Step,
    TopicItem,
)
from harness.scenario.source import decode
from harness.scenario.written import Entry, Value, Written, read_written

WIDTH = 120
"""Characters; what stands in brackets over several lines is put on one where that has no more."""
_APART = {"scopes", "principals", "steps"}
"""Top keys with a blank line before them."""

Place = tuple[str, ...]
"""The keys down to a value, `*` for an item of a list."""


def formatted(raw: bytes, path: Path) -> str:
    """Return a scenario's text in its usual form; raises ScenarioErrors, and HarnessError where that is not possible.

    The text means the same scenario and holds the same comments, or there is none.
    """
    before = parse(raw, path)
    source = decode(raw, path)
    written = read_written(source)
    text = "\n".join(_lines(written)) + "\n"
    after = read_written(text)
    if parse(text.encode(), path).scenario != before.scenario or _comments(written) != _comments(after):
        raise HarnessError("unformattable", f"{path} is left as it is", hint="its form is one that cannot be kept")
    return text


def rendered(entry: Entry, indent: int) -> list[str]:
    """Return a key with its value, or an item of a sequence, as the lines of block style."""
    return _member(entry, indent) if entry.key is not None else _item(entry, indent)


def sort_expectations(value: Value) -> None:
    """Put the keys of a step's expectations in their usual order."""
    _put_in_order(value, ("steps", "*", "expect"))


def flat(value: Value) -> str | None:
    """Return a value on one line, or None where it has comments or texts of several lines."""
    if value.kind == "scalar":
        return None if "\n" in value.raw or value.is_block_text else value.raw
    if any(entry.comment or entry.before or entry.after for entry in value.entries):
        return None
    parts = []
    for entry in value.entries:
        inner = flat(entry.value)
        if inner is None:
            return None
        parts.append(inner if entry.key is None else f"{entry.key}: {inner}".rstrip())
    joined = ", ".join(parts)
    anchor = f"{value.anchor} " if value.anchor else ""
    return f"{anchor}{{{joined}}}" if value.kind == "mapping" else f"{anchor}[{joined}]"


def _lines(written: Written) -> Iterator[str]:
    yield from written.head
    _put_in_order(written.value, ())
    for number, entry in enumerate(written.value.entries):
        if entry.blank or (entry.name in _APART and (number or written.head)):
            yield ""
        yield from _with_comments(entry, 0, _member(entry, 0))
    yield from written.tail


def _put_in_order(value: Value, place: Place) -> None:
    """Sort the keys of every mapping whose keys have a meaning; those of others are names, or go out as they are."""
    order = _order(place, value)
    if order:
        ranks = {key: rank for rank, key in enumerate(order)}
        value.entries.sort(key=lambda entry: ranks.get(entry.name or "", len(ranks)))
    for entry in value.entries:
        _put_in_order(entry.value, (*place, entry.name or "" if entry.key is not None else "*"))
        if entry.key is None and not entry.value.flow and entry.value.kind == "mapping" and entry.comment is None:
            # What comes before the key behind the dash comes before the dash.
            first = entry.value.entries[0]
            entry.before, first.before = [*entry.before, *first.before], []


def _fields(model: type[BaseModel], *, first: Sequence[str] = (), last: Sequence[str] = ()) -> list[str]:
    names = [field.alias or name for name, field in model.model_fields.items()]
    return [*first, *(name for name in names if name not in (*first, *last)), *last]


_SETTINGS = ("format", "scenario", "why", "tags", "report", "runtime", "canary", "twins", "sweep")
_ORDERS: dict[str, list[str]] = {
    # What a reader needs first: how the target is set up, then the world; what is asked, then by whom.
    "scenario": _fields(Scenario, first=_SETTINGS),
    "step": _fields(Step, first=("step", *VERBS, "headers"), last=("as", "expect")),
    "expect": _fields(Expect, first=("http", "error", "status", "bytes", "text", "artifact")),
    "scope": _fields(ScopeSpec, first=("id", "references")),
    "principal": _fields(PrincipalSpec),
    "runtime": _fields(RuntimeSpec),
    "embedder": _fields(Embedder),
    "memory": _fields(MemoryChange),
    "experience": _fields(ExperienceItem),
    "profile": _fields(ProfileItem),
    "topics": _fields(TopicItem),
    "read": _fields(Read, first=("scope", "entry", "version", "family", "id", "revision")),
    "fault": _fields(Fault),
    "item": _fields(ItemSpec),
}


def _order(place: Place, value: Value) -> list[str] | None:
    if value.kind != "mapping":
        return None
    match place:
        case ():
            return _ORDERS["scenario"]
        case ("steps", "*"):
            return _ORDERS["step"]
        case ("steps", "*", "expect" | "read" | "fault" as key):
            return _ORDERS[key]
        case ("steps", "*", "expect", "truncated", "*") | ("steps", "*", "expect", "sections", "*", _, *_):
            return _ORDERS["item"]
        case ("scopes", _) | ("steps", "*", "write", _):
            return _ORDERS["scope"]
        case ("scopes", _, "memory" | "experience" | "profile" | "topics" as key, *_):
            return _ORDERS[key] if place[3:] in (("*",), ("*", "*")) else None
        case ("steps", "*", "write", _, "memory" | "experience" | "profile" | "topics" as key, *_):
            return _ORDERS[key] if place[5:] in (("*",), ("*", "*")) else None
        case ("principals", _):
            return _ORDERS["principal"]
        case ("runtime",):
            return _ORDERS["runtime"]
        case ("runtime", "embedder"):
            return _ORDERS["embedder"]
        case _:
            return None


def _with_comments(entry: Entry, indent: int, lines: list[str]) -> Iterator[str]:
    margin = " " * indent
    yield from (f"{margin}{comment}" for comment in entry.before)
    yield from lines
    yield from (f"{' ' * column}{comment}" for column, comment in entry.after)


def _commented(line: str, entry: Entry) -> str:
    if entry.comment is None:
        return line
    column, comment = entry.comment
    return f"{line.ljust(max(column - 1, len(line) + 1))} {comment}"


def _member(entry: Entry, indent: int) -> list[str]:
    return _behind(f"{' ' * indent}{entry.key}:", entry, indent)


def _behind(start: str, entry: Entry, indent: int) -> list[str]:
    """Return a value behind its key or dash."""
    value = entry.value
    if value.is_block_text:
        header, *lines = _block_text(value, indent + 2)
        return [_commented(f"{start} {header}", entry), *lines]
    line = _on_one_line(value, len(start) + 1)
    if line is None and value.is_spread:
        first, *lines = _moved(value, indent)
        *lines, last = [f"{start} {first}", *lines]
        return [*lines, _commented(last, entry)]
    if line is not None:
        return [_commented(f"{start} {line}".rstrip(), entry)]
    anchor = f" {value.anchor}" if value.anchor else ""
    return [_commented(f"{start}{anchor}", entry), *_block(value, indent + 2)]


def _on_one_line(value: Value, column: int) -> str | None:
    """Return what the author has in brackets, and all scalars, on one line, as far as that is possible."""
    if value.kind != "scalar" and not value.flow and value.entries:
        return None
    line = flat(value)
    is_long = line is not None and value.is_spread and column + len(line) > WIDTH
    return None if is_long else line


def _block(value: Value, indent: int) -> list[str]:
    lines: list[str] = []
    for number, entry in enumerate(value.entries):
        if entry.blank and number:
            lines.append("")
        own = _member(entry, indent) if entry.key is not None else _item(entry, indent)
        lines += _with_comments(entry, indent, own)
    return lines


def _item(entry: Entry, indent: int) -> list[str]:
    value = entry.value
    dash = f"{' ' * indent}-"
    nested = value.kind != "scalar" and not value.flow and value.entries and not value.anchor
    if not nested or entry.comment is not None or value.entries[0].before:
        return _behind(dash, entry, indent)
    # The first key of a mapping stands behind the dash.
    first, *rest = _block(value, indent + 2)
    return [f"{dash} {first[indent + 2 :]}", *rest]


def _block_text(value: Value, indent: int) -> Iterator[str]:
    """Yield the header and the lines of a text behind `|` or `>`, moved to where they stand now."""
    header, *lines = value.raw.split("\n")
    depth = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    if any(sign.isdecimal() for sign in header):
        raise HarnessError("unformattable", "a text with an indentation of its own is left as it is")
    yield header
    for line in lines:
        # Blanks at the end of a line are a part of the text.
        yield " " * indent + line[depth:] if len(line) > depth else ""


def _moved(value: Value, indent: int) -> list[str]:
    """Return the author's own lines of a value in brackets or quotes, moved to where they stand now."""
    first, *lines = value.raw.split("\n")
    by = indent - value.depth
    moved = [line[-by:] if by < 0 and not line[:-by].strip() else " " * max(by, 0) + line for line in lines]
    return [first.rstrip(), *(line.rstrip() for line in moved)]


def _comments(written: Written) -> Counter[str]:
    found = Counter([*written.head, *written.tail])
    pending = [written.value]
    while pending:
        for entry in pending.pop().entries:
            found.update(entry.before)
            found.update(comment for _, comment in entry.after)
            found.update([entry.comment[1]] if entry.comment else [])
            pending.append(entry.value)
    return found
