"""The commands around the speed of the loop: engine up, down, status; watch."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from backends.errors import EngineError
from backends.provision import warm
from backends.provision.databases import Endpoint, session_facts
from harness.cli_explore import Backends, OceanBaseUrl, known_backends
from harness.errors import HarnessError
from harness.scenario.files import scenario_files

FAILED = 1

engine = typer.Typer(
    name="engine",
    no_args_is_help=True,
    help="Keep an OceanBase engine between runs, so that one scenario on both engines takes a second or two.",
)


@engine.command()
def up() -> None:
    """Start an engine that stays, for all runs until `harness engine down`; one that is up stays as it is.

    It is an embedded engine with a state directory of its own; 1 GB of memory, 2.2 GB of disk.
    """
    try:
        kept, is_new = warm.up()
    except EngineError as error:
        raise HarnessError("engine_missing", "no engine is kept", cause=str(error)) from None
    print(f"{'started' if is_new else 'up already'}: {_told(kept)}")
    print("`harness run` uses it until `harness engine down`")


@engine.command()
def down() -> None:
    """End the engine that is kept, with all databases in it."""
    kept = warm.down()
    print("no engine is kept" if kept is None else f"ended: process {kept.pid}")


@engine.command()
def status() -> None:
    """Say whether an engine is kept and answers. Exit code: 0 it does, 1 there is none, 2 it does not answer."""
    kept = warm.find()
    if kept is None:
        print(f"no engine is kept in {warm.directory()}")
        raise typer.Exit(FAILED)
    print(_told(kept))
    info = kept.info
    there = Endpoint(user="root", password=info["password"], socket=info["socket"], port=int(info["port"]))
    try:
        print(session_facts(there)["version"])
    except EngineError as error:
        raise HarnessError(
            "engine_silent", "the engine that is kept does not answer", cause=str(error), hint="harness engine down"
        ) from None


def _told(kept: warm.Kept) -> str:
    since = datetime.fromtimestamp(Path(f"/proc/{kept.pid}").stat().st_ctime).astimezone()
    pages = int(Path(f"/proc/{kept.pid}/statm").read_text("ascii").split()[1])
    memory = pages * os.sysconf("SC_PAGE_SIZE") // 2**20
    return f"process {kept.pid} in {kept.home.directory}, since {since:%Y-%m-%d %H:%M:%S}, {memory} MB of memory"


def watch(
    paths: Annotated[list[Path] | None, typer.Argument(help="files or folders; default: scenarios")] = None,
    backend: Backends = None,
    oceanbase_url: OceanBaseUrl = None,
) -> None:
    """Run scenario files again whenever they change, on engines that stay; Ctrl-C ends it.

    Up to 12 files are run at the start too. When one of the harness's or the runtime's own sources changes, all begins
    anew with it.
    """
    from harness.explore.engines import open_session
    from harness.watching import RUN_AT_START, Watch, rerun, rounds

    names = known_backends(backend)
    watched = Watch(paths)
    # Told at once what is no file; later one may be away for a moment.
    files = list(scenario_files(paths))
    try:
        with open_session(names, oceanbase_url=oceanbase_url) as session:
            print(f"watching {len(files)} files on {', '.join(names)}, Ctrl-C ends it", flush=True)
            report = partial(print, flush=True)
            if len(files) <= RUN_AT_START:
                rerun(session, files, names, report)
            for changed in rounds(watched):
                rerun(session, changed, names, report)
    except KeyboardInterrupt:
        print("ended", flush=True)
        return
    print("a source of ours changed: from the beginning", flush=True)
    os.execv(sys.executable, [sys.executable, *sys.argv])
