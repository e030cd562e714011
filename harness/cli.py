"""The command line: run, sweep, schema, doctor; others are in cli_*.py."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, suppress
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Annotated

import pytest
import typer

from backends.provision.warm import used_by_default
from harness.__main__ import INTERRUPTED
from harness.cli_compare import compare
from harness.cli_engine import engine, watch
from harness.cli_explain import explain
from harness.cli_explore import explore, known_backends, shrink
from harness.cli_findings import findings
from harness.cli_import import anonymize_scenario, import_report
from harness.cli_powercontext import powercontext
from harness.cli_report import report
from harness.cli_repro import kept, repro
from harness.cli_write import accept, fmt, lint, new
from harness.doctor import examine
from harness.errors import HarnessError, UnknownNames
from harness.plugin import RUN
from harness.plugin.interrupts import Interrupts
from harness.plugin.items import shown_path
from harness.report.results import DEFAULT as RESULTS
from harness.report.results import SCHEMA as RESULTS_SCHEMA
from harness.report.sharding import read_shard
from harness.scenario.files import exists, scenario_files
from harness.scenario.loader import load
from harness.scenario.reference import reference
from harness.scenario.schema import text as schema_text
from harness.scenario.schema import write_beside
from harness.target import TARGETS

FAILED = 1
"""The exit code when a scenario did not keep the contract."""
MISUSE = 2
"""The exit code for a mistake of the caller's, a scenario that cannot be read, or an engine that is not there."""

FOLDER = "scenarios"
"""Where scenarios are looked for and written when no path is named."""

UNUSED_PLUGINS = ("hypothesispytest", "faker", "schemathesis", "anyio")
"""Plugins of pytest's that scenarios have no use for, and that take a second to load in each process."""

MANY_FILES = 12
"""From so many scenario files on, several processes are quicker than one."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Test PowerContext's prepare path on storage backends.",
)


def main() -> None:
    """Run the command line; a mistake of the user's is told in a sentence."""
    try:
        with used_by_default():
            app()
    except HarnessError as error:
        print(error, file=sys.stderr)
        sys.exit(MISUSE)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(context: typer.Context) -> None:
    """Run scenario files or folders on every backend (default: the folder scenarios).

    Options: --backend NAME (repeatable), --target NAME, --oceanbase-url URL, --oceanbase-image IMAGE [--reuse],
    --twins all or KINDS, --shuffle SEED, --sweep budget, --results FILE (default: results/run.json), --junit FILE,
    --shard I/N (one of N parts of the scenarios, for several machines), --keep (leave the databases of failing cases);
    of pytest's for instance -k WORDS, -m TAG, -x, --lf, -n 4 (default: all cores), --junitxml FILE.

    Exit code: 0 all passed, 1 a scenario failed, 2 misuse, an unreadable scenario or a missing engine, 130 interrupted.
    """
    raise typer.Exit(run_pytest(context.args))


def run_pytest(arguments: Sequence[str]) -> int:
    """Run pytest with the plugin and good defaults, and return our exit code."""
    # Scenarios have no asserts to rewrite, for which pytest would look through all packages.
    defaults = ["--assert=plain", "-p", "harness.plugin", "-q", "-rN", "--show-capture=no"]
    defaults += [word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}")]
    reading = _Reading()
    with redirect_stderr(StringIO()) as told:
        code = pytest.main([*defaults, *arguments], plugins=[reading])
    if reading.config is None:
        # A near miss is told by its name alone; pytest's words for it show how pytest is called.
        print("\n".join(reading.hints(arguments)) or told.getvalue().rstrip(), file=sys.stderr)
        return _exit_code(code)
    if reading.names_no_path:
        if not Path(FOLDER).is_dir():
            raise HarnessError(
                "nothing_to_run", f"there is no folder `{FOLDER}` here", hint="name a scenario file or a folder"
            )
        defaults.append(FOLDER)
    for folder in _folders(reading.named):
        defaults += ["--scenario-folder", str(folder)]
    if reading.is_worth_spreading:
        defaults += ["-n", "auto"]
    if reading.config.getoption("--results") is None and _can_be_written(RESULTS):
        defaults += ["--results", str(RESULTS)]
    _refuse_unknown_tags(reading.config, reading.named)
    witness, interrupts = _Witness(), Interrupts()
    with interrupts.heeded():
        code = pytest.main([*defaults, *arguments], plugins=[witness, interrupts])
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        if _is_empty_shard(reading.config, reading.named):
            print("no scenario is in this shard")
            return 0
        print("nothing_selected: no scenario fits what was asked for", file=sys.stderr)
    return MISUSE if witness.saw_misuse and code != pytest.ExitCode.INTERRUPTED else _exit_code(code)


def _refuse_unknown_tags(config: pytest.Config, named: Sequence[Path]) -> None:
    """Know a mistyped tag before processes are started; raises UnknownNames."""
    asked = set(re.findall(r"\w+", config.option.markexpr or "")) - {"and", "or", "not"}
    if not asked:
        return
    known: set[str] = {line.partition(":")[0].partition("(")[0] for line in config.getini("markers")}
    for file in scenario_files(named):
        # A file that cannot be read is told by the run itself.
        with suppress(HarnessError):
            known.update(load(file).scenario.tags)
    if asked - known:
        raise UnknownNames("tag", sorted(asked - known), sorted(known))


