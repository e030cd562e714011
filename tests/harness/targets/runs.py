"""One scenario on real SQLite files and on targets of a test's choice, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from backends.sqlite import SQLite
from harness.report.terminal import failure_lines
from harness.run.result import Outcome
from harness.run.session import Session
from harness.scenario.loader import parse
from harness.target import TARGETS, TargetMaker

SCENARIO = """\
scenario: what wrong targets are asked

scopes:
  demo:
    references: [shared]
    memory:
      - {entry: entry-1, version: entry-1-v1, text: Run the contract tests by hand.}
      - {entry: entry-1, version: entry-1-v2, text: "Regenerate the client, then run the contract tests."}
      - {entry: entry-2, text: Contract tests run nightly.}
    experience:
      - {id: experience-1, situation: The contract changed., action: Built it., outcome: It ran., lesson: Do so.}
  shared: {}
  sealed:
    memory:
      - {entry: entry-9, text: The vault opens with marmalade-77.}

principals:
  alice: {reads: [demo, shared]}
"""
ASK = """
  - step: alice asks
    prepare: {scope_id: demo, query: contract tests, assembly: {}}
    expect:
      sections:
        - Memory: [entry-2, entry-1@entry-1-v2]
        - Experience: [experience-1]
"""


def outcomes(
    text: str, maker: TargetMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, backends: Sequence[str]
) -> list[Outcome]:
    """Return a scenario's outcome on each backend; all of them are SQLite, whatever they are called."""
    monkeypatch.setitem(TARGETS, "wrong", maker)
    engines = {name: SQLite.create(oceanbase_url=None, run_directory=tmp_path) for name in backends}
    loaded = parse(text.encode(), tmp_path / "scenarios" / "asked.yaml")
    with closing(Session(engines, names=backends, target="wrong", database="pch_test")) as session:
        found = [session.outcome(loaded, name) for name in backends]
    assert [outcome.reason for outcome in found if outcome.verdict == "engine fault"] == []
    return found


def verdict(outcome: Outcome, backends: Sequence[str]) -> str:
    """Return what is printed of an outcome."""
    return "\n".join(failure_lines(outcome, path="scenarios/asked.yaml", backends=backends))
