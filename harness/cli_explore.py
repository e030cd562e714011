"""The commands that look for faults nobody wrote down: explore, shrink."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backends import BACKENDS
from harness.changing_line import ChangingLine
from harness.errors import HarnessError, UnknownNames

FAILED = 1

Backends = Annotated[list[str] | None, typer.Option("--backend", help="a backend, repeatable; default: all")]
OceanBaseUrl = Annotated[str | None, typer.Option(help="an OceanBase that somebody runs")]


def explore(
    count: Annotated[int, typer.Option(min=1, help="how many worlds")] = 100,
    seed: Annotated[int, typer.Option(help="the seed that they are drawn by")] = 1,
    backend: Backends = None,
    oceanbase_url: OceanBaseUrl = None,
    out: Annotated[Path, typer.Option(help="where a failing world is saved")] = Path("scenarios/found"),
) -> None:
    """Run generated worlds on every backend; the first that fails is shrunk and saved as a scenario.

    Exit code: 0 all passed, 1 one failed, 2 misuse or a missing engine.
    """
    from harness.explore.explore import explore as search

    found = search(count, seed, known_backends(backend), out_dir=out, report=print, oceanbase_url=oceanbase_url)
    raise typer.Exit(0 if found.finding is None else FAILED)


def shrink(
    file: Annotated[Path, typer.Argument(help="a scenario that fails")],
    backend: Backends = None,
    target: Annotated[str, typer.Option(help="on which it fails, as `harness run` takes it")] = "runtime",
    oceanbase_url: OceanBaseUrl = None,
    admin_token: Annotated[
        str | None, typer.Option(help="of a target that is a URL", envvar="POWERCONTEXT_HARNESS_ADMIN_TOKEN")
    ] = None,
) -> None:
    """Write a smaller scenario beside one that fails, with the same verdict."""
    from harness.explore.shrink import shrink as make_smaller

    if not file.is_file():
        raise HarnessError("no_such_file", f"{file} does not exist")
    with ChangingLine() as line:
        make_smaller(
            file,
            known_backends(backend),
            target=target,
            report=line.print,
            progress=line.show,
            oceanbase_url=oceanbase_url,
            admin_token=admin_token,
        )


def known_backends(names: list[str] | None) -> list[str]:
    """Return the backends that were asked for, or all; raises UnknownNames."""
    asked = list(dict.fromkeys(names or BACKENDS))
    unknown = [name for name in asked if name not in BACKENDS]
    if unknown:
        raise UnknownNames("backend", unknown, BACKENDS)
    return asked
