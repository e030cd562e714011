"""Bash commands as words: quotes, escapes, line continuations and here documents, nothing expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_NUMERIC = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})")
_VARIABLE = re.compile(r"\$(\w+|\{[^}]*\}|\((?:[^()]|\([^()]*\))*\))|`[^`]*`")
_HERE = re.compile(r"<<(-?)\s*(\\?[\w-]+|'[^'\n]*'|\"[^\"\n]*\")")


class Unfinished(ValueError):
    """A command that ends inside a quote; says which, and on which line it begins."""


@dataclass
class Command:
    """One command: its words, what it reads from a here document, and where it ends in the text."""

    words: list[str] = field(default_factory=list)
    document: str | None = None
    variables: list[str] = field(default_factory=list)
    """The variables and substitutions that its words hold, which were left as they are."""
    end: int = 0


def read_command(text: str, start: int) -> Command:
    """Read one command from an offset to the end of its line, or to `;`, `|` or `&`.

    Bytes that are no UTF-8 are lone surrogates, as `surrogateescape` makes them. Raises Unfinished.
    """
    return _Reader(text, start).command()


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start
        self._command = Command()
        self._word: list[str] | None = None
        self._here: tuple[str, bool] | None = None

    def command(self) -> Command:
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in "\n;|&":
                break
            self._step(character)
        self._close()
        if self._at < len(self._text) and self._here is not None:
            self._document()
        self._command.end = self._at
        return self._command

    def _step(self, character: str) -> None:
        text, at = self._text, self._at
        if character == "\\":
            self._at += 2
            if text.startswith("\\\r\n", at):
                self._at += 1
            elif text[at + 1 : at + 2] not in ("\n", ""):
                self._add(text[at + 1])
        elif character in " \t\r":
            self._close()
            self._at += 1
        elif character == "'":
            self._add(self._until("'", at + 1))
        elif text.startswith("$'", at):
            self._ansi()
        elif character == '"':
            self._double()
        elif found := _VARIABLE.match(text, at):
            self._variable(found)
        elif found := _HERE.match(text, at):
            self._here = found[2].strip("\\'\""), found[1] == "-"
            self._at = found.end()
        elif character in "<>":
            # Where the output goes says nothing of the request.
            self._close()
            self._at += 1
            while self._at < len(text) and text[self._at] in "<>& ":
                self._at += 1
            while self._at < len(text) and not text[self._at].isspace():
                self._at += 1
        elif character == "#" and self._word is None:
            self._at = (text + "\n").index("\n", at)
        else:
            self._add(character)
            self._at += 1

    def _add(self, text: str) -> None:
        self._word = [*(self._word or []), text]

    def _close(self) -> None:
        if self._word is not None:
            self._command.words.append("".join(self._word))
            self._word = None

    def _until(self, quote: str, start: int) -> str:
        end = self._text.find(quote, start)
        if end < 0:
            self._fail(quote)
        self._at = end + 1
        return self._text[start:end]

    def _fail(self, quote: str) -> None:
        line = self._text.count("\n", 0, self._at) + 1
        raise Unfinished(f"the quote {quote} on line {line} is not closed")

    def _variable(self, found: re.Match[str]) -> None:
        self._command.variables.append(found[0])
        self._add(found[0])
        self._at = found.end()

    def _double(self) -> None:
        self._add("")
        start, at = self._at, self._at + 1
        while at < len(self._text) and self._text[at] != '"':
            character = self._text[at]
            if character == "\\" and self._text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
                self._add(self._text[at + 1].replace("\n", ""))
                at += 2
            elif found := _VARIABLE.match(self._text, at):
                self._variable(found)
                at = found.end()
            else:
                self._add(character)
                at += 1
        self._at = start
        if at >= len(self._text):
            self._fail('"')
        self._at = at + 1

    def _ansi(self) -> None:
        self._add("")
        start, at = self._at, self._at + 2
        octets = bytearray()
        while at < len(self._text) and self._text[at] != "'":
            if self._text[at] != "\\":
                octets += self._text[at].encode("utf-8", "surrogateescape")
                at += 1
                continue
            found = _NUMERIC.match(self._text, at + 1)
            if found is None:
                escaped = self._text[at + 1 : at + 2]
                octets += _SIMPLE.get(escaped, escaped if escaped in "\\'\"?" else "\\" + escaped).encode()
                at += 2
            elif (hexadecimal := found[2] or found[3]) is not None:
                octets += chr(min(int(hexadecimal, 16), 0x10FFFF)).encode("utf-8", "surrogatepass")
                at = found.end()
            else:
                octets.append(int(found[1], 16) if found[1] else int(found[4], 8) & 0xFF)
                at = found.end()
        self._at = start
        if at >= len(self._text):
            self._fail("$'")
        self._add(octets.decode("utf-8", "surrogateescape"))
        self._at = at + 1

    def _document(self) -> None:
        assert self._here is not None
        word, strips_tabs = self._here
        at = self._text.index("\n", self._at) + 1
        lines: list[str] = []
        while at < len(self._text):
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            line = self._text[at:end]
            line = line.lstrip("\t") if strips_tabs else line
            at = end + 1
            if line == word:
                break
            lines.append(line + "\n")
        self._command.document = "".join(lines)
        self._at = min(at, len(self._text))
