"""A wrong system under test makes its scenario red, with the right verdict at the right line; each has one fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from targets import wrong
from targets.runs import ASK, SCENARIO, outcomes, verdict

from harness.run.result import Outcome
from harness.target import ReferenceTarget, TargetMaker

LINE = SCENARIO.count("\n") + 2
"""Of the first step."""

LONG = """\
scenario: a body of more than 2000 bytes
scopes:
  demo:
    memory:
      - {entry: entry-1, text: {join: ["contract ", {repeat: x, times: 2094}]}}
steps:
  - step: alice asks
    prepare: {scope_id: demo, query: contract, assembly: {}}
    expect: {truncated: [entry-1]}
"""
REFUSED = """
  - step: alice may not ask there
    prepare: {scope_id: sealed, query: contract tests, assembly: {}}
    expect: {http: 403, error: forbidden}
"""
OLD_REVISION = """
  - step: the first revision is read
    read: {scope: demo, entry: entry-1@entry-1-v1, revision: 1}
    expect: {text: Run the contract tests by hand.}
"""
HEAD_MOVED = """
  - step: the Head moves
    write: {demo: {memory: [{entry: entry-2, text: Moved.}]}}
  - step: what was cited is read again
    read: everything cited
"""
REFUSED_WRITES = """
  - step: an unknown Entry is retired
    write: {demo: {memory: [{retire: entry-7}]}}
    expect: {refused: entry_unknown}
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return Run(monkeypatch, tmp_path)


class Run:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self._monkeypatch, self._tmp_path = monkeypatch, tmp_path

    def __call__(self, text: str, maker: TargetMaker) -> Outcome:
        [outcome] = outcomes(text, maker, self._monkeypatch, self._tmp_path, backends=["sqlite"])
        return outcome


def found(outcome: Outcome) -> tuple[str, str, int]:
    """Return kind, region and line of the verdict; its lines are few, and name the command to repeat it."""
    step = outcome.failed_step
    assert outcome.verdict == "failed"
    assert step is not None
    first, *between, last = verdict(outcome, ["sqlite"]).splitlines()
    assert first == f"scenarios/asked.yaml:{step.line} {step.name!r} on sqlite (wrong)"
    assert last == "  repeat:   harness run scenarios/asked.yaml --backend sqlite"
    assert 3 <= len(between) <= 5
    return step.failures[0].kind, step.failures[0].region, step.line


@pytest.mark.parametrize("text", [SCENARIO + "steps:" + ASK + HEAD_MOVED + REFUSED + OLD_REVISION, LONG])
def test_the_right_target_passes(run: Run, text: str) -> None:
    assert run(text, ReferenceTarget).verdict == "passed"


@pytest.mark.parametrize(
    ("target", "kind", "region"),
    [
        (wrong.SwapsItems, "sections", "section Memory"),
        (wrong.ShowsAnotherScope, "body", 'body of "Memory 1"'),
        (wrong.TellsInAHeader, "leak", "headers"),
        (wrong.TellsInTheLog, "leak", "log"),
        (wrong.Miscounts, "byte-count", "response"),
        (wrong.AddsAField, "fields", "response"),
        (wrong.ChangesItsMind, "repeat", 'metadata of "Memory 1"'),
    ],
)
def test_a_wrong_answer_is_told(run: Run, target: TargetMaker, kind: str, region: str) -> None:
    assert found(run(SCENARIO + "steps:" + ASK, target)) == (kind, region, LINE)


def test_a_body_of_another_scope_is_told_as_a_leak_too(run: Run) -> None:
    step = run(SCENARIO + "steps:" + ASK, wrong.ShowsAnotherScope).steps[0]
    assert [(failure.kind, failure.region) for failure in step.failures][1:] == [
        ("leak", "response"),
        ("oracle", 'body of "Memory 1"'),
    ]
    assert "held only by entry 'entry-9'" in step.failures[1].message


