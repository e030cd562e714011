"""The command that tells what is known of released products: findings."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from backends import BACKENDS
from harness.errors import HarnessError, UnknownNames
from harness.run.ledger_file import check_steps, load_ledger
from harness.scenario.loader import load
from harness.target import TARGETS
from harness.target.systems import known_targets, unknown_targets


def findings(
    target: Annotated[str | None, typer.Option(help="of this target alone: powercontext, powercontext==1.4.1")] = None,
    output: Annotated[Path | None, typer.Option(help="a file to write, instead of printing")] = None,
    ledger: Annotated[Path, typer.Option(help="the ledger")] = Path("scenarios/ledger.yaml"),
) -> None:
    """Print the ledger as a report to file: what differs, which sentence it breaks, and how to see it by curl."""
    from harness.report.findings import findings as report

    if target is not None and unknown_targets([target]):
        raise UnknownNames("target", [target], known_targets())
    if not ledger.is_file():
        raise HarnessError("no_such_file", f"{ledger} does not exist", hint="name one by --ledger")
    known = load_ledger(ledger, today=date.today(), targets=TARGETS, backends=BACKENDS)
    for path in dict.fromkeys(map(known.scenario_path, known.entries)):
        check_steps(known, load(path))
    text = report(known, target=target)
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HarnessError("unwritable", f"{output} cannot be written", cause=error.strerror) from None
    print(output)
