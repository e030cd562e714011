"""The search index as it is written: postings, and vectors where an embedder is configured (SPEC.md 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, tuple_

from runtime.artifacts import Family
from runtime.storage import tables
from runtime.storage.tokenizer import tokens_of_all
from runtime.storage.vectors import vectors

MOST_DELETED = 20_000
"""How many rows one statement deletes at most, where the engine can bound it."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What can be recalled: its identity, the searched texts, and its vector where it has one."""

    artifact_id: str
    entry_id: str
    texts: Sequence[str]
    vector: Sequence[float] | None = None


class SearchIndex:
    """The index of what is recalled now, kept in the transaction of the write."""

    def __init__(self, connection: Connection, *, dimension: int | None = None) -> None:
        self._connection = connection
        self._vectors = None if dimension is None else vectors(dimension)

    def replace(self, scope_id: str, family: Family, items: Sequence[Indexed], *, known: bool) -> None:
        """Put items into the index in place of what stood there; `known` says that something may have stood there."""
        if known:
            self.remove(scope_id, family, [(item.artifact_id, item.entry_id) for item in items])
        postings: list[dict[str, object]] = []
        embeddings: list[dict[str, object]] = []
        for item in items:
            key = {
                "scope_id": scope_id,
                "family": family,
                "artifact_id": item.artifact_id,
                "entry_id": item.entry_id,
            }
            found = sorted(tokens_of_all(item.texts))
            postings += [key | {"token": token, "distinct_tokens": len(found)} for token in found]
            if item.vector is not None:
                embeddings.append(key | {"embedding": item.vector})
        if postings:
            self._connection.execute(insert(tables.postings), postings)
        if embeddings and self._vectors is not None:
            self._connection.execute(insert(self._vectors), embeddings)

    def remove(self, scope_id: str, family: Family, keys: Iterable[tuple[str, str]]) -> None:
        """Take items out of the index, by artifact id and entry id."""
        listed = list(keys)
        # In pieces, since a statement takes a bounded number of values.
        for start in range(0, len(listed), 1000):
            for table in [tables.postings] if self._vectors is None else [tables.postings, self._vectors]:
                delete_all(self._connection, table, *_these(table, scope_id, family, listed[start : start + 1000]))

    def clear_vectors(self) -> None:
        """Empty the table of vectors, where there is one."""
        if self._vectors is not None:
            delete_all(self._connection, self._vectors)


def delete_all(connection: Connection, table: Table, *these: ColumnElement[bool]) -> None:
    """Delete rows, on OceanBase so many at a time that no statement outlasts its time-out."""
    some = delete(table).where(*these).with_dialect_options(mysql_limit=MOST_DELETED)
    while connection.execute(some).rowcount >= MOST_DELETED:
        pass


def _these(
    table: Table, scope_id: str, family: Family, keys: Sequence[tuple[str, str]]
) -> Sequence[ColumnElement[bool]]:
    return (
        table.c.scope_id == scope_id,
        table.c.family == family,
        tuple_(table.c.artifact_id, table.c.entry_id).in_(keys),
    )
