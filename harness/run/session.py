"""The backends and targets of one process, and the scenarios that run on them.

A scenario runs on every backend that was asked for before it is judged on any but the first: a comparison that one
side of was left out would look like agreement.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from backends.base import Backend
from backends.errors import EngineError
from harness.errors import HarnessError
from harness.explore.variants import Variant, shuffle_variant, twins_variant
from harness.run.compare import compare, compare_variant
from harness.run.ledger import Ledger
from harness.run.result import FAULTS, Outcome, Verdict
from harness.run.runner import run
from harness.scenario.loader import Loaded
from harness.scenario.model import Scenario, TwinKind
from harness.target import Target
from harness.target.base import TargetLost
from harness.target.systems import InTree, System


class Session:
    """One process's part of a run of one system: a target for each backend, made at first use and kept."""

    def __init__(
        self,
        engines: Mapping[str, Backend],
        *,
        names: Sequence[str],
        target: str | System,
        database: str,
        missing: Mapping[str, str] | None = None,
        twins: Sequence[TwinKind] = (),
        shuffle: str | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._engines = engines
        self._names = tuple(names)
        self._system = InTree(target) if isinstance(target, str) else target
        self._target = self._system.name
        self._database = database
        self._twins = tuple(twins)
        self._shuffle = shuffle
        self._ledger = ledger
        self._targets: dict[str, Target] = {}
        self._faults: dict[str, tuple[Verdict, str]] = {
            name: ("missing", cause) for name, cause in (missing or {}).items()
        }
        """What no scenario is tried on any more: a backend that is missing or was lost, with the cause."""
        self._remembered: tuple[Loaded, dict[str, Outcome]] | None = None
        self.start_seconds: dict[str, float] = {}

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that scenarios run on, in their order."""
        return self._names

    def outcome(self, loaded: Loaded, backend: str) -> Outcome:
        """Run a scenario on a backend and judge it by the first backend, by its variants and by the ledger."""
        outcome = self._compared(loaded, backend)
        for variant in self._variants(loaded.scenario):
            # Twins need ids that we choose; a target that makes its own was asked by near ids instead.
            seeded_twins = variant.twins and self._targets[backend].traits.makes_ids
            if outcome.verdict in ("passed", "failed") and not seeded_twins:
                plain, varied = self._run(loaded, backend), self._run_once(loaded, backend, variant)
                outcome = compare_variant(plain, varied, outcome, name=variant.name)
        if self._ledger is None:
            return outcome
        # What is known of a release is known of a server that somebody else runs, too.
        judged = self._ledger.judge(loaded, replace(outcome, target=self._system.known_as))
        return replace(judged, target=outcome.target)

    def _variants(self, scenario: Scenario) -> Iterator[Variant]:
        if kinds := self._kinds(scenario):
            yield twins_variant(scenario, kinds)
        if self._shuffle is not None:
            yield shuffle_variant(scenario, self._shuffle)

    def _kinds(self, scenario: Scenario) -> set[TwinKind]:
        return {*scenario.twins, *self._twins}

    def _compared(self, loaded: Loaded, backend: str) -> Outcome:
        outcome = self._run(loaded, backend)
        if backend == self._names[0] or outcome.verdict not in ("passed", "failed"):
            return outcome
        reference = self._run(loaded, self._names[0])
        return replace(outcome, uncompared=reference) if reference.verdict in FAULTS else compare(reference, outcome)

    def close(self) -> None:
        """Close the targets, and drop the databases that were made, as far as their engines still live."""
        if self._targets:
            # All at once: each server takes a moment to see that it is to end.
            with ThreadPoolExecutor(len(self._targets)) as pool:
                closed = [pool.submit(self._close, backend) for backend in self._targets]
            self._targets.clear()
            for future in closed:
                future.result()

    def _close(self, backend: str) -> None:
        with ExitStack() as stack:
            if backend not in self._faults:
                stack.callback(self._drop, backend)
            stack.callback(self._targets[backend].close)

    def database_url(self, backend: str) -> str | None:
        """Return the URL of the database that a backend's target is on, None where it is not ours to know."""
        return getattr(self._targets.get(backend), "database_url", None)

    def _drop(self, backend: str) -> None:
        # The run is over; what an engine still holds goes with it, or is named by its stop.
        with suppress(EngineError):
            if backend in self._engines:
                self._engines[backend].drop(self._database)

    def _ready(self, backend: str) -> Target:
        """Return the target on a backend, on this process's own database there; raises EngineError, TargetLost."""
        if backend not in self._targets:
            started = time.perf_counter()
            engine = self._engines.get(backend)
            try:
                # A warning while an engine opens is a fault that has not shown itself yet.
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    if engine is not None:
                        engine.start()
                    if self._system.shares:
                        self._start_shared()
                    if backend in self._faults:
                        raise TargetLost(self._faults[backend][1])
                    self._targets[backend] = self._system.target(backend, engine, self._database)
            except (EngineError, HarnessError, Warning) as error:
                known = isinstance(error, EngineError | HarnessError)
                told = str(error) if known else f"the engine opens with a warning: {error}"
                self._faults[backend] = ("missing", told)
                raise TargetLost(told) from error
            self.start_seconds[backend] = time.perf_counter() - started
        return self._targets[backend]

    def _start_shared(self) -> None:
        """Start what the targets share, on all engines that start, so that no server waits for another's start."""
        started = {}
        for name, engine in self._engines.items():
            if name in self._names and name not in self._faults:
                with suppress(EngineError):
                    engine.start()
                    started[name] = engine
        for backend, cause in self._system.start(started).items():
            self._faults.setdefault(backend, ("missing", cause))

    def _run(self, loaded: Loaded, backend: str) -> Outcome:
        if self._remembered is None or self._remembered[0] is not loaded:
            self._remembered = (loaded, {})
        outcomes = self._remembered[1]
        if backend not in outcomes and self._system.shares:
            outcomes.update(self._run_everywhere(loaded))
        if backend not in outcomes:
            outcomes[backend] = self._run_once(loaded, backend)
        return outcomes[backend]

    def _run_everywhere(self, loaded: Loaded) -> dict[str, Outcome]:
        """Run a scenario on all backends at once: each server has one client, and all of them are busy."""
        for name in self._names:
            if name not in self._faults:
                # What it raises is kept, and told by the run itself.
                with suppress(TargetLost):
                    self._ready(name)
        with ThreadPoolExecutor(len(self._names)) as pool:
            return dict(zip(self._names, pool.map(lambda name: self._run_once(loaded, name), self._names), strict=True))

    def _run_once(self, loaded: Loaded, backend: str, variant: Variant | None = None) -> Outcome:
        known: dict[str, Any] = {
            "path": str(loaded.path),
            "scenario": loaded.scenario.scenario,
            "target": self._target,
            "backend": backend,
        }
        if backend not in self._faults:
            try:
                target = self._ready(backend)
                near = self._kinds(loaded.scenario) if target.traits.makes_ids else ()
                outcome = replace(run(loaded, target, variant=variant, near=sorted(near)), target=self._target)
            except EngineError as error:
                self._faults.setdefault(backend, ("engine fault", str(error)))
            except TargetLost as error:
                if backend not in self._faults and not self._is_lost(backend):
                    return Outcome(**known, verdict="engine fault", reason=str(error))
            else:
                # A contract that is broken may be no more than the engine's end.
                if outcome.verdict != "failed" or not self._is_lost(backend):
                    return outcome
        verdict, cause = self._faults[backend]
        return Outcome(**known, verdict=verdict, reason=cause)

    def _is_lost(self, backend: str) -> bool:
        """Ask the engine itself, then the server on it; what is gone is not asked again by later scenarios."""
        try:
            if backend in self._engines:
                self._engines[backend].check()
            self._system.check(backend)
        except (EngineError, HarnessError) as found:
            self._faults[backend] = ("engine fault", str(found))
        return backend in self._faults
