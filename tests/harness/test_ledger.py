"""The ledger: what it knows is set aside, and whatever it no longer fits is red or refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from targets.ledgers import BACKENDS, RELEASED, TODAY, TOLD, Written, ledger_of, scenario_of, writer

from harness.check.failure import Failure
from harness.errors import HarnessError
from harness.report.tally import entry
from harness.report.terminal import summary_lines
from harness.run.compare import compare
from harness.run.ledger_file import check_steps, load_ledger
from harness.run.result import Outcome, StepResult, Verdict
from harness.run.round_trip import ROUND_TRIP

KNOWN = Failure("sections", "section Memory", "apple", "pear", "expected items apple, got pear")
OTHER = Failure("status", "response", "200", "500", "expected status 200, got 500")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return writer(tmp_path)


def outcome(
    *failures: Failure, backend: str = "oceanbase", target: str = "reference", verdict: Verdict | None = None
) -> Outcome:
    """Return an outcome whose first step has these failures."""
    steps = (StepResult(0, "asks", "prepare", 5, failures=failures), StepResult(1, "step 2", "prepare", 6))
    verdict = verdict or ("failed" if failures else "passed")
    seed = StepResult(-1, "the seed", "seed", 2)
    return Outcome("grouping/one.yaml", "two questions", target, backend, verdict, seed=seed, steps=steps)


def refused_seed(*failures: Failure) -> Outcome:
    """Return an outcome whose seed has these failures, so that no step was tried."""
    seed = StepResult(-1, "the seed", "seed", 2, failures=failures)
    return replace(outcome(verdict="failed"), seed=seed, steps=())


def judged(path: Path, found: Outcome, *, today: date = TODAY, scenario: str = "one") -> Outcome:
    return ledger_of(path, today=today).judge(scenario_of(path, scenario), found)


def messages(found: Outcome) -> list[str]:
    return [failure.message for step in found.steps for failure in step.failures]


def test_a_known_failure_is_set_aside(written: Written) -> None:
    found = judged(written({}), outcome(KNOWN))
    assert (found.verdict, found.reason, found.known) == ("known", TOLD, (TOLD,))
    assert messages(found) == []


def test_a_failure_beside_a_known_one_stays(written: Written) -> None:
    found = judged(written({}), outcome(KNOWN, OTHER))
    assert (found.verdict, messages(found), found.reason) == ("failed", [OTHER.message], "")
    assert found.known == (TOLD,)


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
    second = {"region": "response", "text": "200, got 500", "issue": "powercontext 13", "title": "it breaks"}
    path = written({}, second)
    found = judged(path, outcome(KNOWN, OTHER))
    assert (found.verdict, messages(found)) == ("known", [])
    assert found.reason == f"{TOLD}; powercontext 13 it breaks (ann, until 2027-01-31)"
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


@pytest.mark.parametrize(
    ("bounds", "known"),
    [
        ({}, ["1.0.0", "1.2.0", "1.4.1", "1.10.0"]),
        ({"since": "1.2.0"}, ["1.2.0", "1.4.1", "1.10.0"]),
        ({"until": "1.4.1"}, ["1.0.0", "1.2.0", "1.4.1"]),
        ({"since": "1.2.0", "until": "1.4.1"}, ["1.2.0", "1.4.1"]),
        ({"target": "powercontext==1.4.1"}, ["1.4.1"]),
    ],
    ids=["every", "since", "until", "both", "one"],
)
def test_an_entry_is_of_the_releases_within_its_bounds(
    written: Written, bounds: dict[str, str], known: list[str]
) -> None:
    path = written(RELEASED | bounds)
    releases = ["1.0.0", "1.2.0", "1.4.1", "1.10.0"]
    found = [judged(path, outcome(KNOWN, target=f"powercontext=={release}")) for release in releases]
    assert [release for release, one in zip(releases, found, strict=True) if one.verdict == "known"] == known
    assert [one.verdict for one in found if one.verdict != "known"] == ["failed"] * (len(releases) - len(known))
    assert judged(path, passed := outcome()) is passed


def test_a_url_is_meant_literally(written: Written) -> None:
    path = written({"target": "http://127.0.0.1:8000"})
    assert judged(path, outcome(KNOWN, target="http://127.0.0.1:8000")).verdict == "known"
    assert judged(path, outcome(KNOWN, target="http://127.0.0.1:80")).verdict == "failed"


def test_any_is_every_backend_and_every_region(written: Written) -> None:
    path = written({"backend": "any", "region": "any", "text": ["items apple, got pear", "200, got 500"]})
    for backend in BACKENDS:
        assert judged(path, outcome(KNOWN, OTHER, backend=backend)).verdict == "known"
    assert judged(path, outcome(OTHER)).verdict == "known"
    assert messages(judged(path, outcome())) == ["the ledger knows of powercontext 12 here, and this is not it"]


def test_what_is_known_everywhere_is_known_at_every_step(written: Written) -> None:
    wide = {"everywhere": True, "text": "expected items apple, got pear", "step": "step 2"}
    path = written(wide)
    elsewhere = judged(path, outcome(KNOWN), scenario="other")
    assert (elsewhere.verdict, elsewhere.known) == ("known", (TOLD,))
    assert judged(path, passed := outcome(), scenario="other") is passed
    assert judged(path, outcome(KNOWN, OTHER), scenario="other").verdict == "failed"
    assert judged(path, outcome(KNOWN, backend="sqlite"), scenario="other").verdict == "failed"


def test_what_is_known_everywhere_is_strict_at_its_own_step(written: Written) -> None:
    path = written({"everywhere": True, "text": "expected items apple, got pear", "step": "step 2"})
    found = judged(path, outcome(KNOWN))
    assert [len(step.failures) for step in found.steps] == [0, 1]
    assert found.verdict == "failed"
    late = date(2028, 1, 1)
    assert len(messages(judged(path, outcome(KNOWN), today=late))) == 2
    assert messages(judged(path, outcome(KNOWN), today=late, scenario="other")) == []


def test_what_a_seed_fails_by_can_be_known(written: Written) -> None:
    path = written({"step": "the seed"}, {"step": "asks", "issue": "powercontext 13"})
    check_steps(ledger_of(path), scenario_of(path))
    found = judged(path, refused_seed(KNOWN))
    assert (found.verdict, found.known) == ("known", (TOLD,))
    found = judged(path, outcome(KNOWN))
    assert found.seed is not None
    assert [failure.message for failure in found.seed.failures] == [
        "the ledger knows of powercontext 12 here, and this is not it"
    ]


def test_a_step_that_the_runner_adds_can_be_known_and_is_missed(written: Written) -> None:
    path = written({"step": ROUND_TRIP})
    check_steps(ledger_of(path), scenario_of(path))
    passed = outcome()
    added = StepResult(2, ROUND_TRIP, "read", 6, failures=(KNOWN,))
    assert judged(path, replace(passed, steps=(*passed.steps, added), verdict="failed")).verdict == "known"
    assert messages(judged(path, passed)) == ["the ledger knows of powercontext 12 here, and this is not it"]


def test_the_summary_counts_each_issue_for_itself() -> None:
    nine, twelve = "issue 9 a (ann, until 2027-01-31)", "issue 12 b (ann, until 2027-01-31)"
    steps = (StepResult(0, "asks", "prepare", 5, checks=1, reordered=True),)
    both = replace(outcome(verdict="known"), known=(twelve, nine), steps=steps)
    one = replace(both, path="grouping/other.yaml", known=(twelve,), steps=(replace(steps[0], reordered=False),))
    counted = [entry(found, start_seconds=0.0, worker="main") for found in (both, replace(both), one)]
    lines = list(summary_lines(counted, columns=[("reference", "oceanbase")], facts={}))
    assert [line for line in lines if line.startswith("known:")] == [
        f"known: {nine}: 1 scenario",
        f"known: {twelve}: 2 scenarios",
    ]
    assert "order differs between backends, which the RFC permits: 2 of 3 answers (sets of hits equal)" in lines


def test_the_summary_names_what_nothing_judges() -> None:
    def told(*presumed: str, path: str) -> dict[str, Any]:
        steps = (StepResult(0, "asks", "prepare", 5, checks=1, presumed=presumed),)
        return entry(replace(outcome(verdict="passed"), path=path, steps=steps), start_seconds=0.0, worker="main")

    counted = [told("bytes", "sections (unpredicted)", path=f"/a/b/grouping/{number}.yaml") for number in range(7)]
    counted += [counted[0], told("bytes", path="/a/b/grouping/other.yaml")]
    lines = list(summary_lines(counted, columns=[("reference", "oceanbase")], facts={}))
    assert (
        "left to the oracle, since they presume ids or an order that the target chooses: bytes 9, "
        "sections (unpredicted) 8"
    ) in lines
    named = ", ".join(f"grouping/{number}.yaml" for number in range(5))
    assert f"of these the oracle cannot know the order, so that nothing judges it: {named} and 2 more" in lines


@pytest.mark.parametrize(
    ("found", "reordered", "failures"),
    [
        (None, None, 0),
        (("a", "b"), False, 0),
        (("b", "a"), True, 0),
        (("b", "a", "..."), False, 0),
        (("b", "c"), False, 1),
    ],
    ids=["nothing told", "same", "another order", "more behind", "other hits"],
)
def test_another_order_of_the_same_hits_is_counted(
    found: tuple[str, ...] | None, reordered: bool | None, failures: int
) -> None:
    first, second = (
        replace(passed, steps=(replace(passed.steps[0], candidates=None if hits is None else {"memory": hits}),))
        for passed, hits in ((outcome(backend="sqlite"), ("a", "b")), (outcome(), found))
    )
    (step,) = compare(first, second).steps
    assert (step.reordered, len(step.failures)) == (reordered, failures)


@pytest.mark.parametrize(
    "message",
    [
        "expected status 200, got 422 invalid_access_request",
        "expected as predicted 200, got 422 invalid_access_request",
        "expected as predicted 403 forbidden, got 422 invalid_access_request",
        "expected error scope_not_found, got invalid_access_request",
    ],
)
def test_what_is_known_everywhere_is_no_pardon_for_a_refused_legal_request(message: str) -> None:
    known = load_ledger(Path("scenarios/ledger.yaml"), today=TODAY, targets=["runtime"], backends=BACKENDS)
    failure = Failure("oracle", "status", "", "", message)
    assert [one.issue for one in known.entries if one.everywhere and one.fits(failure)] == []
