"""Whole processes: collecting 1,000 scenarios, the whole run, and what a worker keeps in memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from bench import peak
from bench.context import ROOT, Bench
from bench.figures import BenchFailed, Figure, Spread

COLLECTION_BOUND = 2.5
"""Seconds for 1,000 scenarios on two backends, in one worker."""
WHOLE_RUN_BOUND = 40.0
"""Seconds, with engine start, in a warm environment."""
MEMORY_BOUND = 300.0
"""Megabytes of one worker with both engines' clients."""

NONE_FAILED, SOME_FAILED, NONE_COLLECTED = 0, 1, 5
"""Exit codes of pytest after which the time still means something."""

_INI = "[pytest]\naddopts = -p harness.plugin -p no:cacheprovider --strict-markers\nfilterwarnings = error\n"


def collection(bench: Bench) -> Iterator[Figure]:
    """Collect copies of this repository's scenarios; the process whole, interpreter and imports included."""
    count = bench.sizes.collected
    with tempfile.TemporaryDirectory(prefix="powercontext-bench-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text(_INI)
        for part, number in (("none", 0), ("all", count)):
            _copy_scenarios(folder / part / "scenarios", number)
            (folder / part / "pytest.ini").write_text(_INI)
        spent: dict[str, list[float]] = {"none": [], "all": []}
        for _ in range(bench.sizes.collections):
            for part, seconds in spent.items():
                status, time_taken, told = _pytest(bench, ["--collect-only", "-q", "scenarios"], folder / part)
                if status not in (NONE_FAILED, NONE_COLLECTED):
                    raise BenchFailed(f"the collection ended with {status}: {told[-500:]}")
                seconds.append(time_taken)
        bound = COLLECTION_BOUND if len(bench.backends) > 1 else None
        note = "whole process, one worker's part"
        yield Figure("collection", f"{count:,} scenarios", None, "s", Spread.of(spent["all"]), bound, note)
        yield Figure("collection", "no scenario", None, "s", Spread.of(spent["none"]), note="whole process")


def whole_run(bench: Bench) -> Iterator[Figure]:
    """Run all scenarios in two workers, with an engine of that run's own."""
    seconds: list[float] = []
    peaks: list[float] = []
    note = f"{bench.sizes.whole_run} -n 2"
    with tempfile.TemporaryDirectory(prefix="powercontext-bench-") as name:
        told_peaks = Path(name) / "peaks.json"
        options = ["-p", "bench.peak", peak.OPTION, str(told_peaks), "-p", "no:cacheprovider", "-n", "2", "-q"]
        for _ in range(bench.sizes.whole_runs):
            status, time_taken, told = _pytest(bench, [bench.sizes.whole_run, *options], ROOT)
            if status not in (NONE_FAILED, SOME_FAILED) or not told_peaks.exists():
                raise BenchFailed(f"the whole run ended with {status}: {told[-500:]}")
            if status == SOME_FAILED:
                note += f", red: {told.strip().splitlines()[-1]}"
            seconds.append(time_taken)
            peaks += [kilobytes / 1000 for kilobytes in json.loads(told_peaks.read_text())]
    yield Figure("whole run", "both backends", None, "s", Spread.of(seconds), WHOLE_RUN_BOUND, note)
    both = "both" if len(bench.backends) > 1 else "one"
    yield Figure(
        "memory", "peak of one worker", None, "MB", Spread.of([max(peaks)]), MEMORY_BOUND, f"{both} engines' clients"
    )


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


def _pytest(bench: Bench, arguments: Sequence[str], folder: Path) -> tuple[int, float, str]:
    """Run pytest in a folder; returns its exit code, its seconds and what it printed. It never outlives this call."""
    backends = [part for name in bench.backends for part in ("--backend", name)]
    if bench.oceanbase_url is not None:
        backends += ["--oceanbase-url", bench.oceanbase_url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", *arguments, *backends]
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        told, _ = process.communicate()
    finally:
        if process.poll() is None:
            # As by Ctrl-C, so that it stops the engine that it started.
            process.send_signal(signal.SIGINT)
            process.wait()
    return process.returncode, time.perf_counter() - started, told