def _folders(named: Sequence[Path]) -> list[Path]:
    """Return the folders whose scenarios are meant, the one with a ledger first; raises HarnessError."""
    folders = [path for path in named if path.is_dir()]
    for folder in folders:
        if next(scenario_files([folder]), None) is None:
            raise HarnessError("nothing_to_run", f"no scenario is in `{folder}`", hint="a scenario is a YAML file")
    here = Path(FOLDER)
    return [here, *folders] if here.is_dir() and here not in folders else folders


def _is_empty_shard(config: pytest.Config, named: Sequence[Path]) -> bool:
    """Say whether there are scenarios and the hash gave this shard none of them: a small corpus on many machines."""
    shard = read_shard(config.getoption("--shard"))
    return shard is not None and not any(shard.has(shown_path(file, config)) for file in scenario_files(named))


def _exit_code(code: int) -> int:
    """Return our exit code for pytest's."""
    match code:
        case pytest.ExitCode.OK | pytest.ExitCode.TESTS_FAILED:
            return int(code)
        case pytest.ExitCode.INTERRUPTED:
            return INTERRUPTED
        case _:
            return MISUSE


class _Reading:
    """What pytest makes of the words before it runs anything: only its own parser knows which are paths."""

    def __init__(self) -> None:
        self.config: pytest.Config | None = None
        self._parser: pytest.Parser | None = None

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Keep the parser, which will know every option."""
        self._parser = parser

    def hints(self, words: Sequence[str]) -> Iterator[str]:
        """Yield what may have been meant by options that are unknown."""
        own = [] if self._parser is None else self._parser.getgroup("harness").options
        known = [name for option in own for name in option.names()]
        for word in words:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known:
                for meant in get_close_matches(name, known, n=1):
                    yield f'unknown_option: "{name}"\n  hint: did you mean {meant}?'

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Keep the configuration, and run nothing."""
        self.config = config
        return 0

    @property
    def names_no_path(self) -> bool:
        """Whether scenarios are to be run, and none is named."""
        config = self.config
        return config is not None and config.args_source != config.ArgsSource.ARGS and not config.option.help

    @property
    def named(self) -> list[Path]:
        """The files and folders that are to be run; raises HarnessError where one does not exist."""
        if self.names_no_path or self.config is None:
            return [Path(FOLDER)]
        paths = [Path(word.partition("::")[0]) for word in self.config.args]
        for path in paths:
            if not exists(path):
                raise HarnessError("no_such_file", f"{path} does not exist")
        return paths

    @property
    def is_worth_spreading(self) -> bool:
        """Whether several processes are quicker, and nothing that was asked for needs a single one."""
        if self.config is None or not hasattr(self.config.option, "numprocesses"):
            return False
        option = self.config.option
        if option.numprocesses is not None or option.dist != "no" or option.usepdb or option.capture == "no":
            return False
        if option.collectonly or option.maxfail:
            return False
        # A server that is shared has one client, who runs a scenario on all backends at once.
        if any(name not in TARGETS for name in self.config.getoption("--target") or ()):
            return False
        return sum(1 for _ in scenario_files(self.named)) >= MANY_FILES


class _Witness:
    """Sees the run's own figures, which pytest's exit code does not tell."""

    def __init__(self) -> None:
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        """Keep hold of the configuration."""
        self._config = config

    @property
    def saw_misuse(self) -> bool:
        """Whether a scenario could not be read, or a backend was missing."""
        run = None if self._config is None else self._config.stash.get(RUN, None)
        return run is not None and (run.is_incomplete or bool(run.unreadable))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def sweep(context: typer.Context) -> None:
    """Run scenarios with every prepare asked again at each budget where its answer can change; options as of run."""
    raise typer.Exit(run_pytest(["--sweep", "budget", *context.args]))


app.command()(explore)
app.command()(shrink)
app.add_typer(engine)
app.command()(watch)
app.command()(explain)
app.command()(fmt)
app.command()(accept)
app.command()(new)
app.command()(lint)
app.command()(findings)
app.command()(powercontext)
app.command("import")(import_report)
app.command("anonymize")(anonymize_scenario)
app.command()(repro)
app.command()(kept)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(compare)
app.command()(report)


@app.command()
def schema(
    results: Annotated[bool, typer.Option("--results", help="that of results files instead")] = False,
    write: Annotated[bool, typer.Option("--write", help="write it into the folder scenarios, for editors")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="as a page for readers (docs/format.md)")] = False,
) -> None:
    """Print the JSON Schema of scenario files, for editors, or that of results files."""
    if markdown:
        print(reference(), end="")
        return
    if write:
        print(write_beside(FOLDER))
        return
    print(RESULTS_SCHEMA.read_text("utf-8") if results else schema_text(), end="")


@app.command()
def doctor(
    backend: Annotated[list[str] | None, typer.Option(help="a backend to examine; default: all")] = None,
    oceanbase_url: Annotated[str | None, typer.Option(help="an OceanBase that somebody runs")] = None,
    oceanbase_image: Annotated[str | None, typer.Option(help="an image of OceanBase, started by Docker")] = None,
) -> None:
    """Say what is installed, which engines can start, and what they are."""
    names = known_backends(backend)
    unwell = 0
    for finding in examine(names, oceanbase_url=oceanbase_url, oceanbase_image=oceanbase_image):
        unwell += not finding.well
        print(f"{'ok ' if finding.well else 'NOT'}  {finding.subject}: {finding.found}")
    raise typer.Exit(MISUSE if unwell else 0)


def _can_be_written(path: Path) -> bool:
    """Say whether a file that nobody asked for can be written: a run in a folder that is read-only goes on without."""
    nearest = next(place for place in (path.absolute(), *path.absolute().parents) if exists(place))
    return os.access(nearest, os.W_OK) and not path.is_dir()
