"""The pytest plugin: collects scenarios, one item for each scenario and backend; xdist spreads them by file.

In other repositories it is switched on by name: `-p harness.plugin`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backends import BACKENDS, Backend, EngineError, attach, create
from backends.errors import NotStarted
from harness.errors import HarnessError, UnknownNames
from harness.explore.variants import ALL_TWINS
from harness.report.progress import Progress, has_live_line
from harness.report.recording import Recorder, record
from harness.report.results import case_of, scenario_of, titles
from harness.report.sharding import Shard, read_shard
from harness.report.tally import entry, faults
from harness.report.terminal import failure_lines, fault_lines, repeat_command, summary_lines, without_password
from harness.run.keeping import NotKept, keep
from harness.run.ledger_file import check_steps, load_ledger
from harness.run.result import Outcome
from harness.run.session import Session
from harness.scenario.loader import Loaded, load
from harness.scenario.model import TwinKind
from harness.target import TARGETS, ReferenceTarget
from harness.target.systems import known_targets, open_systems, unknown_targets

LEDGER = "ledger.yaml"
SUFFIXES = (".yaml", ".yml")
TOKEN_VARIABLE = "POWERCONTEXT_HARNESS_ADMIN_TOKEN"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the harness's own options."""
    group = parser.getgroup("harness", "storage backends under test")
    known = ", ".join(BACKENDS)
    group.addoption("--backend", action="append", metavar="NAME", help=f"a backend to run on, repeatable: {known}")
    group.addoption(
        "--target",
        action="append",
        metavar="NAME",
        help="what is tested, repeatable: runtime (default), powercontext==VERSION, powercontext, http://HOST:PORT",
    )
    group.addoption("--admin-token", metavar="TOKEN", help=f"of a target that is a URL; default: ${TOKEN_VARIABLE}")
    group.addoption("--oceanbase-url", metavar="URL", help="an OceanBase that somebody runs, instead of our own engine")
    group.addoption("--oceanbase-image", metavar="IMAGE", help="an image of OceanBase or seekdb, started by Docker")
    group.addoption("--reuse", action="store_true", help="keep the image's container for the next run with this option")
    group.addoption(
        "--twins",
        metavar="KINDS",
        help=f"run again with near-identical twins, `all` or some of {','.join(ALL_TWINS)}",
    )
    group.addoption("--shuffle", metavar="SEED", help="run again with the rows seeded in an order drawn by this seed")
    group.addoption(
        "--keep", action="store_true", help="leave the database of each failing case, and tell how to open it"
    )
    group.addoption("--results", metavar="FILE", help="write what was found as JSON (docs/results.md)")
    group.addoption("--junit", metavar="FILE", help="write JUnit's XML with a case for each step")
    group.addoption("--shard", metavar="I/N", help="run the I-th of N parts of the scenarios, by a hash of their paths")
    group.addoption("--sweep", choices=["budget"], help="ask every prepare again at each budget that matters")
    parser.addini("scenarios", "folders whose YAML files are scenarios", type="args", default=["scenarios"])


