"""What pytest collects: a file of a scenario, and an item of it for each target and backend."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.plugin.process import RUN
from harness.report.recording import record
from harness.report.results import case_of, scenario_of
from harness.report.terminal import failure_lines, repeat_command
from harness.run.keeping import NotKept, keep
from harness.run.ledger_file import check_steps
from harness.run.result import Outcome
from harness.scenario.loader import Loaded, load


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the file, and make an item for each backend; nothing of a file that is another shard's."""
        shard = self.config.stash[RUN].shard
        if shard is not None and not shard.has(shown_path(self.path, self.config)):
            return
        loaded = load(self.path)
        check_steps(self.config.stash[RUN].ledger, loaded)
        if self.config.getoption("--sweep"):
            loaded = replace(loaded, scenario=loaded.scenario.model_copy(update={"sweep": "budget"}))
        run = self.config.stash[RUN]
        # A tag is known because a scenario has it.
        for tag in set(loaded.scenario.tags) - run.tags:
            run.tags.add(tag)
            self.config.addinivalue_line("markers", f"{tag}: scenarios with this tag")
        for target, backend in run.columns:
            name = backend if len(run.systems) == 1 else f"{backend}[{target}]"
            yield ScenarioItem.from_parent(self, name=name, loaded=loaded, column=(target, backend))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 (pytest's)
        """Say what is wrong with the file, without our own code's lines."""
        if isinstance(excinfo.value, HarnessError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioFailed(Exception):
    """A scenario that did not pass; the item holds its outcome."""


class ScenarioItem(pytest.Item):
    """One scenario on one backend."""

    def __init__(self, *, loaded: Loaded, column: tuple[str, str], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._loaded = loaded
        self._target, self._backend = column
        self.outcome: Outcome | None = None
        self._kept = ""
        """How to open the database that was kept, or why there is none."""
        for tag in loaded.scenario.tags:
            self.add_marker(tag)

    def runtest(self) -> None:
        """Run the scenario; raises ScenarioFailed, or skips what the target cannot do."""
        self.outcome = self.config.stash[RUN].sessions[self._target].outcome(self._loaded, self._backend)
        if self.outcome.verdict == "not run":
            pytest.skip(f"not run: {self.outcome.reason}")
        if self.outcome.verdict == "known":
            pytest.xfail(f"known: {self.outcome.reason}")
        if self.outcome.verdict != "passed":
            if self.config.getoption("--keep"):
                self._keep()
            raise ScenarioFailed(self.outcome.verdict)

    def _keep(self) -> None:
        """Leave the database as the case left it, or say why not."""
        run = self.config.stash[RUN]
        path = shown_path(self.path, self.config)
        try:
            url = run.sessions[self._target].database_url(self._backend)
            self._kept = keep(url, run.engines.get(self._backend), scenario=path, backend=self._backend).command
        except NotKept as problem:
            self._kept = f"no, {problem}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Print the verdict of the first failing step, and nothing more."""
        if isinstance(excinfo.value, ScenarioFailed) and self.outcome is not None:
            path = shown_path(self.path, self.config)
            kept = [f"  kept:     {self._kept}"] if self._kept else []
            return "\n".join((*failure_lines(self.outcome, path=path, **self._asked), *kept))
        return super().repr_failure(excinfo, style)

    @property
    def _asked(self) -> dict[str, Any]:
        return {
            "backends": self.config.stash[RUN].backends,
            "targets": self.config.getoption("--target") or (),
            "oceanbase_url": self.config.getoption("--oceanbase-url"),
            "oceanbase_image": self.config.getoption("--oceanbase-image"),
        }

    def record(self, counted: dict[str, Any]) -> dict[str, Any]:
        """Return all that was found, for a results file; `counted` are the outcome's figures."""
        assert self.outcome is not None
        path = shown_path(self.path, self.config)
        case = case_of(
            self.outcome,
            case_id=f"{path}::{self.name}",
            path=path,
            times=counted["times"],
            worker=counted["worker"],
            repeat=repeat_command(path, **self._asked),
        )
        return record(scenario_of(self._loaded), case)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item as users name it."""
        return self.path, 0, f"{shown_path(self.path, self.config)}::{self.name}"


def shown_path(path: Path, config: pytest.Config) -> str:
    """Return a file's path as the user would write it."""
    return Path(os.path.relpath(path, config.invocation_params.dir)).as_posix()


def is_recorded(config: pytest.Config) -> bool:
    """Say whether all that is found is kept for a file."""
    return bool(config.getoption("--results") or config.getoption("--junit"))
