"""Targets that make their own ids and rank by a search of their own: judged as strictly, by their own ids and order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from targets.own_ids import MakesIds
from targets.runs import outcomes, verdict

from backends.operations import Operation, SetReferences
from harness.run.result import Outcome
from harness.scenario.loader import parse
from harness.target import TargetMaker
from harness.target.base import Answer, Applied, Refused
from harness.target.ids import Ids

ROOT = Path(__file__).parents[2]
REAL_SCOPE, REAL_ENTRY = "scp_" + "a" * 26, "mem_ent_" + "b" * 32

SCENARIO = """\
scenario: two references, a tie and a budget
scopes:
  demo:
    references: [zoo, attic]
    memory:
      - {entry: one, text: tea with milk}
      - {entry: two, text: tea with lemon}
  zoo: {memory: [{entry: zoo-1, text: tea of the zoo}, {entry: zoo-2, text: tea of the ape}]}
  attic: {memory: [{entry: attic-1, text: tea of the attic}]}
principals:
  alice: {reads: [demo, zoo, attic]}
steps:
  - step: all of it
    prepare: {scope_id: demo, query: tea, assembly: {show: [recall_rank]}}
    expect:
      sections: [Memory: [demo/one, zoo-1, attic-1, demo/two, zoo-2]]
      contains: ["tea of the ape"]
  - step: a length that our ids give
    prepare: {scope_id: demo, query: tea, max_bytes: 600, assembly: {}}
    expect: {bytes: 530}
  - step: a Scope that nobody has
    prepare: {scope_id: nowhere, query: tea}
    expect: {http: 403, error: forbidden}
  - step: the exact read of an old version
    read: {scope: demo, entry: one@one-v1, revision: 1}
    expect: {text: tea with milk}
"""


class SortsReferences(MakesIds):
    """Takes turns in the order of the references' names."""

    def _real(self, operation: Operation) -> Operation:
        real = super()._real(operation)
        if isinstance(real, SetReferences):
            named = sorted(real.references, key=self.ids.name)
            return replace(real, references=tuple(named))
        return real

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        outcome = super().apply(operations)
        if isinstance(outcome, Refused):
            return outcome
        asked = [MakesIds._real(self, one) for one in operations]
        return Applied(tuple(asked))


class FindsLess(MakesIds):
    """Has lost an Entry for its search."""

    def prepare(self, body: bytes, **named: object) -> Answer:
        return super().prepare(body.replace(b'"tea"', b'"ape"'), **named)  # type: ignore[arg-type]


class PadsIds(MakesIds):
    """Takes an id with a blank behind it for the id."""

    def prepare(self, body: bytes, **named: object) -> Answer:
        return super().prepare(re.sub(rb'(scp_[0-9a-f]{26}) "', rb'\1"', body), **named)  # type: ignore[arg-type]


class CutsLate(MakesIds):
    """Delivers one byte more than asked for."""

    def prepare(self, body: bytes, **named: object) -> Answer:
        return super().prepare(body.replace(b'"max_bytes": 600', b'"max_bytes": 640'), **named)  # type: ignore[arg-type]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return Run(monkeypatch, tmp_path)


class Run:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self._monkeypatch, self._tmp_path = monkeypatch, tmp_path

    def __call__(self, text: str, maker: TargetMaker, *, other: TargetMaker | None = None) -> list[Outcome]:
        def make(backend: str, database_url: str, /) -> MakesIds:
            chosen = maker if other is None or backend == "sqlite" else other
            return chosen(backend, database_url)  # type: ignore[return-value]

        return outcomes(text, make, self._monkeypatch, self._tmp_path, backends=["sqlite", "oceanbase"])


def kinds(outcome: Outcome) -> set[str]:
    return {failure.kind for step in outcome.steps for failure in step.failures}


def test_a_scenario_passes_by_the_ids_and_the_order_of_the_target(run: Run) -> None:
    both = run(SCENARIO, MakesIds)
    assert [outcome.verdict for outcome in both] == ["passed", "passed"], verdict(both[0], ["sqlite"])
    assert all("bytes" in outcome.steps[1].presumed for outcome in both)


@pytest.mark.parametrize(
    "path",
    [
        "authorization/unreadable_reference_refuses_all.yaml",
        "budgets/exact_size_of_eight_items.yaml",
        "exact_reads/a_revised_entry_keeps_its_place.yaml",
        "legacy/eight_memories_alone.yaml",
        "topic_memory/at_most_eight_topics_are_tried.yaml",
    ],
)
def test_scenarios_of_the_corpus_pass(path: str, run: Run) -> None:
    file = ROOT / "scenarios" / path
    both = run(file.read_text(encoding="utf-8"), MakesIds)
    assert [outcome.verdict for outcome in both] == ["passed", "passed"], verdict(both[0], ["sqlite"])


def test_turns_in_another_order_than_the_references_are_a_fault(run: Run) -> None:
    found = run(SCENARIO, SortsReferences)[0]
    assert "turns" in kinds(found)
    told = next(one for step in found.steps for one in step.failures if one.kind == "turns")
    assert told.region == "recall order of Memory"
    # By the names of the scenario, not by ids that nobody has seen.
    assert (told.expected, told.got) == ("demo, zoo, attic, demo, zoo", "demo, attic, zoo, demo, zoo")


