"""One process's part of a run: what was asked for, the engines and targets of it, and what was counted."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backends import BACKENDS, Backend, EngineError, attach, create
from backends.errors import NotStarted
from harness.errors import HarnessError, UnknownNames
from harness.explore.variants import ALL_TWINS
from harness.report.sharding import Shard, read_shard
from harness.report.tally import faults
from harness.run.ledger_file import load_ledger
from harness.run.session import Session
from harness.scenario.files import LEDGER
from harness.scenario.model import TwinKind
from harness.target import TARGETS, ReferenceTarget
from harness.target.systems import known_targets, open_systems, unknown_targets

TOKEN_VARIABLE = "POWERCONTEXT_HARNESS_ADMIN_TOKEN"


class Run:
    """One process's part of a run: its backends, its session, and what was counted.

    The controller starts the engines and stops them; a worker of xdist attaches to them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.backends = list(dict.fromkeys(config.getoption("--backend") or BACKENDS))
        targets = list(dict.fromkeys(config.getoption("--target") or [ReferenceTarget.name]))
        refuse_unknown(backend=(self.backends, BACKENDS), target=(unknown_targets(targets), known_targets()))
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
        ledgers = [folder / LEDGER for folder in scenario_folders(config)]
        ledger = next((path for path in ledgers if path.exists()), ledgers[0])
        self.ledger = load_ledger(ledger, today=date.today(), targets=TARGETS, backends=BACKENDS)
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
                twins=asked_twins(config.getoption("--twins")),
                shuffle=config.getoption("--shuffle"),
                ledger=self.ledger,
            )
            for place, (name, system) in enumerate(self.systems.items())
        }

    def refuse_processes(self) -> None:
        """Raise HarnessError where several processes would write to one server: releases answer 409 then by chance."""
        shared = [name for name, system in self.systems.items() if system.shares]
        if shared:
            message = f"{', '.join(shared)} is asked by one process, since its writes must not meet"
            raise HarnessError("one_process", message, hint="leave out -n; its backends run at the same time anyway")

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


def scenario_folders(config: pytest.Config) -> list[Path]:
    """Return the folders whose YAML files are scenarios: those of the command, then those of the project's settings."""
    there = config.invocation_params.dir
    named = [Path(os.path.abspath(there / folder)) for folder in config.getoption("--scenario-folder") or ()]
    return named + [config.rootpath / folder for folder in config.getini("scenarios")]


def asked_twins(words: str | None) -> tuple[TwinKind, ...]:
    """Return the kinds of twins that `--twins` asks for, in the order they are made; raises UsageError."""
    if words is None:
        return ()
    asked = list(ALL_TWINS) if words == "all" else words.split(",")
    refuse_unknown(twins=(asked, ALL_TWINS))
    return tuple(kind for kind in ALL_TWINS if kind in asked)


def refuse_unknown(**asked: tuple[Iterable[str], Iterable[str]]) -> None:
    """Raise UsageError with all names that are not among the known ones of their kind."""
    unknown = {kind: [name for name in names if name not in known] for kind, (names, known) in asked.items()}
    told = [str(UnknownNames(kind, names, asked[kind][1])) for kind, names in unknown.items() if names]
    if told:
        raise pytest.UsageError("\n".join(told))
