"""What docs/bugs.md says is so: every class is there, and every scenario and test that it names."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.scenario.loader import load

ROOT = Path(__file__).parents[2]
CLASSES = 46
REFERENCE = re.compile(r"[\w./-]+ #[1-9]\d*")


class Row(NamedTuple):
    number: int
    what: str
    references: list[str]
    held_by: list[str]


def rows() -> list[Row]:
    found = []
    for line in (ROOT / "docs" / "bugs.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].isdecimal():
            number, what, references, held_by = cells
            found.append(Row(int(number), what, references.split(", "), re.findall("`([^`]+)`", held_by)))
    return found


ROWS = rows()
REPORTING = {
    path.relative_to(ROOT).as_posix(): scenario.report
    for path in sorted((ROOT / "scenarios").glob("*/*.yaml"))
    if (scenario := load(path).scenario).report
}


@cache
def functions_of(path: str) -> frozenset[str]:
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in module.body if isinstance(node, ast.FunctionDef))


def test_every_class_has_its_row() -> None:
    assert [row.number for row in ROWS] == list(range(1, CLASSES + 1))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_class_names_its_reports_and_what_holds_it(row: Row) -> None:
    assert row.what
    assert [reference for reference in row.references if not REFERENCE.fullmatch(reference)] == []
    assert row.held_by
    assert len(set(row.held_by)) == len(row.held_by)
    for name in row.held_by:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), name
        if path.startswith("scenarios/"):
            assert test == ""
        else:
            assert test in functions_of(path), name


def test_no_report_belongs_to_two_classes() -> None:
    references = [reference for row in ROWS for reference in row.references]
    assert len(set(references)) == len(references)


@pytest.mark.parametrize("path", REPORTING)
def test_a_scenario_with_a_report_stands_in_the_row_of_its_class(path: str) -> None:
    """A report of no class is a scenario's own, and has the form of the others."""
    for reference in REPORTING[path]:
        assert REFERENCE.fullmatch(reference)
        holding = [row.held_by for row in ROWS if reference in row.references]
        assert all(path in held_by for held_by in holding), reference


def test_the_reports_of_the_scenarios_are_read() -> None:
    assert len(REPORTING) >= 40