def test_a_leak_in_an_error_is_told(run: Run) -> None:
    assert found(run(SCENARIO + "steps:" + REFUSED, wrong.TellsInAnError)) == ("leak", "response", LINE)


@pytest.mark.parametrize(
    ("target", "kind", "region", "message"),
    [
        (wrong.CutsTooEarly, "cut", 'body of "Memory 1"', "1 more bytes of the body would have fitted"),
        (wrong.ShowsAll, "body-size", 'body of "Memory 1"', "a body of 2100 bytes is delivered whole"),
    ],
)
def test_a_wrong_cut_is_told(run: Run, target: TargetMaker, kind: str, region: str, message: str) -> None:
    outcome = run(LONG.replace("    expect: {truncated: [entry-1]}\n", ""), target)
    assert found(outcome) == (kind, region, 7)
    assert message in outcome.steps[0].failures[0].message


def test_the_head_in_place_of_a_revision_is_told(run: Run) -> None:
    assert found(run(SCENARIO + "steps:" + OLD_REVISION, wrong.ReadsTheHead)) == ("text", "text", LINE)


def test_the_head_in_place_of_a_citation_is_told(run: Run) -> None:
    outcome = run(SCENARIO + "steps:" + ASK + HEAD_MOVED, wrong.ReadsTheHead)
    assert found(outcome) == ("read", "response", LINE + ASK.count("\n") + 2)


def test_a_refused_seed_is_told_at_the_scopes(run: Run) -> None:
    outcome = run(SCENARIO + "steps:" + ASK, wrong.RefusesTheSeed)
    assert found(outcome) == ("seed", "seed", 3)
    assert outcome.steps == ()


def test_an_accepted_write_that_was_to_be_refused_is_told_and_later_steps_are_judged(run: Run) -> None:
    outcome = run(SCENARIO + "steps:" + REFUSED_WRITES + ASK, wrong.AcceptsAnything)
    assert found(outcome) == ("write", "write", LINE)
    assert [bool(step.failures) for step in outcome.steps] == [True, False, False]


def test_a_write_that_is_not_done_is_told_at_the_next_answer(run: Run) -> None:
    written = "\n  - write: {demo: {memory: [{entry: entry-3, text: Contract tests.}]}}"
    outcome = run(SCENARIO + "steps:" + written + ASK.replace("[entry-2,", "[entry-3, entry-2,"), wrong.Forgets)
    assert found(outcome) == ("sections", "section Memory", LINE + 1)


def test_one_failing_step_hides_none_behind_it(run: Run) -> None:
    outcome = run(SCENARIO + "steps:" + ASK + REFUSED + ASK.replace("asks", "asks again"), wrong.Miscounts)
    assert [bool(step.failures) for step in outcome.steps] == [True, False, True, False]
    assert all(step.checks for step in outcome.steps)


def test_what_the_target_cannot_do_is_known_before_anything_is_judged(run: Run) -> None:
    fault = "\n  - fault: {family: memory, kind: error}"
    outcome = run(SCENARIO + "steps:" + ASK + fault, wrong.CannotFail)
    assert (outcome.verdict, outcome.reason, outcome.checks) == ("not run", "needs faults", 0)


def test_a_verdict_is_a_few_lines(run: Run) -> None:
    told = verdict(run(SCENARIO + "steps:" + ASK, wrong.ShowsAnotherScope), ["sqlite"])
    assert (
        told
        == f"""\
scenarios/asked.yaml:{LINE} 'alice asks' on sqlite (wrong)
  leak in response: 'The vault op' is held only by entry 'entry-9'@'entry-9-v1' of memory 'memory' (head) \
in Scope 'sealed'
  expected: nothing of it
  got:      'The vault op'
  and 2 more at this step: body in body of "Memory 1", oracle in body of "Memory 1"
  repeat:   harness run scenarios/asked.yaml --backend sqlite"""
    )
