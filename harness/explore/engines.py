"""Engines for a command that runs scenarios outside pytest: started at the beginning, gone at the end."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from backends import BACKENDS, EngineError, create
from harness.errors import HarnessError, UnknownNames
from harness.run.session import Session
from harness.target import TARGETS, ReferenceTarget


@contextmanager
def open_session(
    backends: Sequence[str], *, oceanbase_url: str | None = None, target: str = ReferenceTarget.name
) -> Iterator[Session]:
    """Yield a session on started engines; whatever ends the block, engines, databases and files go with it.

    Raises UnknownNames, and HarnessError for an engine that does not start.
    """
    for kind, names, known in (("backend", backends, BACKENDS), ("target", [target], TARGETS)):
        if unknown := [name for name in names if name not in known]:
            raise UnknownNames(kind, unknown, known)
    name = uuid.uuid4().hex[:8]
    directory = Path(tempfile.gettempdir()) / f"powercontext-harness-{name}"
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        engines = {}
        try:
            for backend in dict.fromkeys(backends):
                engines[backend] = create(backend, oceanbase_url=oceanbase_url, run_directory=directory)
                stack.callback(engines[backend].stop)
                engines[backend].start()
        except EngineError as error:
            raise HarnessError("engine_missing", f"{backend} did not start", cause=str(error)) from None
        session = Session(engines, names=list(engines), target=target, database=f"pch_{name}_explore")
        stack.callback(session.close)
        yield session
