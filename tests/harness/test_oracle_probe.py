"""The order as far as probes show it: what they cannot know is undetermined, never guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from backends.operations import CreateScope, Operation, WriteDocument, WriteMemory
from harness.check.oracle import (
    Candidates,
    Offer,
    Order,
    Prediction,
    Undetermined,
    candidate_order,
    candidate_order_from_probe,
    predict,
    probe_requests,
)
from harness.check.oracle.build_markdown import build_markdown
from harness.check.oracle.order import atomic_citation
from harness.check.request import Asked, read_request
from harness.check.world import World
from harness.scenario.model import RuntimeSpec
from harness.target.base import Answer
from runtime.artifacts import EntryAddress, EntryWrite, Experience, Family, Topic

OPEN = RuntimeSpec(access="disabled")


def ask(*sections: tuple[Family, int], max_bytes: int = 8000) -> Asked:
    chosen = [{"family": family, "limit": limit} for family, limit in sections]
    return read_request({"scope_id": "s", "query": "tea", "max_bytes": max_bytes, "assembly": {"sections": chosen}})


OLDER = read_request({"scope_id": "s", "query": "tea"})


def world_of(*operations: Operation) -> World:
    world = World()
    world.apply([CreateScope("s"), *operations])
    return world


def memories(*texts: str) -> WriteMemory:
    return WriteMemory("s", tuple(EntryWrite(f"e{number:02}", "v", text) for number, text in enumerate(texts, start=1)))


def probed(world: World, asked: Asked, order: Order) -> dict[Family, Answer]:
    """Answer the probes as a target with this order does."""
    answers: dict[Family, Answer] = {}
    for family, request in probe_requests(asked).items():
        content, _ = build_markdown(read_request(request), order)
        value = {"content": None if content is None else content.decode()}
        answers[family] = Answer(200, (), json.dumps(value).encode())
    return answers


def known(world: World, asked: Asked, order: Order | None = None) -> Mapping[Family, Candidates]:
    right = candidate_order(world, asked) if order is None else order
    return candidate_order_from_probe(world, asked, probed(world, asked, right))


def said(world: World, asked: Asked, order: Order) -> Prediction | Undetermined:
    found = predict(world, asked, order, caller=None, runtime=OPEN)
    if isinstance(found, Prediction):
        assert found == predict(world, asked, caller=None, runtime=OPEN)
    return found


def reason(found: Prediction | Undetermined) -> str:
    assert isinstance(found, Undetermined)
    return found.reason


def test_probes_ask_family_by_family_with_the_largest_budget() -> None:
    requests = probe_requests(ask(("experience", 1), ("topic-memory", 2)))
    assert list(requests) == ["experience", "topic-memory"]
    assert requests["experience"] == {
        "scope_id": "s",
        "query": "tea",
        "max_bytes": 32768,
        "assembly": {"sections": [{"family": "experience", "limit": 2}], "show": ["recall_rank"]},
    }
    assert list(probe_requests(OLDER)) == ["memory", "experience", "topic-memory"]
    assert probe_requests(ask(("memory", 1)), max_entries=3)["memory"]["assembly"]["sections"][0]["limit"] == 3


def test_a_short_list_is_known_to_its_end() -> None:
    world = world_of(memories("tea", "tea pot", "milk"))
    order = known(world, ask(("memory", 8)))
    assert order["memory"] == candidate_order(world, ask(("memory", 8)))["memory"]
    for asked in (ask(("memory", 8)), ask(("memory", 1), max_bytes=512), OLDER):
        assert isinstance(said(world, asked, known(world, asked)), Prediction)
    assert known(world_of(), ask(("memory", 1)))["memory"] == Candidates()


def test_behind_the_limit_nothing_is_known() -> None:
    world = world_of(memories(*["tea"] * 9))
    order = known(world, ask(("memory", 8)))
    assert isinstance(said(world, ask(("memory", 8)), order), Prediction)
    assert "memory of rank 9 lies behind the probe's limit of 8" in reason(
        said(world, ask(("memory", 8), max_bytes=600), order)
    )
    fields = ("tea", "", "", "")
    world = world_of(*(WriteDocument("s", f"x{number}", Experience(*fields)) for number in range(3)))
    # The older output takes two Experiences and tries no third one.
    assert isinstance(said(world, OLDER, known(world, OLDER)), Prediction)


def test_what_does_not_fit_into_the_probe_is_a_gap() -> None:
    lines = "tea" + "\n" * 1990
    world = world_of(memories(lines, lines, lines, "tea " + "y" * 70))
    right = candidate_order(world, ask(("memory", 8)))
    first, second, third, short = right["memory"].offers
    order = known(world, ask(("memory", 8)), {"memory": Candidates((first, second, third, short))})
    places = order["memory"].citations
    assert places[0] is not None
    assert order["memory"].more is not None or None in places
    # Where the unknown one is not reached, the answer is known all the same.
    assert isinstance(predict(world, ask(("memory", 1)), order, caller=None, runtime=OPEN), Prediction)


def test_a_gap_in_the_ranks_is_undetermined() -> None:
    world = world_of(memories("tea", "tea pot"))
    asked = ask(("memory", 2))
    answers = probed(world, asked, candidate_order(world, asked))
    content = answers["memory"].content
    assert content is not None
    body = json.dumps({"content": content.replace("Recall rank: 2", "Recall rank: 3")}).encode()
    order = candidate_order_from_probe(world, asked, {"memory": Answer(200, (), body)})
    assert [citation is None for citation in order["memory"].citations] == [False, True, False]
    assert "memory of rank 2 does not fit into the probe" in reason(said(world, asked, order))
    assert isinstance(predict(world, ask(("memory", 1)), order, caller=None, runtime=OPEN), Prediction)


@pytest.mark.parametrize(
    "answer", [Answer(503, (), b"{}"), Answer(200, (), b'{"content": "something else"}')], ids=["refused", "malformed"]
)
def test_a_probe_without_a_text_says_nothing(answer: Answer) -> None:
    world = world_of(memories("tea"))
    order = candidate_order_from_probe(world, ask(("memory", 2)), {"memory": answer})
    assert "probe of memory" in reason(said(world, ask(("memory", 2)), order))


def test_a_topics_snippet_is_read_off_and_an_unknown_one_is_never_cut() -> None:
    detail = "no\ntea\x00 and more " + "z" * 80
    world = world_of(WriteDocument("s", "y", Topic("T", "S", detail)))
    sections: tuple[Family, int] = ("topic-memory", 1)
    for asked in (ask(sections), ask(sections, max_bytes=560), OLDER):
        assert isinstance(said(world, asked, known(world, asked)), Prediction)
    (right,) = candidate_order(world, ask(sections))["topic-memory"].offers
    assert isinstance(right, Offer)
    other = replace(right, body="Title: T\n\nSummary: S\n\nSnippet: of another rule " + "z" * 80)
    order = known(world, ask(sections), {"topic-memory": Candidates((other,))})
    whole = predict(world, ask(sections), order, caller=None, runtime=OPEN)
    assert whole == Prediction(200, None, *build_markdown(ask(sections), {"topic-memory": Candidates((other,))}))
    assert "may be cut" in reason(predict(world, ask(sections, max_bytes=560), order, caller=None, runtime=OPEN))
    assert "holds" in reason(predict(world, OLDER, order, caller=None, runtime=OPEN))


def test_an_atomic_memory_shows_the_text_of_its_version() -> None:
    world = world_of(memories("tea", "tea pot"), WriteMemory("s", (EntryWrite("e01", "v2", "tea " + "w" * 90),)))
    asked = ask(("memory", 2))
    order = candidate_order(world, asked, style="1.3-1.4")
    assert known(world, asked, order) == order
    first = order["memory"].offers[0]
    assert isinstance(first, Offer)
    assert not isinstance(first.citation, EntryAddress)
    assert (first.citation.family, first.citation.artifact_id, first.citation.revision) == ("atomic-memory", "e01", 2)
    right = candidate_order(world, asked)["memory"].citations[0]
    assert isinstance(right, EntryAddress)
    assert atomic_citation(world, right) == first.citation


def test_a_blank_memory_leaves_the_older_output_open() -> None:
    world = world_of(memories("tea", " "))
    assert "blank" in reason(said(world, OLDER, known(world, OLDER)))
    assert isinstance(said(world, ask(("memory", 2)), known(world, ask(("memory", 2)))), Prediction)
