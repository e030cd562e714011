"""Engines for a command that runs scenarios outside pytest: started at the beginning, gone at the end."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from backends import BACKENDS, Backend, EngineError, create
from harness.errors import HarnessError, UnknownNames
from harness.run.ledger import Ledger
from harness.run.session import Session
from harness.target import ReferenceTarget
from harness.target.systems import open_systems


@contextmanager
def open_session(
    backends: Sequence[str],
    *,
    oceanbase_url: str | None = None,
    target: str = ReferenceTarget.name,
    admin_token: str | None = None,
    ledger: Ledger | None = None,
) -> Iterator[Session]:
    """Yield a session on started engines; whatever ends the block, servers, engines, databases and files go with it.

    `target` is any that `harness run` takes, `admin_token` goes with one that is a URL, which has a backend of its own.
    Raises UnknownNames, and HarnessError for an engine or a server that does not start.
    """
    if unknown := [name for name in backends if name not in BACKENDS]:
        raise UnknownNames("backend", unknown, BACKENDS)
    name = uuid.uuid4().hex[:8]
    directory = Path(tempfile.gettempdir()) / f"powercontext-harness-{name}"
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        [system] = open_systems([target], run_directory=directory, admin_token=admin_token).values()
        engines: dict[str, Backend] = {}
        try:
            for backend in dict.fromkeys(backends) if system.backends is None else ():
                engines[backend] = create(backend, oceanbase_url=oceanbase_url, run_directory=directory)
                stack.callback(engines[backend].stop)
                engines[backend].start()
        except EngineError as error:
            raise HarnessError("engine_missing", f"{backend} did not start", cause=str(error)) from None
        stack.callback(system.stop)
        for backend, cause in system.start(engines).items():
            raise HarnessError("target_missing", f"{system.name} did not start on {backend}", cause=cause)
        names = system.backends or list(engines)
        session = Session(engines, names=names, target=system, database=f"pch_{name}_explore", ledger=ledger)
        stack.callback(session.close)
        yield session
