"""Whether a delivered body is whole, or the longest cut that fits, decided by trying every cut (SPEC.md 5 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.check.display import (
    ELLIPSIS,
    LINE_PREFIX,
    MAX_BODY_BYTES,
    MIN_CUT_BYTES,
    display,
    json_bytes,
    pieces,
)

_MOST_CHARACTERS_SHOWN = 2 * MAX_BODY_BYTES
"""A longer body cannot be shown whole: CRLF makes two characters one byte, and nothing shrinks more."""

Problem = tuple[str, str]
"""A kind of failure and its message."""


def judge_markdown_body(
    original: str, shown: str, *, truncated: bool, bytes_around: int, max_bytes: int
) -> Problem | None:
    """Say what is wrong with a body in the Markdown text, or None.

    `shown` is the displayed text with its ellipsis; `bytes_around` counts all that stands before the body's first line
    prefix, and the blank line and the end marker behind it.
    """

    def fits(text: str) -> bool:
        quoted = len(text.encode("utf-8")) + len(LINE_PREFIX) * (1 + text.count("\n"))
        # `Truncated: no` is one byte shorter than `Truncated: yes`.
        return bytes_around - 1 + quoted <= max_bytes

    whole = display(original) if len(original) <= _MOST_CHARACTERS_SHOWN else None
    if not truncated:
        return _judge_whole(whole, shown)
    if whole is not None and len(whole.encode("utf-8")) <= MAX_BODY_BYTES and fits(whole):
        return "cut", "cut although the whole body fits"
    return _judge_cut(pieces(original), shown, cap=MAX_BODY_BYTES, size_of=_quoted_piece, room=max_bytes - bytes_around)


def judge_older_body(
    original: str, shown: str, *, truncated: bool, bytes_around: int, max_bytes: int
) -> Problem | None:
    """Say what is wrong with an item's content in the older output, or None.

    `bytes_around` counts all but what stands between the quotation marks of this item's content, with this item the
    last one.
    """
    stored = len(original.encode("utf-8"))
    if not truncated:
        return _judge_whole(original if len(original) <= _MOST_CHARACTERS_SHOWN else None, shown)
    # `"truncated":false` is one byte longer than `"truncated":true`.
    if stored <= MAX_BODY_BYTES and bytes_around + 1 + json_bytes(original) <= max_bytes:
        return "cut", "cut although the whole body fits"
    cap = min(MAX_BODY_BYTES, stored - 1)
    return _judge_cut(original, shown, cap=cap, size_of=json_bytes, room=max_bytes - bytes_around)


def _judge_whole(whole: str | None, shown: str) -> Problem | None:
    if whole is None or len(whole.encode("utf-8")) > MAX_BODY_BYTES:
        size = len(shown.encode("utf-8"))
        return "body-size", f"a body of {size} bytes is delivered whole, more than {MAX_BODY_BYTES}, or not as stored"
    if shown != whole:
        return "body", "the body is not the stored original"
    return None


def _judge_cut(
    parts: Iterable[str], shown: str, *, cap: int, size_of: Callable[[str], int], room: int
) -> Problem | None:
    if not shown.endswith(ELLIPSIS):
        return "cut", "a truncated body does not end with the ellipsis"
    if len(shown.encode("utf-8")) < MIN_CUT_BYTES:
        return "cut", f"a truncated body of less than {MIN_CUT_BYTES} bytes"
    if len(shown.encode("utf-8")) > cap:
        return "body-size", f"a truncated body of more than {cap} bytes"
    prefix = shown.removesuffix(ELLIPSIS)
    cut, used, in_text = "", len(ELLIPSIS.encode("utf-8")), size_of("") + size_of(ELLIPSIS)
    legal, longest = False, ""
    for part in parts:
        legal = legal or cut == prefix
        used += len(part.encode("utf-8"))
        in_text += size_of(part)
        if used > cap or in_text > room:
            break
        cut += part
        longest = cut
    legal = legal or cut == prefix
    if not legal:
        if longest != prefix and prefix.startswith(longest):
            return "cut", "the cut body is longer than what fits, or no prefix of the stored original"
        if not longest.startswith(prefix):
            return "body", "the cut body is no prefix of the stored original that ends where a cut is legal"
        return "cut", "the body is cut inside a code point or an escape"
    if prefix != longest:
        missing = len(longest.encode("utf-8")) - len(prefix.encode("utf-8"))
        return "cut", f"{missing} more bytes of the body would have fitted"
    return None


def _quoted_piece(piece: str) -> int:
    """Return what one more displayed piece costs: a new line brings its prefix, and the first line has one too."""
    if piece == "":
        return len(LINE_PREFIX)
    return len(piece.encode("utf-8")) + (len(LINE_PREFIX) if piece == "\n" else 0)
