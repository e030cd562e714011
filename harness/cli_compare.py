"""The command that compares: backends, targets, or two runs."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.errors import HarnessError

DIFFER = 1
MISUSE = 2


def compare(
    context: typer.Context,
    diffs: Annotated[int, typer.Option(min=0, help="of how many steps the texts are shown")] = 10,
    results: Annotated[Path | None, typer.Option(help="where to keep what the run found")] = None,
) -> None:
    """Compare two results files, or run scenarios and compare targets or backends.

    harness compare OLD.json NEW.json; harness compare --target A --target B PATHS; harness compare PATHS.
    Other options are those of run.

    Exit code: 0 nothing differs, 1 something does, 2 misuse, a missing engine, or nothing to compare.
    """
    from rich.console import Console

    from harness.report.compare_runs import compare_columns, compare_two
    from harness.report.compare_table import show
    from harness.report.results import read

    files = [Path(word) for word in context.args if word.endswith((".json", ".json.part"))]
    if files:
        if len(files) != 2 or len(context.args) != 2:
            raise HarnessError("two_files", "two results files are compared, and nothing beside them")
        # Called by what tells them apart.
        names = (str(files[0]), str(files[1]))
        comparisons = [compare_two(read(files[0]), read(files[1]), names=names)]
    else:
        comparisons = compare_columns(_run(context.args, results))
    console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _width())
    for comparison in comparisons:
        show(comparison, console, diffs=diffs)
    raise typer.Exit(DIFFER if any(comparison.differences for comparison in comparisons) else 0)


def _run(arguments: list[str], kept: Path | None) -> dict[str, Any]:
    """Run scenarios, and return what was found; how they were judged is not told, since that is another question."""
    from harness.__main__ import INTERRUPTED
    from harness.cli import FAILED, run_pytest
    from harness.report.results import read

    with tempfile.TemporaryDirectory(prefix="powercontext-compare-") as folder:
        path = kept or Path(folder) / "run.json"
        code = run_pytest(["--results", str(path.absolute()), "--tb=no", "--no-summary", *arguments])
        if code == INTERRUPTED or not path.exists():
            raise typer.Exit(code or MISUSE)
        found = read(path)
    for fault in found["runs"][0]["faults"]:
        print(f"{fault['target']} on {fault['backend']}, {fault['verdict']}: {fault['cause']}", file=sys.stderr)
    if code not in (0, FAILED):
        raise typer.Exit(code)
    return found


def _width() -> int:
    """Return how wide a table is in a file or a log of CI."""
    words = os.environ.get("COLUMNS", "")
    return int(words) if words.isdecimal() and int(words) > 40 else 160
