"""Shrinking of a scenario that a person wrote: smaller, and failing in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from targets import wrong

from harness.check.oracle.tokens import tokens
from harness.errors import HarnessError
from harness.explore.engines import open_session
from harness.explore.judging import find
from harness.explore.reductions import fewer
from harness.explore.shrink import shrink, shrink_with
from harness.explore.writing import lines_in
from harness.scenario.loader import load
from harness.scenario.model import Scenario
from harness.target import TARGETS

BIG = """\
# A comment of the author's.
scenario: two Scopes, many items
why: a reason that stays
tags: [shrinking]

scopes:
  demo:
    id: "project:demo"
    references: [shared]
    memory:
      - {entry: entry-1, text: Run the contract tests by hand.}
      - {entry: entry-2, text: Contract tests run nightly.}
      - {entry: entry-3, kind: preference, text: The contract tests are slow on Mondays.}
  shared:
    memory:
      - {entry: entry-9, text: More about contract tests.}

principals:
  alice: {reads: [demo, shared]}
  bob: {reads: [demo]}

steps:
  - step: bob may not
    prepare: {scope_id: demo, query: contract, assembly: {}}
    as: bob
    expect: {http: 403, error: forbidden}
  - step: alice may
    prepare: {scope_id: demo, query: contract tests, max_bytes: 9000, assembly: {show: [recall_rank]}}
    as: alice
    expect: {status: ready}
  - write: {demo: {memory: [{entry: entry-4, text: Later.}]}}
"""
BIG_LINES = len(list(lines_in(BIG)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "big.yaml"
    path.write_text(BIG, encoding="utf-8")
    return path


def small(file: Path, monkeypatch: pytest.MonkeyPatch, target: str, backends: Sequence[str]) -> Scenario:
    told: list[str] = []
    with open_session(backends, target=target) as session:
        made = shrink_with(session, load(file), backends, report=told.append)
    assert made == file.with_name("big.small.yaml")
    assert file.read_text(encoding="utf-8") == BIG
    printed = "\n".join(told)
    assert f"before: {BIG_LINES} lines, " in printed
    assert "after:  " in printed
    assert "harness run " in printed
    return load(made).scenario


def test_what_has_no_part_in_the_failure_is_dropped(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "wrong", wrong.SwapsItems)
    made = small(file, monkeypatch, "wrong", ["sqlite"])
    assert (made.why, made.tags) == ("a reason that stays", ("shrinking",))
    assert list(made.scopes) == ["demo"]
    assert len(made.steps) == 1
    assert made.principals is None
    [demo] = made.scopes.values()
    assert demo.id is None
    assert not demo.references
    assert {change.text for changes in demo.memory for change in changes} <= {"tests", "contract", "Contract"}


OVERSPENT = """\
scenario: two items where one has room
scopes:
  demo:
    memory:
      - {entry: entry-1, text: Run the contract tests by hand.}
      - {entry: entry-2, text: Contract tests run nightly.}
      - {entry: entry-3, text: Tea.}
steps:
  - prepare: {scope_id: demo, query: contract tests, max_bytes: 600, assembly: {}}
    expect: {status: ready, sections: [{Memory: [entry-2, entry-1]}], contains: [nightly, by hand]}
"""


def test_what_the_author_expects_is_kept_or_left_out_but_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_text(OVERSPENT, encoding="utf-8")
    with open_session(["sqlite"]) as session:
        made = load(shrink_with(session, load(file), ["sqlite"], report=lambda _: None)).scenario
    [step] = made.steps
    assert step.expect.model_dump(exclude_defaults=True) == {"sections": ({"Memory": ("entry-2", "entry-1")},)}
    [demo] = made.scopes.values()
    assert [change.entry for changes in demo.memory for change in changes] == ["entry-1", "entry-2"]


def test_a_smaller_scenario_delivers_the_same_items(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    turned = OVERSPENT.replace(", max_bytes: 600", "").replace("[entry-2, entry-1]", "[entry-1, entry-2]")
    file.write_text(turned, encoding="utf-8")
    with open_session(["sqlite"]) as session:
        made = shrink_with(session, load(file), ["sqlite"], report=lambda _: None)
        found = find(session, load(made), ["sqlite"])
    # entry-1 has six words and entry-2 four; both hold both words of the query, fewer words go first.
    assert found is not None
    assert found.failure.got == "Memory: [entry-2, entry-1]"


TEAS = """\
scenario: more words of the query go first
scopes:
  demo:
    memory:
      - {entry: a, text: Green tea is for the guests.}
      - {entry: b, text: Tea.}
