"""The ledger of known divergences: strict, each entry with an owner and a day on which it is looked at again.

It says which failure of which step is known on which target and backend. A failure that it knows makes no run red; an
unexpected pass, an overdue review, an entry that fits no step, and one whose text no longer fits the failure do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.check.failure import Failure
from harness.errors import HarnessError, ScenarioError, ScenarioErrors
from harness.run.result import Outcome, StepResult
from harness.scenario.loader import Loaded
from harness.scenario.source import decode
from harness.scenario.yaml_nodes import read

Words = Annotated[str, Field(strict=True, min_length=1)]


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


def load_ledger(path: Path, *, today: date) -> Ledger:
    """Read a ledger; a missing file is an empty one. Raises ScenarioErrors, HarnessError."""
    if not path.exists():
        return Ledger(path, today=today)
    document = read(decode(path.read_bytes(), path), path)
    errors = list(document.errors)
    entries: list[Entry] = []
    for index, value in enumerate(document.value if isinstance(document.value, list) else []):
        try:
            entry = Entry.model_validate(value)
            date.fromisoformat(entry.review)
        except ValidationError as problem:
            first = problem.errors()[0]
            place = document.mark.at(index, *first["loc"])
            errors.append(ScenarioError(path, *place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"))
        except ValueError:
            errors.append(
                ScenarioError(path, *document.mark.at(index, "review"), "review is no day", "write 2027-01-31")
            )
        else:
            if not (path.parent / entry.scenario).is_file():
                message = f"there is no scenario {entry.scenario} below {path.parent}"
                errors.append(ScenarioError(path, *document.mark.at(index, "scenario"), message))
            entries.append(entry)
    if not isinstance(document.value, list):
        errors.append(ScenarioError(path, 1, 1, "a ledger is a list of entries"))
    if errors:
        raise ScenarioErrors(path, errors)
    return Ledger(path, tuple(entries), today)


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
