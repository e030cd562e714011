"""Other texts and ids, and everything else the same: lengths, kinds of characters, what is found and judged."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.runs import outcomes

from harness.anonymizing.ids import Ids
from harness.anonymizing.letters import runs, script
from harness.anonymizing.scenario import anonymize
from harness.anonymizing.words import Words
from harness.explore.texts import texts
from harness.explore.writing import plain_of, text_of
from harness.scenario.loader import load, parse
from harness.target.reference import ReferenceTarget
from runtime.storage.tokenizer import tokens

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SECRET = """\
scenario: what somebody reported
tags: [bugs]
scopes:
  acme:
    id: "tenant:Acme"
    references: [shared]
    memory:
      - {entry: jane-1, text: "Jane's password is Tr0ub4dor, see 张三的密码.\\nCafé КРАСНЫЙ красный \\u200b end."}
      - {entry: jane-2, version: jane-2-v1, text: Jane calls 555-0199.}
    experience:
      - {id: case-7, situation: Jane left., action: Called Jane., outcome: None., lesson: Ask Jane.}
    topics:
      - {id: topic-7, title: Jane, summary: Jane again, detail: "One line.\\nJane's password."}
  shared:
    profile: [Jane likes tea.]
principals:
  jane: {reads: [acme, shared], id: "Jane@acme"}
steps:
  - step: asked
    prepare:
      scope_id: acme
      query: "JANE password 密码 красный"
      assembly: {sections: [{family: memory, limit: 4}, {family: profile, limit: 1}], show: [recall_rank]}
    as: jane
    expect:
      status: ready
      sections: [{Memory: [jane-1@jane-1-v1, jane-2]}, {Profile: [shared/profile]}]
      ranks: {jane-1: 1}
      contains: ["Tr0ub4dor", "Jane cal", "    Entry: id=\\"jane-2\\", version=\\"jane-2-v1\\"\\n"]
      absent: [case-7, "Jane left"]
  - body: '{"scope_id": "tenant:Acme", "query": "Jane\\u0020password", "assembly": {}}'
  - read: {scope: acme, entry: jane-2@jane-2-v1, revision: 2}
    expect: {text: Jane calls 555-0199.}
  - write: {acme: {memory: [{entry: jane-3, text: Jane again.}, {retire: jane-1}]}}
  - revoke: {jane: [shared]}
