"""Databases as a start finds them: refused by name, or brought to this version by one command."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from schemas import execute, refusal
from sqlalchemy import event
from worlds import found, make_scopes, memory_at, write, write_document, write_memory

from backends.seeding import digest
from runtime.artifacts import EntryRetire, Experience, Profile, Topic
from runtime.errors import SchemaRefused
from runtime.storage import Storage, open_storage
from runtime.storage.tables import metadata, postings

FOLDING = {"sqlite": "TEXT COLLATE NOCASE", "oceanbase": "VARCHAR(256) CHARACTER SET utf8mb4"}
RELEASED = (
    "CREATE TABLE pc_scopes (scope_id VARCHAR(128) PRIMARY KEY, title VARCHAR(256) NOT NULL, version INTEGER NOT NULL)",
    "CREATE TABLE pc_artifacts (scope_id VARCHAR(128), family VARCHAR(64), artifact_id VARCHAR(128), revision INTEGER)",
    "CREATE TABLE pc_access_audit (event_id VARCHAR(64) PRIMARY KEY)",
)
"""Of the tables of a released PowerContext, as 1.4.1 names them."""


def fill(storage: Storage) -> None:
    make_scopes(storage, "demo", "Demo")
    write_memory(storage, "demo", write("a", "contract tests"), write("b", "contract"))
    write_memory(storage, "demo", EntryRetire("b"))
    write_memory(storage, "Demo", write("a", "contract elsewhere"))
    write_document(storage, "demo", "e", Experience("old contract", "", "", ""))
    write_document(storage, "demo", "e", Experience("s", "contract", "o", "l"))
    write_document(storage, "demo", "t", Topic("title", "contract", "detail"))
    write_document(storage, "demo", "profile", Profile("contract"))


def hits(storage: Storage) -> list[dict[str, list[str]]]:
    return [
        found(storage, ["demo", "Demo"], ["contract"]),
        found(storage, ["demo"], ["contract"], "experience"),
        found(storage, ["demo"], ["contract"], "topic-memory"),
        found(storage, ["demo"], ["old"], "experience"),
    ]


def command(url: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POWERCONTEXT_SERVER_")}
    return subprocess.run(
        [sys.executable, "-m", "runtime", "migrate", "--database-url", url],
        env=kept,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_older_schema_is_refused_and_then_migrated_by_one_command(fresh: Storage, fresh_database: str) -> None:
    fresh.prepare()
    fill(fresh)
    before, expected = digest(fresh), hits(fresh)
    assert expected[0] == {"demo": ["a"], "Demo": ["a"]}
    # Version 0: it does not say its version, and its search index has the tokens of an older Unicode.
    execute(
        fresh,
        "DELETE FROM powercontext_schema WHERE name = 'version'",
        "UPDATE powercontext_schema SET value = '14.0.0' WHERE name = 'unicode'",
        "DELETE FROM postings",
        "INSERT INTO postings SELECT scope_id, 'memory', 'contract', 1, 'memory', 'ghost' FROM scopes",
    )
    refused = refusal(fresh)
    assert (refused.code, "migrate" in refused.hint) == ("schema_outdated", True)
    ended = command(fresh_database)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "was of version 0, Unicode 14.0.0; it is of version 1" in ended.stdout
    assert "4 items" in ended.stdout
    fresh.prepare()
    assert (digest(fresh), hits(fresh)) == (before, expected)
    assert memory_at(fresh, "demo", 1) is not None
    write_memory(fresh, "demo", write("c", "contract"))
    assert found(fresh, ["demo"], ["contract"]) == {"demo": ["c", "a"]}
    again = command(fresh_database)
    assert (again.returncode, "nothing was changed" in again.stdout) == (0, True)


def test_a_migration_that_breaks_off_changes_nothing_and_is_run_again(fresh: Storage) -> None:
    fresh.prepare()
    fill(fresh)
    expected = hits(fresh)
    execute(fresh, "UPDATE powercontext_schema SET value = '0' WHERE name = 'version'")
    before = digest(fresh)

    def break_off(*arguments: object) -> None:
        if "INSERT INTO powercontext_schema" in str(arguments[2]):
            raise KeyboardInterrupt

    event.listen(fresh.engine, "before_cursor_execute", break_off)
    with pytest.raises(KeyboardInterrupt):
        fresh.migrate()
    event.remove(fresh.engine, "before_cursor_execute", break_off)
    assert digest(fresh) == before
    assert refusal(fresh).code == "schema_outdated"
    assert "was of version 0" in fresh.migrate()
    fresh.prepare()
    assert hits(fresh) == expected


def test_a_lost_search_index_is_made_anew(fresh: Storage) -> None:
    fresh.prepare()
    fill(fresh)
    expected = hits(fresh)
    execute(fresh, "DROP TABLE postings")
    refused = refusal(fresh)
    assert (refused.code, "postings" in refused.sentence, "migrate" in refused.hint) == ("schema_damaged", True, True)
    fresh.migrate()
    fresh.prepare()
    assert hits(fresh) == expected
    execute(fresh, "DROP TABLE fields")
    for attempt in (fresh.prepare, fresh.migrate):
        with pytest.raises(SchemaRefused, match="schema_damaged: The schema lacks the table fields"):
            attempt()


STATEMENTS = len(metadata.sorted_tables) + sum(len(table.indexes) for table in metadata.sorted_tables)


@pytest.mark.parametrize("survived", [1, 2, STATEMENTS // 2, STATEMENTS - 1, STATEMENTS])
def test_a_creation_that_breaks_off_is_known_and_completed(
    fresh: Storage, fresh_database: str, engine_name: str, survived: int
) -> None:
    made: list[str] = []

    def break_off(*arguments: object) -> None:
        statement = str(arguments[2]).strip()
        if statement.startswith(("CREATE", "INSERT INTO powercontext_schema")):
            if len(made) == survived:
                raise KeyboardInterrupt
            made.append(statement)

    event.listen(fresh.engine, "before_cursor_execute", break_off)
    with pytest.raises(KeyboardInterrupt):
        fresh.prepare()
    event.remove(fresh.engine, "before_cursor_execute", break_off)
    assert len(made) == survived
    if engine_name == "oceanbase":
        # It commits each table by itself; SQLite keeps nothing, and the next start begins anew.
        refused = refusal(fresh)
        assert (refused.code, "half made" in refused.sentence) == ("schema_half_made", True)
        assert "was half made" in fresh.migrate()
    fresh.prepare()
    fill(fresh)
    assert hits(fresh)[0] == {"demo": ["a"], "Demo": ["a"]}
    assert open_storage(fresh_database).migrate().endswith("nothing was changed.")


def test_of_two_starts_at_once_one_makes_the_schema(fresh: Storage, fresh_database: str) -> None:
    other = open_storage(fresh_database)
    waits = threading.Event()
    event.listen(other.engine, "before_cursor_execute", lambda *arguments: _set_at_lock(waits, str(arguments[2])))
    with ThreadPoolExecutor() as threads:
        starts: list[Future[None]] = []

        def start_the_other(*arguments: object) -> None:
            # In the middle of the making of the tables.
            if not starts and str(arguments[2]).strip().startswith("CREATE TABLE artifacts"):
                starts.append(threads.submit(other.prepare))
                assert waits.wait(30)

        event.listen(fresh.engine, "before_cursor_execute", start_the_other)
        fresh.prepare()
        starts[0].result(timeout=60)
    fill(fresh)
    other.close()


def _set_at_lock(waits: threading.Event, statement: str) -> None:
    if statement.startswith(("BEGIN IMMEDIATE", "SELECT get_lock")):
        waits.set()


def test_a_released_powercontext_is_named(fresh: Storage, fresh_database: str) -> None:
    execute(fresh, *RELEASED)
    refused = refusal(fresh)
    assert (refused.code, "released PowerContext" in refused.sentence) == ("schema_foreign", True)
    ended = command(fresh_database)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("schema_foreign: ")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE scopes (scope_id INT)",
        "CREATE VIEW scopes AS SELECT 1 AS scope_id",
        "CREATE TABLE powercontext_schema (id INT PRIMARY KEY)",
        "CREATE TABLE powercontext_schema (name VARCHAR(64), value VARCHAR(64), product INT)",
    ],
)
def test_another_products_tables_of_our_names_are_refused_and_not_touched(fresh: Storage, statement: str) -> None:
    execute(fresh, statement)
    if "product" in statement:
        execute(fresh, "INSERT INTO powercontext_schema VALUES ('product', 'another', 1)")
    for attempt in (fresh.prepare, fresh.migrate):
        with pytest.raises(SchemaRefused, match="schema_foreign: "):
            attempt()
    with fresh.engine.connect() as connection:
        names = {*fresh.engine.dialect.get_table_names(connection), *fresh.engine.dialect.get_view_names(connection)}
    assert len(names) == 1


def test_a_later_schema_is_refused_by_both(fresh: Storage) -> None:
    fresh.prepare()
    for version in ("2", "10", "x", "-1", "1.5"):
        execute(fresh, f"UPDATE powercontext_schema SET value = '{version}' WHERE name = 'version'")
        for attempt in (fresh.prepare, fresh.migrate):
            with pytest.raises(SchemaRefused, match=f"schema_newer: The schema's version is {version}"):
                attempt()


def test_a_column_that_folds_is_refused_by_its_name_and_not_migrated(fresh: Storage, engine_name: str) -> None:
    fresh.prepare()
    exact = {"sqlite": "TEXT", "oceanbase": "VARBINARY(1024)"}[engine_name]
    execute(fresh, "DROP TABLE grants")
    execute(fresh, f"CREATE TABLE grants (principal_id {exact}, scope_id {FOLDING[engine_name]} NOT NULL)")
    for attempt in (fresh.prepare, fresh.migrate):
        with pytest.raises(SchemaRefused, match=r"schema_inexact: .*grants"):
            attempt()


def test_a_column_that_cuts_and_a_lost_key_or_index_are_refused(fresh: Storage, engine_name: str) -> None:
    fresh.prepare()
    execute(fresh, "DROP TABLE grants", "CREATE TABLE grants (principal_id INTEGER, scope_id INTEGER)")
    assert refusal(fresh).code == "schema_inexact"
    exact = {"sqlite": "TEXT", "oceanbase": "VARBINARY(1024)"}[engine_name]
    execute(fresh, "DROP TABLE grants", f"CREATE TABLE grants (principal_id {exact}, scope_id {exact})")
    refused = refusal(fresh)
    assert (refused.code, refused.sentence) == ("schema_damaged", "The table grants has lost its key.")
    execute(fresh, "DROP TABLE grants")
    metadata.tables["grants"].create(fresh.engine)
    fresh.prepare()
    (index,) = postings.indexes
    index.drop(fresh.engine)
    refused = refusal(fresh)
    assert "postings_by_entry" in refused.sentence
    fresh.migrate()
    fresh.prepare()


def test_a_half_made_or_older_schema_does_not_let_a_server_start(fresh: Storage, fresh_database: str) -> None:
    fresh.prepare()
    execute(fresh, "DELETE FROM powercontext_schema")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POWERCONTEXT_SERVER_")}
    ended = subprocess.run(
        [sys.executable, "-m", "runtime", "serve"],
        env=kept | {"POWERCONTEXT_SERVER_DATABASE_URL": fresh_database},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("schema_half_made: ")
    assert len(ended.stderr.splitlines()) == 1
