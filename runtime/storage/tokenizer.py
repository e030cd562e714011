"""The tokens of a string, the same on every engine (SPEC.md 10)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Set

UNICODE_VERSION = unicodedata.unidata_version
"""The Unicode version that the tokens depend on; it is stored with the schema."""

MAX_TOKEN_BYTES = 64

_CJK_RANGES = (
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_WORD_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"})
_MARK_CATEGORIES = frozenset({"Mn", "Mc"})


class _Kinds(dict[int, str]):
    """What a character is to the tokenizer, worked out once: `c` CJK, `w` word, `m` mark, a blank otherwise."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        if any(first <= code <= last for first, last in _CJK_RANGES):
            kind = "c"
        elif category in _WORD_CATEGORIES:
            kind = "w"
        elif category in _MARK_CATEGORIES:
            kind = "m"
        else:
            kind = " "
        self[code] = kind
        return kind


_KINDS = _Kinds()
_RUN = re.compile("w[wm]*|c+")
_HASHED = re.compile("[0-9a-f]{64}")


def tokens(string: str) -> set[str]:
    """Return the distinct tokens of a string, as they are indexed: at most 64 UTF-8 bytes each."""
    return {_indexed(token) for token in {token for _, token in _pieces(_normal(string))}}


def first_match(string: str, wanted: Set[str]) -> int | None:
    """Return where in the string, in code points, its first token of `wanted` begins; None where it has none."""
    normal = _normal(string)
    start = next((start for start, token in _pieces(normal) if _indexed(token) in wanted), None)
    if start is None or string.isascii():
        return start
    # The normal form may have other lengths: the match begins at the last character before which no more than `start`
    # normal characters stand.
    return bisect_right(range(len(string) + 1), start, key=lambda end: len(_normal(string[:end]))) - 1


def count_held(string: str, wanted: Iterable[str]) -> int:
    """Return how many of these distinct tokens a string has, without making all of its own."""
    normal = _normal(string)
    wanted = list(wanted)
    if any(_HASHED.fullmatch(token) for token in wanted):
        return len(tokens(string).intersection(wanted))
    return sum(_holds(normal, token) for token in wanted)


def tokens_of_all(strings: Iterable[str]) -> set[str]:
    """Return the distinct tokens of several fields together; no token reaches from one field into the next."""
    found: set[str] = set()
    for string in strings:
        found |= tokens(string)
    return found


def _normal(string: str) -> str:
    return unicodedata.normalize("NFKC", string).casefold()


def _holds(normal: str, token: str) -> bool:
    # Neighbours among CJK characters are in one run, so that a character or a pair is found as it stands.
    if _KINDS[ord(token[0])] == "c":
        return token in normal
    at = normal.find(token)
    while at >= 0:
        end = _end_of_word(normal, at)
        if end == at + len(token) and not _is_inside_word(normal, at):
            return True
        at = normal.find(token, end)
    return False


def _end_of_word(normal: str, at: int) -> int:
    while at < len(normal) and _KINDS[ord(normal[at])] in "wm":
        at += 1
    return at


def _is_inside_word(normal: str, at: int) -> bool:
    while at > 0 and _KINDS[ord(normal[at - 1])] == "m":
        at -= 1
    return at > 0 and _KINDS[ord(normal[at - 1])] == "w"


def _pieces(normal: str) -> Iterator[tuple[int, str]]:
    # One kind per character, so that a run found in the kinds is a slice of the text.
    for run in _RUN.finditer(normal.translate(_KINDS)):
        start, end = run.span()
        if run.group()[0] == "w":
            yield start, normal[start:end]
            continue
        for index in range(start, end):
            yield index, normal[index]
            if index + 1 < end:
                yield index, normal[index : index + 2]


def _indexed(token: str) -> str:
    if len(token) <= MAX_TOKEN_BYTES // 4:
        return token
    encoded = token.encode()
    return token if len(encoded) <= MAX_TOKEN_BYTES else hashlib.sha256(encoded).hexdigest()
