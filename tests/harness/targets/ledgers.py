"""Ledgers as tests write them: two scenarios, and entries that differ from a right one in what a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from harness.run.ledger import Ledger
from harness.run.ledger_file import load_ledger
from harness.scenario.loader import Loaded, load

SCENARIO = """scenario: two questions
scopes:
  demo: {}
steps:
  - {step: asks, prepare: {scope_id: demo, query: tea}}
  - prepare: {scope_id: demo, query: milk}
"""
ENTRY = {
    "scenario": "grouping/one.yaml",
    "step": "asks",
    "target": "reference",
    "backend": "oceanbase",
    "region": "section Memory",
    "text": "expected items a",
    "issue": "powercontext 12",
    "owner": "ann",
    "review": "2027-01-31",
    "title": "one is left out",
    "breaks": "SPEC.md 3",
}
TOLD = "powercontext 12 one is left out (ann, until 2027-01-31)"
TODAY = date(2027, 1, 30)
TARGETS = ["reference"]
BACKENDS = ["sqlite", "oceanbase"]
RELEASED: dict[str, Any] = {"target": "powercontext"}

Written = Callable[..., Path]


def writer(folder: Path) -> Written:
    """Return what writes two scenarios and a ledger: of a text, or of the entry once for each mapping of changes."""
    (folder / "grouping").mkdir()
    for name in ("one", "other"):
        (folder / "grouping" / f"{name}.yaml").write_text(SCENARIO, encoding="utf-8")
    path = folder / "ledger.yaml"

    def write(*changes: dict[str, Any], text: str | None = None) -> Path:
        lines = []
        for changed in changes:
            fields = {key: value for key, value in {**ENTRY, **changed}.items() if value is not None}
            lines += [
                f"{'  ' if number else '- '}{key}: {json.dumps(fields[key])}" for number, key in enumerate(fields)
            ]
        path.write_text("\n".join(lines) + "\n" if text is None else text, encoding="utf-8")
        return path

    return write


def ledger_of(path: Path, *, today: date = TODAY) -> Ledger:
    return load_ledger(path, today=today, targets=TARGETS, backends=BACKENDS)


def scenario_of(path: Path, name: str = "one") -> Loaded:
    return load(path.parent / "grouping" / f"{name}.yaml")
