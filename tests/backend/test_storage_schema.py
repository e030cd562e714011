"""The schema: made once, known again, and refused by name where it is another's."""

from __future__ import annotations

import pytest
from schemas import execute, refusal
from sqlalchemy import text
from worlds import make_scopes, memory_at, write, write_memory

from backends.seeding import digest
from runtime.errors import StorageUnreachable
from runtime.storage import Storage, open_storage


def test_the_second_preparation_changes_nothing(fresh: Storage, fresh_database: str) -> None:
    fresh.prepare()
    make_scopes(fresh, "demo")
    write_memory(fresh, "demo", write("e"))
    before = digest(fresh)
    fresh.prepare()
    again = open_storage(fresh_database, dimension=2)
    again.prepare()
    again.prepare()
    assert digest(again) == before
    assert memory_at(again, "demo", 1) is not None
    again.close()
    fresh.prepare()


def test_a_database_with_other_tables_is_refused_by_their_name(fresh: Storage) -> None:
    execute(fresh, "CREATE TABLE customers (a INT)")
    assert "customers" in refusal(fresh).sentence


def test_a_table_of_ours_without_the_facts_is_refused(fresh: Storage) -> None:
    execute(fresh, "CREATE TABLE scopes (scope_id INT)")
    assert "scopes" in refusal(fresh).sentence


@pytest.mark.parametrize(
    ("name", "value"), [("version", "0"), ("version", "2"), ("unicode", "3.2.0"), ("product", "something else")]
)
def test_a_changed_schema_is_refused_by_what_differs(storage: Storage, name: str, value: str) -> None:
    with storage.engine.connect() as connection:
        sql = text("SELECT value FROM powercontext_schema WHERE name = :name")
        kept = connection.execute(sql, {"name": name.encode() if storage.engine.dialect.name == "mysql" else name})
        kept_value = kept.scalar_one()
    kept_text = kept_value.decode() if isinstance(kept_value, bytes) else str(kept_value)
    execute(storage, f"UPDATE powercontext_schema SET value = '{value}' WHERE name = '{name}'")
    try:
        sentence = refusal(storage).sentence
        assert name in sentence
        assert value in sentence
        assert kept_text in sentence
    finally:
        execute(storage, f"UPDATE powercontext_schema SET value = '{kept_text}' WHERE name = '{name}'")
    storage.prepare()


def test_a_half_made_schema_and_one_without_a_table_or_column_are_refused(fresh: Storage, engine_name: str) -> None:
    fresh.prepare()
    execute(fresh, "CREATE TABLE kept AS SELECT * FROM powercontext_schema", "DELETE FROM powercontext_schema")
    assert "half made" in refusal(fresh).sentence
    execute(fresh, "INSERT INTO powercontext_schema SELECT * FROM kept")
    fresh.prepare()
    execute(fresh, "DROP TABLE postings")
    assert "postings" in refusal(fresh).sentence
    if engine_name == "oceanbase":
        _check_columns(fresh)


def _check_columns(fresh: Storage) -> None:
    """A collation once chosen stays in old tables."""
    folding = "VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"
    for column in (f"token {folding}", f"token {folding.replace('general_ci', 'bin')}", "tokenn VARBINARY(64)"):
        execute(
            fresh,
            f"CREATE TABLE postings (scope_id VARBINARY(1024), family VARBINARY(16), {column}, distinct_tokens INT, "
            "artifact_id VARBINARY(1024), entry_id VARBINARY(1024))",
        )
        assert "postings.token" in refusal(fresh).sentence
        execute(fresh, "DROP TABLE postings")


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
def test_a_folding_table_is_refused_before_it_hides_a_scope(fresh: Storage) -> None:
    fresh.prepare()
    execute(fresh, "SET FOREIGN_KEY_CHECKS = 0", "DROP TABLE grants")
    ids = "VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"
    execute(fresh, f"CREATE TABLE grants (principal_id {ids}, scope_id {ids})")
    assert "grants.principal_id" in refusal(fresh).sentence


def test_a_database_that_is_not_there_does_not_answer(engine_name: str, database: str) -> None:
    gone = {"sqlite": "sqlite:////nonexistent/folder/x.db", "oceanbase": "mysql+oceanbase://root@127.0.0.1:1/x"}
    storage = open_storage(gone[engine_name], timeout_seconds=1)
    with pytest.raises(StorageUnreachable):
        storage.prepare()
    with pytest.raises(StorageUnreachable), storage.reading() as reader:
        reader.ping()
    storage.close()
