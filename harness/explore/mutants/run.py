"""The kill score: each mutant in a copy of the runtime and a process of its own, on engines that are started once."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue

from backends import BACKENDS, Backend, create
from harness.errors import HarnessError
from harness.explore.mutants.model import Mutant, NotApplicable, apply, copy_runtime
from harness.explore.mutants.verdict import Catch, Job, Result

CHECKOUT = Path(__file__).parents[3]
RUNTIME = CHECKOUT / "runtime"
SCENARIOS = CHECKOUT / "scenarios"
PARALLEL = 2
PATIENCE_SECONDS = 1800
"""How long one child may take before it counts as hanging; the whole corpus takes about a minute."""


class ChildBroken(Exception):
    """A child that ended without an answer: the copy was not imported, could not be, or hung."""


class Children:
    """Starts a process for each copy of the runtime, on shared engines."""

    def __init__(self, engines: Sequence[Backend], *, scenarios: Path = SCENARIOS) -> None:
        self.scenarios = scenarios
        self._engines = tuple(engines)
        self._infos = [engine.connection_info() for engine in engines]
        self._run = secrets.token_hex(4)
        # As many sets of databases as children run at once.
        self._urls: SimpleQueue[dict[str, str]] = SimpleQueue()
        for database in self._databases:
            self._urls.put({engine.name: engine.database_url(database) for engine in engines})

    def ask(
        self, copy: Path, scenarios: Sequence[str], backends: Sequence[str], *, everything: bool, fresh: bool = False
    ) -> list[Catch]:
        """Run these scenarios on a copy, and return what was red; raises ChildBroken.

        `fresh` gives the copy databases of its own, whose tables it makes.
        """
        urls = self._urls.get()
        job = Job(
            runtime=str(copy),
            root=str(self.scenarios),
            scenarios=list(scenarios),
            engines=self._infos,
            database=f"pch_{self._run}_{secrets.token_hex(4)}",
            urls={} if fresh else urls,
            backends=list(backends),
            everything=everything,
        )
        try:
            return _answer(job, copy)
        finally:
            self._urls.put(urls)

    def close(self) -> None:
        """Drop the shared databases."""
        for engine in self._engines:
            for database in self._databases:
                engine.drop(database)

    @property
    def _databases(self) -> list[str]:
        return [f"pch_{self._run}_{number}" for number in range(PARALLEL)]


def _answer(job: Job, copy: Path) -> list[Catch]:
    # -P keeps the working directory out of the path, so that the copy's folder is its first place.
    path = os.pathsep.join((str(copy.parent), str(CHECKOUT)))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "harness.explore.mutants.child"],
            input=json.dumps(asdict(job)),
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ChildBroken(f"no answer within {PATIENCE_SECONDS} s") from None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ChildBroken(f"the child ended with code {done.returncode}: {last[0]}")
    return [Catch(**json.loads(line)) for line in done.stdout.splitlines()]


@contextmanager
def started_engines(*, oceanbase_url: str | None = None) -> Iterator[list[Backend]]:
    """Start every backend once, and yield them; raises EngineError."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="powercontext-mutants-")))
        engines: list[Backend] = []
        for name in BACKENDS:
            engine = create(name, oceanbase_url=oceanbase_url, run_directory=directory)
            stack.callback(engine.stop)
            engine.start()
            engines.append(engine)
        yield engines


def corpus(folder: Path = SCENARIOS) -> list[str]:
    """Return all scenarios by chapter and name."""
    files = (file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.yaml"))
    return sorted(name for name in files if "/" in name)


def check_unchanged(children: Children, mutants: Sequence[Mutant]) -> int:
    """Run the killers on an unchanged copy, and return how many there are; raises HarnessError where one is red."""
    killers = sorted({killer for wrong in mutants for killer in wrong.killers})
    missing = sorted(set(killers) - set(corpus(children.scenarios)))
    if missing:
        raise HarnessError("unknown_killers", f"there is no scenario {', '.join(missing)}")
    with _copy() as copy, ThreadPoolExecutor(PARALLEL) as pool:
        parts = [killers[start::PARALLEL] for start in range(PARALLEL)]
        try:
            answers = list(pool.map(lambda part: children.ask(copy, part, [], everything=True), parts))
        except ChildBroken as broken:
            raise HarnessError("unchanged_runtime_broken", f"the unchanged runtime does not run: {broken}") from None
    red = [catch for answer in answers for catch in answer]
    if red:
        first = red[0]
        told = first.message or "; ".join(first.crashed)
        raise HarnessError(
            "unchanged_runtime_red",
            f"{len(red)} of {len(killers)} killers are red on the unchanged runtime, so none of them proves anything",
            cause=f"{first.scenario}: {told}",
            hint="make `harness run scenarios` green first",
        )
    return len(killers)


def judge(wrong: Mutant, children: Children, *, everything: bool = False) -> Result:
    """Say what becomes of one mutant: its killers are tried first, then the rest of the corpus."""
    started = time.perf_counter()
    order = list(wrong.killers) + [name for name in corpus(children.scenarios) if name not in wrong.killers]
    with _copy() as copy:
        try:
            apply(wrong, copy)
            fresh = wrong.needs_fresh_database
            red = children.ask(copy, order, wrong.backends, everything=everything, fresh=fresh)
        except NotApplicable as reason:
            return Result(wrong, "NOT APPLICABLE", reason=str(reason), seconds=time.perf_counter() - started)
        except ChildBroken as broken:
            return Result(wrong, "UNCAUGHT", reason=str(broken), seconds=time.perf_counter() - started)
    catches = [catch for catch in red if catch.catches(wrong.backends)]
    seconds = time.perf_counter() - started
    if not catches:
        return Result(wrong, "UNCAUGHT", reason=_reason(red), seconds=seconds)
    first = catches[0]
    return Result(wrong, "caught", first, first.scenario in wrong.killers, len(catches), seconds=seconds)


def judge_all(
    mutants: Sequence[Mutant], children: Children, *, everything: bool, tell: Callable[[Result], None]
) -> list[Result]:
    """Judge all mutants, two at a time, in their order."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        results = []
        for result in pool.map(lambda wrong: judge(wrong, children, everything=everything), mutants):
            tell(result)
            results.append(result)
        return results


def _reason(red: Sequence[Catch]) -> str:
    if not red:
        return "every scenario is green"
    catch = red[0]
    told = "; ".join(catch.crashed) or f"red on {', '.join(catch.red) or 'no backend by itself'}"
    return f"{len(red)} scenarios are red otherwise than expected, first {catch.scenario}: {told}"


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="powercontext-mutant-") as folder:
        yield copy_runtime(RUNTIME, Path(folder))