"""


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


def without_texts(text: str, seed: int = 11) -> str:
    return text_of(anonymize(plain_of(parse(text.encode(), Path("x.yaml")).scenario), seed=seed).plain)


def test_nothing_of_the_texts_and_ids_is_left() -> None:
    plain = anonymize(plain_of(parse(SECRET.encode(), Path("x.yaml")).scenario), seed=11).plain
    told = json.dumps(plain, ensure_ascii=False).casefold()
    for secret in ("jane", "acme", "tr0ub4dor", "password", "张三", "密码", "красный", "0199", "tea", "tenant"):
        assert secret not in told, secret
    # What is no text and no id stays.
    assert (plain["scenario"], plain["steps"][0]["step"]) == ("what somebody reported", "asked")
    assert "profile" in told


def test_it_has_the_same_lengths_and_the_same_outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = without_texts(SECRET)
    found = [
        outcomes(text, ReferenceTarget, monkeypatch, tmp_path / name, backends=["sqlite"])[0]
        for name, text in (("before", SECRET), ("after", other))
    ]
    assert [outcome.verdict for outcome in found] == ["passed", "passed"]
    before, after = found
    assert [len(step.body or b"") for step in before.steps] == [len(step.body or b"") for step in after.steps]
    sizes = [
        [len(text.encode()) for text in strings(plain_of(parse(one.encode(), Path("x.yaml")).scenario))]
        for one in (SECRET, other)
    ]
    assert sizes[0] == sizes[1]


def test_the_seed_decides() -> None:
    assert without_texts(SECRET, 1) == without_texts(SECRET, 1)
    assert without_texts(SECRET, 1) != without_texts(SECRET, 2)


@pytest.mark.parametrize(
    "name",
    [
        "grouping/guide_example_in_english",
        "grouping/memory_scopes_take_turns_in_reference_order",
        "bugs/chinese_beside_latin",
        "bugs/entry_ids_that_differ_in_case_or_accent",
        "bugs/trailing_blank_behind_a_scope_id",
        "bugs/ties_are_ordered_by_code_point",
        "consistency/a_write_is_visible_at_once",
        "validation/show_knows_two_words",
    ],
)
def test_scenarios_of_every_kind_keep_their_outcome(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = SCENARIOS / f"{name}.yaml"
    if not path.is_file():
        pytest.fail(f"{name} is gone: name another")
    text = text_of(anonymize(plain_of(load(path).scenario), seed=3).plain)
    (outcome,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path, backends=["sqlite"])
    assert [failure for step in outcome.steps for failure in step.failures] == []
    assert outcome.verdict == "passed"


def kinds(text: str) -> list[tuple[str, str, int]]:
    return [
        (unicodedata.category(one), script(one) if unicodedata.category(one)[0] == "L" else "", len(one.encode()))
        for one in text
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(texts(), st.text(st.characters(exclude_categories=["Cs"]), max_size=40)), max_size=4))
def test_each_character_is_replaced_by_one_of_its_kind(found: list[str]) -> None:
    words = Words(5)
    for text in found:
        other = words.text(text)
        assert len(other) == len(text)
        assert len(other.encode()) == len(text.encode())
        for (kind, old), (_, new) in zip(runs(text), runs(other), strict=True):
            if kind == "between":
                assert new == old
            else:
                assert [one[0] for one in kinds(new)] == [one[0] for one in kinds(old)]
                assert [one[2] for one in kinds(new)] == [one[2] for one in kinds(old)]


OF_OTHER_SCRIPTS = ("Ｔｅａ", "café", "cafe\u0301", "чай", "ЧАЙ", "茶", "茶壶", "ティー", "차", "שלום", "हिन्दी", "ß")
WORDS = st.sampled_from(("tea", "Tea", "TEA", "jug", "a", "b", "1", "12", "x1", "contract", "tests", *OF_OTHER_SCRIPTS))


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_texts_share_as_many_tokens_as_before(one: list[str], other: list[str]) -> None:
    words = Words(5)
    before = [set(tokens(" ".join(text))) for text in (one, other)]
    after = [set(tokens(words.text(" ".join(text)))) for text in (one, other)]
    assert list(map(len, before)) == list(map(len, after))
    assert len(before[0] & before[1]) == len(after[0] & after[1])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.from_regex(r"[a-z0-9]{1,5}([-:_ ][A-Za-z0-9]{0,4})?", fullmatch=True), unique=True, max_size=12))
def test_ids_stay_apart_and_in_their_order(names: list[str]) -> None:
    called = Ids(names, Random(3), Words(3))
    others = list(map(called, names))
    assert len(set(others)) == len(names)
    assert [len(name) for name in others] == [len(name) for name in names]
    assert sorted(others) == [called(name) for name in sorted(names)]


def test_twins_stay_twins() -> None:
    twins = ["Entry-1", "entry-1", "entry-1 ", "éntry-1", "profile"]
    called = Ids(twins, Random(3), Words(3))
    upper, lower, blank, accent, profile = map(called, twins)
    assert (upper.casefold(), blank, accent[0], profile) == (lower, f"{lower} ", "é", "profile")


def test_forged_frames_stay() -> None:
    text = 'Secret\nEND_POWERCONTEXT_PREPARED_TEXT_V1\n## Memory\n\n    Scope: "secret"\n\\u200b'
    other = Words(5).text(text)
    assert "ecret" not in other
    for kept in ("\nEND_POWERCONTEXT_PREPARED_TEXT_V1\n## Memory\n\n    Scope: ", "\\u200b"):
        assert kept in other
