"""A failing scenario made smaller, step by step, as long as it fails in the same way on the same backends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, ScenarioErrors
from harness.explore.engines import open_session
from harness.explore.judging import Finding, Runner, find
from harness.explore.reductions import reductions
from harness.explore.writing import Plain, lines_in, plain_of, schema_for, text_of
from harness.report.terminal import repeat_command
from harness.scenario.loader import Loaded, load, parse

SECONDS = 240
"""How long one scenario is shrunk at most; what is found until then counts."""

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A scenario that is smaller and fails alike: its plain values, and how many were tried for it."""

    plain: Plain
    tried: int


def shrink(path: Path, backends: Sequence[str], *, report: Report = print, oceanbase_url: str | None = None) -> Path:
    """Write a smaller scenario that fails in the same way beside a failing one, and return its path.

    Raises HarnessError for a scenario that passes, or that cannot be read.
    """
    loaded = load(path)
    with open_session(backends, oceanbase_url=oceanbase_url) as session:
        return shrink_with(session, loaded, backends, report=report)


def shrink_with(runner: Runner, loaded: Loaded, backends: Sequence[str], *, report: Report = print) -> Path:
    """Shrink a scenario on engines that run already; see `shrink`."""
    finding = find(runner, loaded, backends)
    if finding is None:
        hint = "only a scenario that fails can be shrunk"
        raise HarnessError("nothing_to_shrink", f"{loaded.path} passes on {', '.join(backends)}", hint=hint)
    report(f"{loaded.path}: {finding}")
    shrunk = reduced(runner, plain_of(loaded.scenario), finding, backends, path=loaded.path)
    target = loaded.path.with_suffix(f".small{loaded.path.suffix}")
    command = f"harness shrink {loaded.path.name}"
    comments = [f"made smaller by `{command}`: {finding.failure.kind} in {finding.failure.region}"]
    text = text_of(shrunk.plain, comments=comments, schema=schema_for(target))
    write(target, text)
    before, after = loaded.path.read_text(encoding="utf-8"), text
    sizes = [f"{sum(1 for _ in lines_in(one))} lines, {len(one.encode())} bytes" for one in (before, after)]
    report(f"before: {sizes[0]}\nafter:  {sizes[1]}, {shrunk.tried} scenarios tried")
    report(f"{target}\nrepeat:  {repeat_command(str(target), backends)}")
    return target


def reduced(runner: Runner, plain: Plain, finding: Finding, backends: Sequence[str], *, path: Path) -> Shrunk:
    """Return the smallest scenario found by leaving out and shortening, none of whose reductions fails alike."""
    deadline = time.monotonic() + SECONDS
    known: set[str] = {text_of(plain)}
    tried = 0
    found: Plain | None = plain
    while found is not None and time.monotonic() < deadline:
        plain, found = found, None
        for smaller in reductions(plain):
            loaded = _new(smaller, known, path)
            if loaded is None:
                continue
            tried += 1
            if finding.is_kept_by(find(runner, loaded, backends)):
                found = smaller
                break
            if time.monotonic() > deadline:
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
