"""The commands that make scenarios of bug reports: import, anonymize."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError, ScenarioErrors

FOLDER = Path("scenarios/bugs")
"""Where a report's scenario is written when no file is named."""
STANDARD = "-"
_MOST_SEED = 2**31


def import_report(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="the report; - reads standard input")],
    report: Annotated[str | None, typer.Option(help='where it was filed: "owner/project #123"')] = None,
    output: Annotated[str | None, typer.Option(help="the scenario to write, - prints it")] = None,
    response: Annotated[Path | None, typer.Option(help="the answer, where it lies in a file of its own")] = None,
    right: Annotated[bool, typer.Option("--right", help="what came is right, so that it is expected")] = False,
    anonymize: Annotated[bool, typer.Option("--anonymize", help="with other texts and ids")] = False,
    seed: Annotated[int | None, typer.Option(help="what the other texts are drawn by; default: a new one")] = None,
) -> None:
    """Turn a bug report into a scenario: a curl command, a HAR file, JSON of request and response, or a server's log.

    The world is rebuilt from the citations and bodies of the answer; what could not be had from it is marked by a
    comment `# guess:`. Unless --right says so, nothing of the answer is expected: the contract judges it. Where the
    reported answer itself breaks the contract whatever was stored, that is told.
    """
    from harness.importing.noted import shown_note, text_with_notes
    from harness.importing.reading import read_report
    from harness.importing.rebuild import rebuild

    if seed is not None and not anonymize:
        raise HarnessError("seed_without_use", "--seed draws other texts", hint="it goes with --anonymize")
    exchanges = read_report(_read(file), response=None if response is None else _read(str(response)))
    told = report or (Path(file).name if file != STANDARD else "a report from standard input")
    rebuilt = rebuild(exchanges, report=told, is_right=right)
    path = Path(output) if output not in (None, STANDARD) else FOLDER / f"{_name(told)}.yaml"
    plain, head, kept = rebuilt.plain, rebuilt.head, list[str]()
    called: Callable[[str], str] = str
    if anonymize:
        from harness.anonymizing.scenario import anonymize as without_texts

        seed = _seed(seed)
        done = without_texts(plain, seed=seed)
        plain, called = done.plain, done.name
        head = [*head, f"Anonymized with seed {seed}: other texts and ids, equal lengths."]
        kept = _kept_lines(seed, done.kept)
    try:
        text = text_with_notes(plain, path, head=head, notes=rebuilt.located(called), called=called)
    except ScenarioErrors as refused:
        # Its lines are those of a file that is not there.
        cause = "\n".join(error.message for error in refused.errors)
        message = "the report makes no scenario that can be read; nothing is written"
        hint = "without --right no item has to be named" if right else None
        raise HarnessError("unimportable", message, cause=cause, hint=hint) from None
    guesses = text.count("# guess: ")
    if output == STANDARD:
        print(text, end="")
    else:
        _write(path, text)
        print(f"{path}\n{_plural(len(exchanges), 'request')}, {_plural(guesses, 'guess')} marked by `# guess:`")
        print(f"run it: harness run {path}")
    judged = [shown_note(fault, called) for fault in rebuilt.broken]
    if rebuilt.is_judged and not judged:
        asking = "the run tells" if right else "an import by --right asks"
        judged = [f"by itself the reported answer breaks no rule; whether it fits what is stored, {asking}"]
    for line in (*judged, *kept):
        print(line, file=sys.stderr if output == STANDARD else sys.stdout)


def anonymize_scenario(
    file: Annotated[Path, typer.Argument(help="a scenario")],
    output: Annotated[str | None, typer.Option(help="the file to write; default: beside it, - prints")] = None,
    seed: Annotated[int | None, typer.Option(help="what the other texts are drawn by; default: a new one")] = None,
) -> None:
    """Write a scenario with other texts and ids: equal lengths and kinds of characters, the same structure."""
    from harness.anonymizing.scenario import anonymize
    from harness.explore.writing import plain_of, schema_for, text_of
    from harness.scenario.loader import load, parse

    scenario = load(file).scenario
    seed = _seed(seed)
    done = anonymize(plain_of(scenario), seed=seed)
    path = Path(output) if output not in (None, STANDARD) else file.with_name(f"{file.stem}_anonymized{file.suffix}")
    comment = f"Anonymized with seed {seed}: other texts and ids, equal lengths; comments are left out."
    text = text_of(done.plain, comments=[comment], schema=schema_for(path))
    parse(text.encode("utf-8"), path)
    if output == STANDARD:
        print(text, end="")
    else:
        _write(path, text)
        print(f"{path}\nrun it: harness run {path}")
    for line in _kept_lines(seed, (*done.kept, "no comment of the file")):
        print(line, file=sys.stderr if output == STANDARD else sys.stdout)


def _read(name: str) -> bytes:
    if name == STANDARD:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise HarnessError("unreadable_report", f"{name} cannot be read", cause=error.strerror) from None


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise HarnessError("file_exists", f"{path} exists already", hint="name another one by --output") from None
    except OSError as error:
        raise HarnessError("unwritable", f"{path} cannot be written", cause=error.strerror) from None


def _seed(seed: int | None) -> int:
    return secrets.randbelow(_MOST_SEED) if seed is None else seed


def _kept_lines(seed: int, kept: tuple[str, ...]) -> list[str]:
    return [f"anonymized with seed {seed}", *(f"kept: {one}" for one in kept)]


def _name(report: str) -> str:
    """Return a file's name for a report: "powercontext_1052" for "owner/powercontext #1052"."""
    words = re.findall(r"[A-Za-z0-9]+", os.path.splitext(report)[0].rpartition("/")[2])
    return "_".join(words).lower()[:80] or "report"


def _plural(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
