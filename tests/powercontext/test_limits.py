"""Which scenarios a release can run, and what is said of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.scenario.model import Scenario
from harness.target.powercontext.limits import Abilities, lacking

OLD = Abilities((1, 2, 0), can_restart=True, only_one=False)
NEW = Abilities((1, 4, 1), can_restart=True, only_one=False)
ALONE = Abilities((1, 4, 1), can_restart=False, only_one=True)
WHOLE, KEPT = "revisions of the Memory as a whole", "texts kept as they are"
ASK = {"prepare": {"scope_id": "demo", "query": "x"}}


def scenario(steps: list[dict[str, Any]] | None = None, principals: Any = None, **demo: Any) -> Scenario:
    value: dict[str, Any] = {"scenario": "x", "scopes": {"demo": demo, "shared": {}}, "steps": steps or [ASK]}
    return Scenario.model_validate(value | ({} if principals is None else {"principals": principals}))


def topic(**fields: str) -> dict[str, Any]:
    return {"topics": [{"id": "t", "title": "t", "summary": "s", "detail": "d"} | fields]}


def test_an_ordinary_scenario_runs_everywhere() -> None:
    plain = scenario(memory=[{"entry": "e", "text": "Some text."}], profile=["Short."])
    for abilities in (OLD, NEW, ALONE):
        assert lacking(plain, abilities) is None


@pytest.mark.parametrize(
    ("demo", "reason"),
    [
        ({"memory": [{"entry": "e", "text": "ends with a blank "}]}, "texts kept as they are"),
        ({"memory": [{"entry": "e", "text": "x" * 8193}]}, "memories of more than 8192 bytes"),
        ({"memory": [{"entry": "e", "text": " "}]}, "a blank memory"),
        ({"memory": [{"entry": "e", "text": "x", "kind": "k" * 129}]}, "a kind of more than 128 characters"),
        ({"profile": ["a\r\nb"]}, "texts kept as they are"),
        ({"profile": [{"state": "pending", "content": "x"}]}, "candidates of family profile"),
        (topic(title="x" * 513), "a title of more than 512 characters"),
        (topic(summary="\x1c"), "a blank summary"),
        (topic() | {"experience": [dict.fromkeys(("situation", "action", "outcome", "lesson"), "x") | {"id": "t"}]},
         "one id in two families"),
        ({"memory": [{"entry": "e", "text": "x"}, {"retire": "e"}, {"entry": "e", "text": "y"}]},
         "a retired memory written again"),
    ],
)  # fmt: skip
def test_what_no_release_keeps_is_not_run(demo: dict[str, Any], reason: str) -> None:
    for abilities in (OLD, NEW):
        assert lacking(scenario(**demo), abilities) == f"needs {reason}"


def test_a_line_feed_at_the_end_of_a_profile_is_no_reason() -> None:
    assert lacking(scenario(profile=["a\nb", "c\n"]), NEW) is None


def test_equal_texts_are_one_entry_before_atomic_memories() -> None:
    twice = scenario(memory=[{"entry": "e", "text": "x"}, {"entry": "f", "text": "x"}])
    again = scenario(memory=[{"entry": "e", "text": "x"}, {"entry": "e", "text": "x"}])
    other = scenario(memory=[{"entry": "e", "text": "x"}, {"entry": "f", "text": "x", "kind": "lesson"}])
    assert [lacking(each, OLD) for each in (twice, again)] == ["needs equal texts in one Memory"] * 2
    assert lacking(other, OLD) is None
    assert [lacking(each, NEW) for each in (twice, again, other)] == [None] * 3


def test_topics_came_after_the_first_release() -> None:
    assert lacking(scenario(**topic()), Abilities((1, 0, 0), can_restart=True, only_one=False)) == "needs topics"


@pytest.mark.parametrize(
    ("read", "expect", "old", "new"),
    [
        ({"family": "memory", "id": "memory"}, {}, WHOLE, WHOLE),
        ({"family": "memory", "id": "memory"}, {"http": 403}, None, None),
        ({"entry": "e@e-v1"}, {}, None, None),
        ({"entry": "e@e-v1"}, {"http": 404, "error": "memory_not_found"}, None, WHOLE),
        ({"entry": "e@e-v1"}, {"contains": ["retired"]}, None, "the state of a memory in a revision"),
        ({"family": "profile", "id": "profile"}, {"artifact": {"content": "x"}}, KEPT, KEPT),
    ],
)  # fmt: skip
def test_exact_reads_follow_the_release(read: Any, expect: Any, old: str | None, new: str | None) -> None:
    step = {"read": {"scope": "demo", "revision": 1} | read, "expect": expect}
    asked = scenario([step], memory=[{"entry": "e", "text": "x"}])
    told = [None if reason is None else f"needs {reason}" for reason in (old, new)]
    assert [lacking(asked, abilities) for abilities in (OLD, NEW)] == told


def test_revisions_are_counted_otherwise_where_each_change_makes_one() -> None:
    memory = [[{"entry": "e", "text": "x"}, {"entry": "f", "text": "y"}]]
    asked = scenario([{"read": {"scope": "demo", "entry": "f@f-v1", "revision": 1}}], memory=memory)
    assert lacking(scenario(memory=memory), OLD) is None
    assert [lacking(asked, each) for each in (OLD, NEW)] == ["needs several changes in one revision", None]


def test_a_refusal_needs_a_counterpart_and_one_write() -> None:
    def refused(code: str, **content: Any) -> Scenario:
        return scenario([{"write": {"demo": content}, "expect": {"refused": code}}])

    entry = {"entry": "e", "text": "x"}
    assert lacking(refused("invalid_reference", references=["nowhere"]), NEW) is None
    assert lacking(refused("body_too_long", memory=[entry]), NEW) == "needs the refusal body_too_long"
    both = refused("invalid_reference", memory=[entry], references=["nowhere"])
    assert lacking(both, NEW) == "needs several writes in one transaction"


def test_the_administrator_stands_in_where_everybody_reads_everything() -> None:
    everything = {"reads": ["demo", "shared"]}
    reason = "needs principals other than the administrator"
    assert lacking(scenario(principals={"alice": everything, "root": {"administrator": True}}), ALONE) is None
    assert lacking(scenario(principals={"bob": {"reads": ["demo"]}}), ALONE) == reason
    assert lacking(scenario([{"revoke": {"reader": ["shared"]}}]), ALONE) == reason
    assert lacking(scenario([ASK | {"expect": {"http": 403}}]), ALONE) == reason


def test_restarts_need_someone_who_can() -> None:
    restarting = scenario([{"restart": True}])
    assert [lacking(restarting, each) for each in (NEW, ALONE)] == [None, "needs restarts"]


def test_most_of_the_scenarios_can_be_run(pytestconfig: pytest.Config) -> None:
    from harness.scenario.loader import load

    files = [file for file in Path(pytestconfig.rootpath, "scenarios").rglob("*.yaml") if file.name != "ledger.yaml"]
    reasons = [lacking(load(file).scenario, NEW) for file in files]
    assert sum(reason is None for reason in reasons) > len(files) // 2
    assert all(reason is None or reason.startswith("needs ") for reason in reasons)
