"""The ledger: what it knows is set aside, and whatever it no longer fits is red or refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from harness.check.failure import Failure
from harness.errors import HarnessError, ScenarioErrors
from harness.run.ledger import Ledger, check_steps, load_ledger
from harness.run.result import Outcome, StepResult, Verdict
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
}
TODAY = date(2027, 1, 30)
TARGETS = ["reference"]
BACKENDS = ["sqlite", "oceanbase"]
KNOWN = Failure("sections", "section Memory", "a", "b", "expected items a, got b")
OTHER = Failure("status", "response", "200", "500", "expected status 200, got 500")

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write the scenario and a ledger: of a text, or of the entry once for each mapping of changes."""
    (tmp_path / "grouping").mkdir()
    (tmp_path / "grouping" / "one.yaml").write_text(SCENARIO, encoding="utf-8")
    path = tmp_path / "ledger.yaml"

    def write(*changes: dict[str, str | None], text: str | None = None) -> Path:
        lines = []
        for changed in changes:
            fields = {key: value for key, value in {**ENTRY, **changed}.items() if value is not None}
            lines += [f'{"- " if not number else "  "}{key}: "{fields[key]}"' for number, key in enumerate(fields)]
        path.write_text("\n".join(lines) + "\n" if text is None else text, encoding="utf-8")
        return path

    return write


def ledger_of(path: Path, *, today: date = TODAY) -> Ledger:
    return load_ledger(path, today=today, targets=TARGETS, backends=BACKENDS)


def scenario_of(path: Path) -> Loaded:
    return load(path.parent / "grouping" / "one.yaml")


def outcome(*failures: Failure, backend: str = "oceanbase", verdict: Verdict | None = None) -> Outcome:
    """Return an outcome whose first step has these failures."""
    steps = (StepResult(0, "asks", "prepare", 5, failures=failures), StepResult(1, "step 2", "prepare", 6))
    verdict = verdict or ("failed" if failures else "passed")
    return Outcome("grouping/one.yaml", "two questions", "reference", backend, verdict, steps=steps)


def judged(path: Path, found: Outcome, *, today: date = TODAY) -> Outcome:
    return ledger_of(path, today=today).judge(scenario_of(path), found)


def messages(found: Outcome) -> list[str]:
    return [failure.message for step in found.steps for failure in step.failures]


def mistakes(path: Path) -> list[str]:
    with pytest.raises(ScenarioErrors) as refused:
        ledger_of(path)
    return [
        f"{error.line}:{error.column} {error.message}" + (f"; {error.hint}" if error.hint else "")
        for error in refused.value.errors
    ]


def test_a_known_failure_is_set_aside(written: Written) -> None:
    found = judged(written({}), outcome(KNOWN))
    assert (found.verdict, found.reason) == ("known", "powercontext 12 (ann, until 2027-01-31)")
    assert messages(found) == []


def test_a_failure_beside_a_known_one_stays(written: Written) -> None:
    found = judged(written({}), outcome(KNOWN, OTHER))
    assert (found.verdict, messages(found)) == ("failed", [OTHER.message])


def test_an_unexpected_pass_is_red(written: Written) -> None:
    found = judged(written({}), outcome())
    assert (found.verdict, found.reason) == ("failed", "")
    (failure,) = found.steps[0].failures
    assert (failure.kind, failure.region, failure.expected) == ("LEDGER", "section Memory", "expected items a")
    assert failure.got == "nothing wrong there"
    assert failure.message == "the ledger knows of powercontext 12 here, and this is not it"


def test_a_text_that_no_longer_fits_is_red_beside_the_failure(written: Written) -> None:
    found = judged(written({"text": "expected items c"}), outcome(KNOWN))
    assert found.verdict == "failed"
    assert messages(found) == [KNOWN.message, "the ledger knows of powercontext 12 here, and this is not it"]
    assert found.steps[0].failures[1].got == KNOWN.message


def test_a_failure_in_another_region_is_not_the_known_one(written: Written) -> None:
    found = judged(written({"region": "section Experience"}), outcome(KNOWN))
    assert (found.verdict, len(messages(found))) == ("failed", 2)


@pytest.mark.parametrize("today", [date(2027, 1, 31), date(2028, 1, 1)], ids=["on-the-day", "later"])
def test_an_overdue_review_is_red(written: Written, today: date) -> None:
    found = judged(written({}), outcome(KNOWN), today=today)
    assert found.verdict == "failed"
    assert messages(found) == ["the ledger's entry of powercontext 12 is to be looked at again by ann"]


