"""An example of a backend: SQLite on files in memory, `--backend memory`.

Switched on by `-p memory_backend`, or by a conftest.py that imports it (docs/extending.md).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar, Self

from sqlalchemy.engine import URL

from backends import BACKENDS, Facts
from backends.base import Info, checked_name
from backends.errors import NotStarted
from runtime.storage.sqlite import driver

MEMORY = Path("/dev/shm")


class InMemory:
    """SQLite whose files lie in a file system in memory: quick, and gone with the machine."""

    NAME: ClassVar[str] = "memory"

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        """Where the files lie; None before the start."""
        self._owner: int | None = None
        """The process that started it, None in one that is attached."""

    @classmethod
    def create(
        cls, *, oceanbase_url: str | None, run_directory: Path, oceanbase_image: str | None = None, reuse: bool = False
    ) -> Self:
        """Make a backend without starting it; the options are those of all backends."""
        del oceanbase_url, run_directory, oceanbase_image, reuse
        return cls(None)

    @classmethod
    def attach(cls, info: Info) -> Self:
        """Reach what another process of the run started."""
        return cls(Path(info["directory"]))

    @property
    def name(self) -> str:
        """The name by which users ask for it."""
        return self.NAME

    def start(self) -> None:
        """Have it ready for queries; again is nothing."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="powercontext-", dir=MEMORY))
            self._owner = os.getpid()

    def check(self) -> None:
        """Say by an EngineError that it does not answer any more."""
        if self._directory is None or not self._directory.is_dir():
            raise NotStarted(self.NAME)

    def database_url(self, name: str) -> str:
        """Make an empty database, and return its SQLAlchemy URL."""
        self.drop(name)
        return URL.create("sqlite", database=str(self._file(name))).render_as_string()

    def drop(self, name: str) -> None:
        """Delete a database with its journals; one that does not exist is no error."""
        file = self._file(name)
        for part in (file, *file.parent.glob(f"{file.name}-*")):
            part.unlink(missing_ok=True)

    def facts(self) -> Facts:
        """Say what the engine is; a line of the summary."""
        return Facts(
            name=self.NAME,
            version=driver().sqlite_version,
            isolation="SERIALIZABLE",
            collation="BINARY",
            padding="exact",
            time_zone="none",
            way="files in memory",
            detail=str(MEMORY),
        )

    def stop(self) -> None:
        """Delete everything, in the process that started it; again is nothing."""
        if self._directory is not None and self._owner == os.getpid():
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def connection_info(self) -> Info:
        """Describe the started engine, for `attach` in another process."""
        self.check()
        return {"backend": self.NAME, "directory": str(self._directory)}

    def _file(self, name: str) -> Path:
        self.check()
        assert self._directory is not None
        return self._directory / f"{checked_name(name)}.db"


BACKENDS[InMemory.NAME] = InMemory
