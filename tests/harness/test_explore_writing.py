"""A scenario that is written loads again to the same scenario, and nothing unseen stands raw in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.explore.texts import ids, texts
from harness.explore.writing import text_of
from harness.scenario.loader import load, parse
from harness.scenario.model import Scenario

FILE = Path("written.yaml")
CORPUS = sorted(
    path for path in (Path(__file__).parents[2] / "scenarios").rglob("*.yaml") if path.name != "ledger.yaml"
)

STRINGS = st.one_of(
    texts(),
    ids("plain"),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.sampled_from(
        ("", "no", "Yes", "null", "~", "010", "1e3", "12:30:45", "2020-01-01", "a: b", "a #1", "- x", "<<")
    ),
    st.builds(lambda unit, times: unit * times, st.sampled_from(("ab", "\n", "'", "\\")), st.integers(1, 3000)),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), STRINGS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(STRINGS.filter(lambda key: key not in ("repeat", "join")), inner)
    ),
    max_leaves=6,
)


def scenario(value: dict[str, Any]) -> Scenario:
    return Scenario.model_validate({"scenario": "s", **value}, by_alias=True, by_name=False)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_corpus_is_written_and_read_back(path: Path) -> None:
    found = load(path).scenario
    again = parse(text_of(found).encode(), path).scenario
    assert again == found
    assert again.model_dump(exclude_unset=True) == found.model_dump(exclude_unset=True)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
@given(
    request=st.dictionaries(STRINGS.filter(lambda key: key not in ("repeat", "join")), VALUES, max_size=3), name=STRINGS
)
def test_any_request_is_written_and_read_back(request: dict[str, Any], name: str) -> None:
    found = scenario({"steps": [{"prepare": request, "expect": {"absent": [f"x{name}"]}}]})
    text = text_of(found)
    assert parse(text.encode(), FILE).scenario == found
    assert not set(text) & set("\r\t\x00\x7f\x85\xad\u200b\u200d\u2028\u2029\u202e\ufe0f\ufeff\xa0\u3000")


def test_a_decomposed_letter_is_spelled_out_and_a_composed_one_is_not() -> None:
    text = text_of(scenario({"steps": [{"prepare": {"query": "cafe\u0301", "scope_id": "café"}}]}))
    assert '{query: "cafe\\u0301", scope_id: café}' in text


def test_long_repetitions_are_short() -> None:
    found = scenario({"scopes": {"s": {"profile": ["begin " + "ab\n" * 500]}}, "steps": [{"prepare": {}}]})
    assert '{join: ["begin ", {repeat: "ab\\n", times: 500}]}' in text_of(found)


@pytest.mark.parametrize("value", ["\ud800", {"repeat": "x", "times": 2}, {"join": []}])
def test_what_no_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(HarnessError):
        text_of(scenario({"steps": [{"prepare": {"query": value}}]}))
