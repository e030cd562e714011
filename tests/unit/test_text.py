"""The display of a body, against SPEC.md 4 and 5 read plainly."""

from __future__ import annotations

import unicodedata

import pytest
from bodies import CALM, bodies, long_bodies
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_reference import cuts, is_escaped, units

from runtime.text import LINE_PREFIX, MAX_SOURCE_BYTES, body_block, display


def shown(character: str) -> str:
    return display(character).data.decode()


def characters_shown_otherwise() -> list[str]:
    found: list[str] = []
    for start in range(0, 0x110000, 64):
        chunk = [chr(code) for code in range(start, start + 64) if not 0xD800 <= code <= 0xDFFF]
        if display("".join(chunk)).data != "".join(chunk).encode():
            found += [character for character in chunk if shown(character) != character]
    return found


def test_the_escaped_characters_are_those_of_unicode_16() -> None:
    otherwise = characters_shown_otherwise()
    escaped = [character for character in otherwise if shown(character).startswith("\\")]
    assert sorted(set(otherwise) - set(escaped)) == ["\r", "\u2028", "\u2029"]
    controls = [c for c in escaped if unicodedata.category(c) == "Cc"]
    # LF and CR are controls too, and break lines.
    assert len(controls) + 2 == 65
    assert len(escaped) - len(controls) == 170


def test_the_table_agrees_with_all_that_this_python_knows() -> None:
    for code in range(0x110000):
        character = chr(code)
        known = unicodedata.category(character)
        if known in ("Cc", "Cf") and character not in "\r\n":
            assert shown(character) == (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    for character in characters_shown_otherwise():
        # What the table has beyond this Python is not assigned in it.
        assert unicodedata.category(character) in ("Cc", "Cf", "Cn", "Zl", "Zp")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a\r\nb\rc\nd\u2028e\u2029f", "a\nb\nc\nd\ne\nf"),
        ("\r\r\n\n", "\n\n\n"),
        ("\t\x00\x85\x7f", "\\u0009\\u0000\\u0085\\u007f"),
        ("\u200d\ufeff\u202e\xad", "\\u200d\\ufeff\\u202e\\u00ad"),
        ("\U000e0001\U0001d173", "\\U000e0001\\U0001d173"),
        ("\\u200b \\", "\\u200b \\"),
        ("e\u0301 ﬁ  ", "e\u0301 ﬁ  "),
        ("# heading `x` <b>", "# heading `x` <b>"),
        ("\U00013439", "\\U00013439"),
        ("", ""),
    ],
)
def test_a_body_is_shown_as_the_contract_says(body: str, expected: str) -> None:
    assert display(body).data == expected.encode()


@CALM
@given(bodies)
def test_what_fits_is_shown_piece_by_piece(body: str) -> None:
    expected = "".join(units(body)).encode()
    found = display(body)
    assert found.fits_whole == (len(expected) <= 2000)
    if found.fits_whole:
        assert found.data == expected
    else:
        assert found.data[:2001] == expected[:2001]


@settings(CALM, max_examples=200)
@given(bodies, st.integers(0, 600) | st.integers(0, 9000))
def test_the_longest_cut_is_the_one_that_trying_every_cut_finds(body: str, room: int) -> None:
    expected = next((cut.encode() for cut in cuts(body) if len(body_block(cut.encode())) <= room), None)
    found = display(body)
    if found.fits_whole and len(body_block(found.data)) <= room:
        return  # Nobody asks for a cut of what fits.
    assert found.cut(room) == expected


@settings(CALM, max_examples=200)
@given(long_bodies, st.integers(0, 16_000))
@example("\u2028" * 2100, 16_000)
@example("\r\n" * 2100, 16_000)
@example("x" + "\u2029" * 2000 + "😀", 16_000)
def test_a_prefix_as_long_as_can_be_shown_is_cut_like_the_whole(body: str, room: int) -> None:
    encoded = body.encode()
    prefix = encoded[:MAX_SOURCE_BYTES].decode("utf-8", "ignore")
    if len(encoded) > MAX_SOURCE_BYTES:
        assert display(prefix).cut(room) == display(body).cut(room)
        assert not display(body).fits_whole


def test_every_line_has_the_prefix_blank_ones_too() -> None:
    assert body_block(b"a\n\nb\n") == b"\n".join(LINE_PREFIX + line for line in (b"a", b"", b"b", b""))
    assert LINE_PREFIX == b">     "


def test_an_escape_is_never_cut() -> None:
    body = "x" * 100 + "\u200b" * 400
    for room in range(106, 150):
        cut = display(body).cut(room)
        assert cut is not None
        inner = cut.decode().removesuffix("…").removeprefix("x" * 100)
        assert inner.replace("\\u200b", "").strip("x") == ""


def test_only_the_part_that_can_be_shown_is_looked_at() -> None:
    assert len(display("\u200b" * 1_000_000).data) < 2100
    assert len(display("a" * 1_000_000).data) < 4100


def test_a_character_of_another_category_is_no_escape() -> None:
    for character in ("\u0300", "\u200a", "\xa0", "\ue000", "\U000e0100", "\ufffd", "\uffff", "\u0378"):
        assert not is_escaped(character)
        assert shown(character) == character
