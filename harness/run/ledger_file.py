"""The ledger's file, read strictly: the entries, or all of the file's mistakes with their lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import HarnessError, ScenarioError, ScenarioErrors, did_you_mean
from harness.run.ledger import ANY, SEED, SHORTEST_TEXT, Entry, Ledger, number
from harness.run.round_trip import ROUND_TRIP
from harness.scenario.loader import Loaded
from harness.scenario.marks import Mark
from harness.scenario.source import decode
from harness.scenario.yaml_nodes import read
from harness.target.systems import RELEASED, URL_SCHEMES

Wrong = tuple[str, str, str | None]
"""A key, what is wrong with its value, and a hint."""

OF_THE_ISSUE = ("title", "breaks", "note", "owner", "review")
"""What is said once of an issue, by its first entry."""

_MALFORMED = {
    "review": ("review is no day", "write 2027-01-31, in quotes"),
    "since": ("since is no release", "write 1.4.1"),
    "until": ("until is no release", "write 1.4.1"),
}
_EXACT_RELEASE = re.compile(rf"{RELEASED}==\d+\.\d+\.\d+")
_SAID_OF_MUCH = re.compile(r"\b(?:expected|got|differs|from|answers|as|predicted|in|on|of|the|is|not|a|an)\b|\W+")
"""What failures of all kinds have in common: a text that is little else would fit too many."""


def load_ledger(
    path: Path, *, today: date, targets: Collection[str] | None = None, backends: Collection[str] | None = None
) -> Ledger:
    """Read a ledger; a file that is missing, or holds nothing but comments, is an empty one.

    `targets` and `backends` are the names that an entry may have, None where they are not checked. Raises
    ScenarioErrors.
    """
    if not path.exists():
        return Ledger(path, today=today)
    source = decode(path.read_bytes(), path)
    if all(not line or line.isspace() or line.lstrip().startswith("#") for line in source.split("\n")):
        return Ledger(path, today=today)
    document = read(source, path)
    errors = list(document.errors)
    if not isinstance(document.value, list) and not errors:
        errors.append(ScenarioError(path, 1, 1, "a ledger is a list of entries", "begin each entry with a dash"))
    entries: list[Entry] = []
    firsts: dict[str, dict[str, Any]] = {}
    for index, value in enumerate(document.value if isinstance(document.value, list) else []):
        whole, wrong = _with_its_issue(value, firsts)
        try:
            entry = Entry.model_validate(whole)
        except ValidationError as problem:
            errors += [_refusal(complaint, document.mark, index, path) for complaint in problem.errors()]
        else:
            entries.append(entry)
            wrong += _unfit(entry, path, targets, backends)
        errors += [ScenarioError(path, *document.mark.at(index, key), message, hint) for key, message, hint in wrong]
    if errors:
        raise ScenarioErrors(path, errors)
    return Ledger(path, tuple(entries), today)


def _with_its_issue(value: Any, firsts: dict[str, dict[str, Any]]) -> tuple[Any, list[Wrong]]:
    """Return an entry with what the first entry of its issue says of the issue."""
    if not isinstance(value, dict) or not isinstance(value.get("issue"), str):
        return value, []
    first = firsts.setdefault(value["issue"], value)
    said = {key: first[key] for key in OF_THE_ISSUE if key in first}
    wrong: list[Wrong] = [
        (key, f"the first entry of {value['issue']} has another {key}", "leave it out here")
        for key in said
        if value.get(key, said[key]) != said[key]
    ]
    return said | value, wrong


def _refusal(complaint: Any, mark: Mark, index: int, path: Path) -> ScenarioError:
    location = (index, *complaint["loc"])
    key = str(complaint["loc"][0]) if complaint["loc"] else "an entry"
    match complaint["type"]:
        case "extra_forbidden":
            hint = did_you_mean(key, Entry.model_fields)
            return ScenarioError(path, *mark.key_at(*location), f'unknown key "{key}"', hint)
        case "missing":
            return ScenarioError(path, *mark.at(*location), f'"{key}" is missing')
        case "string_pattern_mismatch":
            return ScenarioError(path, *mark.at(*location), *_MALFORMED[key])
    return ScenarioError(path, *mark.at(*location), f"{key}: {complaint['msg']}")


def _unfit(
    entry: Entry, path: Path, targets: Collection[str] | None, backends: Collection[str] | None
) -> Iterator[Wrong]:
    """Give what a good entry names and nobody knows, and what does not go together."""
    try:
        _ = entry.review_day
    except ValueError:
        yield ("review", *_MALFORMED["review"])
    if not (path.parent / entry.scenario).is_file():
        yield "scenario", f"there is no scenario {entry.scenario} below {path.parent}", None
    if "\n" in entry.title:
        yield "title", "title is more than one line", "put the rest into `note`"
    yield from _unfit_target(entry, targets)
    if backends is not None and entry.backend not in (*backends, ANY):
        yield "backend", f'unknown backend "{entry.backend}"', f"known: {', '.join((*backends, ANY))}"
    if not entry.text:
        yield "text", "text is empty", None
    if entry.everywhere:
        for text in entry.text:
            if len(_SAID_OF_MUCH.sub("", text)) < SHORTEST_TEXT:
                yield "text", f'"{text}" is too general to be known everywhere', "quote what no other failure says"


def _unfit_target(entry: Entry, targets: Collection[str] | None) -> Iterator[Wrong]:
    if entry.target.startswith(RELEASED):
        if entry.target != RELEASED and not _EXACT_RELEASE.fullmatch(entry.target):
            yield "target", f'unknown target "{entry.target}"', f"write {RELEASED}, or {RELEASED}==1.4.1"
    elif targets is not None and entry.target not in targets and not entry.target.startswith(URL_SCHEMES):
        yield "target", f'unknown target "{entry.target}"', f"known: {', '.join((*targets, RELEASED))}"
    for key, bound in (("since", entry.since), ("until", entry.until)):
        if bound is not None and entry.target != RELEASED:
            yield key, f'"{key}" bounds the releases of target {RELEASED}', None
    if entry.since is not None and entry.until is not None and number(entry.since) > number(entry.until):
        yield "until", f"{entry.until} comes before {entry.since}", None


def check_steps(ledger: Ledger, loaded: Loaded) -> None:
    """Make sure that the entries of a scenario name steps that it has; raises HarnessError."""
    names = {step.step or f"step {index + 1}" for index, step in enumerate(loaded.scenario.steps)}
    for entry in ledger.entries_of(loaded.path):
        if entry.step not in (*names, SEED, ROUND_TRIP):
            raise HarnessError(
                "ledger",
                f'{ledger.path} knows of a step "{entry.step}" that {entry.scenario} does not have',
                hint=f"its steps: {', '.join(sorted(names))}",
            )