def test_two_entries_on_one_step_know_a_failure_each(written: Written) -> None:
    second = {"region": "response", "text": "got 500", "issue": "powercontext 13"}
    path = written({}, second)
    found = judged(path, outcome(KNOWN, OTHER))
    assert (found.verdict, messages(found)) == ("known", [])
    assert found.reason == "powercontext 12 (ann, until 2027-01-31); powercontext 13 (ann, until 2027-01-31)"
    found = judged(path, outcome(KNOWN))
    assert messages(found) == ["the ledger knows of powercontext 13 here, and this is not it"]


def test_an_entry_on_one_backend_leaves_the_other_alone(written: Written) -> None:
    path = written({})
    passed, failed = outcome(backend="sqlite"), outcome(KNOWN, backend="sqlite")
    assert judged(path, passed) is passed
    assert judged(path, failed) is failed


def test_an_entry_of_another_step_leaves_this_one_alone(written: Written) -> None:
    found = judged(written({"step": "step 2"}), outcome(KNOWN))
    assert [len(step.failures) for step in found.steps] == [1, 1]


@pytest.mark.parametrize("verdict", ["engine fault", "missing", "not run"])
def test_what_was_not_judged_is_left_alone(written: Written, verdict: Verdict) -> None:
    found = outcome(verdict=verdict)
    assert judged(written({}), found, today=date(2028, 1, 1)) is found


def test_an_entry_names_a_step_that_the_scenario_has(written: Written) -> None:
    path = written({"step": "ask"})
    with pytest.raises(HarnessError) as refused:
        check_steps(ledger_of(path), scenario_of(path))
    assert str(refused.value) == (
        f'ledger: {path} knows of a step "ask" that grouping/one.yaml does not have\n  hint: its steps: asks, step 2'
    )
    path = written({}, {"step": "step 2"})
    check_steps(ledger_of(path), scenario_of(path))


WRONG: dict[str, tuple[dict[str, str | None], str]] = {
    "target": ({"target": "refrence"}, '3:11 unknown target "refrence"; known: reference'),
    "backend": ({"backend": "seekdb"}, '4:12 unknown backend "seekdb"; known: sqlite, oceanbase'),
    "key": ({"ownr": "ann"}, '10:3 unknown key "ownr"; did you mean "owner"?'),
    "missing": ({"owner": None}, '1:3 "owner" is missing'),
    "empty": ({"text": ""}, "6:9 text: String should have at least 1 character"),
    "no-date": ({"review": "soon"}, "9:11 review is no day; write 2027-01-31, in quotes"),
    "no-day": ({"review": "2027-02-30"}, "9:11 review is no day; write 2027-01-31, in quotes"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_refused_at_its_line(written: Written, changes: dict[str, str | None], message: str) -> None:
    assert mistakes(written(changes)) == [message]


def test_an_entry_of_no_file_is_refused(written: Written) -> None:
    path = written({}, {"scenario": "grouping/two.yaml"})
    assert mistakes(path) == [f"10:13 there is no scenario grouping/two.yaml below {path.parent}"]


def test_all_mistakes_are_told_at_once(written: Written) -> None:
    path = written({"target": "a", "backend": "b"}, {"review": "2027-13-01", "owner": None, "ownr": "ann"})
    assert [message.split()[0] for message in mistakes(path)] == ["3:11", "4:12", "10:3", "18:3"]


def test_a_review_that_yaml_takes_for_a_date_is_refused(written: Written) -> None:
    lines = "\n".join(f'  {key}: "{value}"' for key, value in ENTRY.items() if key != "review")
    path = written(text=f"-{lines[1:]}\n  review: 2027-01-31\n")
    assert mistakes(path)[0].startswith("9:11 unquoted date 2027-01-31")


@pytest.mark.parametrize("target", ["powercontext==1.4.1", "powercontext", "http://127.0.0.1:8000"])
def test_a_target_without_a_name_of_ours_is_known(written: Written, target: str) -> None:
    assert [entry.target for entry in ledger_of(written({"target": target})).entries] == [target]


def test_names_are_checked_only_against_known_ones(written: Written) -> None:
    path = written({"target": "mine", "backend": "second"})
    assert len(load_ledger(path, today=TODAY).entries) == 1


@pytest.mark.parametrize("text", ["", "\n", "# nothing is known\n\n  # yet\n", "[]\n", "# none\n[]\n"])
def test_a_ledger_may_be_empty(written: Written, text: str) -> None:
    assert ledger_of(written(text=text)).entries == ()


def test_a_ledger_may_be_missing(tmp_path: Path) -> None:
    assert ledger_of(tmp_path / "ledger.yaml").entries == ()


def test_a_ledger_is_a_list(written: Written) -> None:
    assert mistakes(written(text="scenario: one\n")) == [
        "1:1 a ledger is a list of entries; begin each entry with a dash"
    ]
    assert mistakes(written(text="- a\n"))[0].startswith("1:3 an entry: ")
