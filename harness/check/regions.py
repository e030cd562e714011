"""Where in a prepared text a byte lies, and where two texts differ first: the words of verdict lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.check.display import show_invisible
from harness.check.older import read_older
from harness.check.parts import BEGIN, END, NOTICE, OLDER_BEGIN, OLDER_END, TITLE, Malformed

_EXCERPT_BYTES = 40


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a text, in bytes, the end excluded, with its name."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two texts differ first: byte offset, region, and a few bytes of both sides, made visible."""

    offset: int
    region: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"byte {self.offset}, {self.region}: expected `{self.expected}`, got `{self.got}`"


def regions(text: bytes) -> tuple[Region, ...]:
    """Return the regions of a prepared text of either form, in order and without gaps; broken texts too.

    Names: notice, begin marker, section heading, heading of "Memory 2", metadata of "Memory 2", body of "Memory 2", end
    marker; of the older output also JSON and "item 2". A line that belongs nowhere is "stray line", a text of neither
    form "text".
    """
    if text.startswith(NOTICE) or (OLDER_BEGIN in text[:600] and not text.startswith(TITLE)):
        return _older_regions(text)
    found: list[Region] = []
    item = ""
    before_frame = "notice" if text.startswith(TITLE[:20]) or BEGIN in text else "text"
    name = before_frame
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end + 1
        line = text[at:end]
        if line == b"\n" or (name == before_frame and not line.startswith(BEGIN)):
            pass
        elif line.startswith(BEGIN):
            name = "begin marker"
        elif line.startswith(END):
            name = "end marker"
        elif line.startswith(b"### "):
            item = '"' + line[4:].decode("utf-8", errors="replace").rstrip("\n") + '"'
            name = f"heading of {item}"
        elif line.startswith(b"## "):
            name = "section heading"
        elif line.startswith(b"    ") and item:
            name = f"metadata of {item}"
        elif line.startswith(b">") and item:
            name = f"body of {item}"
        elif name != "end marker":
            name = "stray line"
        if found and found[-1].name == name:
            found[-1] = Region(found[-1].start, end, name)
        else:
            found.append(Region(at, end, name))
        at = end
    return tuple(found)


def region_at(text: bytes, offset: int) -> str:
    """Return the name of the region that a byte offset lies in; behind the end it is the last one's."""
    name = "text"
    for region in regions(text):
        if region.start <= offset:
            name = region.name
    return name


def first_difference(expected: bytes, got: bytes) -> Difference | None:
    """Return where two texts differ first, or None; the region is the expected text's."""
    if expected == got:
        return None
    offset = _common_prefix(expected, got)
    return Difference(
        offset=offset,
        region=region_at(expected, offset) if offset < len(expected) or not got else region_at(got, offset),
        expected=_excerpt(expected, offset),
        got=_excerpt(got, offset),
    )


def _common_prefix(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning, by halving: comparing slices is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _excerpt(text: bytes, offset: int) -> str:
    if offset >= len(text):
        return show_invisible(_whole_characters(text[max(0, offset - 10) :])) + " (end of text)"
    start = max(0, offset - 10)
    return show_invisible(_whole_characters(text[start : offset + _EXCERPT_BYTES]))


def _whole_characters(data: bytes) -> bytes:
    """Return the bytes without the halves of characters that an excerpt's own edges made."""
    data = re.sub(rb"\A[\x80-\xbf]{1,3}", b"", data)
    return re.sub(rb"(?:[\xc0-\xff][\x80-\xbf]{0,2})\Z", lambda match: _complete(match[0]), data)


def _complete(tail: bytes) -> bytes:
    try:
        tail.decode("utf-8")
    except UnicodeDecodeError:
        return b""
    return tail


def _older_regions(text: bytes) -> tuple[Region, ...]:
    begin = text.find(OLDER_BEGIN)
    json_start = text.find(b"\n", begin) + 1 if begin >= 0 else 0
    end = text.rfind(b"\n" + OLDER_END)
    if begin < 0 or json_start == 0:
        return (Region(0, len(text), "notice"),)
    json_end = end + 1 if end >= json_start - 1 else len(text)
    cuts = [(0, "notice"), (begin, "begin marker"), (json_start, "JSON")]
    try:
        for item in read_older(text, scope_id="").items:
            cuts += [(item.metadata.start, f'"item {item.number}"'), (item.body.start, f'body of "item {item.number}"')]
            cuts.append((item.body.end, f'"item {item.number}"'))
    except (Malformed, UnicodeDecodeError):
        pass
    cuts.append((json_end, "end marker"))
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return tuple(Region(start, stop, name) for (start, name), stop in zip(cuts, ends, strict=True) if start < stop)
