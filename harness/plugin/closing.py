"""The end of a run in the process that prints: outcomes counted, the exit code, the table."""

from __future__ import annotations

import pytest

from harness.plugin.process import Run
from harness.report.tally import faults
from harness.report.terminal import fault_lines, summary_lines
from harness.scenario.files import SUFFIXES


class Reporter:
    """Counts the outcomes in the process that prints, and closes the run with a table."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one outcome."""
        counted = getattr(report, "harness", None)
        if counted is not None:
            self._run.entries.append(counted)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a scenario file that could not be read."""
        if report.failed and report.nodeid.endswith(SUFFIXES):
            self._run.unreadable.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make a run red in which scenarios were selected and nothing was judged, or an engine failed."""
        entries = self._run.entries
        judged = any(counted["checks"] for counted in entries)
        if session.exitstatus == pytest.ExitCode.OK and entries and (not judged or faults(entries)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        run = self._run
        if not run.entries:
            return
        terminalreporter.section("backends")
        for line in summary_lines(run.entries, columns=run.columns, facts=run.facts()):
            terminalreporter.write_line(line)
        told: set[tuple[str, str, str]] = set()
        for (target, backend, verdict), cause in faults(run.entries).items():
            name = backend if not run.systems[target].shares else f"{target} on {backend}"
            whole = (name, verdict, run.cause(backend, cause))
            if whole not in told:
                told.add(whole)
                for line in fault_lines(*whole):
                    terminalreporter.write_line(line, red=True)
