"""The command that makes an HTML page of results files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.report.results import DEFAULT, join, read, text_of, write


def report(
    results: Annotated[list[Path] | None, typer.Argument(help="results files; default: results/run.json")] = None,
    output: Annotated[Path, typer.Option(help="the page")] = Path("results/report.html"),
    joined: Annotated[Path | None, typer.Option(help="write the files as one results file, too")] = None,
) -> None:
    """Make one HTML page of what runs found; several files, shards for instance, are joined.

    The page needs no network and no other file. Of a case in several files the last one counts.
    """
    from harness.report.html_page import page

    found = join([read(path) for path in results or [DEFAULT]])
    write(output, page(found))
    print(output)
    if joined is not None:
        write(joined, text_of(found))
        print(joined)
