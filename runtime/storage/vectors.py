"""The vector channel's table, one for each dimension: VECTOR on OceanBase, float32 blobs for sqlite-vec on SQLite."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Dialect, Float, LargeBinary, MetaData, Table, TypeDecorator, func, literal
from sqlalchemy.types import TypeEngine, UserDefinedType

from runtime.artifacts import MAX_ID_CHARACTERS
from runtime.storage.types import ExactString


class Vector(TypeDecorator[Sequence[float]]):
    """A vector of float32, exact for small integers; written and compared, never read back."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the engine's own type."""
        if dialect.name != "mysql":
            return dialect.type_descriptor(LargeBinary())
        from pyobvector.schema.vector import VECTOR

        vector: UserDefinedType[Any] = VECTOR(self.dimension)
        return dialect.type_descriptor(vector)

    def process_bind_param(self, value: Sequence[float] | None, dialect: Dialect) -> Any:
        """Encode the vector as the engine takes it."""
        if value is None:
            return None
        if dialect.name == "mysql":
            return list(value)
        return struct.pack(f"<{len(value)}f", *value)


@lru_cache
def vectors(dimension: int) -> Table:
    """Return the table of the vectors of this dimension."""
    exact = ExactString(4 * MAX_ID_CHARACTERS)
    return Table(
        f"vectors_{dimension}",
        MetaData(),
        Column("scope_id", exact, primary_key=True),
        Column("family", ExactString(16), primary_key=True),
        Column("artifact_id", exact, primary_key=True),
        Column("entry_id", exact, primary_key=True),
        Column("embedding", Vector(dimension), nullable=False),
    )


def distance(table: Table, vector: Sequence[float], dialect: Dialect) -> ColumnElement[float]:
    """Return the Euclidean distance from a vector, whose order is that of its square."""
    if dialect.name == "mysql":
        text = json.dumps([float(number) for number in vector])
        return func.l2_distance(table.c.embedding, text, type_=Float)
    return func.vec_distance_L2(table.c.embedding, literal(vector, table.c.embedding.type), type_=Float)
