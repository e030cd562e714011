"""The commands by which scenarios are written: new, lint, fmt, accept."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from harness.check.request_warnings import request_warnings
from harness.cli_explain import refuse_unknown_step
from harness.cli_explore import Backends, OceanBaseUrl, known_backends
from harness.errors import HarnessError, UnknownNames
from harness.run.result import FAULTS, Outcome
from harness.scenario.files import FOLDER, SUFFIXES, exists, scenario_files
from harness.scenario.loader import Loaded, load, parse
from harness.scenario.schema import schema_place
from harness.scenario.template import PERMISSIONS, template
from runtime.artifacts import FAMILIES

FAILED = 1
MISUSE = 2

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def new(
    name: Annotated[str, typer.Argument(help="a name, or a path below scenarios")],
    family: Annotated[
        list[str] | None, typer.Option(help=f"what it holds and asks for, repeatable: {', '.join(FAMILIES)}")
    ] = None,
    permission: Annotated[str, typer.Option(help=f"who may not read: {', '.join(PERMISSIONS)}")] = "reference",
) -> None:
    """Write a scenario that runs, to start from; by default memory and experience, and a reference that one may read.

    The sections stand in the order in which the families are named.
    """
    for kind, words, known in (("family", family or [], FAMILIES), ("permission", [permission], PERMISSIONS)):
        if unknown := [word for word in words if word not in known]:
            raise UnknownNames(kind, unknown, known)
    path = Path(name if name.endswith(SUFFIXES) else f"{name}.yaml")
    if not path.name.rpartition(".")[0].strip(".") or not path.name.isprintable():
        raise HarnessError("unusable_name", f"{name!r} is no name for a scenario", hint="use words: `my_first_one`")
    if ".." in path.parts:
        raise HarnessError("unusable_name", f"{name!r} leads out of a folder", hint=f"name a path below {FOLDER}")
    if not path.is_absolute() and path.parts[0] != FOLDER.name:
        path = FOLDER / path
    families = [one for word in family or ("memory", "experience") for one in FAMILIES if one == word]
    allowed = next(one for one in PERMISSIONS if one == permission)
    text = template(path, schema=schema_place(path), families=families, permission=allowed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        if exists(path):
            raise HarnessError("file_exists", f"{path} exists already", hint="choose another name") from None
        raise HarnessError("unwritable", f"{path} cannot be written", cause=error.strerror) from None
    print(f"{path}\nrun it: harness run {path}")


def lint(
    paths: Annotated[list[Path] | None, typer.Argument(help="files or folders; default: scenarios")] = None,
) -> None:
    """Read scenario files, and say with file, line and column what is wrong with them.

    What must be refused of a request, and is not expected to be, is a warning: it makes no file wrong.
    """
    files = list(scenario_files(paths))
    if not files:
        raise HarnessError("nothing_to_lint", "there is no scenario file there", hint="name a .yaml file or a folder")
    refused = warned = 0
    for file in files:
        try:
            loaded = load(file)
        except HarnessError as error:
            refused += 1
            print(error)
            continue
        for warning in request_warnings(loaded):
            warned += 1
            print(warning)
    warnings = f", {_plural(warned, 'warning')}" if warned else ""
    print(f"{_plural(len(files), 'file')}, {refused} refused{warnings}")
    raise typer.Exit(MISUSE if refused else 0)


def fmt(
    paths: Annotated[list[Path] | None, typer.Argument(help="files or folders; default: scenarios")] = None,
    check: Annotated[bool, typer.Option("--check", help="write nothing, and say which files would change")] = False,
) -> None:
    """Put scenario files into their usual form; comments, quotes, brackets and the meaning stay.

    Exit code: 0, 1 where --check found a file that would change, 2 for one that cannot be read.
    """
    from harness.scenario.formatting import formatted

    changed = refused = left = count = 0
    for path in scenario_files(paths):
        count += 1
        try:
            before = _read(path)
            after = formatted(before, path)
        except HarnessError as error:
            if error.code == "unformattable":
                left += 1
                print(f"{path} is left as it is: {error.hint or error.message}")
            else:
                refused += 1
                print(error)
            continue
        if after.encode() != before:
            changed += 1
            print(f"{path} {'would change' if check else 'changed'}")
            if not check:
                _write(path, after)
    done = f"{changed} {'would change' if check else 'changed'}, {left} left as they are, {refused} refused"
    print(f"{_plural(count, 'file')}, {done}")
    raise typer.Exit(MISUSE if refused else FAILED if check and changed else 0)


def accept(
    file: Annotated[Path, typer.Argument(help="a scenario file")],
    step: Annotated[int | None, typer.Option(min=1, help="the number of one step, from 1; default: all")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="write without asking")] = False,
    backend: Backends = None,
    oceanbase_url: OceanBaseUrl = None,
) -> None:
    """Fill in or update a scenario's expected values from a real run; shows the difference and asks first.

    A step that says nothing of the text is filled in, in others the values change that they name and that are wrong.
    Refused while backends or the oracle disagree. Exit code: 0 written or nothing to do, 1 not written, 2 refused.
    """
    from harness.accept import accept as with_values
    from harness.explore.engines import open_session

    names = known_backends(backend)
    source = _read(file)
    loaded = parse(source, file)
    refuse_unknown_step(loaded, step)
    chosen = [step - 1] if step is not None else list(range(len(loaded.scenario.steps)))
    with open_session(names, oceanbase_url=oceanbase_url) as session:
        outcomes = [session.outcome(loaded, name) for name in names]
        _refuse_dissent(loaded, outcomes, chosen)
        accepted = with_values(loaded, source.decode(), outcomes[0], chosen)
        if not accepted.steps:
            print(f"{file}: nothing to accept, {_on(names)} and the oracle have what is expected")
            return
        # What is written must pass, or it is not what was answered.
        again = parse(accepted.after.encode(), file)
        _refuse_failures(again, [session.outcome(again, name) for name in names], chosen)
    _show(difference(file, accepted.before, accepted.after))
    if not yes and not (sys.stdin.isatty() and typer.confirm("write it?")):
        print("nothing is written; --yes writes without asking")
        raise typer.Exit(FAILED)
    _write(file, accepted.after)
    steps = ", ".join(map(str, accepted.steps))
    print(f"{file}: expected values of step {steps} as {_on(names)} and the oracle have them")


def difference(path: Path, before: str, after: str) -> Iterator[str]:
    """Yield the lines of a unified difference between two texts of a file."""
    # Lines end at LF alone; others in a text are a part of it.
    yield from difflib.unified_diff(
        before.removesuffix("\n").split("\n"),
        after.removesuffix("\n").split("\n"),
        f"{path} (now)",
        f"{path} (accepted)",
        lineterm="",
    )


def _show(lines: Iterator[str]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text(line, style=_COLOURS.get(line[:1], "")))


def _on(names: list[str]) -> str:
    return " and ".join(names)


def _refuse_dissent(loaded: Loaded, outcomes: list[Outcome], chosen: list[int]) -> None:
    """Raise HarnessError where an answer is not one that all agree on."""
    from harness.accept import dissents

    for outcome in outcomes:
        if outcome.verdict in FAULTS or outcome.verdict == "not run":
            raise HarnessError(
                "not_run", f"{loaded.path} did not run on {outcome.backend}: {outcome.verdict}", cause=outcome.reason
            )
    found = list(dict.fromkeys(dissents(loaded, outcomes, chosen)))
    if found:
        raise HarnessError(
            "not_accepted",
            f"{loaded.path} is left as it is: its answers are not agreed on",
            cause="\n".join(found),
            hint=f"say why by: harness explain {loaded.path}",
        )


def _refuse_failures(loaded: Loaded, outcomes: list[Outcome], chosen: list[int]) -> None:
    """Raise HarnessError where the new values are not what is answered when it is run again."""
    failures = [
        f"{step.name!r} on {outcome.backend}: {failure}"
        for outcome in outcomes
        for step in outcome.steps
        if step.index in chosen
        for failure in step.failures
    ]
    if failures:
        raise HarnessError(
            "not_accepted", f"{loaded.path} is left as it is: it would fail all the same", cause="\n".join(failures)
        )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HarnessError("unreadable_scenario", f"{path} cannot be read", cause=error.strerror) from None


def _write(path: Path, text: str) -> None:
    """Write a whole file, or leave the old one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise HarnessError("unwritable", f"{path} cannot be written", cause=error.strerror) from None
