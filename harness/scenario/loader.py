"""A scenario file, read strictly: the scenario with the line of every part, or all of the file's mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import HarnessError, ScenarioError, ScenarioErrors
from harness.scenario.checks import check
from harness.scenario.marks import Mark
from harness.scenario.model import Scenario
from harness.scenario.model_errors import model_errors
from harness.scenario.source import decode
from harness.scenario.yaml_nodes import read

_COMMENTED_NUMBER = re.compile(r"\s#[0-9]")
_FREE = {"prepare", "artifact"}
"""Keys whose values go out or are compared as they are, so that null may stand in them."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scenario with the file that it came from."""

    scenario: Scenario
    path: Path
    mark: Mark

    def line(self, *location: str | int) -> int:
        """Return the line (from 1) of a part, e.g. `line("steps", 1, "expect", "bytes")`.

        Where the part is not in the file, the line of the nearest part around it.
        """
        return self.mark.key_at(*location)[0]


def load(path: Path) -> Loaded:
    """Read a scenario file; raises ScenarioErrors for its mistakes, HarnessError when it cannot be read."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise HarnessError("unreadable_scenario", f"{path} cannot be read", cause=reason) from None
    return parse(raw, path)


def parse(text: bytes, path: Path) -> Loaded:
    """Read a scenario from a file's bytes; `path` is what mistakes are reported under. Raises ScenarioErrors."""
    source = decode(text, path)
    document = read(source, path)
    errors = document.errors
    if errors and document.value is None:
        raise ScenarioErrors(path, errors)
    if document.has_null:
        errors += _nulls(document.value, document.mark, (), path)
    taken = {(error.line, error.column) for error in errors}
    try:
        scenario = Scenario.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as problem:
        found = model_errors(problem, document.mark, path)
        # A null that is refused above is refused by the models too; once is enough.
        errors += [error for error in found if (error.line, error.column) not in taken]
        raise ScenarioErrors(path, errors or found) from None
    errors += check(scenario, document.mark, path)
    errors += _lost_numbers(scenario, document.mark, source, path)
    if errors:
        raise ScenarioErrors(path, errors)
    return Loaded(scenario, path, document.mark)


def _lost_numbers(scenario: Scenario, mark: Mark, source: str, path: Path) -> Iterator[ScenarioError]:
    # `report: project #12` is read as "project": YAML takes the rest of the line for a comment.
    lines = source.split("\n") if scenario.report else []
    for index, reference in enumerate(scenario.report):
        line, column = mark.at("report", index)
        if "#" not in reference and _COMMENTED_NUMBER.search(lines[line - 1]):
            hint = "quote the whole reference"
            yield ScenarioError(path, line, column, f'"{reference}" loses the number behind its #', hint)


def _nulls(value: Any, mark: Mark, location: tuple[str | int, ...], path: Path) -> Iterator[ScenarioError]:
    if value is None and location:
        hint = "write {} for an empty mapping, indent what belongs to it, leave the key out, or give it a value"
        last = location[-1]
        subject = f'"{last}"' if isinstance(last, str) else f"item {last + 1}"
        yield ScenarioError(path, *mark.at(*location), f"{subject} has no value", hint)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in _FREE or inner is None:
                yield from _nulls(inner, mark, (*location, key), path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nulls(inner, mark, (*location, index), path)
