"""What `harness doctor` looks at: what is installed, which engines start, and what they say of themselves."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from backends import EngineError, create
from backends.oceanbase import OceanBase
from backends.provision.images import IMAGE_VARIABLE
from backends.provision.rights import RIGHTS, lacking
from backends.provision.server import URL_VARIABLE, ServerEngine
from runtime.storage.tokenizer import UNICODE_VERSION

PACKAGES = ("sqlalchemy", "pyobvector", "pymysql", "pylibseekdb", "sqlite-vec", "pysqlite3", "pytest", "pytest-xdist")
_EMBEDDED = "pylibseekdb"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's: what was looked at, whether it is well, and what was found."""

    subject: str
    well: bool
    found: str


def examine(
    backends: Sequence[str], *, oceanbase_url: str | None, oceanbase_image: str | None = None
) -> Iterator[Finding]:
    """Yield what is found, in the order in which one would look; each engine is really started and stopped."""
    yield Finding("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Finding("unicode", True, f"{UNICODE_VERSION}, which tokens depend on")
    elsewhere = any([oceanbase_url, oceanbase_image, os.environ.get(URL_VARIABLE), os.environ.get(IMAGE_VARIABLE)])
    for package in PACKAGES:
        try:
            yield Finding(package, True, version(package))
        except PackageNotFoundError:
            is_needed = package != _EMBEDDED or not elsewhere
            yield Finding(package, not is_needed, "is not installed" + ("" if is_needed else ", and not needed here"))
    for name in backends:
        yield from _engine(name, oceanbase_url, oceanbase_image)


def _engine(name: str, oceanbase_url: str | None, oceanbase_image: str | None) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="powercontext-harness-") as directory:
        try:
            backend = create(
                name, oceanbase_url=oceanbase_url, run_directory=Path(directory), oceanbase_image=oceanbase_image
            )
            try:
                backend.start()
                yield Finding(name, True, f"starts: {backend.facts().sentence}")
                if isinstance(backend, OceanBase) and backend.engine.way == ServerEngine.way:
                    yield from _rights(backend)
            finally:
                backend.stop()
        except EngineError as error:
            yield Finding(name, False, str(error))


def _rights(backend: OceanBase) -> Iterator[Finding]:
    """Yield a line for each right that a run would miss, or one that says that all are there."""
    lacks = list(lacking(backend.engine.endpoint))
    for lack in lacks:
        yield Finding(backend.name, False, f"lacks {lack.what}, needed to {lack.purpose} ({lack.cause})")
    if not lacks:
        yield Finding(backend.name, True, f"grants what a run needs on databases named pch_...: {', '.join(RIGHTS)}")
