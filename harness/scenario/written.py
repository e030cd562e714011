"""A scenario file as its author wrote it: keys and values with their own text, comments and blank lines kept.

ruamel.yaml says what every stretch of the file is. Its emitter is not used: it would put invisible characters raw into
the file, where the author and the loader want escapes.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamStartEvent,
)

from harness.errors import HarnessError

_COMMENT = re.compile(r"(?:(?<=\s)|^)#.*")


@dataclass
class Value:
    """One value: a scalar by its own text, or a collection's entries; `start` and `end` are offsets in the file.

    `text` is what a scalar means, `raw` how it is written, a collection in brackets (`flow`) too; `depth` is the
    indent of the line where it begins.
    """

    kind: Literal["scalar", "mapping", "sequence"]
    raw: str = ""
    text: str = ""
    style: str | None = None
    depth: int = 0
    anchor: str = ""
    """What stands before a collection's first bracket or line: `&name`, or nothing."""
    entries: list[Entry] = field(default_factory=list)
    flow: bool = False
    start: int = 0
    end: int = 0

    @property
    def is_spread(self) -> bool:
        """Whether it stands in quotes or brackets, on several lines."""
        return "\n" in self.raw and not self.is_block_text

    @property
    def is_block_text(self) -> bool:
        """Whether it is a scalar behind `|` or `>`."""
        return self.style in ("|", ">")

    def get(self, key: str) -> Entry | None:
        """Return a mapping's entry of this key."""
        return next((entry for entry in self.entries if entry.name == key), None)


@dataclass
class Entry:
    """One key with its value, or one item of a sequence (`key` is None), and the comments that belong to it."""

    key: str | None
    """As it is written."""
    name: str | None
    """As it is meant."""
    value: Value
    line: int = 0
    column: int = 0
    start: int = 0
    blank: bool = False
    """Whether a blank line stands before it and its comments."""
    before: list[str] = field(default_factory=list)
    """Comments on lines of their own before it."""
    comment: tuple[int, str] | None = None
    """The comment behind its first line, with the column where it stands."""
    after: list[tuple[int, str]] = field(default_factory=list)
    """Comments behind it that stand deeper than what follows, with their columns."""


@dataclass
class Written:
    """A whole file: comments before the first key, the value, and comments behind it."""

    source: str
    head: list[str]
    value: Value
    tail: list[str]


