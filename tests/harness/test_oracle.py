"""The oracle's order of candidates, its verdicts and its judgement, by hand from SPEC.md 2, 3 and 10."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import harness.check.oracle as package
from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.check.context import Prepared
from harness.check.oracle import (
    Prediction,
    Undetermined,
    candidate_order,
    judge_prediction,
    judge_prepared,
    predict,
)
from harness.check.oracle.recall import snippet
from harness.check.oracle.tokens import tokens
from harness.check.request import Asked, read_request
from harness.check.world import World
from harness.scenario.model import Embedder, Reranker, RuntimeSpec
from harness.target.base import Answer
from runtime.artifacts import Address, EntryAddress, EntryRetire, EntryWrite, Experience, Family, Profile, Topic

Vector = tuple[float, ...]


def ask(query: str = "tea", *families: Family, scope_id: str = "s", limit: int = 2, **fields: Any) -> Asked:
    sections = [{"family": family, "limit": limit} for family in families or ("memory",)]
    return read_request({"scope_id": scope_id, "query": query, "assembly": {"sections": sections}, **fields})


def older(query: str = "tea") -> Asked:
    return read_request({"scope_id": "s", "query": query})


def memory(scope: str, *texts: str, prefix: str = "e", vectors: Sequence[Vector | None] = ()) -> WriteMemory:
    given = [*vectors, *[None] * len(texts)]
    return WriteMemory(
        scope,
        tuple(
            EntryWrite(f"{prefix}{number}", "v", text, vector=given[number - 1])
            for number, text in enumerate(texts, start=1)
        ),
    )


def world_of(*operations: Operation, references: Sequence[str] = ()) -> World:
    world = World()
    world.apply([CreateScope(scope) for scope in ("s", *references)])
    world.apply([SetReferences("s", tuple(references)), *operations])
    return world


def order(world: World, asked: Asked, family: Family = "memory", runtime: RuntimeSpec = RuntimeSpec()) -> list[str]:
    found = candidate_order(world, asked, runtime=runtime)[family].citations
    return [one.entry_id if isinstance(one, EntryAddress) else one.artifact_id for one in found if one is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea, tea TEA-pot_lid", {"tea", "pot", "lid"}),
        ("ＴＥＡ ﬁle straße", {"tea", "file", "strasse"}),
        ("契约测试", {"契", "约", "测", "试", "契约", "约测", "测试"}),
        ("中a文", {"中", "a", "文"}),
        ("ｶﾞ", {"ガ"}),
        ("字\u0301字", {"字"}),
        ("\u0301x\u0301\u0302y", {"x\u0301\u0302y"}),
        ("नमस्ते", {"नमस्ते"}),
        ("1½ Ⅷ 3.14", {"11", "2", "viii", "3", "14"}),
        ("🟢 _ \u200b ", set()),
        ("x" * 64, {"x" * 64}),
        ("x" * 65, {hashlib.sha256(b"x" * 65).hexdigest()}),
        ("é" * 33, {hashlib.sha256("é".encode() * 33).hexdigest()}),
    ],
)
def test_tokens(text: str, expected: set[str]) -> None:
    assert tokens(text) == expected


def test_most_words_go_first_then_the_shortest_then_the_smallest_id() -> None:
    world = world_of(
        WriteMemory(
            "s",
            tuple(
                EntryWrite(name, "v", text)
                for name, text in (
                    ("b", "Tea pot"),
                    ("a", "tea pot lid tea tea"),
                    ("\uff41", "tea"),
                    ("\U0001d41a", "tea"),
                    ("B", "tea"),
                    ("a ", "tea cup"),
                    ("none", "milk"),
                    ("gone", "tea pot"),
                )
            ),
        ),
        WriteMemory("s", (EntryRetire("gone"),)),
    )
    assert order(world, ask("the tea pot")) == ["b", "a", "B", "\uff41", "\U0001d41a", "a "]
    assert order(world, ask("?!")) == []
    assert candidate_order(world, ask())["memory"].citations[0] == EntryAddress(
        Address("s", "memory", "memory", 2), "B", "v"
    )


def test_only_official_heads_are_found_and_fields_do_not_join() -> None:
    def experience(*fields: str) -> Experience:
        return Experience(*fields)

    world = world_of(
        WriteDocument("s", "x1", experience("tea", "", "", "")),
        WriteDocument("s", "x1", experience("milk", "", "", "")),
        Propose("s", "x2", experience("tea", "", "", ""), "pending"),
        WriteDocument("s", "x3", experience("契", "约", "", "tea")),
        WriteDocument("s", "x4", experience("", "", "", "契约 and so on")),
    )
    assert order(world, ask("tea", "experience"), "experience") == ["x3"]
    assert order(world, ask("契约", "experience"), "experience") == ["x4", "x3"]
    assert order(world, ask("lesson", "experience"), "experience") == []


def test_scopes_take_turns_and_the_pool_is_cut_behind_them() -> None:
    world = world_of(
        memory("s", *["tea"] * 18),
        memory("t", *["tea"] * 3, prefix="t"),
        memory("u", *["tea"], prefix="u"),
        references=("u", "t"),
    )
    found = order(world, ask("tea", limit=8))
    assert found[:8] == ["e1", "u1", "t1", "e10", "t2", "e11", "t3", "e12"]
    assert len(found) == 16
    assert "e9" not in found


def test_experiences_take_turns_up_to_eight() -> None:
    fields = ("tea", "", "", "")
    world = world_of(
        *(WriteDocument("s", f"x{number}", Experience(*fields)) for number in range(9)),
        *(WriteDocument("t", f"t{number}", Experience(*fields)) for number in range(9)),
        references=("t",),
    )
    assert order(world, ask("tea", "experience"), "experience") == ["x0", "t0", "x1", "t1", "x2", "t2", "x3", "t3"]
    world.apply([SetReferences("s", ())])
    assert order(world, ask("tea", "experience"), "experience") == [f"x{number}" for number in range(8)]


def test_topics_come_from_the_current_scope_and_profiles_from_all_whatever_the_query() -> None:
    world = world_of(
        WriteDocument("t", "y", Topic("tea", "", "")),
        WriteDocument("t", "profile", Profile("of t")),
        WriteDocument("u", "profile", Profile(" \n")),
        *(WriteDocument("s", f"y{number}", Topic("tea", "", "")) for number in range(9)),
        Propose("s", "profile", Profile("of s"), "pending"),
        references=("u", "t"),
    )
    asked = ask("tea", "topic-memory", "profile")
    assert order(world, asked, "topic-memory") == [f"y{number}" for number in range(8)]
    assert candidate_order(world, asked)["profile"].citations == [Address("t", "profile", "profile", 1)]
    none = candidate_order(world, asked, runtime=RuntimeSpec(sources=("memory",)))
    assert not any(candidates.offers for candidates in none.values())


def test_distances_join_words_as_exact_fractions() -> None:
    embedder = Embedder(dimension=2, vectors={"tea pot lid": (0, 0), "jug cup": (0, 0)})
    runtime = RuntimeSpec(embedder=embedder)
    vectors: list[Vector] = [(3, 3), (2, 0), (0, 3), (1, 0)]
    world = world_of(memory("s", "Tea pot lid.", "Tea pot.", "Tea.", "Milk.", "Bread.", vectors=vectors))
    # Words: e1 e2 e3. Distances: e4 1, e2 4, e3 9, e1 18. Sums: e2 2/62, e1 1/61 + 1/64, e3 2/63, e4 1/61.
    assert Fraction(2, 62) > Fraction(1, 61) + Fraction(1, 64) > Fraction(2, 63) > Fraction(1, 61)
    assert order(world, ask("tea pot lid"), runtime=runtime) == ["e2", "e1", "e3", "e4"]
    world = world_of(memory("s", "Jug.", "Jug cup.", vectors=[(1, 0), (0, 2)]))
    assert order(world, ask("jug cup"), runtime=runtime) == ["e2", "e1"]
    assert isinstance(
        predict(world, ask("unheard of"), caller=None, runtime=RuntimeSpec(embedder=embedder, access="disabled")),
        Undetermined,
    )


def test_both_channels_are_sixteen_deep_before_they_are_joined() -> None:
    runtime = RuntimeSpec(embedder=Embedder(dimension=1, vectors={"tea": (0,)}))
    changes = [EntryWrite(f"e{number:02}", "v", "tea", vector=(20 - number,)) for number in range(17)]
    changes.append(EntryWrite("far", "v", "milk", vector=(21,)))
    found = order(world_of(WriteMemory("s", tuple(changes))), ask("tea", limit=8), runtime=runtime)
    # e00 is the seventeenth by distance and e16 the seventeenth by words, so that each has one channel alone.
    assert len(found) == 16
    assert found[:2] == ["e01", "e15"]
    assert {"e00", "e16", "far"} & set(found) == {"e00"}


def test_a_new_version_without_a_vector_leaves_the_channel() -> None:
    runtime = RuntimeSpec(embedder=Embedder(dimension=1, vectors={"q": (0,)}))
    world = world_of(memory("s", "one", "two", " ", vectors=[(1,), (2,), (0,)]))
    assert order(world, ask("q"), runtime=runtime) == ["e1", "e2"]
    # None of the new rules apply to the older output: the blank one stays.
    assert order(world, older("q"), runtime=runtime) == ["e3", "e1", "e2"]
    world.apply([WriteMemory("s", (EntryWrite("e1", "v2", "one"), EntryRetire("e3")))])
    assert order(world, older("q"), runtime=runtime) == ["e2"]


def test_a_reranker_orders_the_hits_of_each_scope() -> None:
    runtime = RuntimeSpec(reranker=Reranker(order=("t2", "e3", "unheard-of")))
    world = world_of(
        memory("s", "Green tea.", "Tea.", "Tea and bread."),
        memory("t", "Green tea.", "Bread with green butter.", "Bread.", prefix="t"),
        references=("t",),
    )
    assert order(world, ask("green tea"), runtime=runtime) == ["e3", "t2", "e1", "t1", "e2"]


@pytest.mark.parametrize(
    ("detail", "query", "expected"),
    [
        ("first\r\nTea pot\u2028tea pot lid\rtea pot lid", "tea lid pot", "tea pot lid"),
        ("Tea.\nTea!", "tea", "Tea."),
        ("no\n\nmatch", "tea", None),
        ("x " * 119 + "te", "te", "x " * 119 + "te"),
        (" " * 200 + "tea" + " " * 200, "tea", " " * 120 + "tea" + " " * 117),
        ("tea" + " " * 400, "tea", "tea" + " " * 237),
        ("." * 490 + "tea" + "." * 7, "tea", "." * 230 + "tea" + "." * 7),
        # Folded, each of the first 100 has two code points; the match begins at the line's own place 201.
        ("ß" * 100 + "." * 101 + "tea" + "." * 300, "tea", "ß" * 19 + "." * 101 + "tea" + "." * 117),
        ("e\u0301" * 100 + "." + "tea" + "." * 300, "tea", ("e\u0301" * 100 + "." + "tea" + "." * 300)[81:321]),
    ],
)
def test_the_snippet_is_the_best_line(detail: str, query: str, expected: str | None) -> None:
    assert snippet(detail, tokens(query)) == expected


PEOPLE: tuple[Operation, ...] = (
    CreatePrincipal("alice", "a"),
    CreatePrincipal("bob", "b"),
    CreatePrincipal("root", "r", administrator=True),
    Grant("alice", "s"),
    Grant("alice", "t"),
    Grant("bob", "s"),
)


@pytest.mark.parametrize(
    ("caller", "asked", "access", "expected"),
    [
        (None, None, "enforced", "401 unauthorized"),
        ("alice", None, "enforced", "422 invalid_request"),
        (None, None, "disabled", "422 invalid_request"),
        ("root", ask(), "enforced", "403 forbidden"),
        ("root", ask(scope_id="S"), "enforced", "404 scope_not_found"),
        ("alice", ask(scope_id="S"), "enforced", "403 forbidden"),
        (None, ask(scope_id="S"), "disabled", "404 scope_not_found"),
        ("root", ask("tea", "memory", "profile", limit=8), "enforced", "403 forbidden"),
        ("bob", ask("tea", "memory", "profile", limit=8), "enforced", "422 invalid_request"),
        ("bob", ask("tea", "memory"), "enforced", "403 forbidden"),
        ("bob", ask("tea", "topic-memory"), "enforced", "200"),
        ("bob", older(), "enforced", "403 forbidden"),
        ("bob", read_request({"scope_id": "s", "query": "q", "assembly": {"sections": []}}), "enforced", "200"),
        (None, ask("tea", "memory"), "disabled", "200"),
        ("alice", ask("tea", "experience"), "enforced", "503 service_unavailable"),
        ("alice", older(), "enforced", "503 service_unavailable"),
        ("alice", ask("tea", "memory"), "enforced", "200"),
    ],
)
def test_the_first_check_that_does_not_pass_decides(
    caller: str | None, asked: Asked | None, access: Any, expected: str
) -> None:
    world = world_of(memory("s", "tea"), *PEOPLE, references=("t",))
    runtime = RuntimeSpec(access=access, max_entries=8)
    found = predict(world, asked, caller=caller, runtime=runtime, failing=["experience"])
    assert isinstance(found, Prediction)
    assert f"{found.status} {found.code or ''}".strip() == expected


def answer_of(text: str | None, status: int = 200, code: str = "") -> Answer:
    value: dict[str, Any] = {"status": "empty" if text is None else "ready", "content": text}
    if code:
        value = {"error": {"code": code, "message": "", "details": None}}
    return Answer(status, (), json.dumps(value).encode())


def test_an_answer_is_judged_by_its_first_difference() -> None:
    world = world_of(memory("s", "Green tea.", "Old tea."), *PEOPLE)
    prediction = predict(world, ask("green tea"), caller="alice")
    assert isinstance(prediction, Prediction)
    assert prediction.content is not None
    text = prediction.content.decode()
    assert judge_prediction(prediction, answer_of(text)) == []
    (failure,) = judge_prediction(prediction, answer_of(text.replace("Old tea.", "Old tee.")))
    assert (failure.kind, failure.region) == ("oracle", 'body of "Memory 2"')
    at = prediction.content.index(b"Old tea.") + len("Old te")
    assert f'differs from the prediction at byte {at}, body of "Memory 2": expected' in failure.message
    (failure,) = judge_prediction(prediction, answer_of(None))
    assert (failure.region, failure.got) == ("response", "empty")
    (failure,) = judge_prediction(prediction, answer_of(None, 503, "service_unavailable"))
    assert (failure.region, failure.expected, failure.got) == ("status", "200", "503 service_unavailable")
    (failure,) = judge_prediction(dataclasses.replace(prediction, content=None), answer_of(text))
    assert failure.expected == "empty"
    assert judge_prediction(Undetermined("who knows"), answer_of(text)) == []


def test_a_prepare_as_it_went_is_judged() -> None:
    world = world_of(memory("s", "tea"), *PEOPLE)
    request = {"scope_id": "s", "query": "tea", "assembly": {}}
    prepared = Prepared(request=request, answer=answer_of(None), world=world, principal_id="alice")
    (failure,) = judge_prepared(prepared)
    assert failure.kind == "oracle"
    assert judge_prepared(prepared, runtime=RuntimeSpec(sources=())) == []
    assert judge_prepared(dataclasses.replace(prepared, media_type=False)) == []


def test_the_oracle_shares_no_code_with_the_runtime() -> None:
    for path in Path(package.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert all(not name.startswith("runtime") or name == "runtime.artifacts" for name in named), path.name
