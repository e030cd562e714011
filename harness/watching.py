"""Scenario files as they change: looked at twice a second, and run again on engines that stay.

The files are polled: a folder of some hundred files takes a few milliseconds to look at, works on every file system,
and needs no further package.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.errors import HarnessError
from harness.explore.judging import Runner
from harness.report.terminal import failure_lines
from harness.run.result import FAULTS
from harness.scenario.files import scenario_files
from harness.scenario.loader import load

POLL_SECONDS = 0.5
RUN_AT_START = 12
"""So many files are run at the start; of more, those that change."""

Stamp = tuple[int, int]
Report = Callable[[str], None]


def stamps(files: Sequence[Path]) -> dict[Path, Stamp]:
    """Return when each file was written, and its size; nothing of one that is gone."""
    found = {}
    for file in files:
        try:
            told = os.stat(file)
        except OSError:
            continue
        found[file] = told.st_mtime_ns, told.st_size
    return found


def sources() -> list[Path]:
    """Return our own source files where they are under work, none of an installed package."""
    specs = [importlib.util.find_spec(name) for name in ("runtime", "backends", "harness")]
    roots = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin is not None]
    return [file for root in roots if "site-packages" not in root.parts for file in sorted(root.rglob("*.py"))]


class Watch:
    """What is watched, and when it was last seen; a file that appears in a watched folder is seen as well."""

    def __init__(self, paths: Sequence[Path] | None) -> None:
        self._paths = paths
        self._seen = stamps(self.files())
        self._sources = stamps(sources())

    def files(self) -> list[Path]:
        """Return the scenario files that are there now."""
        try:
            return list(scenario_files(self._paths))
        except HarnessError:
            # An editor may take a file away for a moment while it writes it.
            return []

    def changed(self) -> list[Path]:
        """Return the scenario files that changed since the last call."""
        now = stamps(self.files())
        changed = [file for file, stamp in now.items() if self._seen.get(file) != stamp]
        self._seen.update(now)
        return changed

    @property
    def sources_changed(self) -> bool:
        """Whether one of our own sources is another one than at the start."""
        return stamps(sources()) != self._sources


def rerun(runner: Runner, files: Sequence[Path], names: Sequence[str], report: Report) -> None:
    """Run files on every backend, and tell each in a line, failures in full. Raises HarnessError for a lost engine."""
    for file in files:
        started = time.perf_counter()
        try:
            loaded = load(file)
        except HarnessError as error:
            report(str(error))
            continue
        outcomes = [runner.outcome(loaded, name) for name in names]
        for outcome in outcomes:
            if outcome.verdict in FAULTS:
                raise HarnessError("engine_lost", f"{outcome.backend} had an {outcome.verdict}", cause=outcome.reason)
            if outcome.failed_step is not None:
                for line in failure_lines(outcome, path=str(file), backends=names):
                    report(line)
        verdicts = ", ".join(f"{outcome.backend} {outcome.verdict}" for outcome in outcomes)
        report(f"{file}: {verdicts} ({time.perf_counter() - started:.1f} s)")


def rounds(watch: Watch, *, poll: Callable[[], None] | None = None) -> Iterator[list[Path]]:
    """Yield the files that changed, each time some did, until one of our own sources is another one."""
    wait = poll or (lambda: time.sleep(POLL_SECONDS))
    while not watch.sources_changed:
        if changed := watch.changed():
            yield changed
        wait()
