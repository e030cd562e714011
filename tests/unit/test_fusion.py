"""Channels joined, lists taken in turn, and lists padded."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bodies import CALM
from hypothesis import given
from hypothesis import strategies as st

from runtime.recall import take_turns
from runtime.storage.search import Hit, fuse, fuse_all, padded

hits = st.lists(st.builds(Hit, st.sampled_from("ab"), st.sampled_from(list("abcdefghij"))), unique=True, max_size=12)


def plainly(lexical: list[Hit], nearest: list[Hit], depth: int) -> list[Hit]:
    left = {*lexical, *nearest}
    ordered: list[Hit] = []
    while left:
        best = None
        for hit in left:
            score = Fraction(0)
            for channel in (lexical, nearest):
                if hit in channel:
                    score += Fraction(1, 60 + channel.index(hit) + 1)
            place = lexical.index(hit) if hit in lexical else 10**9
            key = (-score, place, hit.artifact_id, hit.entry_id)
            if best is None or key < best[0]:
                best = (key, hit)
        assert best is not None
        ordered.append(best[1])
        left.remove(best[1])
    return ordered[:depth]


@CALM
@given(hits, hits, st.sampled_from([1, 8, 16]))
def test_channels_are_joined_by_exact_fractions(lexical: list[Hit], nearest: list[Hit], depth: int) -> None:
    assert fuse(lexical, nearest, depth=depth) == plainly(lexical, nearest, depth)


def test_a_tie_goes_to_the_lexical_channel_and_then_to_the_ids() -> None:
    a, b, c, d = (Hit("memory", name) for name in "abcd")
    assert fuse([b], [a], depth=16) == [b, a]
    assert fuse([a, b], [b, a], depth=16) == [a, b]
    assert fuse([], [d, c], depth=16) == [d, c]


def test_each_scope_is_joined_by_itself() -> None:
    a, b = Hit("memory", "a"), Hit("memory", "b")
    assert fuse_all({"x": [a]}, {"x": [b], "y": [b]}, depth=1) == {"x": [a], "y": [b]}


@pytest.mark.parametrize(
    ("lists", "at_most", "expected"),
    [
        ([], 4, ""),
        ([""], 4, ""),
        (["abc"], 2, "ab"),
        (["abc", "x", "12"], 16, "ax1b2c"),
        (["", "x", "12"], 16, "x12"),
        (["abc", "xyz"], 4, "axby"),
        (["abc", "xyz"], 0, ""),
    ],
)
def test_lists_take_turns(lists: list[str], at_most: int, expected: str) -> None:
    assert "".join(take_turns([list(each) for each in lists], at_most=at_most)) == expected


@pytest.mark.parametrize("length", range(1, 70))
def test_a_list_is_padded_to_a_power_of_two_with_nothing_new(length: int) -> None:
    values = [f"v{number}" for number in range(length)]
    found = padded(values)
    assert found[:length] == values
    assert set(found) == set(values)
    assert len(found).bit_count() == 1
    assert len(found) < 2 * length
