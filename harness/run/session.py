"""The backends and targets of one process, and the scenarios that run on them.

A scenario runs on every backend that was asked for before it is judged on any but the first: a comparison that one
side of was left out would look like agreement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from backends.base import Backend
from backends.errors import EngineError
from harness.check.failure import Failure
from harness.run.compare import compare
from harness.run.result import Outcome
from harness.run.runner import SeedRefused, run
from harness.scenario.loader import Loaded
from harness.target.base import Target
from harness.target.reference import ReferenceTarget
from runtime.errors import SchemaRefused, StorageUnreachable


class Session:
    """One process's part of a run: a database and a target for each backend, made at first use and kept."""

    def __init__(
        self,
        engines: Mapping[str, Backend],
        *,
        names: Sequence[str],
        database: str,
        missing: dict[str, str] | None = None,
    ) -> None:
        self._engines = engines
        self._names = tuple(names)
        self._database = database
        self._targets: dict[str, Target] = {}
        self.missing = {} if missing is None else missing
        """Why a backend that was asked for is not there, by its name."""
        self._lost = dict(self.missing)
        self._remembered: tuple[Loaded, dict[str, Outcome]] | None = None
        self.start_seconds: dict[str, float] = {}

    def outcome(self, loaded: Loaded, backend: str) -> Outcome:
        """Run a scenario on a backend, and compare it with the first backend that was asked for."""
        reference = self._names[0]
        outcome = self._run(loaded, backend)
        if backend != reference and outcome.verdict in ("passed", "failed"):
            outcome = compare(self._run(loaded, reference), outcome)
        return outcome

    def target(self, backend: str) -> Target:
        """Return the target on a backend, on this process's own database there; raises EngineError."""
        if backend not in self._targets:
            started = time.perf_counter()
            engine = self._engines[backend]
            try:
                engine.start()
            except EngineError as error:
                self.missing[backend] = str(error)
                raise
            self._targets[backend] = ReferenceTarget(backend, engine.database_url(self._database))
            self.start_seconds[backend] = time.perf_counter() - started
        return self._targets[backend]

    def close(self) -> None:
        """Close the targets, and drop the databases that were made."""
        for backend, target in self._targets.items():
            target.close()
            if backend not in self._lost:
                self._engines[backend].drop(self._database)
        self._targets.clear()

    def _run(self, loaded: Loaded, backend: str) -> Outcome:
        if self._remembered is None or self._remembered[0] is not loaded:
            self._remembered = (loaded, {})
        outcomes = self._remembered[1]
        if backend not in outcomes:
            outcomes[backend] = self._run_once(loaded, backend)
        return outcomes[backend]

    def _run_once(self, loaded: Loaded, backend: str) -> Outcome:
        blank: dict[str, Any] = {
            "path": str(loaded.path),
            "scenario": loaded.scenario.scenario,
            "target": ReferenceTarget.name,
            "backend": backend,
        }
        if backend in self._lost:
            return Outcome(**blank, verdict="engine fault", reason=self._lost[backend])
        try:
            outcome = run(loaded, self.target(backend))
        except SeedRefused as refused:
            failure = Failure("seed", "seed", "accepted", f"refused: {refused}", f"the seed was refused: {refused}")
            return Outcome(**blank, verdict="failed", reason=failure.message)
        except EngineError as error:
            self._lost[backend] = str(error)
            return Outcome(**blank, verdict="engine fault", reason=str(error))
        except (StorageUnreachable, SchemaRefused, httpx.HTTPError) as error:
            return Outcome(**blank, verdict="engine fault", reason=self._cause(backend, error))
        if outcome.verdict == "failed" and any(step.status == 503 for step in outcome.steps):
            # A service error that nobody expected may be the engine's end, which is no fault of the contract's.
            cause = self._cause(backend, None)
            if cause:
                return replace(outcome, verdict="engine fault", reason=cause)
        return outcome

    def _cause(self, backend: str, error: Exception | None) -> str:
        """Ask the engine itself; one that is gone is not asked again by later scenarios."""
        try:
            self._engines[backend].check()
        except EngineError as found:
            self._lost[backend] = str(found)
            return str(found)
        return "" if error is None else f"{type(error).__name__}: {error}"