def test_other_hits_on_the_second_backend_are_a_fault_and_another_order_is_none(run: Run) -> None:
    first, second = run(SCENARIO, MakesIds, other=FindsLess)
    assert first.verdict == "passed"
    assert second.verdict == "failed"
    told = next(one for step in second.steps for one in step.failures if one.region == "candidates of Memory")
    assert "oceanbase finds other Memory candidates than sqlite" in told.message
    assert "zoo" in told.message
    assert "scp_" not in told.message


def test_a_blank_behind_an_id_is_found_by_near_ids(run: Run) -> None:
    twins = SCENARIO.replace("scenario: two", "twins: [trailing_blank]\nscenario: two", 1)
    assert run(twins, MakesIds)[0].verdict == "passed"
    found = run(twins, PadsIds)[0]
    assert found.verdict == "failed"
    told = [one.message for step in found.steps for one in step.failures]
    assert any("scope_id with another trailing blank, 'demo '" in message for message in told)


def test_what_presumes_ids_is_no_way_around_the_oracle(run: Run) -> None:
    found = run(SCENARIO, CutsLate)[0]
    assert found.verdict == "failed"
    assert {"budget", "oracle"} & kinds(found)
    assert found.steps[1].presumed == ()


@pytest.mark.parametrize(
    ("asked", "expected", "kind"),
    [
        ("max_bytes: 600, assembly: {}", "bytes: 531", "bytes"),
        ("max_bytes: 600, assembly: {}", "bytes: {at_least: 601}", "bytes"),
        ("assembly: {}", "status: empty", "status"),
        ("assembly: {}", "sections: []", "sections"),
        ("assembly: {}", "sections: [Memory: {any_order: [demo/one, demo/two]}]", "sections"),
        ("assembly: {}", "sections: [Memory: [zoo-1, demo/one, attic-1, demo/two, zoo-2]]", "sections"),
        ("assembly: {show: [recall_rank]}", "ranks: {attic-1: 2}", "ranks"),
        ("assembly: {}", "truncated: [demo/one]", "truncated"),
        ("assembly: {}", "content: tea", "content"),
        ("assembly: {}", "contains: [elephant]", "contains"),
        ("assembly: {}", "absent: [tea of the ape]", "absent"),
        ("assembly: {sections: []}", "same_as: all of it", "same-as"),
    ],
)
def test_an_expectation_that_no_target_can_keep_is_not_left_to_the_oracle(
    asked: str, expected: str, kind: str, run: Run
) -> None:
    wrong = f"""\
  - step: wrong
    prepare: {{scope_id: demo, query: tea, {asked}}}
    expect: {{{expected}}}
"""
    found = run(SCENARIO + wrong, MakesIds)[0]
    assert found.verdict == "failed"
    told = found.steps[4]
    assert told.name == "wrong"
    assert {failure.kind for failure in told.failures} == {kind}
    assert kind not in told.presumed


def test_what_a_target_cannot_do_is_not_run(run: Run) -> None:
    near = SCENARIO.replace("  attic: {memory", "  Zoo: {}\n  attic: {memory")
    assert {outcome.verdict for outcome in run(near, MakesIds)} == {"not run"}
    assert parse(near.encode(), Path("near.yaml")).scenario.scopes.keys() >= {"zoo", "Zoo"}


def test_ids_are_put_back_at_equal_length() -> None:
    ids = Ids()
    ids.learn_scope("demo", REAL_SCOPE)
    ids.learn_entry("demo", "entry-1", REAL_ENTRY)
    text = f'Scope: "{REAL_SCOPE}", Entry "{REAL_ENTRY}", unknown "mem_ent_{"c" * 32}"'
    put = ids.comparable(text.encode())
    assert len(put) == len(text)
    assert put.startswith(b'Scope: "demo~~~')
    assert ids.named(text) == f'Scope: "demo", Entry "entry-1", unknown "mem_ent_{"c" * 32}"'
    assert ids.named_value({"a": [REAL_ENTRY, 1]}) == {"a": ["entry-1", 1]}


@pytest.mark.parametrize(
    ("asked", "real"),
    [
        ("demo", REAL_SCOPE),
        ("demo ", REAL_SCOPE + " "),
        (" demo", " " + REAL_SCOPE),
        ("DEMO", REAL_SCOPE.swapcase()),
        ("demolition", "demolition"),
        ("nowhere", "nowhere"),
    ],
)
def test_a_near_miss_of_an_id_is_the_same_near_miss_of_the_real_one(asked: str, real: str) -> None:
    ids = Ids()
    assert ids.scope(asked) == asked
    ids.learn_scope("demo", REAL_SCOPE)
    assert ids.scope(asked) == real


def test_raw_bodies_ask_for_the_real_scope() -> None:
    ids = Ids()
    body = b'{"query": "demo", "scope_id" : "d\\u0065mo", "scope_id":"other"}'
    assert ids.in_request(body) == body
    ids.learn_scope("demo", REAL_SCOPE)
    assert ids.in_request(body) == b'{"query": "demo", "scope_id" : "%s", "scope_id":"other"}' % REAL_SCOPE.encode()
    assert ids.in_request(b'\xff"scope_id": "demo"') == b'\xff"scope_id": "%s"' % REAL_SCOPE.encode()
