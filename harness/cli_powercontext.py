"""The command that installs released PowerContext servers, to be targets."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from harness.target.powercontext.releases import DEFAULT_VERSION, can_be_target, install, releases_directory


def powercontext(
    versions: Annotated[list[str] | None, typer.Argument(help=f"releases; default: {DEFAULT_VERSION}")] = None,
) -> None:
    """Install released PowerContext servers, each once and outside of this project, to be targets."""
    for version in versions or [DEFAULT_VERSION]:
        release = install(version, lambda line: print(line, file=sys.stderr))
        use = f"harness run --target powercontext=={release.version}"
        print(f"{release.version} is installed: {use if can_be_target(version) else 'too old to be a target'}")
    print(f"all releases lie in {releases_directory()}; remove what is no longer needed")
