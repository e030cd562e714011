"""The line of a topic's detail that a query meets."""

from __future__ import annotations

import pytest

from runtime.snippet import snippet
from runtime.storage.tokenizer import tokens


def of(detail: str, query: str) -> str | None:
    return snippet(detail, tokens(query))


def test_the_line_with_most_tokens_wins_and_of_equals_the_first() -> None:
    assert of("one\ntwo three\nthree two\nfour", "two three") == "two three"
    assert of("alpha\nalpha alpha\nalpha beta", "alpha beta") == "alpha beta"
    assert of("beta\nalpha", "alpha beta") == "beta"


def test_there_is_none_without_a_match() -> None:
    assert of("one\ntwo", "three") is None
    assert of("", "three") is None
    assert of("one", "--") is None


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n", "\u2028", "\u2029"])
def test_lines_break_as_in_the_text(line_break: str) -> None:
    assert of(f"one{line_break}two{line_break}three", "two") == "two"


@pytest.mark.parametrize("kept", ["\x85", "\x0b", "\x0c", "\x1c"])
def test_other_controls_do_not_break_a_line(kept: str) -> None:
    assert of(f"one{kept}two", "two") == f"one{kept}two"


def test_a_line_is_not_trimmed() -> None:
    assert of("  two \n", "two") == "  two "


def test_240_code_points_come_whole() -> None:
    line = "needle" + "😀" * 234
    assert of(line, "needle") == line


@pytest.mark.parametrize(
    ("before", "after", "start"),
    [(0, 300, 0), (100, 300, 0), (120, 300, 0), (121, 300, 1), (300, 300, 180), (300, 10, 76), (400, 0, 166)],
)
def test_a_longer_line_starts_120_before_the_first_match(before: int, after: int, start: int) -> None:
    line = "·" * before + "needle" + "·" * after
    found = of(line, "needle")
    assert found == line[start : start + 240]
    assert len(found or "") == 240


def test_the_first_of_several_matches_counts() -> None:
    line = "·" * 200 + "beta" + "·" * 200 + "alpha"
    assert of(line, "alpha beta") == line[80:320]


@pytest.mark.parametrize("wide", ["ﬁ", "e\u0301", "ﷺ", "ß"])
def test_code_points_are_those_of_the_line_and_not_of_its_normal_form(wide: str) -> None:
    line = f"{wide} " * 150 + "needle" + "·" * 200
    start = line.index("needle")
    assert of(line, "needle") == line[start - 120 : start + 120]
