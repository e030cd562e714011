"""Two backends that are not alike: the rows first, then the bytes, with the region of the first difference."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from targets import wrong
from targets.runs import SCENARIO, outcomes, verdict

from harness.run.compare import BEHAVIOUR_MISMATCH, SEED_MISMATCH
from harness.run.result import Outcome
from harness.target.base import Answer

LINE = SCENARIO.count("\n") + 2
NOTHING_EXPECTED = """
  - step: alice asks
    prepare: {scope_id: demo, query: contract tests, assembly: {}}
"""
WRITE = """
  - step: an Entry is written
    write: {demo: {memory: [{entry: entry-3, text: Contract tests take long.}]}}
"""
BACKENDS = ["sqlite", "oceanbase"]


class Run:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self._monkeypatch, self._tmp_path = monkeypatch, tmp_path

    def __call__(self, steps: str, target: type[wrong.Wrong], *, on: str = "oceanbase") -> list[Outcome]:
        maker = wrong.only_on(on, target)
        return outcomes(f"{SCENARIO}steps:{steps}", maker, self._monkeypatch, self._tmp_path, backends=BACKENDS)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return Run(monkeypatch, tmp_path)


def told(outcome: Outcome) -> list[tuple[str, str, int]]:
    """Return kind, region and line of all failures."""
    steps = ([] if outcome.seed is None else [outcome.seed]) + list(outcome.steps)
    return [(failure.kind, failure.region, step.line) for step in steps for failure in step.failures]


def test_backends_that_are_alike_pass(run: Run) -> None:
    both = run(NOTHING_EXPECTED + WRITE, wrong.Wrong)
    assert [(outcome.verdict, outcome.reason) for outcome in both] == [("passed", "")] * 2


def text(old: str, new: str) -> type[wrong.Wrong]:
    return wrong.answering(lambda answer: wrong.with_content(answer, lambda content: content.replace(old, new)))


def error(answer: Answer) -> Answer:
    body = b'{"error": {"code": "internal_error", "message": "Something broke.", "details": null}}'
    return replace(answer, status=500, body=body)


@pytest.mark.parametrize(
    ("target", "region"),
    [
        (text("nightly", "daily"), 'body of "Memory 1"'),
        (text("entry-1-v2", "entry-1-v1"), 'metadata of "Memory 2"'),
        (text("## Experience", "## Experiences"), "section heading"),
        (text("END_POWERCONTEXT_PREPARED_TEXT_V1", "END_POWERCONTEXT_PREPARED_TEXT_V2"), "end marker"),
        (text("# PowerContext historical", "# PowerContext old"), "notice"),
        (wrong.answering(error), "status"),
        (wrong.answering(lambda answer: replace(answer, body=answer.body.replace(b'":', b'": '))), "response"),
    ],
    ids=["body", "metadata", "section", "end marker", "notice", "status", "JSON around the text"],
)
def test_another_answer_is_a_behaviour_mismatch_in_its_region(run: Run, target: type[wrong.Wrong], region: str) -> None:
    right, other = run(NOTHING_EXPECTED, target)
    assert right.verdict == "passed"
    assert other.verdict == "failed"
    assert told(other)[-1] == (BEHAVIOUR_MISMATCH, region, LINE)


def test_the_first_backend_may_be_the_wrong_one(run: Run) -> None:
    first, second = run(NOTHING_EXPECTED, wrong.Miscounts, on="sqlite")
    assert told(first) == [("byte-count", "response", LINE)]
    assert told(second) == [(BEHAVIOUR_MISMATCH, "response", LINE)]


def test_other_rows_are_a_seed_mismatch_and_that_is_said_first(run: Run) -> None:
    _, other = run(NOTHING_EXPECTED, wrong.StoresOtherRows)
    assert told(other)[0] == (SEED_MISMATCH, "stored rows", 3)
    assert BEHAVIOUR_MISMATCH not in {kind for kind, _, _ in told(other)}
    told_again = re.sub(r"rows [0-9a-f]{20,}", "rows SUM", verdict(other, BACKENDS))
    assert (
        told_again
        == """\
scenarios/asked.yaml:3 'the seed' on oceanbase (wrong)
  SEED MISMATCH in stored rows: oceanbase does not hold the same rows as sqlite after the seed
  expected: entry_versions: 4 rows SUM
  got:      entry_versions: 4 rows SUM
  repeat:   harness run scenarios/asked.yaml --backend sqlite --backend oceanbase"""
    )


def test_other_rows_after_a_write_are_told_at_the_write(run: Run) -> None:
    _, other = run(WRITE, wrong.Forgets)
    assert told(other) == [(SEED_MISMATCH, "stored rows", LINE)]


def test_a_stale_answer_on_one_backend_is_told_at_the_step_behind_the_write(run: Run) -> None:
    right, other = run(
        NOTHING_EXPECTED + WRITE + NOTHING_EXPECTED.replace("asks", "asks again"), wrong.AnswersFromBefore
    )
    assert right.verdict == "passed"
    step = other.failed_step
    assert step is not None
    assert step.name == "alice asks again"
    assert {failure.kind for failure in step.failures} >= {"revision", BEHAVIOUR_MISMATCH}
    assert [bool(one.failures) for one in other.steps] == [False, False, True, False]


def test_a_seed_refused_on_one_backend_is_told_there(run: Run) -> None:
    right, other = run(NOTHING_EXPECTED, wrong.RefusesTheSeed)
    assert right.verdict == "passed"
    assert told(other) == [("seed", "seed", 3)]


def test_a_seed_refused_on_the_first_backend_leaves_the_other_result(run: Run) -> None:
    first, second = run(NOTHING_EXPECTED, wrong.RefusesTheSeed, on="sqlite")
    assert (first.verdict, second.verdict) == ("failed", "passed")
