"""The ledger of known divergences: strict, each entry with an owner and a day on which it is looked at again.

It says which failure of which step is known on which target and backend. A failure that it knows makes no run red; an
unexpected pass, an overdue review, an entry that fits no step, and one whose text no longer fits the failure do. What
is known everywhere is strict at its own scenario and step alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from harness.check.failure import Failure
from harness.run.result import Outcome, StepResult
from harness.scenario.loader import Loaded
from harness.target.systems import RELEASED

ANY = "any"
"""Stands for every backend, or for every region."""
SEED = "the seed"
"""The step whose failures are a seed's."""
SHORTEST_TEXT = 8
"""Characters; a shorter text would fit failures that nobody has looked at."""

_NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Words = Annotated[str, Field(strict=True, min_length=1)]
Version = Annotated[str, Field(strict=True, pattern=r"^\d+\.\d+\.\d+$")]
FailureText = Annotated[str, Field(strict=True, min_length=SHORTEST_TEXT)]


class Entry(BaseModel):
    """One known divergence, where it shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: Words
    """The scenario file, relative to the ledger's folder."""
    step: Words
    """The step's name, as the verdict tells it; "the seed" for what the seed fails by."""
    target: Words
    """`powercontext` is every release, within `since` and `until`; other names are meant literally."""
    since: Version | None = None
    """The first release that it is known of."""
    until: Version | None = None
    """The last one."""
    backend: Words
    """A backend's name, or `any`."""
    region: Words
    """The region of the failure, as the verdict names it, or `any`."""
    text: Annotated[tuple[FailureText, ...], BeforeValidator(_as_list)]
    """What the failure's message contains, or several such texts: one difference shows as several failures."""
    everywhere: Annotated[bool, Field(strict=True)] = False
    """Whether failures that fit are known in every step of every scenario."""
    issue: Words
    title: Words
    """The issue in one line."""
    breaks: Words
    """The sentence of the RFC or of SPEC.md that is not kept, with its section."""
    expected: Words | None = None
    got: Words | None = None
    note: Words | None = None
    owner: Words
    review: Annotated[str, Field(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day, in quotes, from which on the entry is a failure of its own."""

    @property
    def review_day(self) -> date:
        """The day of the review."""
        return date.fromisoformat(self.review)

    @property
    def told(self) -> str:
        """The issue as a run tells it."""
        return f"{self.issue} {self.title} ({self.owner}, until {self.review})"

    def is_of(self, target: str) -> bool:
        """Say whether it is known of a target, by its full name."""
        if self.target != RELEASED:
            return self.target == target
        if not target.startswith(f"{RELEASED}=="):
            return target == RELEASED
        release = number(target)
        return (self.since is None or number(self.since) <= release) and (
            self.until is None or release <= number(self.until)
        )

    def fits(self, failure: Failure) -> bool:
        """Say whether a failure is the known one."""
        return self.region in (ANY, failure.region) and any(text in failure.message for text in self.text)


@dataclass(frozen=True)
class Ledger:
    """All entries of a ledger, and the day on which it is read."""

    path: Path
    entries: tuple[Entry, ...] = ()
    today: date = date.min

    def scenario_path(self, entry: Entry) -> Path:
        """Return an entry's scenario file."""
        return self.path.parent / entry.scenario

    def entries_of(self, scenario: Path) -> list[Entry]:
        """Return the entries that have this scenario file for their own."""
        return self._by_scenario.get(scenario.resolve(), [])

    def judge(self, loaded: Loaded, outcome: Outcome) -> Outcome:
        """Return the outcome with its known failures set aside, and with failures of the ledger's own."""
        if outcome.verdict not in ("passed", "failed"):
            return outcome
        own = _known_on(self.entries_of(loaded.path), outcome)
        wide = _known_on([entry for entry in self.entries if entry.everywhere], outcome)
        if not own and not wide:
            return outcome
        judging = _Judging(own, wide, self.today)
        seed = outcome.seed and judging.step(outcome.seed)
        steps = tuple(map(judging.step, outcome.steps))
        if steps and (lost := judging.lost()):
            # A step that the runner adds, and that came to nothing: the last one tells.
            steps = (*steps[:-1], replace(steps[-1], failures=(*steps[-1].failures, *lost)))
        failed = any(step.failures for step in (*steps, *filter(None, [seed])))
        known = tuple(dict.fromkeys(entry.told for entry in self.entries if entry in judging.met))
        if not failed and not known:
            return outcome
        return replace(
            outcome,
            seed=seed,
            steps=steps,
            known=known,
            verdict="failed" if failed else "known",
            reason="" if failed else "; ".join(known),
        )

    @cached_property
    def _by_scenario(self) -> dict[Path, list[Entry]]:
        found: dict[Path, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(self.scenario_path(entry).resolve(), []).append(entry)
        return found


class _Judging:
    """One outcome's judging: its own entries, which are strict, and those that are known everywhere."""

    def __init__(self, own: Sequence[Entry], wide: Sequence[Entry], today: date) -> None:
        self._own = own
        self._wide = wide
        self._today = today
        self._seen: set[str] = set()
        self.met: list[Entry] = []
        """The entries that knew a failure."""

    def step(self, step: StepResult) -> StepResult:
        """Return a step without what is known of it, and with what its own entries are wrong about."""
        self._seen.add(step.name)
        own = [entry for entry in self._own if entry.step == step.name]
        left = []
        for failure in step.failures:
            met = [entry for entry in (*own, *self._wide) if entry.fits(failure)]
            self.met += met
            left += [] if met else [failure]
        left += [failure for entry in own for failure in self._strictly(entry, step.failures)]
        return replace(step, failures=tuple(left))

    def lost(self) -> list[Failure]:
        """Return the failures of the own entries whose step did not happen, where steps happened at all."""
        return [failure for entry in self._own if entry.step not in self._seen for failure in self._strictly(entry, ())]

    def _strictly(self, entry: Entry, failures: Sequence[Failure]) -> list[Failure]:
        found = []
        text = " or ".join(entry.text)
        if not any(map(entry.fits, failures)):
            same_region = [failure for failure in failures if entry.region in (ANY, failure.region)]
            got = same_region[0].message if same_region else "nothing wrong there"
            message = f"the ledger knows of {entry.issue} here, and this is not it"
            found.append(Failure("LEDGER", entry.region, text, got, message))
        if self._today >= entry.review_day:
            message = f"the ledger's entry of {entry.issue} is to be looked at again by {entry.owner}"
            found.append(Failure("LEDGER", entry.region, f"a review before {entry.review}", "none", message))
        return found


def number(version: str) -> tuple[int, ...]:
    """Return the number in a release's name, to compare by: of "powercontext==1.4.1", `(1, 4, 1)`."""
    found = _NUMBER.search(version)
    return tuple(map(int, found.groups())) if found else ()


def _known_on(entries: Sequence[Entry], outcome: Outcome) -> list[Entry]:
    return [entry for entry in entries if entry.is_of(outcome.target) and entry.backend in (ANY, outcome.backend)]
