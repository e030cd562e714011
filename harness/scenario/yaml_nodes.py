"""YAML text as plain values, with the line and column of every node kept beside them.

libyaml's events are read directly: no resolver and no constructor. An alias stands for the value of its anchor; what
aliases and expanded texts can multiply is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from yaml import MarkedYAMLError, YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from harness.errors import ScenarioError
from harness.scenario.marks import Document, Mark
from harness.scenario.scalars import Refusal, plain

_DEEPEST = 64
_MOST_DIGITS = 1000
_LONGEST_TEXT = 8 * 1024 * 1024
_LONGEST_FILE = 64 * 1024 * 1024
"""Bytes of UTF-8 that all expansions of one file may make together."""
_MOST_NODES = 100_000
"""Values that all aliases of one file may stand for together."""


class _Stop(Exception):
    """Nothing sensible can be read after this point."""


def read(text: str, path: Path) -> Document:
    """Return the value of a file's only document; mistakes are collected in its `errors`."""
    builder = _Builder(text, path)
    mark = Mark(1, 1)
    value: Any = None
    try:
        value, mark = builder.document()
    except _Stop:
        pass
    except YAMLError as problem:
        builder.errors.append(_syntax(problem, path))
    return Document(value, mark, builder.errors, builder.has_null)


class _Builder:
    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.errors: list[ScenarioError] = []
        self.has_null = False
        self._next: Callable[[], Any] = CParser(text.encode("utf-8")).get_event
        self._expanded = 0
        self._anchored: dict[str, tuple[Any, Mark] | None] = {}
        self._repeated = 0

    def document(self) -> tuple[Any, Mark]:
        self._next()
        event = self._next()
        value, mark = (None, Mark(1, 1)) if isinstance(event, StreamEndEvent) else self._node(self._next(), 0)
        if value is None:
            self._refuse(1, 1, "the file holds no scenario", "begin with `scenario:` and `steps:`")
            raise _Stop
        self._next()
        event = self._next()
        if isinstance(event, DocumentStartEvent):
            self._refuse(*_place(event), "a second document", "one file holds one scenario")
        return value, mark

    def _node(self, event: Any, depth: int) -> tuple[Any, Mark]:
        start = event.start_mark
        mark = Mark(start.line + 1, start.column + 1)
        if isinstance(event, AliasEvent):
            return self._alias(event.anchor or "", mark)
        if event.tag is not None:
            hint = "quote a text, leave the tag out"
            self._refuse(mark.line, mark.column, f"tags are not part of the format: {event.tag}", hint)
        if event.anchor is None:
            return self._content(event, mark, depth), mark
        # Until its value is complete an anchor names nothing: a value cannot hold itself.
        self._anchored[event.anchor] = None
        value = self._content(event, mark, depth)
        self._anchored[event.anchor] = (value, mark)
        return value, mark

    def _alias(self, name: str, mark: Mark) -> tuple[Any, Mark]:
        found = self._anchored.get(name)
        if found is None:
            inside = "inside its own value" if name in self._anchored else "without an anchor before it"
            self._refuse(mark.line, mark.column, f"alias *{name} {inside}")
            raise _Stop
        value, anchored = found
        nodes, size = _weight(value)
        self._repeated += nodes
        self._expanded += size
        if self._repeated > _MOST_NODES or self._expanded > _LONGEST_FILE:
            bound = f"at most {_MOST_NODES} values and 64 MB of text"
            self._refuse(mark.line, mark.column, "the aliases stand for too much", bound)
            raise _Stop
        mark.children = anchored.children
        mark.keys = anchored.keys
        return value, mark

    def _content(self, event: Any, mark: Mark, depth: int) -> Any:
        if isinstance(event, ScalarEvent):
            return self._scalar(event, mark)
        if depth >= _DEEPEST:
            self._refuse(mark.line, mark.column, f"nested more than {_DEEPEST} deep")
            raise _Stop
        if isinstance(event, MappingStartEvent):
            return self._mapping(mark, depth)
        return self._sequence(mark, depth)

    def _scalar(self, event: Any, mark: Mark) -> Any:
        if not event.implicit[0]:
            return event.value
        try:
            value = plain(event.value)
        except Refusal as refusal:
            self._refuse(mark.line, mark.column, refusal.message, refusal.hint)
            return event.value
        if isinstance(value, int) and len(event.value) > _MOST_DIGITS:
            # Of a hexadecimal one; Python writes none that is so long, in a message of ours neither.
            self._refuse(mark.line, mark.column, f"a number of {len(event.value)} digits", f"at most {_MOST_DIGITS}")
            return 0
        if value is None:
            self.has_null = True
        return value

    def _sequence(self, mark: Mark, depth: int) -> list[Any]:
        result: list[Any] = []
        event = self._next()
        while not isinstance(event, SequenceEndEvent):
            value, child = self._node(event, depth + 1)
            mark.children[len(result)] = child
            result.append(value)
            event = self._next()
        return result

    def _mapping(self, mark: Mark, depth: int) -> Any:
        result: dict[str, Any] = {}
        event = self._next()
        while not isinstance(event, MappingEndEvent):
            key, key_mark = self._node(event, depth + 1)
            place = (key_mark.line, key_mark.column)
            value, child = self._node(self._next(), depth + 1)
            if not isinstance(key, str):
                written = event.value if isinstance(event, ScalarEvent) else None
                hint = f'write "{written}" in quotes' if written else None
                self._refuse(*place, f"a key must be text: {written}" if written else "a key must be text", hint)
            elif key in result:
                first = mark.keys[key][0]
                self._refuse(*place, f'duplicate key "{key}", first on line {first}')
            else:
                mark.keys[key] = place
                mark.children[key] = child
                result[key] = value
            event = self._next()
        return self._expand(result, mark) if "repeat" in result or "join" in result else result

    def _expand(self, mapping: dict[str, Any], mark: Mark) -> Any:
        if isinstance(mapping.get("repeat"), str) and mapping.keys() <= {"repeat", "times"}:
            return self._repeat(mapping, mark)
        if mapping.keys() == {"join"} and isinstance(mapping["join"], list):
            for index, part in enumerate(mapping["join"]):
                if not isinstance(part, str):
                    self._refuse(*mark.children["join"].at(index), "a part of `join` must be text", "put it in quotes")
                    return ""
            return self._bounded(mapping["join"], 1, mark)
        return mapping

    def _repeat(self, mapping: dict[str, Any], mark: Mark) -> str:
        times = mapping.get("times")
        if type(times) is not int or times < 0:
            place = mark.at("times") if "times" in mapping else (mark.line, mark.column)
            self._refuse(*place, "`repeat` needs `times`, a whole number from 0")
            return ""
        return self._bounded([mapping["repeat"]], times, mark)

    def _bounded(self, parts: list[str], times: int, mark: Mark) -> str:
        size = sum(len(part.encode("utf-8")) for part in parts) * times
        self._expanded += size
        if size > _LONGEST_TEXT or self._expanded > _LONGEST_FILE:
            bound = "a text may have 8 MB, all expanded texts of a file 64 MB"
            self._refuse(mark.line, mark.column, f"a text of {size} bytes is too long", bound)
            return ""
        return "".join(parts) * times

    def _refuse(self, line: int, column: int, message: str, hint: str | None = None) -> None:
        self.errors.append(ScenarioError(self.path, line, column, message, hint))