steps:
  - prepare: {scope_id: demo, query: green tea for guests, assembly: {}}
    expect: {sections: [{Memory: [b, a]}]}
"""


def test_a_wrong_order_is_shrunk_to_one_by_the_same_rule(tmp_path: Path) -> None:
    file = tmp_path / "teas.yaml"
    file.write_text(TEAS, encoding="utf-8")
    with open_session(["sqlite"]) as session:
        made = shrink_with(session, load(file), ["sqlite"], report=lambda _: None)
        found = find(session, load(made), ["sqlite"])
    # a holds four words of the query and b one; without the rule it ends with two equal texts and the smaller id first.
    assert found is not None
    assert (found.failure.got, found.order) == ("Memory: [a, b]", ("words",))
    [demo] = load(made).scenario.scopes.values()
    texts = {change.entry: change.text for changes in demo.memory for change in changes}
    query = str((load(made).scenario.steps[0].prepare or {})["query"])
    held = {entry: len(tokens(query) & tokens(text or "")) for entry, text in texts.items()}
    assert held["a"] > held["b"] > 0


LIMITED = """\
scenario: three items where two are asked for
scopes:
  demo:
    memory:
      - {entry: fog, text: In fog the ferry waits at the pier.}
      - {entry: tide, text: The ferry leaves the pier at high tide.}
      - {entry: rope, text: Coil the rope before the ferry lands.}
steps:
  - prepare: {scope_id: demo, query: the ferry, assembly: {sections: [{family: memory, limit: 2}]}}
    expect: {sections: [{Memory: [fog, tide, rope]}]}
"""


@pytest.mark.parametrize(
    ("text", "came", "rule"),
    [
        # All hold both words of the query, rope among 6 distinct words, fog and tide among 7; there are two places.
        (LIMITED, "Memory: [rope, fog]", "limit"),
        # Of 600 bytes the frame takes 354, and two items with their metadata do not go into the rest.
        (OVERSPENT, "Memory: [entry-2]", "room"),
        (LIMITED.replace("Coil the rope before the ferry lands", "Coil it"), "Memory: [fog, tide]", "words"),
    ],
    ids=["limit", "room", "words"],
)
def test_what_is_missing_is_left_out_by_the_same_rule(tmp_path: Path, text: str, came: str, rule: str) -> None:
    file = tmp_path / "big.yaml"
    file.write_text(text, encoding="utf-8")
    with open_session(["sqlite"]) as session:
        made = load(shrink_with(session, load(file), ["sqlite"], report=lambda _: None))
        found = find(session, made, ["sqlite"])
    assert found is not None
    assert (found.failure.got, found.left_out, found.has_assembly) == (came, (rule,), True)


def test_on_another_target_it_fails_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "wrong", wrong.SwapsItems)
    told: list[str] = []
    progress: list[str] = []
    made = shrink(file, ["sqlite"], target="wrong", report=told.append, progress=progress.append)
    assert told[-1].endswith(f"repeat:  harness run {made} --backend sqlite --target wrong")
    assert "\n# made smaller by `harness shrink big.yaml --target wrong`: " in f"\n{made.read_text('utf-8')}"
    tried = len(progress)
    assert f", {tried} scenarios tried" in told[1]
    assert progress[-1].startswith(f"tried: {tried}, ")
    with open_session(["sqlite"]) as session:
        assert find(session, load(made), ["sqlite"]) is None
    with open_session(["sqlite"], target="wrong") as session:
        assert find(session, load(made), ["sqlite"]) is not None


def test_what_is_found_when_the_time_is_over_counts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "wrong", wrong.SwapsItems)
    monkeypatch.setattr("harness.explore.shrink.SECONDS", 0)
    told: list[str] = []
    made = shrink(file, ["sqlite"], target="wrong", report=told.append)
    assert f"given up after 0 s: `harness shrink {made} --target wrong` goes on from there" in told
    assert len(load(made).scenario.steps) == 3


def test_a_target_that_nobody_knows_is_refused(file: Path) -> None:
    with pytest.raises(HarnessError, match="wrongg"):
        shrink(file, ["sqlite"], target="wrongg")


def test_a_scenario_that_passes_is_refused(file: Path) -> None:
    with pytest.raises(HarnessError, match="passes on sqlite") as refused:
        shrink(file, ["sqlite"])
    assert refused.value.code == "nothing_to_shrink"
    assert not file.with_name("big.small.yaml").exists()


def test_fewer_leaves_out_all_halves_and_single_items() -> None:
    assert list(fewer([1, 2, 3])) == [[], [3], [1, 2], [2, 3], [1, 3], [1, 2]]
    assert list(fewer([1])) == [[]]
