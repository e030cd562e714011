"""The table of the kill score for a person, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.explore.mutants.model import BOTH
from harness.explore.mutants.verdict import Result

RESULTS = Path("results/mutants.json")


def line(result: Result) -> str:
    """Return a mutant's line of the table: what it is, and what caught it where and how."""
    name = f"{result.mutant.room}: {result.mutant.name}"
    catch = result.catch
    if catch is None:
        return f"{name:<66} {result.state}: {result.reason}"
    where = "+".join(catch.red) or "comparison"
    more = f" (of {result.caught_by})" if result.caught_by > 1 else ""
    stray = "" if result.by_killer else ", by none of its killers"
    return f"{name:<66} {where:<16} {catch.scenario}{more}: {catch.kind} in {catch.region}{stray}"


def score_lines(results: Sequence[Result], *, seconds: float) -> Iterator[str]:
    """Yield the score, how many are faults of one engine alone, and which mutants are a failure."""
    caught = [result for result in results if result.state == "caught"]
    alone = [result for result in results if result.mutant.backends != BOTH]
    share = 100 * len(caught) // len(results) if results else 0
    yield f"{len(caught)} of {len(results)} wrong implementations caught ({share} %), in {seconds:.0f} s"
    yield f"{len(alone)} of them are faults of one engine's storage only"
    for result in results:
        if result.state != "caught":
            yield f"{result.state}: {result.mutant.room}: {result.mutant.name}: {result.reason}"
    stray = [result.mutant.name for result in results if result.state == "caught" and not result.by_killer]
    if stray:
        yield f"caught, but by none of their killers: {', '.join(stray)}"


def write(results: Sequence[Result], path: Path = RESULTS) -> None:
    """Write what was found as JSON."""
    caught = sum(result.state == "caught" for result in results)
    value = {"mutants": len(results), "caught": caught, "results": [result.serializable() for result in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
