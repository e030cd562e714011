"""What measures share: sizes, the seed, and the engines, started at first use and stopped at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from backends import Backend, create
from bench.corpus import Corpus
from harness.target.reference import ReferenceTarget

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    memories: int = 400
    experiences: int = 12
    warm_up: int = 20
    requests: int = 150
    large_entries: int = 100_000
    entries_a_revision: int = 2_000
    builds: int = 50
    scenario_runs: int = 60
    collected: int = 1_000
    collections: int = 3
    whole_runs: int = 1
    loops: int = 15
    """Runs of one scenario from the shell."""
    whole_run: str = "scenarios"
    released_memories: int = 50
    """Of each Scope, beside a released PowerContext."""
    load_requests: int = 2_000
    """Of each number of clients."""
    memory_requests: int = 100_000


QUICK = Sizes(
    memories=40,
    experiences=3,
    warm_up=2,
    requests=5,
    large_entries=1_000,
    entries_a_revision=500,
    builds=3,
    scenario_runs=3,
    collected=20,
    collections=1,
    loops=1,
    whole_run="scenarios/empty",
    released_memories=5,
    load_requests=120,
    memory_requests=600,
)


class Bench:
    """One run of the benchmark."""

    def __init__(self, *, seed: int, sizes: Sizes, backends: Sequence[str], oceanbase_url: str | None) -> None:
        self.seed = seed
        self.sizes = sizes
        self.backends = tuple(backends)
        self.oceanbase_url = oceanbase_url
        self.corpus = Corpus(seed)
        self.engines: dict[str, dict[str, str]] = {}
        """The facts of the engines that were used."""
        self._started: dict[str, Backend] = {}
        self.directory = Path(tempfile.mkdtemp(prefix="powercontext-bench-"))
        """What is this run's alone, and removed at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self._started.values():
            engine.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @contextmanager
    def targets(self, purpose: str) -> Iterator[dict[str, ReferenceTarget]]:
        """Have a target on each backend, on databases of this purpose alone, dropped afterwards."""
        database = f"pch_bench_{purpose}"
        targets: dict[str, ReferenceTarget] = {}
        try:
            for name in self.backends:
                targets[name] = ReferenceTarget(name, self.engine(name).database_url(database))
            yield targets
        finally:
            for name, target in targets.items():
                target.close()
                self._started[name].drop(database)

    @contextmanager
    def databases(self, purpose: str) -> Iterator[dict[str, str]]:
        """Have the URL of an empty database on each backend, for this purpose alone; they hold passwords."""
        database = f"pch_bench_{purpose}"
        urls: dict[str, str] = {}
        try:
            for name in self.backends:
                urls[name] = self.engine(name).database_url(database)
            yield urls
        finally:
            for name in urls:
                self._started[name].drop(database)

    def engine(self, name: str) -> Backend:
        """Return a backend's engine, started at first need; raises EngineError."""
        if name not in self._started:
            engine = create(name, oceanbase_url=self.oceanbase_url, run_directory=self.directory)
            # Known before it starts, so that one that is interrupted meanwhile is stopped too.
            self._started[name] = engine
            engine.start()
            self.engines[name] = engine.facts().serializable()
        return self._started[name]


def turns(backends: Sequence[str], round_number: int) -> Sequence[str]:
    """Return the backends in the order of one round, so that none is always the first."""
    return backends if round_number % 2 == 0 else backends[::-1]
