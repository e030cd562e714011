"""What tests of the schema share: statements upon a database, and how it is refused."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from runtime.errors import SchemaRefused
from runtime.storage import Storage


def execute(storage: Storage, *statements: str) -> None:
    with storage.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def refusal(storage: Storage) -> SchemaRefused:
    with pytest.raises(SchemaRefused) as caught:
        storage.prepare()
    assert str(caught.value) == f"{caught.value.code}: {caught.value.sentence} {caught.value.hint}"
    return caught.value
