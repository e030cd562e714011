"""What is stored, and the only way to write it.

`open_storage` connects nothing yet; `Storage.prepare` makes or checks the schema; `reading` is one snapshot, `writing`
one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from runtime.errors import StorageUnreachable, WriteRefused
from runtime.storage import oceanbase, sqlite
from runtime.storage.engines import UrlRefused, open_engine
from runtime.storage.migrate import migrate_schema
from runtime.storage.reads import Principal, Reader, ScopeAccess, StoredDocument, StoredText
from runtime.storage.schema import prepare_schema
from runtime.storage.search import Hit, Hits
from runtime.storage.writes import Writer

__all__ = [
    "Hit",
    "Hits",
    "Principal",
    "Reader",
    "ScopeAccess",
    "Storage",
    "StoredDocument",
    "StoredText",
    "UrlRefused",
    "Writer",
    "open_storage",
]


class Storage:
    """One database of the runtime's, on either engine."""

    def __init__(self, engine: Engine, *, dimension: int | None = None) -> None:
        self.engine = engine
        self._dimension = dimension

    def prepare(self) -> None:
        """Make the schema, or check the one that is there; raises SchemaRefused, StorageUnreachable."""
        with _told_apart():
            prepare_schema(self.engine, dimension=self._dimension)

    def migrate(self) -> str:
        """Bring an older schema to this version, and return what was done; raises SchemaRefused, StorageUnreachable."""
        with _told_apart():
            return migrate_schema(self.engine)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open one snapshot: all that is read is of one moment. Raises StorageUnreachable."""
        with _told_apart():
            connection = self.engine.connect()
            reader = Reader(connection)
            try:
                yield reader
            finally:
                if reader.busy is None:
                    connection.close()
                else:
                    # Somebody who was given up still reads; the connection is his until he is done.
                    reader.busy.add_done_callback(lambda _: connection.close())

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open one transaction, committed at the end; raises WriteRefused, StorageUnreachable."""
        with _told_apart(), self.engine.connect() as connection:
            connection = connection.execution_options(**{sqlite.IMMEDIATE: True})
            with connection.begin():
                yield Writer(connection, dimension=self._dimension)
            if not sqlite.is_in_place(connection):
                raise StorageUnreachable("the database file was moved or removed")

    def close(self) -> None:
        """Close the connections that are not in use."""
        self.engine.dispose()


def open_storage(url: str, *, dimension: int | None = None, timeout_seconds: float = 30.0) -> Storage:
    """Make a storage without connecting; `dimension` is that of the vectors, where an embedder is configured.

    Raises UrlRefused.
    """
    return Storage(open_engine(url, timeout_seconds=timeout_seconds), dimension=dimension)


@contextmanager
def _told_apart() -> Iterator[None]:
    """Turn the drivers' errors into ours: a conflict is one on both engines, everything else is a lost database."""
    try:
        yield
    except DBAPIError as error:
        if oceanbase.is_conflict(error) or sqlite.is_conflict(error):
            raise WriteRefused("revision_conflict", "Another writer was faster.") from error
        # A DatabaseError of no closer kind is a database that is damaged.
        lost = isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError
        if lost or error.connection_invalidated or oceanbase.is_gone(error):
            raise StorageUnreachable(type(error).__name__) from error
        raise
    except PoolTimeout as error:
        raise StorageUnreachable(type(error).__name__) from error