def read_written(source: str) -> Written:
    """Take a file's text apart; raises HarnessError for what is not one YAML mapping."""
    source = source.replace("\r\n", "\n")
    try:
        return _Reader(source).written()
    except YAMLError as error:
        raise HarnessError("unformattable", "the file is no YAML", cause=str(error)) from None


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self._lines = source.split("\n")
        self._spans: list[tuple[int, int]] = []
        self._kept: set[int] = set()
        """The lines of texts whose blank lines at the end count."""
        self._events = iter(YAML(typ="rt").parse(source))

    def written(self) -> Written:
        event = next(self._events)
        while isinstance(event, StreamStartEvent | DocumentStartEvent):
            event = next(self._events)
        value = self._value(event)
        if value.kind != "mapping":
            raise HarnessError("unformattable", "the file holds no mapping")
        entries = list(_preorder(value))
        head: list[str] = []
        tail: list[str] = []
        first = entries[0][0] if entries else None
        for line, column, text in self._comments():
            own = self._lines[line][:column].strip() == ""
            if first is None or (own and line < first.line):
                head.append(text)
            elif own:
                _own(entries, line, column, text, tail)
            else:
                _behind(entries, self._starts[line] + column, column, text)
        for entry, parent in entries:
            top = entry.line - len(entry.before)
            # Nothing stands before the first one of a nested collection.
            is_first = parent is not value and parent.entries[0] is entry
            is_blank = top > 0 and top - 1 not in self._kept and self._lines[top - 1].strip() == ""
            entry.blank = is_blank and not is_first
        return Written(self._source, head, value, tail)

    def _value(self, event: Any) -> Value:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, ScalarEvent | AliasEvent):
            raw = self._source[start:end]
            self._spans.append((start, end))
            style = event.style if isinstance(event, ScalarEvent) else None
            if style in ("|", ">") and "+" in raw.partition("\n")[0]:
                # Its blank lines are a part of it; what stands on the last line is the next one's indent.
                raw = raw[: raw.rindex("\n")] if "\n" in raw else raw
                self._kept.update(range(event.start_mark.line, event.start_mark.line + raw.count("\n") + 1))
            elif style in ("|", ">"):
                raw = raw.rstrip()
            text = event.value if isinstance(event, ScalarEvent) else raw
            return Value("scalar", raw, text, style, self._depth(start), start=start, end=start + len(raw))
        anchor = f"&{event.anchor}" if event.anchor else ""
        is_mapping = isinstance(event, MappingStartEvent)
        value = Value("mapping" if is_mapping else "sequence", anchor=anchor, flow=bool(event.flow_style), start=start)
        column = event.start_mark.column if not anchor else None
        event = next(self._events)
        while not isinstance(event, MappingEndEvent | SequenceEndEvent):
            if is_mapping:
                value.entries.append(self._member(event, value))
            else:
                value.entries.append(self._item(event, value, column))
            event = next(self._events)
        value.end = event.end_mark.index
        if value.flow:
            value.raw = self._source[start : value.end]
            value.depth = self._depth(start)
        if not value.flow and value.entries:
            value.end = value.entries[-1].value.end
        return value

    def _depth(self, offset: int) -> int:
        line = self._lines[bisect.bisect_right(self._starts, offset) - 1]
        return len(line) - len(line.lstrip(" "))

    def _member(self, event: Any, within: Value) -> Entry:
        key = self._value(event)
        line, column = event.start_mark.line, event.start_mark.column
        if not within.flow and self._lines[line][:column].rstrip().endswith("?"):
            raise HarnessError("unformattable", "a key behind a question mark is left as it is")
        return Entry(key.raw, key.text, self._value(next(self._events)), line, column, key.start)

    def _item(self, event: Any, within: Value, dash: int | None) -> Entry:
        line, column = event.start_mark.line, event.start_mark.column
        if not within.flow:
            # The dash of an item stands where the sequence begins, or before the first item of an anchored one.
            if dash is None and not within.entries:
                dash = self._lines[line][:column].rfind("-")
            column = within.entries[0].column if within.entries else dash or 0
            while self._lines[line][column : column + 1] != "-":
                line -= 1
        return Entry(None, None, self._value(event), line, column, self._starts[line] + column)

    def _comments(self) -> Iterator[tuple[int, int, str]]:
        """Yield every comment with its line and column."""
        spans = sorted(self._spans)
        starts = [start for start, _ in spans]
        for number, line in enumerate(self._lines):
            at = 0
            while found := _COMMENT.search(line, at):
                offset = self._starts[number] + found.start()
                place = bisect.bisect_right(starts, offset) - 1
                if place >= 0 and offset < spans[place][1]:
                    at = found.start() + 1
                    continue
                yield number, found.start(), found[0].rstrip()
                break


def _preorder(value: Value) -> Iterator[tuple[Entry, Value]]:
    """Yield every entry with the collection that holds it, in the order of the file."""
    for entry in value.entries:
        yield entry, value
        yield from _preorder(entry.value)


def _own(entries: list[tuple[Entry, Value]], line: int, column: int, text: str, tail: list[str]) -> None:
    """Give a comment on a line of its own to what follows, or to what is before it where that stands as deep."""
    following = next((entry for entry, _ in entries if entry.line > line), None)
    if following is None and column == 0:
        tail.append(text)
        return
    if following is None or column > following.column:
        before = [entry for entry, _ in entries if entry.line < line and entry.column <= column]
        before[-1].after.append((column, text))
        return
    following.before.append(text)


def _behind(entries: list[tuple[Entry, Value]], offset: int, column: int, text: str) -> None:
    """Give a comment behind something to the innermost entry that begins on its line and is not over before it."""
    owner, holders = entries[0][0], {id(entry.value): entry for entry, _ in entries}
    parents = {id(entry): parent for entry, parent in entries}
    for entry, _ in entries:
        if entry.start > offset:
            break
        owner = entry
    # Inside brackets that are closed before the comment, it is a comment on what is in the brackets as a whole.
    while (parent := parents[id(owner)]).flow and parent.end <= offset:
        owner = holders[id(parent)]
    owner.comment = (column, text if owner.comment is None else f"{owner.comment[1]} {text}")
