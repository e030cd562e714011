"""SPEC.md 10's tokens, worked out by hand."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from bodies import CALM, bodies
from hypothesis import given

from runtime.storage.tokenizer import MAX_TOKEN_BYTES, UNICODE_VERSION, first_match, tokens, tokens_of_all


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("", ""),
        ("--- !? …", ""),
        ("Run the CONTRACT tests", "run the contract tests"),
        # NFKC, then casefold.
        ("ＦＵＬＬ ﬁne ① Å", "full fine 1 å"),
        ("Straße STRASSE", "strasse"),
        ("Σίσυφος ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("İ", "i\u0307"),
        # Punctuation, connectors and symbols separate.
        ("oceanbase-blue-116", "oceanbase blue 116"),
        ("v1.1.6 a/b snake_case x+y", "v1 1 6 a b snake case x y"),
        ("don't", "don t"),
        ("a\u200bb", "a b"),
        ("a😀b", "a b"),
        # Marks belong to the word before them, and to nothing else.
        ("cafe\u0301", "café"),
        ("q\u0301", "q\u0301"),
        ("\u0301q", "q"),
        ("!\u0301q", "q"),
        ("हिन्दी", "हिन्दी"),
        ("م\u064eر", "م\u064eر"),
        ("9\u20e3", "9"),
        ("９٣", "9٣"),
        # CJK gives characters and overlapping pairs.
        ("界", "界"),
        ("验证契约", "验 证 契 约 验证 证契 契约"),
        ("重跑gen-itgc后", "重 跑 重跑 gen itgc 后"),
        ("a界b", "a 界 b"),
        ("界 界", "界"),
        ("々〇ー", "々 〇 ー 々〇 〇ー"),
        ("ｶﾞ", "ガ"),
        ("か\u3099", "が"),
        ("한글", "한 글 한글"),
        ("𠀀𠀁", "𠀀 𠀁 𠀀𠀁"),
        ("界\u0301界", "界"),
        # U+3040 is not assigned, U+30A0 is punctuation but within the range; a half-width form becomes the full one.
        ("゠", "゠"),
        ("、。", ""),
        # Bopomofo is no CJK here, so it is a word.
        ("ㄅㄆ", "ㄅㄆ"),
    ],
)
def test_the_tokens_of_a_string(string: str, expected: str) -> None:
    assert tokens(string) == {unicodedata.normalize("NFC", token) for token in expected.split()}


@pytest.mark.parametrize(
    ("word", "whole"),
    [
        ("a" * 64, True),
        ("a" * 65, False),
        ("é" * 32, True),
        ("é" * 32 + "a", False),
        ("𐐨" * 16, True),
        ("𐐨" * 17, False),
    ],
)
def test_a_token_of_more_than_64_bytes_is_its_sha_256(word: str, whole: bool) -> None:
    assert tokens(word) == {word if whole else sha(word)}


def test_the_hash_is_of_the_normal_form() -> None:
    assert tokens("Ａ" * 65) == {sha("a" * 65)}


def test_a_pair_of_cjk_characters_is_never_hashed() -> None:
    assert max(len(token) for token in tokens("界" * 1000)) == 2


def test_no_token_reaches_over_two_fields() -> None:
    assert tokens_of_all(["界", "界", "a", "b"]) == {"界", "a", "b"}
    assert tokens_of_all([]) == set()


@CALM
@given(bodies)
def test_every_token_can_be_indexed_and_found(body: str) -> None:
    found = tokens(body)
    assert all(0 < len(token.encode()) <= MAX_TOKEN_BYTES for token in found)
    assert tokens(body.upper().lower().casefold()) == tokens(body.casefold())
    if found:
        assert first_match(body, found) is not None
    assert first_match(body, {"absent"}) is None


@pytest.mark.parametrize(
    ("string", "wanted", "expected"),
    [
        ("run the tests", "tests", 8),
        ("验证契约", "契约", 2),
        ("ﬁx ﬁx bug", "bug", 6),
        ("ﬀ ﬀ", "ff", 0),
        ("e\u0301e\u0301 bug", "bug", 5),
        ("ﷺ bug", "bug", 2),
        ("ẞ bug", "bug", 2),
        ("bug", "other", None),
    ],
)
def test_a_match_is_counted_in_the_strings_own_characters(string: str, wanted: str, expected: int | None) -> None:
    assert first_match(string, {wanted}) == expected


def test_the_unicode_version_is_this_pythons() -> None:
    assert unicodedata.unidata_version == UNICODE_VERSION
