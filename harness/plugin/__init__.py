"""The pytest plugin: collects scenarios, one item for each scenario and backend; xdist spreads them by file.

In other repositories it is switched on by name: `-p harness.plugin`.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from backends import BACKENDS, EngineError
from harness.errors import HarnessError
from harness.explore.variants import ALL_TWINS
from harness.plugin.closing import Reporter
from harness.plugin.interrupts import Interrupts
from harness.plugin.items import ScenarioFile, ScenarioItem, is_recorded
from harness.plugin.process import RUN, TOKEN_VARIABLE, Run, asked_twins, scenario_folders
from harness.report.progress import Progress, has_live_line
from harness.report.recording import Recorder
from harness.report.results import titles
from harness.report.tally import entry
from harness.report.terminal import without_password
from harness.scenario.files import LEDGER, SUFFIXES

__all__ = ["RUN", "Run"]


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
    group.addoption(
        "--scenario-folder", action="append", metavar="DIR", help="a folder whose YAML files are scenarios, repeatable"
    )
    parser.addini("scenarios", "folders whose YAML files are scenarios", type="args", default=["scenarios"])


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
        if not run.is_worker and getattr(config.option, "numprocesses", None):
            run.refuse_processes()
        if is_recorded(config) and not run.is_worker:
            config.pluginmanager.register(_recorder(config, run), "harness-recorder")
    except (EngineError, HarnessError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[RUN] = run
    config.pluginmanager.register(Reporter(run), "harness-reporter")
    if run.is_worker:
        # A terminal's Ctrl-C reaches every process of the run.
        interrupts = Interrupts()
        interrupts.heed()
        config.pluginmanager.register(interrupts, "harness-interrupts")


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
        "twins": list(asked_twins(config.getoption("--twins"))),
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
    folders = scenario_folders(parent.config)
    if any(file_path.is_relative_to(folder) for folder in folders) or parent.session.isinitpath(file_path):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send the outcome's figures along with the report, which travels from worker to controller."""
    report: Any = yield
    if isinstance(item, ScenarioItem) and item.outcome is not None and report.when == "call":
        run = item.config.stash[RUN]
        start = run.sessions[item.outcome.target].start_seconds.get(item.outcome.backend, 0.0)
        report.harness = entry(item.outcome, start_seconds=start, worker=run.worker)
        if is_recorded(item.config):
            report.harness_record = item.record(report.harness)
    return report
