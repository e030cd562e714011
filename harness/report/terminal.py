"""What a person reads: a failing step in a few lines, and the summary of a run."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, get_args

from harness.check.display import show_invisible
from harness.report.tally import PHASES, phases
from harness.run.compare import BEHAVIOUR_MISMATCH, SEED_MISMATCH, VARIANT_MISMATCH
from harness.run.presumed import UNPREDICTED
from harness.run.result import Outcome, StepResult, Verdict

_LONGEST_LINE = 1000
"""Characters of one line of a verdict; what is longer is cut in the middle."""

_EXPECTED_AND_GOT = re.compile(r"(: |, )?\bexpected .*, got .*", re.DOTALL)
"""The end of a message that the two lines below it say again."""


_MOST_TELLING = (
    *(SEED_MISMATCH, BEHAVIOUR_MISMATCH, VARIANT_MISMATCH, "LEDGER", "leak", "content", "oracle"),
    *("cut", "body", "body-size", "budget", "read", "text"),
)
_LEAST = len(_MOST_TELLING)
_MOST_PATHS = 5


def failure_lines(
    outcome: Outcome,
    *,
    path: str,
    backends: Sequence[str],
    targets: Sequence[str] = (),
    oceanbase_url: str | None = None,
    oceanbase_image: str | None = None,
) -> Iterator[str]:
    """Yield a failed outcome's verdict: where, what was expected and what came, and the command that repeats it."""
    step = outcome.failed_step
    place = f"{path}:{step.line} {step.name!r}" if step is not None else path
    yield f"{place} on {outcome.backend} ({outcome.target})"
    if step is None:
        # The summary tells the whole cause, once for all scenarios.
        sentence = outcome.reason.partition("\n")[0]
        yield f"  {outcome.verdict}, no verdict on the contract: {_one_line(sentence)}"
    else:
        failure, *others = sorted(step.failures, key=lambda one: telling(one.kind))
        told = beside(failure.message)
        yield f"  {failure.kind} in {failure.region}" + (f": {_one_line(told)}" if told else "")
        yield f"  expected: {_one_line(failure.expected)}"
        yield f"  got:      {_one_line(failure.got)}"
        written = next((other for other in others if telling(other.kind) == _LEAST), None)
        if written is not None:
            yield f"  {written.kind}: {_one_line(written.message)}"
            others.remove(written)
        if others:
            more = ", ".join(sorted({f"{other.kind} in {other.region}" for other in others}))
            yield f"  and {len(others)} more at this step: {_one_line(more)}"
        if step.is_as_predicted:
            yield f"  contract: the oracle predicts what came{_why(path, step)}"
    repeat = repeat_command(
        path, backends, targets=targets, oceanbase_url=oceanbase_url, oceanbase_image=oceanbase_image
    )
    yield f"  repeat:   {repeat}"


def _why(path: str, step: StepResult) -> str:
    """Return the command that tells why; nothing for a target with a search of its own, which it does not explain."""
    if step.candidates is not None:
        return ""
    return f"; why: {shlex.join(['harness', 'explain', path, '--step', str(step.index + 1)])}"


def beside(message: str) -> str:
    """Return what a failure's message says beside what was expected and what came."""
    return _EXPECTED_AND_GOT.sub("", message)


def telling(kind: str) -> int:
    """Return the place of a failure's kind among those that tell most; what a step's author wrote comes behind."""
    return _MOST_TELLING.index(kind) if kind in _MOST_TELLING else _LEAST


def repeat_command(
    path: str,
    backends: Sequence[str],
    *,
    targets: Sequence[str] = (),
    oceanbase_url: str | None = None,
    oceanbase_image: str | None = None,
) -> str:
    """Return the command that runs one scenario again; all backends, since they are compared.

    A URL is repeated without its password.
    """
    words = ["harness", "run", path, *(word for name in backends for word in ("--backend", name))]
    words += [word for name in targets for word in ("--target", name)]
    if oceanbase_url:
        words += ["--oceanbase-url", without_password(oceanbase_url) or ""]
    if oceanbase_image:
        words += ["--oceanbase-image", oceanbase_image]
    return shlex.join(words)


def without_password(url: str | None) -> str | None:
    """Return a URL that may be shown to anybody."""
    return None if url is None else re.sub(r"(?<=:)[^:@/]*(?=@)", "PASSWORD", url)


