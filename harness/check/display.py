"""A plain second reading of how a body is shown and cut (SPEC.md 4 and 5)."""

from __future__ import annotations

import json
from collections.abc import Iterator

ELLIPSIS = "…"
LINE_PREFIX = ">     "
MAX_BODY_BYTES = 2000
MIN_CUT_BYTES = 64

CONTROL_RANGES: tuple[tuple[int, int], ...] = ((0x00, 0x1F), (0x7F, 0x9F))
"""The characters of category Cc in Unicode 16.0, as first and last code points: 65 of them."""

FORMAT_RANGES: tuple[tuple[int, int], ...] = (
    (0xAD, 0xAD),
    (0x600, 0x605),
    (0x61C, 0x61C),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
)
"""The characters of category Cf in Unicode 16.0, as first and last code points: 170 of them."""

INVISIBLE: frozenset[str] = frozenset(
    chr(code) for first, last in CONTROL_RANGES + FORMAT_RANGES for code in range(first, last + 1)
)
"""Every character of category Cc or Cf, LF included."""

LINE_BREAKS = frozenset("\n\r\u2028\u2029")


def visible(character: str) -> str:
    """Return a Cc or Cf character as the text that stands for it, lower-case hex, any other as it is."""
    if character not in INVISIBLE:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def pieces(body: str) -> Iterator[str]:
    """Yield the displayed body in the parts that no cut may split: a line break, an escape, or one code point."""
    previous = ""
    for character in body:
        if character == "\n" and previous == "\r":
            # The CR of this CRLF has already become the LF of both.
            previous = character
            continue
        previous = character
        yield "\n" if character in LINE_BREAKS else visible(character)


def display(body: str) -> str:
    """Return a stored body as it is shown: four line breaks become LF, invisible characters visible text."""
    return "".join(pieces(body))


def lines(body: str) -> list[str]:
    """Return the lines of a stored text as it is shown, before any escape (SPEC.md 4 and 10)."""
    text = body.replace("\r\n", "\n")
    for character in "\r\u2028\u2029":
        text = text.replace(character, "\n")
    return text.split("\n")


def cuts(body: str) -> Iterator[str]:
    """Yield every prefix of the displayed body that ends where a cut is legal: the empty one first, the whole last."""
    shown = ""
    yield shown
    for piece in pieces(body):
        shown += piece
        yield shown


def quoted(shown: str) -> str:
    """Return a displayed body as it stands in the text: every line of it behind `>` and five blanks."""
    return LINE_PREFIX + shown.replace("\n", "\n" + LINE_PREFIX)


def quoted_bytes(shown: str) -> int:
    """Return how many bytes a displayed body takes in the text, prefixes included."""
    return len(shown.encode("utf-8")) + len(LINE_PREFIX) * (1 + shown.count("\n"))


def json_bytes(text: str) -> int:
    """Return how many bytes a string takes in the older output's JSON, without its quotation marks (SPEC.md 7)."""
    return len(older_json(text).encode("utf-8")) - 2


def older_json(value: object, *, raw_line_characters: bool = False) -> str:
    """Return a value as the older output's JSON; the first releases left U+0085, U+2028 and U+2029 as they are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if raw_line_characters:
        return text
    return text.replace("\u0085", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def is_blank(text: str) -> bool:
    """Say whether nothing is left of a text when blanks are stripped (SPEC.md 1)."""
    return text.strip() == ""


def show_invisible(data: bytes) -> str:
    r"""Return a few bytes for a human: `<U+200D>` for what cannot be seen, `<0xFF>` for broken UTF-8, `\n` for LF.

    The text under test writes such characters as `\u200d`; the raw character must look otherwise.
    """
    text = data.decode("utf-8", errors="surrogateescape")
    return "".join("\\n" if character == "\n" else escape_for_human(character) for character in text)


def escape_for_human(character: str) -> str:
    """Return one character such that it can be seen: U+2028, U+2029 and unusual blanks too."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte that is no UTF-8, as Python keeps it.
        return f"<0x{code - 0xDC00:02X}>"
    if character in INVISIBLE or character in LINE_BREAKS or (character.isspace() and character != " "):
        return f"<U+{code:04X}>"
    return character
