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
from dataclasses import asdict, dataclass
from pathlib import Path

from backends import BACKENDS, create
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


@dataclass(frozen=True, slots=True)
class Children:
    """Starts a process for each copy of the runtime, on shared engines."""

    engines: list[dict[str, str]]
    run: str
    scenarios: Path = SCENARIOS

    def ask(self, copy: Path, scenarios: Sequence[str], backends: Sequence[str], *, everything: bool) -> list[Catch]:
        """Run these scenarios on a copy, and return what was red; raises ChildBroken."""
        database = f"pch_{self.run}_{secrets.token_hex(4)}"
        job = Job(str(copy), str(self.scenarios), list(scenarios), self.engines, database, list(backends), everything)
        # -P keeps the working directory out of the path, so that the copy's folder is its first place.
        path = os.pathsep.join((str(copy.parent), str(CHECKOUT)))
        command = [sys.executable, "-P", "-m", "harness.explore.mutants.child"]
        try:
            done = subprocess.run(
                command,
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
def started_engines(*, oceanbase_url: str | None = None) -> Iterator[list[dict[str, str]]]:
    """Start every backend once, and yield how a child reaches each; raises EngineError."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="powercontext-mutants-")))
        infos = []
        for name in BACKENDS:
            engine = create(name, oceanbase_url=oceanbase_url, run_directory=directory)
            stack.callback(engine.stop)
            engine.start()
            infos.append(engine.connection_info())
        yield infos


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
            red = children.ask(copy, order, wrong.backends, everything=everything)
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
