"""One live line on a terminal: what is awaited, and the counts of each column; elsewhere pytest's own lines stay."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live
from rich.text import Text

_STYLES = {"passed": "green", "failed": "bold red", "engine fault": "bold red", "missing": "bold red"}
Column = tuple[str, str]


class Progress:
    """Counts outcomes as they come; pytest's dots are left out where this is shown."""

    def __init__(self, titles: Mapping[Column, str], config: pytest.Config) -> None:
        self._titles = titles
        # A descriptor of its own: while a scenario runs, pytest catches what is written to the usual one.
        self._file = os.fdopen(os.dup(config.get_terminal_writer()._file.fileno()), "w", encoding="utf-8")
        self._console = Console(file=self._file, highlight=False)
        self._counts: dict[Column, Counter[str]] = {column: Counter() for column in titles}
        self._started = time.monotonic()
        self._live: Live | None = None
        self._total = 0
        self._awaited = f"starting {', '.join(dict.fromkeys(titles.values()))}"

    def __rich__(self) -> Text:
        """Return the line as it is now."""
        done = sum(sum(counted.values()) for counted in self._counts.values())
        line = Text()
        if not done:
            line.append(self._awaited)
        else:
            line.append(f"{done} of {self._total}" if self._total else str(done))
            for column, counted in self._counts.items():
                line.append(f"  {self._titles[column]}")
                for verdict, count in counted.items():
                    line.append(f" {count} {verdict}", style=_STYLES.get(verdict, "yellow"))
        line.append(f"  {time.monotonic() - self._started:.0f} s", style="dim")
        line.no_wrap, line.overflow = True, "ellipsis"
        return line

    def start(self) -> None:
        """Show the line."""
        self._live = Live(self, console=self._console, refresh_per_second=4, transient=True, redirect_stdout=False)
        # Drawn at once: what is awaited at the start is seen however soon the first scenario ends.
        self._live.start(refresh=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know how many there are."""
        self._total = len(session.items) or self._total

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """Know that the engines have started, since a worker has."""
        self._awaited = "reading scenarios"

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Know how many there are from a worker."""
        self._total = len(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Count a scenario under its outcome without a letter, which the line stands for."""
        if getattr(report, "harness", None) is None:
            return None
        return ("xfailed" if hasattr(report, "wasxfail") else report.outcome), "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one outcome."""
        counted: dict[str, Any] | None = getattr(report, "harness", None)
        if counted is not None:
            self._counts[counted["target"], counted["backend"]][counted["verdict"]] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Take the line away: the summary tells the same."""
        self.close()

    def pytest_keyboard_interrupt(self) -> None:
        """Take the line away."""
        self.close()

    def close(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._file.close()


def has_live_line(config: pytest.Config) -> bool:
    """Say whether a line can be drawn over again: on a terminal, with pytest's short output, and not in CI."""
    if os.environ.get("CI") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    writer = config.get_terminal_writer()
    quiet = config.option.verbose < 0 and not config.option.collectonly and config.option.capture != "no"
    return quiet and writer._file.isatty()
