"""The command: `python -m harness.explore.mutants`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Annotated

import typer

from backends import EngineError
from harness.errors import HarnessError, did_you_mean
from harness.explore.mutants import report
from harness.explore.mutants.catalogue import MUTANTS
from harness.explore.mutants.model import Mutant
from harness.explore.mutants.run import Children, check_unchanged, judge_all, started_engines

FAILED = 1
MISUSE = 2

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def score(
    only: Annotated[list[str] | None, typer.Option(help="a mutant by its name, repeatable; default: all")] = None,
    everything: Annotated[bool, typer.Option("--all", help="run the whole corpus and count who catches it")] = False,
    oceanbase_url: Annotated[str | None, typer.Option(help="an OceanBase that somebody runs")] = None,
) -> None:
    """Prove on deliberately wrong implementations of the runtime that the scenarios find faults.

    Exit code: 0 all caught, 1 one is uncaught or not applicable, 2 misuse, a missing engine or a red runtime.
    """
    chosen = _chosen(only)
    started = time.perf_counter()
    with ExitStack() as stack:
        engines = stack.enter_context(started_engines(oceanbase_url=oceanbase_url))
        children = stack.enter_context(closing(Children(engines)))
        killers = check_unchanged(children, chosen)
        print(f"{killers} killers are green on the unchanged runtime", flush=True)
        results = judge_all(
            chosen, children, everything=everything, tell=lambda result: print(report.line(result), flush=True)
        )
    for told in report.score_lines(results, seconds=time.perf_counter() - started):
        print(told)
    if not only:
        report.write(results)
    raise typer.Exit(FAILED if any(result.state != "caught" for result in results) else 0)


def _chosen(only: Sequence[str] | None) -> Sequence[Mutant]:
    names = [wrong.name for wrong in MUTANTS]
    unknown = [name for name in only or () if name not in names]
    if unknown:
        raise HarnessError("unknown_mutant", f'unknown mutant "{unknown[0]}"', hint=did_you_mean(unknown[0], names))
    return [wrong for wrong in MUTANTS if not only or wrong.name in only]


if __name__ == "__main__":
    try:
        app()
    except (HarnessError, EngineError) as error:
        print(error, file=sys.stderr)
        sys.exit(MISUSE)
