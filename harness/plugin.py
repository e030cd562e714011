"""The pytest plugin: collects scenarios, one item for each scenario and backend; xdist spreads them by file.

In other repositories it is switched on by name: `-p harness.plugin`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backends import BACKENDS, Backend, EngineError, attach, create
from harness.errors import HarnessError, UnknownNames
from harness.report.tally import entry
from harness.report.terminal import failure_lines, summary_lines
from harness.run.result import Outcome
from harness.run.session import Session
from harness.scenario.loader import Loaded, load
from harness.target import TARGETS

LEDGER = "ledger.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the harness's own options."""
    group = parser.getgroup("harness", "storage backends under test")
    known = ", ".join(BACKENDS)
    group.addoption("--backend", action="append", metavar="NAME", help=f"a backend to run on, repeatable: {known}")
    group.addoption("--target", action="append", metavar="NAME", help=f"what is tested: {', '.join(TARGETS)}")
    group.addoption("--oceanbase-url", metavar="URL", help="an OceanBase that somebody runs, instead of our own engine")
    parser.addini("scenarios", "folders whose YAML files are scenarios", type="args", default=["scenarios"])


class Run:
    """One process's part of a run: its backends, its session, and what was counted.

    The controller starts the engines and stops them; a worker of xdist attaches to them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.backends = _asked(config.getoption("--backend"), BACKENDS, kind="backend")
        self.targets = _asked(config.getoption("--target") or ["runtime"], TARGETS, kind="target")
        self.entries: list[dict[str, Any]] = []
        self.unreadable: set[str] = set()
        """The scenario files that could not be read, by node id."""
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = worker is not None
        self.worker = "main" if worker is None else str(worker["workerid"])
        if worker is None:
            self.name = uuid.uuid4().hex[:8]
            self.missing: dict[str, str] = {}
            self._directory = Path(tempfile.mkdtemp(prefix="powercontext-harness-"))
            url = config.getoption("--oceanbase-url")
            self.engines: dict[str, Backend] = {
                name: create(name, oceanbase_url=url, run_directory=self._directory) for name in self.backends
            }
        else:
            self.name = worker["harness_run"]
            self.missing = dict(worker["harness_missing"])
            self.engines = {name: attach(info) for name, info in worker["harness_engines"].items()}
        database = f"pch_{self.name}_{self.worker}"
        self.session = Session(self.engines, names=self.backends, database=database, missing=self.missing)

    def start_engines(self) -> dict[str, dict[str, str]]:
        """Start all engines, and return how a worker reaches each; one that does not start is kept as missing."""
        for name, engine in self.engines.items():
            if name not in self.missing:
                try:
                    engine.start()
                except EngineError as error:
                    self.missing[name] = str(error)
        started = {name: engine for name, engine in self.engines.items() if name not in self.missing}
        return {name: engine.connection_info() for name, engine in started.items()}

    def facts(self) -> dict[str, str]:
        """Return a line about each engine that was used."""
        told = {}
        for name, engine in self.engines.items():
            try:
                facts = engine.facts()
            except EngineError:
                continue
            told[name] = (
                f"{facts.version} ({facts.way}), isolation {facts.isolation}, identities compare {facts.padding}"
            )
        return told

    def close(self) -> None:
        """Drop the databases; the controller also stops the engines and removes the files."""
        self.session.close()
        if not self.is_worker:
            for engine in self.engines.values():
                engine.stop()
            shutil.rmtree(self._directory, ignore_errors=True)


RUN = pytest.StashKey[Run]()


def _asked(names: list[str] | None, known: Iterable[str], *, kind: str) -> list[str]:
    asked = list(dict.fromkeys(names or known))
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise pytest.UsageError(str(UnknownNames(kind, unknown, known)))
    return asked


def pytest_cmdline_main(config: pytest.Config) -> None:
    """Keep both backends of a scenario in one worker, so that they can be compared."""
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"


def pytest_configure(config: pytest.Config) -> None:
    """Know what was asked for before anything is collected; a name that nobody knows stops the run."""
    # A scenario file that cannot be read is an error of its own; the others run all the same.
    config.option.continue_on_collection_errors = True
    try:
        run = Run(config)
    except (EngineError, HarnessError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[RUN] = run
    config.pluginmanager.register(Reporter(run), "harness-reporter")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the running engines to a worker of xdist."""
    run = node.config.stash[RUN]
    node.workerinput["harness_engines"] = run.start_engines()
    node.workerinput["harness_missing"] = dict(run.missing)
    node.workerinput["harness_run"] = run.name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let everything go."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the YAML files under a folder of scenarios, and one that is named outright."""
    if file_path.suffix not in (".yaml", ".yml") or file_path.name == LEDGER:
        return None
    roots = [parent.config.rootpath / folder for folder in parent.config.getini("scenarios")]
    if any(file_path.is_relative_to(root) for root in roots) or parent.session.isinitpath(file_path):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the file, and make an item for each backend."""
        loaded = load(self.path)
        for tag in loaded.scenario.tags:
            # A tag is known because a scenario has it.
            self.config.addinivalue_line("markers", f"{tag}: scenarios with this tag")
        for backend in self.config.stash[RUN].backends:
            yield ScenarioItem.from_parent(self, name=backend, loaded=loaded)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 (pytest's)
        """Say what is wrong with the file, without our own code's lines."""
        if isinstance(excinfo.value, HarnessError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioFailed(Exception):
    """A scenario that did not pass; the item holds its outcome."""


class ScenarioItem(pytest.Item):
    """One scenario on one backend."""

    def __init__(self, *, loaded: Loaded, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._loaded = loaded
        self.outcome: Outcome | None = None
        for tag in loaded.scenario.tags:
            self.add_marker(tag)

    def runtest(self) -> None:
        """Run the scenario; raises ScenarioFailed, or skips what the target cannot do."""
        self.outcome = self.config.stash[RUN].session.outcome(self._loaded, self.name)
        if self.outcome.verdict == "not run":
            pytest.skip(f"not run: {self.outcome.reason}")
        if self.outcome.verdict != "passed":
            raise ScenarioFailed(self.outcome.verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Print the verdict of the first failing step, and nothing more."""
        if isinstance(excinfo.value, ScenarioFailed) and self.outcome is not None:
            path = os.path.relpath(self.path, self.config.invocation_params.dir)
            return "\n".join(failure_lines(self.outcome, path=path, backends=self.config.stash[RUN].backends))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item as users name it."""
        return self.path, 0, self.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send the outcome's figures along with the report, which travels from worker to controller."""
    report: Any = yield
    if isinstance(item, ScenarioItem) and item.outcome is not None and report.when == "call":
        run = item.config.stash[RUN]
        start = run.session.start_seconds.get(item.outcome.backend, 0.0)
        report.harness = entry(item.outcome, start_seconds=start, worker=run.worker)
    return report


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
        if report.failed and report.nodeid.endswith((".yaml", ".yml")):
            self._run.unreadable.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make a run red in which scenarios were selected and nothing was judged."""
        entries = self._run.entries
        if entries and not any(entry["checks"] for entry in entries) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        run = self._run
        if not run.entries:
            return
        terminalreporter.section("backends")
        for line in summary_lines(run.entries, backends=run.backends, facts=run.facts()):
            terminalreporter.write_line(line)
        for name, cause in run.missing.items():
            terminalreporter.write_line(f"{name} is missing: {cause}", red=True)
        if not any(entry["checks"] for entry in run.entries):
            terminalreporter.write_line("nothing was judged: the run is red", red=True)
