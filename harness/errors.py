"""What can go wrong outside the system under test, told to the user as code, sentence, cause and hint.

A run goes: options are read (`UnknownNames`) -> scenario files are loaded (`ScenarioErrors`, each of its parts a
`ScenarioError`) -> engines and targets start (`HarnessError` with the code of the cause) -> a target is set up as the
scenario asks (`NotRun`, which is no error: the scenario needs what this target cannot do) -> steps are judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import FrozenInstanceError
from difflib import get_close_matches
from pathlib import Path
from typing import Any


class HarnessError(Exception):
    """A problem that the user can mend: a code, one sentence, and where known the cause and a hint.

    The fields cannot be reassigned; the exception survives pickling, since xdist workers send it home.
    """

    code: str
    message: str
    cause: str | None
    hint: str | None

    def __init__(self, code: str, message: str, *, cause: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.cause = cause
        self.hint = hint

    def __setattr__(self, name: str, value: Any) -> None:
        # Only our own fields are frozen: contextlib assigns `__traceback__` on exceptions that pass through it.
        if not name.startswith("__") and name in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.args, dict(self.__dict__))

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.cause is not None:
            lines += _indented("cause: ", self.cause)
        if self.hint is not None:
            lines += _indented("hint: ", self.hint)
        return "\n".join(lines)


def _indented(label: str, text: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"  {label}{first}", *(f"  {' ' * len(label)}{line}" for line in rest)]


def _revive(kind: type[HarnessError], args: tuple[Any, ...], fields: dict[str, Any]) -> HarnessError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class UnknownNames(HarnessError):
    """Names that the user gave and nobody knows; `known` are the ones to choose from."""

    kind: str
    names: tuple[str, ...]
    known: tuple[str, ...]

    def __init__(self, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.known = tuple(known)
        near = [nearest(name, self.known) for name in self.names]
        meant = f"did you mean {_quoted(word for word in near if word)}? " if all(near) else ""
        super().__init__(
            f"unknown_{kind.replace(' ', '_')}",
            f"unknown {kind} {_quoted(self.names)}",
            hint=f"{meant}known: {', '.join(self.known) or 'none'}",
        )


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


class ScenarioError(HarnessError):
    """One mistake in a scenario file, at a line and a column (both from 1)."""

    path: Path
    line: int
    column: int

    def __init__(self, path: Path, line: int, column: int, message: str, hint: str | None = None) -> None:
        self.path = path
        self.line = line
        self.column = column
        super().__init__("scenario", message, hint=hint)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}: {self.message}"
        return place if self.hint is None else f"{place}\n  {self.hint}"


class ScenarioErrors(HarnessError):
    """All that is wrong with one scenario file, in the file's order; never empty."""

    path: Path
    errors: tuple[ScenarioError, ...]

    def __init__(self, path: Path, errors: Iterable[ScenarioError]) -> None:
        self.path = path
        self.errors = tuple(sorted(errors, key=lambda error: (error.line, error.column)))
        super().__init__("scenario", f"{path} is refused: {len(self.errors)} mistakes")

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


class NotRun(Exception):
    """A target cannot do what a scenario needs; `reason` reads "needs ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return a hint that names the nearest of the known words, or all of them when none is near.

    None when there is nothing to name.
    """
    choices = list(dict.fromkeys(known))
    if near := nearest(word, choices):
        return f'did you mean "{near}"?'
    if not choices:
        return None
    shown = ", ".join(sorted(choices)[:20])
    return f"known: {shown}{', ...' if len(choices) > 20 else ''}"


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known word that is most like another, or None when none is near.

    `cutoff` is how near it must be, 1 for equal words.
    """
    by_fold = {choice.casefold(): choice for choice in reversed(list(known))}
    near = get_close_matches(word.casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[near[0]] if near else None
