"""Where the parts of a file stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.errors import ScenarioError


class Mark:
    """Where a node begins (line and column from 1), and its children by key or index."""

    __slots__ = ("children", "column", "keys", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column
        self.children: dict[Any, Mark] = {}
        self.keys: dict[Any, tuple[int, int]] = {}
        """Where each key of a mapping stands; empty for a sequence."""

    def walk(self, *location: str | int) -> Iterator[tuple[str | int, Mark]]:
        """Give each step of a location that exists, with the node there; what does not exist is passed over."""
        mark = self
        for element in location:
            child = mark.children.get(element)
            if child is not None:
                mark = child
                yield element, mark

    def at(self, *location: str | int) -> tuple[int, int]:
        """Return where the value at a location begins, or the nearest node above it that exists."""
        *_, last = [self, *(mark for _, mark in self.walk(*location))]
        return last.line, last.column

    def key_at(self, *location: str | int) -> tuple[int, int]:
        """Return where the key at a location stands; for an item of a sequence the item itself."""
        place = (self.line, self.column)
        mark = self
        for element in location:
            if element in mark.keys:
                place = mark.keys[element]
            child = mark.children.get(element)
            if child is not None:
                if element not in mark.keys:
                    place = (child.line, child.column)
                mark = child
        return place


@dataclass
class Document:
    """A file's value, the marks of its nodes, and what was wrong on the way there."""

    value: Any
    mark: Mark
    errors: list[ScenarioError] = field(default_factory=list)
    has_null: bool = False
