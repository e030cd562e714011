"""A failing scenario made smaller, step by step, as long as it fails in the same way on the same backends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from harness.errors import HarnessError, ScenarioErrors
from harness.explore.engines import open_session
from harness.explore.judging import Finding, Runner, find
from harness.explore.reductions import REDUCTIONS
from harness.explore.writing import Plain, lines_in, plain_of, schema_for, text_of
from harness.report.terminal import repeat_command
from harness.run.ledger_file import load_ledger
from harness.scenario.files import FOLDER, LEDGER
from harness.scenario.loader import Loaded, load, parse
from harness.target import ReferenceTarget

SECONDS = 240
"""How long one scenario is shrunk at most; what is found until then counts."""

Report = Callable[[str], None]


def ignored(line: str) -> None:
    """Tell nothing."""
    del line


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A scenario that is smaller and fails alike: its plain values, and how many were tried for it.

    `is_smallest` is False where the time was over before every reduction was tried.
    """

    plain: Plain
    tried: int
    is_smallest: bool = True


def shrink(
    path: Path,
    backends: Sequence[str],
    *,
    target: str = ReferenceTarget.name,
    report: Report = print,
    progress: Report = ignored,
    oceanbase_url: str | None = None,
    admin_token: str | None = None,
) -> Path:
    """Write a smaller scenario that fails in the same way beside a failing one, and return its path.

    What the ledger knows of a target is no failure here either. Raises HarnessError for a scenario that passes, or that
    cannot be read.
    """
    loaded = load(path)
    ledger = load_ledger(FOLDER / LEDGER, today=date.today())
    with open_session(
        backends, oceanbase_url=oceanbase_url, target=target, admin_token=admin_token, ledger=ledger
    ) as session:
        asked = [] if target == ReferenceTarget.name else [target]
        return shrink_with(session, loaded, session.backends, targets=asked, report=report, progress=progress)


def shrink_with(
    runner: Runner,
    loaded: Loaded,
    backends: Sequence[str],
    *,
    targets: Sequence[str] = (),
    report: Report = print,
    progress: Report = ignored,
) -> Path:
    """Shrink a scenario on engines that run already; see `shrink`. `targets` are for the command that repeats it."""
    finding = find(runner, loaded, backends)
    if finding is None:
        hint = "only a scenario that fails can be shrunk"
        raise HarnessError("nothing_to_shrink", f"{loaded.path} passes on {', '.join(backends)}", hint=hint)
    report(f"{loaded.path}: {finding}")
    shrunk = reduced(runner, plain_of(loaded.scenario), finding, backends, path=loaded.path, progress=progress)
    target = loaded.path.with_suffix(f".small{loaded.path.suffix}")
    asked = "".join(f" --target {name}" for name in targets)
    what = f"{finding.failure.kind} in {finding.failure.region}"
    comments = [f"made smaller by `harness shrink {loaded.path.name}{asked}`: {what}"]
    text = text_of(shrunk.plain, comments=comments, schema=schema_for(target))
    write(target, text)
    before, after = loaded.path.read_text(encoding="utf-8"), text
    sizes = [f"{sum(1 for _ in lines_in(one))} lines, {len(one.encode())} bytes" for one in (before, after)]
    report(f"before: {sizes[0]}\nafter:  {sizes[1]}, {shrunk.tried} scenarios tried")
    if not shrunk.is_smallest:
        report(f"given up after {SECONDS} s: `harness shrink {target}{asked}` goes on from there")
    report(f"{target}\nrepeat:  {repeat_command(str(target), backends, targets=targets)}")
    return target


def reduced(
    runner: Runner,
    plain: Plain,
    finding: Finding,
    backends: Sequence[str],
    *,
    path: Path,
    progress: Report = ignored,
) -> Shrunk:
    """Return the smallest scenario found by leaving out and shortening, none of whose reductions fails alike."""
    deadline = time.monotonic() + SECONDS
    known: set[str] = {text_of(plain)}
    tried, before = 0, None
    while plain != before:
        before = plain
        for reduce in REDUCTIONS:
            start, is_over = 0, False
            while not is_over:
                is_over = True
                for place, smaller in enumerate(islice(reduce(plain), start, None), start):
                    if time.monotonic() > deadline:
                        return Shrunk(plain, tried, is_smallest=False)
                    loaded = _new(smaller, known, path)
                    if loaded is None:
                        continue
                    tried += 1
                    progress(f"tried: {tried}, {len(text_of(plain).encode())} bytes are left")
                    if finding.is_kept_by(find(runner, loaded, backends)):
                        # It goes on at this place: what failed before would mostly fail again, and the next round of
                        # all kinds tries that.
                        plain, start, is_over = smaller, place, False
                        break
    return Shrunk(plain, tried)


def _new(plain: Plain, known: set[str], path: Path) -> Loaded | None:
    """Return a scenario ready to run, or None for one that is not legal or was tried before."""
    try:
        text = text_of(plain)
        if text in known:
            return None
        known.add(text)
        return parse(text.encode(), path)
    except (ScenarioErrors, HarnessError):
        return None


def write(path: Path, text: str) -> None:
    """Write a file, its folders too; raises HarnessError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HarnessError("unwritable", f"{path} cannot be written", cause=error.strerror) from None
