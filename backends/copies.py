"""Copies of databases, as they are: of a file, and beside the original on a server."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import pymysql

from backends.errors import EngineError, QueryFailed
from backends.provision.databases import Endpoint, drop_database, make_database
from runtime.storage.sqlite import driver


def copy_file(file: Path, to: Path) -> None:
    """Copy an SQLite file that may be open. Raises QueryFailed."""
    # By the library that the process has it open with: another one's close would end its locks.
    module = driver()
    try:
        with (
            closing(module.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(module.connect(str(to))) as copy,
        ):
            source.backup(copy)
    except module.Error as error:
        to.unlink(missing_ok=True)
        raise QueryFailed(str(file), str(error)) from None


def copy_database(endpoint: Endpoint, source: str, name: str, run: str) -> None:
    """Copy a database's tables to a new one, registered to a run. Raises EngineError, and leaves nothing then."""
    try:
        make_database(endpoint, name, run)
        with endpoint.cursor() as cursor:
            cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (source,))
            for table in sorted(str(row[0]) for row in cursor.fetchall()):
                _copy_table(cursor, f"`{source}`.`{table}`", f"`{name}`.`{table}`")
    except EngineError:
        with suppress(EngineError):
            drop_database(endpoint, name, run)
        raise


def _copy_table(cursor: pymysql.cursors.Cursor, source: str, to: str) -> None:
    try:
        cursor.execute(f"CREATE TABLE {to} LIKE {source}")
    except pymysql.MySQLError:
        # Not every index can be made anew so; its rows can be read without.
        cursor.execute(f"CREATE TABLE {to} AS SELECT * FROM {source}")
        return
    cursor.execute(f"INSERT INTO {to} SELECT * FROM {source}")