def _weight(value: Any) -> tuple[int, int]:
    """Return how many values a value consists of, and how many bytes of text."""
    if isinstance(value, str):
        return 1, len(value.encode("utf-8"))
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    weights = [_weight(part) for part in parts]
    return 1 + sum(nodes for nodes, _ in weights), sum(size for _, size in weights)


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


_SYNTAX_HINTS = {
    "mapping values are not allowed": 'text that holds ": " needs quotes, or check the indentation of the line above',
    "cannot start any token": "text that begins with @, ` or % needs quotes",
    "invalid Unicode character escape": r"a surrogate is no character: write one above U+FFFF as \U0001F600",
    "found unknown escape character": r"in double quotes a backslash is written \\; single quotes take it as it is",
    "unexpected end of stream": "a quote is not closed",
}


def _syntax(problem: YAMLError, path: Path) -> ScenarioError:
    if not isinstance(problem, MarkedYAMLError) or problem.problem_mark is None:
        return ScenarioError(path, 1, 1, f"no YAML: {problem}")
    said = str(problem.problem)
    hint = next((hint for words, hint in _SYNTAX_HINTS.items() if words in said), None)
    if hint is None and problem.context and problem.context_mark is not None:
        hint = f"{problem.context} that begins on line {problem.context_mark.line + 1}"
        if "block" in problem.context:
            # What ends a block too early is a line that stands less deep than the others.
            hint += "; check the indentation of this line and the ones above"
    return ScenarioError(path, problem.problem_mark.line + 1, problem.problem_mark.column + 1, f"no YAML: {said}", hint)