class Run:
    """One process's part of a run: its backends, its session, and what was counted.

    The controller starts the engines and stops them; a worker of xdist attaches to them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.backends = list(dict.fromkeys(config.getoption("--backend") or BACKENDS))
        targets = list(dict.fromkeys(config.getoption("--target") or [ReferenceTarget.name]))
        _refuse_unknown(backend=(self.backends, BACKENDS), target=(unknown_targets(targets), known_targets()))
        self.entries: list[dict[str, Any]] = []
        self.shard: Shard | None = read_shard(config.getoption("--shard"))
        self.tags: set[str] = set()
        """The tags of the scenarios so far, each known to pytest as a marker."""
        self.unreadable: set[str] = set()
        """The scenario files that could not be read, by node id."""
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.name = uuid.uuid4().hex[:8] if worker is None else str(worker["harness_run"])
        # Each engine makes its own directory below at its start, and removes it.
        self._directory = Path(tempfile.gettempdir()) / f"powercontext-harness-{self.name}"
        self.is_worker = worker is not None
        self.worker = "main" if worker is None else str(worker["workerid"])
        self.missing: dict[str, str] = {}
        """Why a backend did not start for the workers, by its name."""
        self._unshared: dict[str, dict[str, str]] = {}
        if worker is None:
            url = config.getoption("--oceanbase-url")
            self.engines: dict[str, Backend] = {
                name: create(
                    name,
                    oceanbase_url=url,
                    run_directory=self._directory,
                    oceanbase_image=config.getoption("--oceanbase-image"),
                    reuse=config.getoption("--reuse"),
                )
                for name in self.backends
            }
        else:
            self.missing = worker["harness_missing"]
            self.engines = {name: attach(info) for name, info in worker["harness_engines"].items()}
        self.systems = open_systems(
            targets,
            run_directory=self._directory,
            admin_token=config.getoption("--admin-token") or os.environ.get(TOKEN_VARIABLE),
        )
        self.columns = [
            (target, backend) for target, system in self.systems.items() for backend in system.backends or self.backends
        ]
        """What every scenario runs on: the name of a target and of a backend."""
        # An engine that no target runs on is not started.
        used = {backend for _, backend in self.columns}
        self.engines = {name: engine for name, engine in self.engines.items() if name in used}
        database = f"pch_{self.name}_{self.worker}"
        folder = config.rootpath / config.getini("scenarios")[0]
        self.ledger = load_ledger(folder / LEDGER, today=date.today(), targets=TARGETS, backends=BACKENDS)
        if worker is not None:
            for name, system in self.systems.items():
                system.attach(worker["harness_systems"][name])
        self.sessions = {
            name: Session(
                self.engines,
                names=system.backends or self.backends,
                target=system,
                # Two in-tree systems on one engine must not empty each other's database.
                database=database if place == 0 else f"{database}_{place}",
                missing=self.missing | ({} if worker is None else worker["harness_unshared"][name]),
                twins=_twins(config.getoption("--twins")),
                shuffle=config.getoption("--shuffle"),
                ledger=self.ledger,
            )
            for place, (name, system) in enumerate(self.systems.items())
        }

    def start_engines(self) -> dict[str, dict[str, str]]:
        """Start all engines, and return how a worker reaches each; one that does not start is kept as missing."""
        started = {}
        for name in self.engines.keys() - self.missing.keys():
            try:
                self.engines[name].start()
                started[name] = self.engines[name].connection_info()
            except EngineError as error:
                self.missing[name] = str(error)
        return started

    def start_systems(self) -> dict[str, dict[str, str]]:
        """Start what targets share on the engines that started; returns by target why a backend is not there."""
        running = {name: engine for name, engine in self.engines.items() if name not in self.missing}
        if not self._unshared:
            # All of them begin before the first is awaited.
            systems = [system for system in self.systems.values() if system.shares]
            with ThreadPoolExecutor(max(1, len(systems))) as pool:
                causes = list(pool.map(lambda system: system.start(running), systems))
            self._unshared = {name: {} for name in self.systems}
            self._unshared |= {system.name: cause for system, cause in zip(systems, causes, strict=True)}
        return self._unshared

    @property
    def is_incomplete(self) -> bool:
        """Whether a scenario needed a backend that was missing."""
        return any(verdict == "missing" for _, _, verdict in faults(self.entries))

    def cause(self, backend: str, told: str) -> str:
        """Return why a backend failed: its owner knows more of an engine's end than a worker does."""
        if backend not in self.engines:
            # Somebody else's.
            return told
        try:
            self.engines[backend].check()
        except NotStarted:
            return told
        except EngineError as error:
            return str(error)
        return told

    def facts(self) -> dict[str, str]:
        """Return a line about each engine that was used."""
        told = {}
        for name, engine in self.engines.items():
            try:
                facts = engine.facts()
            except EngineError:
                continue
            told[name] = facts.sentence
        for system in self.systems.values():
            told |= {f"{system.name} on {backend}": way for backend, way in system.ways().items()}
        return told

    def ending(self) -> dict[str, Any]:
        """Return what is known of a run at its end, for its results file."""
        told = [
            {"target": target, "backend": backend, "verdict": verdict, "cause": self.cause(backend, cause)}
            for (target, backend, verdict), cause in faults(self.entries).items()
        ]
        return {"facts": self.facts(), "faults": told, "unreadable": sorted(self.unreadable)}

    def close(self) -> None:
        """Drop the databases; the controller also stops the servers and engines, and removes the files."""
        with ExitStack() as stack:
            if not self.is_worker:
                stack.callback(shutil.rmtree, self._directory, ignore_errors=True)
                for engine in self.engines.values():
                    stack.callback(engine.stop)
            for system in self.systems.values():
                stack.callback(system.stop)
            for session in self.sessions.values():
                stack.callback(session.close)


RUN = pytest.StashKey[Run]()


