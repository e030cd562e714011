"""Explanations: their arithmetic comes out at the predicted bytes, for the whole corpus, and they name the cause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.check.display import INVISIBLE
from harness.check.oracle import Prediction
from harness.cli import app
from harness.errors import ScenarioErrors
from harness.explain import Prepared, explain, lines_of
from harness.scenario.loader import load, parse

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CHAPTERS = sorted(path for path in SCENARIOS.iterdir() if path.is_dir())


def explained(text: str) -> tuple[list[Prepared], str]:
    loaded = parse(text.encode(), Path("asked.yaml"))
    told = explain(loaded)
    return [step.prepared for step in told if step.prepared is not None], "\n".join(lines_of(loaded, told))


def predicted(chapter: Path) -> Iterator[tuple[Path, Prepared, Prediction]]:
    for path in sorted(chapter.glob("*.yaml")):
        for told in explain(load(path)):
            if told.prepared is not None and isinstance(told.prepared.prediction, Prediction):
                yield path, told.prepared, told.prepared.prediction


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.name)
def test_the_parts_of_every_text_add_up_to_its_bytes(chapter: Path) -> None:
    for path, prepared, prediction in predicted(chapter):
        placed = [cost for cost in prepared.costs if cost.number is not None]
        assert tuple(cost.citation for cost in placed) == prediction.origins, path
        total = prepared.frame
        for cost in prepared.costs:
            if cost.number is not None:
                total += cost.section + cost.heading + cost.metadata + cost.body
            if placed and cost.citation in prediction.origins:
                assert cost.total == total, (path, cost)
        if prediction.content is not None:
            assert total == len(prediction.content), path


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.name)
def test_every_scenario_can_be_told(chapter: Path) -> None:
    for path in sorted(chapter.glob("*.yaml")):
        loaded = load(path)
        told = "\n".join(lines_of(loaded, explain(loaded)))
        assert loaded.scenario.scenario in told
        assert not INVISIBLE - {"\n"} & set(told), path


TURNS = """\
scenario: turns
scopes:
  demo:
    references: [shared]
    memory:
      - {entry: a, text: alpha beta}
      - {entry: b, text: alpha}
      - {entry: c, text: gamma}
      - {entry: gone, text: alpha}
      - {retire: gone}
  shared:
    memory: [{entry: d, text: alpha}]
  sealed: {}
principals:
  alice: {reads: [demo, shared]}
  bob: {reads: [demo]}
steps:
  - prepare: {scope_id: demo, query: alpha beta, assembly: {}}
  - prepare: {scope_id: demo, query: alpha, assembly: {}}
    as: bob
    expect: {http: 403, error: forbidden}
  - write: {demo: {memory: [{entry: e, text: alpha beta}]}}
  - prepare: {scope_id: demo, query: alpha}
  - prepare: {scope_id: demo, query: 7}
    expect: {http: 422, error: invalid_request}
  - read: {scope: demo, entry: a@a-v1, revision: 1}
"""


def test_hits_turns_and_what_was_not_found_are_told() -> None:
    [first, _, later, _], told = explained(TURNS)
    [memory, _] = first.recalls
    assert [(hit.name, hit.held, hit.tokens) for hit in memory.scopes[0].hits] == [
        ("a@a-v1", ("alpha", "beta"), 2),
        ("b@b-v1", ("alpha",), 1),
    ]
    assert memory.scopes[0].missed == ("c@c-v1",)
    assert memory.turns == ("a@a-v1", "shared/d@d-v1", "b@b-v1")
    assert re.search(r"gone@gone-v1 +5 bytes  alpha +retired, never recalled", told)
    assert "\n  write\n    demo: e@e-v1  alpha beta\n" in told
    assert '\n  read {"scope": "demo", "revision": 1, "entry": "a@a-v1"}\n' in f"{told}\n"
    # The walk's world moves on: the step after the write sees what it wrote.
    assert "e@e-v1" in [hit.name for hit in later.recalls[0].scopes[0].hits]


def test_a_refusal_says_which_check_did_not_pass() -> None:
    [_, refused, _, illegal], told = explained(TURNS)
    assert refused.refusal == "bob is no viewer of shared: referenced, and one refusal fails the request"
    assert illegal.refusal is not None
    assert illegal.refusal.startswith("the request model refuses it: query: a string of 1 to 8192")
    assert "refused with 403 forbidden: bob is no viewer" in told


@pytest.mark.parametrize(
    ("text", "max_bytes", "why"),
    [
        ("alpha " + "x" * 894, 8000, "whole"),
        ("alpha " + "x" * 894, 608, "cut to 82 bytes: whole it would make 1425, 817 over the budget"),
        ("alpha " + "x" * 894, 589, "the longest cut has 63 bytes of 63 that are left, and 64 are the least"),
        ("alpha " + "x" * 2400, 8000, "cut to 2000 bytes: the body has over 2000 bytes"),
        ("alpha " + "x" * 894, 512, "without any body it would make 526, 14 over"),
    ],
)
def test_the_budget_says_why_an_item_is_whole_cut_or_skipped(text: str, max_bytes: int, why: str) -> None:
    [prepared], told = explained(
        f"scenario: budget\nscopes: {{demo: {{memory: [{{entry: entry-1, text: {text}}}]}}}}\n"
        f"steps: [{{prepare: {{scope_id: demo, query: alpha, max_bytes: {max_bytes}, assembly: {{}}}}}}]\n"
    )
    [cost] = prepared.costs
    assert why in cost.why
    assert cost.why.removeprefix("skipped: ") in told
    assert (cost.number is None) == cost.why.startswith("skipped")


def test_the_command_compares_with_a_real_backend(tmp_path: Path) -> None:
    file = tmp_path / "turns.yaml"
    file.write_text(TURNS)
    ended = CliRunner().invoke(app, ["explain", str(file), "--step", "1", "--backend", "sqlite"])
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (0, "sqlite answers as explained")
    assert "step 1" in ended.output
    assert "step 2" not in ended.output
    refused = CliRunner().invoke(app, ["explain", str(file), "--step", "9"])
    assert "9" in str(refused.exception)


SHARED = """\
scenario: the same ids in two Scopes
scopes:
  kitchen:
    references: [house]
    memory: [{entry: e, text: tea}, {entry: k, text: tea}]
    profile: [A cook.]
  house:
    memory: [{entry: e, text: tea}]
    profile: [A house.]
  shed:
    memory: [{entry: k, text: tea}]
steps:
  - prepare:
      scope_id: kitchen
      query: tea
      assembly: {sections: [{family: memory, limit: 3}, {family: profile, limit: 2}]}
"""


def test_items_are_named_as_the_loader_wants_them() -> None:
    [prepared], told = explained(SHARED)
    memory, profile = ["kitchen/e@e-v1", "house/e@e-v1", "k@k-v1"], ["kitchen/profile#1", "house/profile#1"]
    assert [cost.name for cost in prepared.costs] == [*memory, *profile]
    assert "one of each Scope in turn: kitchen/e@e-v1, house/e@e-v1, k@k-v1\n" in told
    expect = f"    expect: {{sections: [{{Memory: {memory}}}, {{Profile: {profile}}}]}}\n"
    parse((SHARED + expect).encode(), Path("asked.yaml"))
    with pytest.raises(ScenarioErrors, match='"profile#1" is ambiguous'):
        parse((SHARED + expect.replace("kitchen/p", "p")).encode(), Path("asked.yaml"))
