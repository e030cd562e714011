"""Generated worlds on real engines: drawn, run and judged, until one fails; that one is shrunk and saved."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky

from harness.errors import HarnessError
from harness.explore.engines import open_session
from harness.explore.judging import Finding, Runner, find
from harness.explore.shrink import reduced, write
from harness.explore.steps import scenarios
from harness.explore.writing import Plain, schema_for, text_of
from harness.report.terminal import repeat_command
from harness.scenario.loader import load, parse

FOUND = Path("scenarios") / "found"
EVERY = 50
"""After so many examples a line of progress is printed."""
SHRINK_SECONDS = 15
"""How long Hypothesis shrinks at most, before the reductions of shrink.py go on."""

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Explored:
    """What an exploration came to; without a `finding` all examples passed."""

    seed: int
    examples: int
    """How many worlds were run until the first failure, or in all."""
    seconds: float
    finding: Finding | None = None
    path: Path | None = None
    """The saved scenario that fails."""
    command: str | None = None
    """Runs the saved scenario again."""
    is_flaky: bool = False
    """Whether the failure did not come again."""


def explore(
    count: int,
    seed: int,
    backends: Sequence[str],
    *,
    out_dir: Path = FOUND,
    report: Report = print,
    oceanbase_url: str | None = None,
) -> Explored:
    """Run `count` generated worlds, drawn by `seed`, on engines of their own; stops at the first that fails."""
    with open_session(backends, oceanbase_url=oceanbase_url) as session:
        return explore_with(session, count, seed, backends, out_dir=out_dir, report=report)


def explore_with(
    runner: Runner, count: int, seed: int, backends: Sequence[str], *, out_dir: Path = FOUND, report: Report = print
) -> Explored:
    """Explore on engines that run already; see `explore`."""
    if count < 1:
        raise HarnessError("nothing_to_explore", f"{count} is no number of examples", hint="at least 1")
    report(f"exploring {count} worlds with seed {seed} on {', '.join(backends)}")
    search = _Search(runner, backends, count, report)
    is_flaky = False
    try:
        search.run(seed)
    except Flaky:
        is_flaky = True
    except (_Fails, _Enough):
        pass
    if search.finding is None:
        report(f"{search.examples} worlds passed in {search.seconds:.0f} s")
        return Explored(seed, search.examples, search.seconds)
    explored = _saved(search, seed, out_dir, is_flaky=is_flaky)
    report(f"world {explored.examples}: {explored.finding}\n  {search.finding.failure.message}")
    if explored.is_flaky:
        report("  flaky: the same scenario passed when it was run again")
    report(f"{explored.path}\nrepeat:  {explored.command}")
    return explored


class _Fails(Exception):
    """A generated world that fails, for Hypothesis to shrink."""


class _Enough(BaseException):
    """Hypothesis has shrunk for long enough."""


class _Search:
    """One run of Hypothesis: counts, remembers the smallest world that fails as the first did."""

    def __init__(self, runner: Runner, backends: Sequence[str], count: int, report: Report) -> None:
        self.runner, self.backends = runner, backends
        self._count, self._report = count, report
        self._started = time.monotonic()
        self.seconds = 0.0
        self.examples = 0
        self.finding: Finding | None = None
        self.smallest: Plain = {}

    def run(self, number: int) -> None:
        """Draw and run; raises _Fails, _Enough, or Flaky."""
        decorated = settings(
            max_examples=self._count,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )(given(scenarios())(self._judge))
        try:
            with _homeless():
                seed(number)(decorated)()
        finally:
            if self.finding is None:
                self.seconds = time.monotonic() - self._started

    def _judge(self, plain: Plain) -> None:
        text = text_of(plain)
        finding = find(self.runner, parse(text.encode(), Path("generated.yaml")), self.backends)
        if self.finding is None:
            self._count_one(finding)
            if finding is None:
                return
            self.finding, self.smallest = finding, plain
        elif not self.finding.is_kept_by(finding):
            # Another failure than the first must not take its place.
            return
        if len(text) <= len(text_of(self.smallest)):
            self.smallest = plain
        if time.monotonic() > self._started + self.seconds + SHRINK_SECONDS:
            raise _Enough
        raise _Fails

    def _count_one(self, finding: Finding | None) -> None:
        self.examples += 1
        self.seconds = time.monotonic() - self._started
        if finding is None and self.examples % EVERY == 0:
            self._report(f"{self.examples} of {self._count} worlds passed, {self.seconds:.0f} s")


def _saved(search: _Search, number: int, out_dir: Path, *, is_flaky: bool) -> Explored:
    """Shrink the found world further, save it, and see that the file fails by itself."""
    finding = search.finding
    assert finding is not None
    path = out_dir / f"{_words(finding.failure.kind)}_seed_{number}_world_{search.examples}.yaml"
    plain = search.smallest
    if not is_flaky:
        plain = reduced(search.runner, plain, finding, search.backends, path=path).plain
    explore_command = f"harness explore --count {search.examples} --seed {number}"
    backends = "".join(f" --backend {name}" for name in search.backends)
    comments = [f"found by `{explore_command}{backends}` (hypothesis {hypothesis.__version__}): {finding}"]
    plain = {**plain, "scenario": f"{' in '.join(finding.kind)}, in a generated world".replace('"', "")}
    write(path, text_of(plain, comments=comments, schema=schema_for(path)))
    again = find(search.runner, load(path), search.backends)
    command = repeat_command(str(path), search.backends)
    flaky = is_flaky or not finding.is_kept_by(again)
    return Explored(number, search.examples, search.seconds, again or finding, path, command, flaky)


def _words(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text.lower())


@contextmanager
def _homeless() -> Iterator[None]:
    """Give Hypothesis a home that goes away, since it keeps files in the current folder otherwise."""
    with tempfile.TemporaryDirectory(prefix="powercontext-harness-") as home:
        set_hypothesis_home_dir(home)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)
