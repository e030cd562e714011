"""Column types that keep and compare bytes exactly on every engine (ENGINES.md, "What bites")."""

from __future__ import annotations

from typing import Any

from sqlalchemy import LargeBinary, Text, TypeDecorator
from sqlalchemy.dialects.mysql import MEDIUMBLOB, VARBINARY
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine


class ExactString(TypeDecorator[str]):
    """A string that equals only itself and sorts by code point.

    SQLite's TEXT does so. OceanBase's text collations fold or pad, so there it is VARBINARY of the UTF-8 bytes;
    `length` counts those.
    """

    impl = Text
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__()
        self.bytes_length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the engine's own type."""
        return dialect.type_descriptor(VARBINARY(self.bytes_length) if dialect.name == "mysql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Hand over bytes where the column holds bytes."""
        return value.encode() if value is not None and dialect.name == "mysql" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """Read the string back."""
        return bytes(value).decode() if isinstance(value, bytes | bytearray) else value


class Body(TypeDecorator[str]):
    """A body as its UTF-8 bytes, whole up to 16 MB, so that lengths and prefixes count bytes on both engines."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the engine's own type."""
        return dialect.type_descriptor(MEDIUMBLOB() if dialect.name == "mysql" else LargeBinary())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Encode the body."""
        return None if value is None else value.encode()

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """Decode a body, or a prefix of one that may end inside a code point."""
        return None if value is None else bytes(value).decode("utf-8", "ignore")