def _twins(words: str | None) -> tuple[TwinKind, ...]:
    if words is None:
        return ()
    asked = list(ALL_TWINS) if words == "all" else words.split(",")
    _refuse_unknown(twins=(asked, ALL_TWINS))
    return tuple(kind for kind in ALL_TWINS if kind in asked)


def _refuse_unknown(**asked: tuple[Iterable[str], Iterable[str]]) -> None:
    """Raise UsageError with all names that are not among the known ones of their kind."""
    unknown = {kind: [name for name in names if name not in known] for kind, (names, known) in asked.items()}
    told = [str(UnknownNames(kind, names, asked[kind][1])) for kind, names in unknown.items() if names]
    if told:
        raise pytest.UsageError("\n".join(told))


def _shown(path: Path, config: pytest.Config) -> str:
    """Return a file's path as the user would write it."""
    return Path(os.path.relpath(path, config.invocation_params.dir)).as_posix()


def _scenario_folders(config: pytest.Config) -> list[Path]:
    return [config.rootpath / folder for folder in config.getini("scenarios")]


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
        if _is_recorded(config) and not run.is_worker:
            config.pluginmanager.register(_recorder(config, run), "harness-recorder")
    except (EngineError, HarnessError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[RUN] = run
    config.pluginmanager.register(Reporter(run), "harness-reporter")


def _is_recorded(config: pytest.Config) -> bool:
    return bool(config.getoption("--results") or config.getoption("--junit"))


def _recorder(config: pytest.Config, run: Run) -> Recorder:
    folder = config.invocation_params.dir
    results, junit = config.getoption("--results"), config.getoption("--junit")
    return Recorder(
        folder / results if results else None,
        junit_path=folder / junit if junit else None,
        started_in=folder,
        run_id=run.name,
        columns=run.columns,
        options=_options(config, run),
        ending=run.ending,
    )


def _options(config: pytest.Config, run: Run) -> dict[str, Any]:
    """Return what was asked for, for a results file."""
    asked = {name: config.getoption(f"--{name}") for name in ("shuffle", "sweep", "shard")}
    return asked | {
        "backends": run.backends,
        "targets": list(run.systems),
        "twins": list(_twins(config.getoption("--twins"))),
        "oceanbase_url": without_password(config.getoption("--oceanbase-url")),
        "oceanbase_image": config.getoption("--oceanbase-image"),
        "words": config.option.keyword,
        "tags": config.option.markexpr,
    }


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the running engines to a worker of xdist."""
    run = node.config.stash[RUN]
    node.workerinput["harness_engines"] = run.start_engines()
    node.workerinput["harness_missing"] = run.missing
    node.workerinput["harness_unshared"] = run.start_systems()
    node.workerinput["harness_systems"] = {name: system.info() for name, system in run.systems.items()}
    node.workerinput["harness_run"] = run.name


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Show a live line on a terminal, from before the engines start."""
    run = session.config.stash[RUN]
    if not run.is_worker and has_live_line(session.config):
        progress = Progress(titles(run.columns), session.config)
        session.config.pluginmanager.register(progress, "harness-progress")
        progress.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let everything go."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the YAML files under a folder of scenarios, and one that is named outright."""
    if file_path.suffix not in SUFFIXES or file_path.name == LEDGER:
        return None
    folders = _scenario_folders(parent.config)
    if any(file_path.is_relative_to(folder) for folder in folders) or parent.session.isinitpath(file_path):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the file, and make an item for each backend; nothing of a file that is another shard's."""
        shard = self.config.stash[RUN].shard
        if shard is not None and not shard.has(_shown(self.path, self.config)):
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
        path = _shown(self.path, self.config)
        try:
            url = run.sessions[self._target].database_url(self._backend)
            self._kept = keep(url, run.engines.get(self._backend), scenario=path, backend=self._backend).command
        except NotKept as problem:
            self._kept = f"no, {problem}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Print the verdict of the first failing step, and nothing more."""
        if isinstance(excinfo.value, ScenarioFailed) and self.outcome is not None:
            path = _shown(self.path, self.config)
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
        path = _shown(self.path, self.config)
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
        return self.path, 0, self.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send the outcome's figures along with the report, which travels from worker to controller."""
    report: Any = yield
    if isinstance(item, ScenarioItem) and item.outcome is not None and report.when == "call":
        run = item.config.stash[RUN]
        start = run.sessions[item.outcome.target].start_seconds.get(item.outcome.backend, 0.0)
        report.harness = entry(item.outcome, start_seconds=start, worker=run.worker)
        if _is_recorded(item.config):
            report.harness_record = item.record(report.harness)
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
