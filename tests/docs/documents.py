"""What a document asks to be done: commands with the output that it shows, and files that it has the reader write.

The conventions, for whoever writes a document:

- a block of the language `console` is executed: a line that begins with `$ ` is a command, with its continued lines
  (after a `\\`, up to the end of a here document); what follows is its output, none of it where nothing is shown;
- a block whose language is followed by a path (`yaml scenarios/tea.yaml`) is a file, written as it stands;
- a comment `<!-- run: ... -->` is a command that readers do not see, for what they have and a scratch folder has not;
- a block of the language `sh` holds commands that cannot be executed here; tests/docs/test_docs.py says which may be.

All of a document happens in its order in one folder and one shell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"```(\S*)(?: (\S+))?")
_HIDDEN = re.compile(r"<!-- run: (.*) -->")
_HERE_DOCUMENT = re.compile(r"<<-?\s*['\"]?(\w+)")


@dataclass(frozen=True, slots=True)
class Command:
    """A command, with the output that is shown; lines are numbered from 1."""

    line: int
    text: str
    first: int
    """The line of the document where the output begins."""
    output: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader writes: its path in the folder, and its text."""

    line: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences: where, of what language, for which file."""

    line: int
    language: str
    path: str | None
    lines: tuple[str, ...]


def lines_of(document: Path) -> list[str]:
    """Return the lines of a document, which end at LF alone."""
    return document.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def blocks_of(lines: list[str]) -> list[Block]:
    """Return the blocks of a document in their order."""
    return [part for part in _parts(lines) if isinstance(part, Block)]


def prose_of(lines: list[str]) -> str:
    """Return a document without its blocks."""
    inside: set[int] = set()
    for block in blocks_of(lines):
        inside |= set(range(block.line - 1, block.line + len(block.lines) + 1))
    return "\n".join(line for number, line in enumerate(lines) if number not in inside)


def actions_of(lines: list[str]) -> list[Command | File]:
    """Return what a document asks to be done, in its order."""
    actions: list[Command | File] = []
    for part in _parts(lines):
        if isinstance(part, Command):
            actions.append(part)
        elif part.path is not None:
            actions.append(File(part.line, part.path, "\n".join(part.lines) + "\n"))
        elif part.language == "console":
            actions += commands_in(part)
    return actions


def commands_in(block: Block) -> list[Command]:
    """Return the commands of a block; raises ValueError for output without a command."""
    found: list[Command] = []
    position = 0
    while position < len(block.lines):
        if not block.lines[position].startswith("$ "):
            raise ValueError(f"line {block.line + 1 + position}: output without a command before it")
        start = position
        position = _end_of_command(block.lines, start)
        shown = position
        while position < len(block.lines) and not block.lines[position].startswith("$ "):
            position += 1
        text = "\n".join(block.lines[start:shown]).removeprefix("$ ")
        line = block.line + 1
        found.append(Command(line + start, text, line + shown, block.lines[shown:position]))
    return found


def _end_of_command(lines: tuple[str, ...], start: int) -> int:
    end = start
    while lines[end].endswith("\\") and end + 1 < len(lines):
        end += 1
    if here := _HERE_DOCUMENT.search("\n".join(lines[start : end + 1])):
        while lines[end] != here[1]:
            end += 1
    return end + 1


def _parts(lines: list[str]) -> list[Block | Command]:
    parts: list[Block | Command] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if hidden := _HIDDEN.fullmatch(line):
            parts.append(Command(number + 1, hidden[1], number + 2))
        elif line.startswith("```"):
            fence = _FENCE.fullmatch(line)
            assert fence, f"line {number + 1}: {line!r} opens no block"
            end = lines.index("```", number + 1)
            parts.append(Block(number + 1, fence[1], fence[2], tuple(lines[number + 1 : end])))
            number = end
        number += 1
    return parts