def summary_lines(
    entries: list[dict[str, Any]], *, columns: Sequence[tuple[str, str]], facts: Mapping[str, str]
) -> Iterator[str]:
    """Yield the table chapter x (target, backend), what was really executed, and where the time went."""
    chapters = sorted({entry["chapter"] for entry in entries})
    counts = Counter((entry["chapter"], (entry["target"], entry["backend"]), entry["verdict"]) for entry in entries)
    single = len({target for target, _ in columns}) == 1
    titles = [backend if single else f"{target} {backend}" for target, backend in columns]
    rows = [["chapter", *titles]]
    rows += [[chapter, *(_counted(counts, (chapter,), column) for column in columns)] for chapter in chapters]
    rows.append(["all", *(_counted(counts, chapters, column) for column in columns)])
    yield from _table(rows)
    yield ""
    executed = [entry for entry in entries if entry["checks"]]
    scenarios = len({entry["path"] for entry in executed})
    checks = sum(entry["checks"] for entry in executed)
    yield (
        f"executed: {len(executed)} of {len(entries)} (scenarios x backends), "
        f"{_plural(scenarios, 'scenario')}, {checks} steps and expectations judged"
    )
    yield from _presumed_lines(entries)
    compared = [reordered for entry in entries for reordered in entry["reordered"]]
    if any(compared):
        yield (
            "order differs between backends, which the RFC permits: "
            f"{sum(compared)} of {len(compared)} answers (sets of hits equal)"
        )
    for reason, count in Counter(entry["reason"] for entry in entries if entry["verdict"] == "not run").items():
        yield f"not run: {reason} ({count})"
    yield from _known_lines(entries)
    if not executed:
        yield "nothing was judged: the run is red"
    yield ""
    times = [["seconds", *PHASES]]
    times += [
        [title, *(f"{seconds:.1f}" for seconds in phases(entries, column).values())]
        for title, column in zip(titles, columns, strict=True)
    ]
    yield from _table(times)
    for name, told in facts.items():
        yield f"{name}: {told}"


def fault_lines(backend: str, verdict: str, cause: str) -> Iterator[str]:
    """Yield the whole cause of an engine that was not there, or not to the end."""
    what = "is missing" if verdict == "missing" else f"had an {verdict}"
    yield from f"{backend} {what}: {cause}".split("\n")


def _presumed_lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what expectations did not judge, and the scenarios of which the oracle could not judge the text either."""
    presumed = Counter(kind for entry in entries for kind in entry["presumed"])
    if not presumed:
        return
    kinds = ", ".join(f"{kind} {count}" for kind, count in presumed.most_common())
    yield f"left to the oracle, since they presume ids or an order that the target chooses: {kinds}"
    unpredicted = [entry for entry in entries if any(UNPREDICTED in kind for kind in entry["presumed"])]
    paths = list(dict.fromkeys(f"{entry['chapter']}/{PurePath(entry['path']).name}" for entry in unpredicted))
    if paths:
        shown = ", ".join(paths[:_MOST_PATHS])
        more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
        yield f"of these the oracle cannot know the order, so that nothing judges it: {shown}{more}"


def _known_lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield each issue of the ledger's once, with the number of scenarios that met it."""
    met: dict[str, set[str]] = {}
    for entry in entries:
        for issue in entry["known"]:
            met.setdefault(issue, set()).add(entry["path"])
    for issue in sorted(met, key=by_number):
        yield f"known: {issue}: {_plural(len(met[issue]), 'scenario')}"


def by_number(text: str) -> list[tuple[int, str]]:
    """Return what texts are sorted by so that numbers in them count as numbers: "issue 9" before "issue 12"."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", text)]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _counted(
    counts: Counter[tuple[str, tuple[str, str], str]], chapters: Sequence[str], column: tuple[str, str]
) -> str:
    parts = []
    for verdict in get_args(Verdict):
        number = sum(counts[chapter, column, verdict] for chapter in chapters)
        if number:
            parts.append(f"{number} {verdict}")
    return ", ".join(parts) or "-"


def _table(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _one_line(text: str) -> str:
    shown = show_invisible(text.encode("utf-8", "replace"))
    if len(shown) <= _LONGEST_LINE:
        return shown
    half = _LONGEST_LINE // 2
    return f"{shown[:half]} [...] {shown[-half:]}"
