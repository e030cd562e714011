"""The command that says why an answer is what it is: explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError, UnknownNames
from harness.scenario.loader import Loaded, load

FAILED = 1


def explain(
    file: Annotated[Path, typer.Argument(help="a scenario file")],
    step: Annotated[int | None, typer.Option(min=1, help="the number of one step, from 1; default: all")] = None,
    backend: Annotated[
        str | None, typer.Option(help="run it on this backend too, and say where its answers differ")
    ] = None,
    oceanbase_url: Annotated[str | None, typer.Option(help="an OceanBase that somebody runs")] = None,
) -> None:
    """Print step by step the world, what recall finds by what, turns, cuts, what each item costs, and the text.

    All of it comes from the oracle, a reading of the contract that runs nothing. Exit code: 0, 1 where --backend
    answers otherwise than that, 2 misuse.
    """
    from harness.explain import explain as understood
    from harness.explain import lines_of

    loaded = load(file)
    refuse_unknown_step(loaded, step)
    told = understood(loaded, step=step, backend=backend)
    for line in lines_of(loaded, told):
        print(line)
    if backend is not None:
        raise typer.Exit(_compare(loaded, step, backend, oceanbase_url))


def refuse_unknown_step(loaded: Loaded, step: int | None) -> None:
    """Raise UnknownNames for the number of a step that is not there."""
    count = len(loaded.scenario.steps)
    if step is not None and step > count:
        raise UnknownNames("step", [str(step)], [f"1 to {count}"])


def _compare(loaded: Loaded, step: int | None, backend: str, oceanbase_url: str | None) -> int:
    from harness.cli_explore import known_backends
    from harness.explain.compared import differences
    from harness.explore.engines import open_session
    from harness.run.result import FAULTS

    known_backends([backend])
    with open_session([backend], oceanbase_url=oceanbase_url) as session:
        outcome = session.outcome(loaded, backend)
    if outcome.verdict in FAULTS or outcome.verdict == "not run":
        raise HarnessError("not_run", f"{loaded.path} did not run on {backend}", cause=outcome.reason)
    found = differences(loaded, outcome, step=step)
    print()
    for line in found:
        print(line)
    if not found:
        print(f"{backend} answers as explained")
    return FAILED if found else 0
