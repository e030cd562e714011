"""What `harness doctor` looks at: what is installed, which engines start, and what they say of themselves."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from backends import EngineError, create
from runtime.storage.tokenizer import UNICODE_VERSION

PACKAGES = ("sqlalchemy", "pyobvector", "pymysql", "pylibseekdb", "sqlite-vec", "pysqlite3", "pytest", "pytest-xdist")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's: what was looked at, whether it is well, and what was found."""

    subject: str
    well: bool
    found: str


def examine(backends: Sequence[str], *, oceanbase_url: str | None) -> Iterator[Finding]:
    """Yield what is found, in the order in which one would look; each engine is really started and stopped."""
    yield Finding("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Finding("unicode", True, f"{UNICODE_VERSION}, which tokens depend on")
    for package in PACKAGES:
        try:
            yield Finding(package, True, version(package))
        except PackageNotFoundError:
            yield Finding(package, False, "is not installed")
    for name in backends:
        yield _engine(name, oceanbase_url)


def _engine(name: str, oceanbase_url: str | None) -> Finding:
    with tempfile.TemporaryDirectory(prefix="powercontext-harness-") as directory:
        try:
            backend = create(name, oceanbase_url=oceanbase_url, run_directory=Path(directory))
            try:
                backend.start()
                facts = backend.facts()
            finally:
                backend.stop()
        except EngineError as error:
            return Finding(name, False, str(error))
    told = f"starts ({facts.way}): {facts.version}; default isolation {facts.isolation}, collation {facts.collation}"
    return Finding(
        name, True, f"{told}, binary identities compare {facts.padding}, default time zone {facts.time_zone}"
    )
