"""Whole processes: one scenario on a warm engine, 1,000 collected, the whole run, and what a worker keeps in memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from backends.base import BACKENDS
from backends.provision import warm
from backends.provision.homes import STATE_VARIABLE
from bench import peak
from bench.context import ROOT, Bench
from bench.figures import BenchFailed, Figure, LeftOut, Spread
from harness.cli import UNUSED_PLUGINS

COLLECTION_BOUND = 2.5
"""Seconds for 1,000 scenarios on two backends, in one worker."""
WHOLE_RUN_BOUND = 40.0
"""Seconds, with engine start, in a warm environment."""
LOOP_BOUND = 2.0
"""Seconds for one scenario on both engines from the shell, with an engine that is kept warm."""
MEMORY_BOUND = 300.0
"""Megabytes of one worker with both engines' clients."""

LOOP_SCENARIO = "scenarios/grouping/guide_example_in_english.yaml"

ALL_PASSED, SOME_FAILED, NONE_COLLECTED = 0, 1, 5
"""Exit codes after which the time still means something."""

_INI = "[pytest]\naddopts = -p harness.plugin -p no:cacheprovider --strict-markers\nfilterwarnings = error\n"


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended: its exit code, what it took, what it printed."""

    status: int
    seconds: float
    cpu_seconds: float
    """Of the process and of those that it waited for; less than the machine's load can change."""
    told: str


AS_HARNESS_RUN = tuple(word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}"))
"""What `harness run` leaves out of pytest."""


def loop(bench: Bench) -> Iterator[Figure]:
    """Run one scenario again and again on an engine that is kept for this alone, as who writes a scenario does."""
    if bench.oceanbase_url is not None or set(bench.backends) != set(BACKENDS):
        raise LeftOut("the loop is that of all backends, with an engine of our own")
    with tempfile.TemporaryDirectory(prefix="powercontext-bench-") as name:
        changes = {STATE_VARIABLE: name, warm.USE_VARIABLE: "yes"}
        state = Path(name) / "warm"
        warm.up(state)
        try:
            # The first one comes before the databases that wait for runs.
            _, *runs = [
                _run(bench, ["-m", "harness", "run", LOOP_SCENARIO, "-p", "no:cacheprovider"], ROOT, **changes)
                for _ in range(1 + bench.sizes.loops)
            ]
        finally:
            warm.down(state)
    if odd := [run for run in runs if run.status != ALL_PASSED]:
        raise BenchFailed(f"a run of one scenario ended with {odd[0].status}: {odd[0].told[-500:]}")
    seconds = Spread.of([run.seconds for run in runs])
    yield Figure("loop", "one scenario, engine kept warm", None, "s", seconds, LOOP_BOUND, _cpu(runs))


def collection(bench: Bench) -> Iterator[Figure]:
    """Collect copies of this repository's scenarios; the process whole, interpreter and imports included."""
    counts = {f"{bench.sizes.collected:,} scenarios": bench.sizes.collected, "no scenario": 0}
    spent: dict[str, list[Finished]] = {case: [] for case in counts}
    with tempfile.TemporaryDirectory(prefix="powercontext-bench-") as name:
        for case, count in counts.items():
            _copy_scenarios(Path(name) / case / "scenarios", count)
            (Path(name) / case / "pytest.ini").write_text(_INI)
        for _ in range(bench.sizes.collections):
            for case in counts:
                words = ["-m", "pytest", *AS_HARNESS_RUN, "--collect-only", "-q", "scenarios"]
                finished = _run(bench, words, Path(name) / case)
                if finished.status not in (ALL_PASSED, NONE_COLLECTED):
                    raise BenchFailed(f"the collection ended with {finished.status}: {finished.told[-500:]}")
                spent[case].append(finished)
    for case, runs in spent.items():
        bound = COLLECTION_BOUND if counts[case] and len(bench.backends) > 1 else None
        note = f"a worker's part, whole process; {_cpu(runs)}"
        yield Figure("collection", case, None, "s", Spread.of([run.seconds for run in runs]), bound, note)


def whole_run(bench: Bench) -> Iterator[Figure]:
    """Run all scenarios as `make backend-test` does, with an engine of that run's own."""
    runs: list[Finished] = []
    peaks: list[float] = []
    note = bench.sizes.whole_run
    with tempfile.TemporaryDirectory(prefix="powercontext-bench-") as name:
        told_peaks = Path(name) / "peaks.json"
        options = ["-p", "bench.peak", peak.OPTION, str(told_peaks), "-p", "no:cacheprovider"]
        for _ in range(bench.sizes.whole_runs):
            finished = _run(bench, ["-m", "harness", "run", bench.sizes.whole_run, *options], ROOT)
            if finished.status not in (ALL_PASSED, SOME_FAILED) or not told_peaks.exists():
                raise BenchFailed(f"the whole run ended with {finished.status}: {finished.told[-500:]}")
            if finished.status == SOME_FAILED:
                note += f", red: {finished.told.strip().splitlines()[-1]}"
            runs.append(finished)
            peaks += [kilobytes / 1000 for kilobytes in json.loads(told_peaks.read_text())]
    seconds = Spread.of([run.seconds for run in runs])
    yield Figure("whole run", "engine start included", None, "s", seconds, WHOLE_RUN_BOUND, f"{note}; {_cpu(runs)}")
    clients = f"clients of {' and '.join(bench.backends)}"
    yield Figure("memory", "peak of a worker", None, "MB", Spread.of([max(peaks)]), MEMORY_BOUND, clients)


def _cpu(runs: Sequence[Finished]) -> str:
    return f"CPU {min(run.cpu_seconds for run in runs):.2f} s"


def _copy_scenarios(folder: Path, count: int) -> None:
    """Fill a folder with so many scenario files, in chapters as they are here."""
    folder.mkdir(parents=True)
    ours = sorted((ROOT / "scenarios").rglob("*.yaml"))
    if not ours:
        raise BenchFailed("there is no scenario to copy")
    for number, file in enumerate(islice(cycle(ours), count)):
        chapter = folder / file.parent.name
        chapter.mkdir(exist_ok=True)
        shutil.copyfile(file, chapter / f"{file.stem}_{number}.yaml")


def _run(bench: Bench, arguments: Sequence[str], folder: Path, **changes: str) -> Finished:
    """Run Python in a folder, on this benchmark's backends; the process never outlives this call."""
    backends = [part for name in bench.backends for part in ("--backend", name)]
    if bench.oceanbase_url is not None:
        backends += ["--oceanbase-url", bench.oceanbase_url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    environment.pop("PYTEST_ADDOPTS", None)
    environment |= changes
    # Without it every process would compile the sources anew, which no user's does.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    earlier = _cpu_of_children()
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments, *backends],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        told, _ = process.communicate()
    finally:
        if process.poll() is None:
            # As by Ctrl-C, so that it stops the engine that it started.
            process.send_signal(signal.SIGINT)
            process.communicate()
    return Finished(process.returncode, time.perf_counter() - started, _cpu_of_children() - earlier, told)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
