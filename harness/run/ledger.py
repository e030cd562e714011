"""The ledger of known divergences: strict, each entry with an owner and a day on which it is looked at again.

It says which failure of which step is known on which target and backend. A failure that it knows makes no run red; an
unexpected pass, an overdue review, an entry that fits no step, and one whose text no longer fits the failure do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.check.failure import Failure
from harness.errors import HarnessError, ScenarioError, ScenarioErrors, did_you_mean
from harness.run.result import Outcome, StepResult
from harness.scenario.loader import Loaded
from harness.scenario.marks import Mark
from harness.scenario.source import decode
from harness.scenario.yaml_nodes import read

Words = Annotated[str, Field(strict=True, min_length=1)]
_OTHER_TARGETS = ("powercontext", "http")
"""How targets begin that have no name of ours: a released product, a server that somebody runs."""
_NO_DAY = ("review is no day", "write 2027-01-31, in quotes")


class Entry(BaseModel):
    """One known divergence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: Words
    """The scenario file, relative to the ledger's folder."""
    step: Words
    target: Words
    backend: Words
    region: Words
    """The region of the failure, as the verdict names it."""
    text: Words
    """What the failure's message contains."""
    issue: Words
    owner: Words
    review: Annotated[str, Field(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day, in quotes, from which on the entry is a failure of its own."""

    @property
    def review_day(self) -> date:
        """The day of the review."""
        return date.fromisoformat(self.review)


@dataclass(frozen=True)
class Ledger:
    """All entries of a ledger, and the day on which it is read."""

    path: Path
    entries: tuple[Entry, ...] = ()
    today: date = date.min

    def entries_of(self, loaded: Loaded, *, target: str, backend: str) -> list[Entry]:
        """Return what is known of a scenario on a target and backend."""
        return [
            entry
            for entry in self.entries
            if (self.path.parent / entry.scenario).resolve() == loaded.path.resolve()
            and (entry.target, entry.backend) == (target, backend)
        ]

    def judge(self, loaded: Loaded, outcome: Outcome) -> Outcome:
        """Return the outcome with its known failures set aside, and with failures of the ledger's own."""
        if outcome.verdict not in ("passed", "failed"):
            return outcome
        entries = self.entries_of(loaded, target=outcome.target, backend=outcome.backend)
        if not entries:
            return outcome
        steps = tuple(
            self._judged(step, [entry for entry in entries if entry.step == step.name]) for step in outcome.steps
        )
        failed = any(step.failures for step in steps) or bool(outcome.seed and outcome.seed.failures)
        known = "; ".join(dict.fromkeys(f"{entry.issue} ({entry.owner}, until {entry.review})" for entry in entries))
        return replace(outcome, steps=steps, verdict="failed" if failed else "known", reason="" if failed else known)

    def _judged(self, step: StepResult, entries: Sequence[Entry]) -> StepResult:
        left = [failure for failure in step.failures if not any(_fits(entry, failure) for entry in entries)]
        for entry in entries:
            if not any(_fits(entry, failure) for failure in step.failures):
                same_region = [failure for failure in step.failures if failure.region == entry.region]
                got = same_region[0].message if same_region else "nothing wrong there"
                message = f"the ledger knows of {entry.issue} here, and this is not it"
                left.append(Failure("LEDGER", entry.region, entry.text, got, message))
            if self.today >= entry.review_day:
                message = f"the ledger's entry of {entry.issue} is to be looked at again by {entry.owner}"
                left.append(Failure("LEDGER", entry.region, f"a review before {entry.review}", "none", message))
        return replace(step, failures=tuple(left))


def _fits(entry: Entry, failure: Failure) -> bool:
    return failure.region == entry.region and entry.text in failure.message


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
    if all(not line or line.isspace() or line.lstrip().startswith("#") for line in source.splitlines()):
        return Ledger(path, today=today)
    document = read(source, path)
    errors = list(document.errors)
    if not isinstance(document.value, list) and not errors:
        errors.append(ScenarioError(path, 1, 1, "a ledger is a list of entries", "begin each entry with a dash"))
    entries: list[Entry] = []
    for index, value in enumerate(document.value if isinstance(document.value, list) else []):
        try:
            entry = Entry.model_validate(value)
        except ValidationError as problem:
            errors += [_refusal(complaint, document.mark, index, path) for complaint in problem.errors()]
            continue
        for key, message, hint in _unfit(entry, path, targets, backends):
            errors.append(ScenarioError(path, *document.mark.at(index, key), message, hint))
        entries.append(entry)
    if errors:
        raise ScenarioErrors(path, errors)
    return Ledger(path, tuple(entries), today)


def _refusal(complaint: Any, mark: Mark, index: int, path: Path) -> ScenarioError:
    location = (index, *complaint["loc"])
    key = ".".join(map(str, complaint["loc"])) or "an entry"
    match complaint["type"]:
        case "extra_forbidden":
            hint = did_you_mean(key, Entry.model_fields)
            return ScenarioError(path, *mark.key_at(*location), f'unknown key "{key}"', hint)
        case "missing":
            return ScenarioError(path, *mark.at(*location), f'"{key}" is missing')
        case "string_pattern_mismatch":
            return ScenarioError(path, *mark.at(*location), *_NO_DAY)
    return ScenarioError(path, *mark.at(*location), f"{key}: {complaint['msg']}")


def _unfit(
    entry: Entry, path: Path, targets: Collection[str] | None, backends: Collection[str] | None
) -> Iterator[tuple[str, str, str | None]]:
    """Give what a good entry names and nobody knows: its key, what is wrong, and a hint."""
    try:
        _ = entry.review_day
    except ValueError:
        yield ("review", *_NO_DAY)
    if not (path.parent / entry.scenario).is_file():
        yield "scenario", f"there is no scenario {entry.scenario} below {path.parent}", None
    if targets is not None and entry.target not in targets and not entry.target.startswith(_OTHER_TARGETS):
        yield "target", f'unknown target "{entry.target}"', f"known: {', '.join(targets)}"
    if backends is not None and entry.backend not in backends:
        yield "backend", f'unknown backend "{entry.backend}"', f"known: {', '.join(backends)}"


def check_steps(ledger: Ledger, loaded: Loaded) -> None:
    """Make sure that the entries of a scenario name steps that it has; raises HarnessError."""
    names = {step.step or f"step {index + 1}" for index, step in enumerate(loaded.scenario.steps)}
    for entry in ledger.entries:
        if (ledger.path.parent / entry.scenario).resolve() == loaded.path.resolve() and entry.step not in names:
            raise HarnessError(
                "ledger",
                f'{ledger.path} knows of a step "{entry.step}" that {entry.scenario} does not have',
                hint=f"its steps: {', '.join(sorted(names))}",
            )
