"""SQLite: no engine to start, one file for each database."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Self

from sqlalchemy.engine import URL

from backends.base import Facts, Info, checked_name
from backends.errors import DiskFull, NotStarted, QueryFailed, StateDirectoryUnusable
from runtime.storage.sqlite import driver

_CHECK_SECONDS = 1.0


class SQLite:
    """SQLite on files below a directory of this run's own."""

    NAME: ClassVar[str] = "sqlite"

    def __init__(self, directory: Path, *, owner: bool) -> None:
        self._directory = directory
        self._owner = owner
        self._pid = os.getpid()
        self._started = not owner
        self._files: dict[str, Path] = {}

    @classmethod
    def create(
        cls,
        *,
        oceanbase_url: str | None,  # noqa: ARG003 (the other backend needs it)
        run_directory: Path,
        oceanbase_image: str | None = None,  # noqa: ARG003 (likewise)
        reuse: bool = False,  # noqa: ARG003 (likewise)
    ) -> Self:
        """Make a backend whose files lie in a new directory below `run_directory`."""
        return cls(run_directory.absolute() / f"sqlite-{secrets.token_hex(4)}", owner=True)

    @classmethod
    def attach(cls, info: Info) -> Self:
        """Use the directory that another process made."""
        return cls(Path(info["directory"]), owner=False)

    @property
    def name(self) -> str:
        """The name by which users ask for it."""
        return self.NAME

    def start(self) -> None:
        """Make the directory. Raises StateDirectoryUnusable."""
        if self._started:
            return
        try:
            self._directory.mkdir(parents=True)
        except OSError as error:
            raise StateDirectoryUnusable(str(self._directory), "the run directory", error.strerror or "") from None
        self._started = True

    def check(self) -> None:
        """Raise NotStarted when the directory is gone, QueryFailed for a file of ours that is gone, locked or damaged.

        DiskFull where nothing can be written.
        """
        self._need_directory()
        for file in self._files.values():
            _check_file(file)
        if self._files and shutil.disk_usage(self._directory).free == 0:
            raise DiskFull(str(self._directory), "TMPDIR", 0, 1)

    def database_url(self, name: str) -> str:
        """Return the URL of a new, empty file: an old `-wal` beside a reused path would corrupt it."""
        self._need_directory()
        self.drop(name)
        file = self._directory / f"{checked_name(name)}-{secrets.token_hex(4)}.db"
        # So that a file which is not there is one that is gone.
        file.touch()
        self._files[name] = file
        return URL.create("sqlite", database=str(file)).render_as_string()

    def drop(self, name: str) -> None:
        """Delete the file of a database that this object made, with its journals."""
        file = self._files.pop(checked_name(name), None)
        if file is not None:
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)

    def facts(self) -> Facts:
        """Ask the library that runtime opens files with."""
        module = driver()
        connection = module.connect(":memory:")
        try:
            (padded,) = connection.execute("SELECT 'abc' = 'abc '").fetchone()
        finally:
            connection.close()
        return Facts(
            name=self.NAME,
            version=module.sqlite_version,
            isolation="SERIALIZABLE",
            collation="BINARY",
            padding="padded" if padded else "exact",
            time_zone="none",
            way="file",
            detail=f"Python module {module.__name__}",
        )

    def stop(self) -> None:
        """Delete what this object made, or all workers' files in the process that started it; nothing in a fork."""
        if os.getpid() != self._pid:
            return
        for name in tuple(self._files):
            self.drop(name)
        if self._owner:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._started = False

    def connection_info(self) -> Info:
        """Name the directory."""
        self._need_directory()
        return {"backend": self.NAME, "directory": str(self._directory)}

    def _need_directory(self) -> None:
        if not self._started or not self._directory.is_dir():
            raise NotStarted(self.NAME)


def _check_file(file: Path) -> None:
    """Read a file as a whole, without making one; raises QueryFailed."""
    module = driver()
    try:
        with closing(module.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=_CHECK_SECONDS)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except module.Error as error:
        found = str(error)
    if found != "ok":
        raise QueryFailed(str(file), found)
