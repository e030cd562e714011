"""Writes a run's results file: a journal while it goes on, the whole at its end, broken off or not."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import pytest

from harness.errors import HarnessError
from harness.report.junit import junit
from harness.report.results import FORMAT, JOURNAL, document, dumped, write

PACKAGE = "powercontext-backend-harness"

Record = dict[str, Any]
"""What travels from worker to controller of one case: `scenario` and `case`, each as a line of JSON, and its column."""


def record(scenario: Mapping[str, Any], case: Mapping[str, Any]) -> Record:
    """Return one case ready to travel: strings alone, since xdist cannot send every text."""
    return {
        "path": case["scenario"],
        "column": [case["target"], case["backend"]],
        "scenario": dumped(scenario),
        "case": dumped(case),
    }


class Recorder:
    """Keeps what a run found, and writes it; in the process that controls the run."""

    def __init__(
        self,
        path: Path | None,
        *,
        junit_path: Path | None = None,
        started_in: Path,
        run_id: str,
        columns: list[tuple[str, str]],
        options: Mapping[str, Any],
        ending: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._paths = [one for one in (path, junit_path) if one is not None]
        for one in self._paths:
            _refuse_unwritable(one)
        self._path = path
        self._junit_path = junit_path
        self._columns = columns
        self._ending = ending
        self._from = started_in
        self._started = time.perf_counter()
        self._run: dict[str, Any] = {
            "id": run_id,
            "harness": harness_version(),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "started": _now(),
            "finished": None,
            "complete": False,
            "seconds": None,
            "options": dict(options),
            "columns": [list(column) for column in columns],
            "facts": {},
            "faults": [],
            "unreadable": [],
        }
        self._records: list[Record] = []
        self._broken: list[str] = []
        """What ended without an outcome, by an error of the harness."""
        self._journal: IO[bytes] | None = None
        self.problem: str | None = None
        """Why nothing could be written."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep one case, and put it into the journal."""
        kept: Record | None = getattr(report, "harness_record", None)
        if report.failed and kept is None:
            self._broken.append(report.nodeid)
        if kept is None or self.problem is not None:
            return
        self._records.append(kept)
        if self._path is None:
            return
        try:
            if self._journal is None:
                self._journal = self._opened(self._path)
            self._journal.write(f'{{"scenario":{kept["scenario"]},"case":{kept["case"]}}}\n'.encode())
            self._journal.flush()
        except OSError as error:
            self.problem = f"{self._path} cannot be written: {error.strerror}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files, as far as the run got; a run whose results are lost is red."""
        # A shard of a small corpus may be empty; its file is joined with the others like any.
        is_empty_shard = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._run["options"]["shard"]
        if (self._records or is_empty_shard) and self.problem is None:
            self._write(session)
        if self.problem is not None and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self, session: pytest.Session) -> None:
        stopped = session.exitstatus == pytest.ExitCode.INTERRUPTED or session.shouldstop or session.shouldfail
        ended = {
            "finished": _now(),
            "complete": not stopped and not self._broken,
            "seconds": round(time.perf_counter() - self._started, 3),
        }
        scenarios = {kept["path"]: json.loads(kept["scenario"]) for kept in self._records}
        places = {column: place for place, column in enumerate(self._columns)}
        self._records.sort(key=lambda kept: (kept["path"], places[tuple(kept["column"])]))
        try:
            run = self._run | ended | dict(self._ending())
            run["unreadable"] += self._broken
            text = document([run], scenarios, [kept["case"] for kept in self._records])
            if self._path is not None:
                write(self._path, text)
            if self._junit_path is not None:
                write(self._junit_path, junit(json.loads(text)))
        except HarnessError as error:
            self.problem = str(error)
            return
        self._remove_journal()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the files are."""
        if self.problem is not None:
            terminalreporter.write_line(self.problem, red=True)
        elif self._records:
            told = [str(one.relative_to(self._from)) for one in self._paths if one.is_relative_to(self._from)]
            if told:
                terminalreporter.write_line(f"results: {', '.join(told)}")

    def _opened(self, path: Path) -> IO[bytes]:
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = path.with_name(path.name + JOURNAL).open("wb")
        journal.write(f"{dumped({'format': FORMAT, 'runs': [self._run]})}\n".encode())
        return journal

    def _remove_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
            with suppress(OSError):
                Path(self._journal.name).unlink()
            self._journal = None


def harness_version() -> str:
    """Return this package's version."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "unknown"


def _refuse_unwritable(path: Path) -> None:
    """Raise HarnessError before anything runs where no file can be, as far as that shows without writing."""
    nearest = next(place for place in path.parents if place.exists())
    if path.is_dir() or not nearest.is_dir():
        cause = f"{path if path.is_dir() else nearest} is {'a folder' if path.is_dir() else 'no folder'}"
        raise HarnessError("unwritable", f"{path} cannot be written", cause=cause)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
