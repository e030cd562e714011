"""What each test of a fault says of it: its row in docs/faults.md, and what was measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])

UNAVAILABLE = "503 service_unavailable"
NOT_READY = "503 runtime_not_ready"
READY = "200, the same bytes"

HEADINGS = ("fault", "engine", "prepare answers", "bound", "measured", "recovers", "acknowledged", "lost")
_BEGIN, _END = "<!-- rows, written by `make faults TABLE=docs/faults.md` -->", "<!-- end of the rows -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One row: what is broken, and what is promised of it."""

    name: str
    engine: str
    answer: str
    bound: float
    """Within how many seconds each prepare is answered."""
    recovers: str
    """When the right answer is back, without a restart of the server's."""

    @property
    def promised(self) -> tuple[str, ...]:
        """The cells that do not change from run to run."""
        return (self.name, self.engine, self.answer, f"{self.bound:g} s", self.recovers)


FAULTS: list[Fault] = []
"""The rows of all test modules that were imported."""


def fault(
    name: str, *, engine: str, answer: str, bound: float, recovers: str, slow: bool = False
) -> Callable[[Test], Test]:
    """Make a row of a test; a slow one is run by `make faults` alone."""
    row = Fault(name=name, engine=engine, answer=answer, bound=bound, recovers=recovers)

    def marked(test: Test) -> Test:
        FAULTS.append(row)
        marks = [pytest.mark.fault(row), *([pytest.mark.slow] if slow else [])]
        for mark in marks:
            test = mark(test)
        return test

    return marked


@dataclass(slots=True)
class Measured:
    """What came of one fault, as far as it was brought about."""

    injected: int = 0
    slowest: float = 0.0
    acknowledged: int = 0
    lost: int = 0

    def add(self, other: Mapping[str, Any]) -> None:
        """Add what another test of the same fault measured."""
        self.injected += other["injected"]
        self.slowest = max(self.slowest, other["slowest"])
        self.acknowledged += other["acknowledged"]
        self.lost += other["lost"]


@dataclass(slots=True)
class Results:
    """What a run of tests measured, by row."""

    rows: dict[tuple[str, ...], Measured] = field(default_factory=dict)

    def add(self, promised: Iterable[str], measured: Mapping[str, Any]) -> None:
        """Add one test's."""
        self.rows.setdefault(tuple(promised), Measured()).add(measured)

    def lines(self) -> Iterator[str]:
        """Yield the table's rows in Markdown."""
        for promised, measured in self.rows.items():
            name, engine, answer, bound, recovers = promised
            seconds = f"{measured.slowest:.2f} s"
            yield table_line(
                (name, engine, answer, bound, seconds, recovers, str(measured.acknowledged), str(measured.lost))
            )

    def total(self) -> str:
        """Return one line of counts."""
        every = self.rows.values()
        return (
            f"{len(self.rows)} kinds of faults, {sum(one.injected for one in every)} injected, "
            f"{sum(one.acknowledged for one in every)} acknowledged writes read back, "
            f"{sum(one.lost for one in every)} lost"
        )


def table_line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def rows_of(document: str) -> list[tuple[str, ...]]:
    """Return the cells of the rows between the two marks of the document."""
    between = document.partition(_BEGIN)[2].partition(_END)[0]
    lines = [line for line in between.splitlines() if line.startswith("| ")]
    return [tuple(re.split(r" \| ", line.strip("| "))) for line in lines[2:]]


def rewrite(file: Path, results: Results) -> None:
    """Put these rows between the two marks of the document."""
    before, _, rest = file.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    head = [table_line(HEADINGS), table_line("---" for _ in HEADINGS)]
    table = "\n".join([_BEGIN, "", *head, *results.lines(), "", _END])
    file.write_text(before + table + after, encoding="utf-8")
