"""A strict reader of the Markdown form (SPEC.md 4)."""

from __future__ import annotations

import json
import re
from typing import NoReturn, cast

from harness.check.display import LINE_PREFIX
from harness.check.parts import END, HEAD, Delivered, DeliveredItem, Malformed, Section, Span, citation_from
from runtime.artifacts import FAMILIES, MEMORY

_STRING = rb'"(?:[^"\\]|\\.)*"'
_SECTION = re.compile(rb"## (Memory|Experience|Profile|Topic Memory)\n\n")
_ITEM = re.compile(rb"### (Memory|Experience|Profile|Topic Memory) (0|[1-9][0-9]{0,8})\n\n")
_SCOPE = re.compile(rb"    Scope: (" + _STRING + rb")\n")
_ARTIFACT = re.compile(
    rb"    Artifact: family=(" + _STRING + rb"), id=(" + _STRING + rb"), revision=([1-9][0-9]{0,18})\n"
)
_ENTRY = re.compile(rb"    Entry: id=(" + _STRING + rb"), version=(" + _STRING + rb")\n")
_CONFIDENCE = re.compile(rb"    Confidence: (unknown \(not assessed\))\n")
_RANK = re.compile(rb"    Recall rank: (0|[1-9][0-9]{0,8})\n")
_TRUNCATED = re.compile(rb"    Truncated: (yes|no)\n\n")
_PREFIX = LINE_PREFIX.encode("ascii")


def read_markdown(data: bytes) -> Delivered:
    """Take a prepared Markdown text apart; raises Malformed at the first byte that the fixed frame does not allow."""
    return _MarkdownReader(data).read()


class _MarkdownReader:
    """Walks once over the bytes; `_at` is the offset of what is read next."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._region = "notice"

    def read(self) -> Delivered:
        self._literal(HEAD)
        sections: list[Section] = []
        while not self._data.startswith(END, self._at):
            if self._data[self._at : self._at + 1] in (b"", END[:1]):
                self._region = "end marker"
            elif self._data.startswith(b"## ", self._at) or not sections:
                self._region = "section heading"
            sections.append(self._section())
        self._region = "end marker"
        self._literal(END)
        if self._at != len(self._data):
            self._fail("something stands behind the end marker")
        if not sections:
            self._fail("a text without a section")
        items = tuple(item for section in sections for item in section.items)
        return Delivered("markdown", tuple(sections), items)

    def _section(self) -> Section:
        title = self._match(_SECTION, "a section heading or the end marker")[1].decode("ascii")
        items: list[DeliveredItem] = []
        while not items or self._data.startswith(b"### ", self._at):
            items.append(self._item(title))
        return Section(title, tuple(items))

    def _item(self, title: str) -> DeliveredItem:
        start = self._at
        self._region = f"section {title}"
        heading = self._match(_ITEM, "an item's heading")
        if heading[1].decode("ascii") != title:
            self._fail(f"an item of {heading[1].decode('ascii')} in section {title}", at=start)
        number = int(heading[2])
        name = f'"{title} {number}"'
        self._region = f"metadata of {name}"
        metadata_start = self._at
        scope_id = self._identity(self._match(_SCOPE, "the line `Scope:`"), 1)
        artifact = self._match(_ARTIFACT, "the line `Artifact:`")
        family, artifact_id = self._identity(artifact, 1), self._identity(artifact, 2)
        entry = None
        if family == MEMORY or (family not in FAMILIES and self._data.startswith(b"    Entry: ", self._at)):
            line = self._match(_ENTRY, "the line `Entry:`")
            entry = self._identity(line, 1), self._identity(line, 2)
        confidence = rank = None
        if found := self._optional(_CONFIDENCE):
            confidence = found[1].decode("ascii")
        if found := self._optional(_RANK):
            rank = int(found[1])
        truncated = self._match(_TRUNCATED, "the line `Truncated:` and a blank line")[1] == b"yes"
        metadata = Span(metadata_start, self._at - 1)
        self._region = f"body of {name}"
        body_start = self._at
        body_text = self._body()
        return DeliveredItem(
            number=number,
            citation=citation_from(
                scope_id=scope_id, family=family, artifact_id=artifact_id, revision=int(artifact[3]), entry=entry
            ),
            confidence=confidence,
            recall_rank=rank,
            truncated=truncated,
            body_text=body_text,
            heading=Span(start, metadata_start - 1),
            metadata=metadata,
            body=Span(body_start, self._at - 2),
        )

    def _body(self) -> str:
        """Read the quoted lines and the blank line behind them."""
        lines: list[bytes] = []
        while self._data.startswith(_PREFIX, self._at):
            end = self._data.find(b"\n", self._at)
            if end < 0:
                self._at = len(self._data)
                self._fail("the text ends inside a body")
            lines.append(self._data[self._at + len(_PREFIX) : end])
            self._at = end + 1
        if not lines:
            self._fail("expected a body's line behind `>` and five blanks")
        self._literal(b"\n")
        return b"\n".join(lines).decode("utf-8")

    def _identity(self, match: re.Match[bytes], group: int) -> str:
        """Read a JSON string that must be exactly what `json.dumps` writes."""
        text = match[group].decode("utf-8")
        try:
            value = json.loads(text)
        except ValueError:
            self._fail("an identity is no JSON string", at=match.start(group))
        if json.dumps(value) != text:
            self._fail("an identity is not escaped as `json.dumps` does", at=match.start(group))
        return cast(str, value)

    def _literal(self, expected: bytes) -> None:
        if not self._data.startswith(expected, self._at):
            got = self._data[self._at : self._at + len(expected)]
            same = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), len(got))
            self._fail(f"expected {expected[same : same + 40]!r}, got {got[same : same + 40]!r}", at=self._at + same)
        self._at += len(expected)

    def _match(self, pattern: re.Pattern[bytes], what: str) -> re.Match[bytes]:
        match = pattern.match(self._data, self._at)
        if match is None:
            self._fail(f"expected {what}, got {self._data[self._at : self._at + 60]!r}")
        self._at = match.end()
        return match

    def _optional(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        match = pattern.match(self._data, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _fail(self, message: str, *, at: int | None = None) -> NoReturn:
        raise Malformed(self._region, self._at if at is None else at, message)
