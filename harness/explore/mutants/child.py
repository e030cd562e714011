"""The process in which one copy of the runtime runs: it takes a job as JSON and prints what it found as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import runtime
from backends import Backend, Facts, attach
from backends.base import Info
from harness.check.failure import Failure
from harness.explore.mutants.verdict import Catch, Job
from harness.run.compare import BEHAVIOUR_MISMATCH, SEED_MISMATCH
from harness.run.result import FAULTS, Outcome
from harness.run.session import Session
from harness.scenario.loader import load

MISMATCHES = frozenset((BEHAVIOUR_MISMATCH, SEED_MISMATCH))
INTERNAL_ERROR = 500


class Given:
    """An engine on which a database is there already, and stays: to make and drop one takes a second."""

    def __init__(self, engine: Backend, url: str) -> None:
        self._engine = engine
        self._url = url

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    def start(self) -> None:
        """Leave the engine as it is: another process started it."""

    def check(self) -> None:
        """Ask the engine whether it still answers."""
        self._engine.check()

    def database_url(self, name: str) -> str:  # noqa: ARG002 (whatever it is to be called)
        """Return the database that is there; a scenario begins by emptying it."""
        return self._url

    def drop(self, name: str) -> None:
        """Leave the database to the next child."""

    def facts(self) -> Facts:
        """Ask the engine for its facts."""
        return self._engine.facts()

    def stop(self) -> None:
        """Leave the engine running."""

    def connection_info(self) -> Info:
        """Describe the engine."""
        return self._engine.connection_info()


def main() -> None:
    """Answer the job on standard input."""
    job = Job(**json.load(sys.stdin))
    imported = Path(runtime.__file__ or "").resolve()
    if not imported.is_relative_to(Path(job.runtime).resolve()):
        sys.exit(f"the runtime was imported from {imported}, not from the copy")
    for catch in run(job):
        print(json.dumps(asdict(catch)), flush=True)


def run(job: Job) -> Iterator[Catch]:
    """Run the job's scenarios in their order, and yield what each of the red ones says.

    Stops at the first that catches the mutant, unless all are asked for.
    """
    engines: dict[str, Backend] = {info["backend"]: attach(info) for info in job.engines}
    if job.urls:
        engines = {name: Given(engine, job.urls[name]) for name, engine in engines.items()}
    session = Session(engines, names=list(engines), target="runtime", database=job.database)
    try:
        for path in job.scenarios:
            catch = judge(path, _outcomes(session, Path(job.root), path, list(engines)))
            if catch is not None:
                yield catch
                if not job.everything and catch.catches(job.backends):
                    return
    finally:
        session.close()


def _outcomes(session: Session, root: Path, path: str, backends: Sequence[str]) -> list[Outcome]:
    loaded = load(root / f"{path}.yaml")
    return [session.outcome(loaded, backend) for backend in backends]


def judge(path: str, outcomes: Sequence[Outcome]) -> Catch | None:
    """Say on which backends a scenario is red by itself, whether by comparison, and how; None where it is green."""
    own: dict[str, list[Failure]] = {}
    compared: list[Failure] = []
    crashed: list[str] = []
    for outcome in outcomes:
        if outcome.verdict in FAULTS:
            crashed.append(f"{outcome.backend}: {outcome.reason}")
        for step in (*([outcome.seed] if outcome.seed else []), *outcome.steps):
            for failure in step.failures:
                if failure.kind in MISMATCHES:
                    compared.append(failure)
                elif step.status == INTERNAL_ERROR:
                    crashed.append(f"{outcome.backend}: internal error at {step.name}")
                else:
                    own.setdefault(outcome.backend, []).append(failure)
    if not own and not compared and not crashed:
        return None
    told: list[Failure] = [failure for failures in own.values() for failure in failures] or compared
    first: dict[str, Any] = {"kind": told[0].kind, "region": told[0].region, "message": told[0].message} if told else {}
    return Catch(scenario=path, red=sorted(own), compared=bool(compared), crashed=crashed, **first)


if __name__ == "__main__":
    main()
