"""What passes between the kill score and its children, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.explore.mutants.model import Mutant

State = Literal["caught", "UNCAUGHT", "NOT APPLICABLE"]


@dataclass(frozen=True, slots=True)
class Job:
    """What one child is to do; it holds passwords, so it travels by standard input and is never printed."""

    runtime: str
    """The copy that must be the one imported."""
    root: str
    """The folder of the scenarios."""
    scenarios: list[str]
    engines: list[dict[str, str]]
    database: str
    """The name of the databases that the child makes and drops, where none are given."""
    urls: dict[str, str]
    """A database for each engine that others use before and after, with tables made by the unchanged runtime."""
    backends: list[str]
    """The backends that are expected to go red."""
    everything: bool = False
    """Whether to go on after the first catch."""


@dataclass(frozen=True, slots=True)
class Catch:
    """One scenario that is red under a mutant."""

    scenario: str
    red: list[str]
    """The backends on which it fails by itself."""
    compared: bool
    """Whether the backends' rows or answers differ."""
    crashed: list[str] = field(default_factory=list)
    """Engines that failed and requests that ended in an internal error: these catch nothing."""
    kind: str = ""
    region: str = ""
    message: str = ""

    def catches(self, backends: Sequence[str]) -> bool:
        """Say whether exactly these backends are red by themselves; of one backend the comparison suffices."""
        if self.crashed:
            return False
        alone = len(backends) == 1 and self.compared and not self.red
        return set(self.red) == set(backends) or alone


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant."""

    mutant: Mutant
    state: State
    catch: Catch | None = None
    """The first scenario that caught it."""
    by_killer: bool = False
    """Whether that is one of those that were expected to."""
    caught_by: int = 0
    """How many scenarios caught it, as far as they were run."""
    reason: str = ""
    """Why it is not caught, or not applicable."""
    seconds: float = 0.0

    def serializable(self) -> dict[str, object]:
        """Return the result as JSON has it."""
        wrong, catch = self.mutant, self.catch
        return {
            "room": wrong.room,
            "name": wrong.name,
            "sentence": wrong.sentence,
            "files": sorted({f"runtime/{edit.file}" for edit in wrong.edits}),
            "backends": list(wrong.backends),
            "killers": list(wrong.killers),
            "state": self.state,
            "scenario": catch and catch.scenario,
            "red": catch and catch.red,
            "compared": catch and catch.compared,
            "kind": catch and catch.kind,
            "region": catch and catch.region,
            "message": catch and catch.message,
            "by_killer": self.by_killer,
            "caught_by": self.caught_by,
            "reason": self.reason,
            "seconds": round(self.seconds, 2),
        }
