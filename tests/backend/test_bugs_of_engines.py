"""Faults that people really filed against engines, drivers and pools, tried on both (docs/bugs.md)."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import Any

import pytest
from serving import TOKEN, Served, code, sections, serving
from sqlalchemy import DateTime, event, inspect, text
from sqlalchemy.exc import SAWarning
from worlds import document_at, entry_at, make_scopes, memory_at, write, write_document, write_memory

from backends.seeding import clear, digest
from runtime.application import ContextApplication
from runtime.artifacts import Entry, Profile, Topic
from runtime.errors import StorageUnreachable, WriteRefused
from runtime.storage import Storage, open_storage, tables

ASTRAL = "𪩘😀\U0010ffff"
SECONDS = 30


@pytest.fixture
def filled(storage: Storage, database: str) -> str:
    with storage.writing() as writer:
        writer.store_token("reader", TOKEN)
        writer.create_scope("demo")
        writer.grant("reader", "demo")
        writer.write_memory("demo", [write("e", "contract tests")])
    return database


def use(storage: Storage) -> None:
    storage.prepare()
    make_scopes(storage, "demo")
    write_memory(storage, "demo", write("e"))
    with storage.reading() as reader:
        reader.search("memory", ["demo"], ["text"], depth=16)


# Warnings at the connection, and character sets


def test_an_engine_is_opened_and_used_without_a_warning(fresh: Storage, engine_name: str) -> None:
    told: list[object] = []

    @event.listens_for(fresh.engine, "connect")
    def _ask(connection: Any, _record: Any) -> None:
        if engine_name == "oceanbase":
            told.extend(connection.show_warnings())

    @event.listens_for(fresh.engine, "after_cursor_execute")
    def _count(_connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if engine_name == "oceanbase" and cursor.warning_count:
            told.append(statement)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use(fresh)
    assert told == []


def test_a_warning_while_an_engine_is_opened_is_a_failure(fresh: Storage) -> None:
    """The settings of this project make it one: no test or scenario goes on after it."""

    @event.listens_for(fresh.engine, "first_connect")
    def _warn(_connection: Any, _record: Any) -> None:
        warnings.warn("the collation could not be asked for", SAWarning, stacklevel=1)

    with pytest.raises(SAWarning, match="collation"):
        fresh.prepare()


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
@pytest.mark.parametrize("charset", ["binary", "utf8mb4 COLLATE utf8mb4_bin", "utf8mb4 COLLATE utf8mb4_general_ci"])
def test_characters_of_four_bytes_survive_whatever_the_database_was_made_with(fresh: Storage, charset: str) -> None:
    with fresh.engine.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {fresh.engine.url.database} DEFAULT CHARACTER SET {charset}"))
    fresh.prepare()
    make_scopes(fresh, ASTRAL)
    write_memory(fresh, ASTRAL, write(ASTRAL, ASTRAL, ASTRAL))
    write_document(fresh, ASTRAL, ASTRAL, Topic(ASTRAL, ASTRAL, ASTRAL))
    assert entry_at(fresh, ASTRAL, 1, ASTRAL, ASTRAL) == Entry(ASTRAL, ASTRAL, "fact", ASTRAL)
    assert document_at(fresh, ASTRAL, "topic-memory", ASTRAL, 1) == Topic(ASTRAL, ASTRAL, ASTRAL)
    with fresh.reading() as reader:
        assert len(reader.search("memory", [ASTRAL], ["𪩘"], depth=16)[ASTRAL]) == 1


# Isolation and locks


def test_each_snapshot_has_the_isolation_that_makes_it_one(storage: Storage, engine_name: str) -> None:
    with storage.engine.connect() as connection:
        level = connection.get_isolation_level()
    assert level == {"sqlite": "SERIALIZABLE", "oceanbase": "REPEATABLE READ"}[engine_name]


def test_no_write_rests_on_a_locking_read(storage: Storage) -> None:
    """Engines lock differently; a key that is there once is there once on all of them."""
    said: list[str] = []

    @event.listens_for(storage.engine, "before_cursor_execute")
    def _listen(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(" ".join(statement.upper().split()))

    try:
        use(storage)
        write_memory(storage, "demo", write("f"))
        write_document(storage, "demo", "profile", Profile("p"))
    finally:
        event.remove(storage.engine, "before_cursor_execute", _listen)
    assert len(said) > 10
    assert [s for s in said if "FOR UPDATE" in s or "FOR SHARE" in s or "LOCK IN" in s or "LOCK TABLE" in s] == []
    assert [column.name for column in tables.revisions.primary_key] == [
        *("scope_id", "family", "artifact_id", "revision")
    ]


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
def test_the_winner_between_a_look_at_the_head_and_the_write_is_there_once(storage: Storage, database: str) -> None:
    """On SQLite nobody can come between: who writes holds the only lock before he looks."""
    make_scopes(storage, "demo")
    slow = open_storage(database)

    @event.listens_for(slow.engine, "before_cursor_execute")
    def _win(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO artifacts"):
            write_document(storage, "demo", "profile", Profile("won"))

    with pytest.raises(WriteRefused, match="revision_conflict"):
        write_document(slow, "demo", "profile", Profile("lost"))
    slow.close()
    assert document_at(storage, "demo", "profile", "profile", 1) == Profile("won")
    assert document_at(storage, "demo", "profile", "profile", 2) is None
    assert write_document(storage, "demo", "profile", Profile("next")) == 2


# Time-outs: an error, and never an answer without what was not read


def impatient(application: ContextApplication, engine_name: str) -> None:
    """Let each statement of an application exceed its time."""

    @event.listens_for(application.storage.engine, "checkout")
    def _hurry(connection: Any, _record: Any, _proxy: Any) -> None:
        if engine_name == "oceanbase":
            connection.cursor().execute("SET ob_query_timeout = 1")
        else:
            connection.set_progress_handler(lambda: 1, 1)


def ask_everything(served: Served) -> list[tuple[int, str]]:
    answers = [served.prepare(), served.prepare(assembly={}), served.prepare(assembly=sections("profile"))]
    answers.append(served.send("GET", "/v1/scopes/demo/artifacts/memory/memory/revisions/1"))
    return [code(answer) for answer in answers]


def test_a_statement_that_exceeds_its_time_is_a_service_error(filled: str, engine_name: str) -> None:
    with serving(filled) as served:
        assert served.prepare(assembly={}).json()["status"] == "ready"
        impatient(served.application, engine_name)
        assert ask_everything(served) == [(503, "service_unavailable")] * 4


def test_a_lock_that_is_waited_for_too_long_is_a_service_error_and_no_conflict(
    storage: Storage, database: str, engine_name: str
) -> None:
    other = open_storage(database, timeout_seconds=0.05 if engine_name == "sqlite" else SECONDS)
    if engine_name == "oceanbase":

        @event.listens_for(other.engine, "checkout")
        def _hurry(connection: Any, _record: Any, _proxy: Any) -> None:
            connection.cursor().execute("SET ob_trx_lock_timeout = 50000")

    with storage.writing() as holder:
        holder.create_scope("same")
        with pytest.raises(StorageUnreachable), other.writing() as waiting:
            waiting.create_scope("same")
        # Who only reads waits for nobody.
        with storage.reading() as reader:
            assert reader.scopes("same", None) == []
    other.close()
    with pytest.raises(WriteRefused, match="revision_conflict"):
        make_scopes(storage, "same")


# Connections that are used again


SETTINGS = {
    "sqlite": [
        *("PRAGMA journal_mode", "PRAGMA foreign_keys", "PRAGMA synchronous", "PRAGMA busy_timeout"),
        *("PRAGMA cache_size", "PRAGMA query_only", "PRAGMA read_uncommitted", "PRAGMA encoding"),
    ],
    "oceanbase": [
        "SELECT @@time_zone, @@transaction_isolation, @@autocommit, @@sql_mode, @@tx_read_only, @@foreign_key_checks",
        "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection",
        "SELECT @@ob_query_timeout, @@ob_trx_timeout, @@ob_trx_lock_timeout, @@wait_timeout, @@net_read_timeout",
    ],
}


def settings_of_all(storage: Storage, engine_name: str, *, count: int = 4) -> set[tuple[object, ...]]:
    """Return the different settings of so many connections held at once."""
    with ExitStack() as held:
        connections = [held.enter_context(storage.engine.connect()) for _ in range(count)]
        return {
            tuple(value for ask in SETTINGS[engine_name] for value in tuple(connection.execute(text(ask)).one()))
            for connection in connections
        }


def test_every_connection_comes_with_equal_settings_whatever_was_done_with_it(
    filled: str, storage: Storage, engine_name: str
) -> None:
    with serving(filled) as served:
        used = served.application.storage
        before = settings_of_all(used, engine_name)
        assert len(before) == 1
        for _ in range(8):
            assert served.prepare(assembly={}).status_code == 200
        write_memory(used, "demo", write("f"))
        with pytest.raises(WriteRefused), used.writing() as writer:
            writer.create_scope("demo")
        assert settings_of_all(used, engine_name) == before
    assert settings_of_all(storage, engine_name) == before


# Times and numbers that engines give


@pytest.mark.parametrize("engine_name", ["oceanbase"], indirect=True)
def test_the_time_zone_of_a_session_is_in_no_row_and_no_answer(storage: Storage, database: str) -> None:
    seen = []
    for zone in ("+00:00", "+08:00", "-11:00"):
        elsewhere = open_storage(database)

        @event.listens_for(elsewhere.engine, "checkout")
        def _move(connection: Any, _record: Any, _proxy: Any, zone: str = zone) -> None:
            connection.cursor().execute(f"SET time_zone = '{zone}'")

        clear(elsewhere)
        make_scopes(elsewhere, "demo")
        # Two writes within one second, which no time tells apart.
        write_memory(elsewhere, "demo", write("e", "contract one"))
        write_memory(elsewhere, "demo", write("e", "contract two", "v2"))
        with serving(database, access_mode="disabled") as served:
            seen.append((digest(elsewhere), served.prepare(assembly={}).content))
        elsewhere.close()
    assert len(set(seen)) == 1
    assert b"contract two" in seen[0][1]
    with storage.engine.connect() as connection:
        assert connection.execute(text("SELECT @@time_zone")).scalar_one() == "+00:00"


def test_no_table_keeps_a_time_or_numbers_its_rows(storage: Storage, engine_name: str) -> None:
    storage_of = inspect(storage.engine)
    for table in tables.metadata.sorted_tables:
        kept = storage_of.get_columns(table.name)
        assert [column["name"] for column in kept if isinstance(column["type"], DateTime)] == []
        assert [column["name"] for column in kept if column.get("autoincrement") is True] == []
        assert storage_of.get_pk_constraint(table.name)["constrained_columns"] == [c.name for c in table.primary_key]
        ask = {
            "sqlite": f"SELECT sql FROM sqlite_master WHERE name = '{table.name}'",
            "oceanbase": f"SHOW CREATE TABLE {table.name}",
        }[engine_name]
        with storage.engine.connect() as connection:
            made = str(connection.execute(text(ask)).one()).upper()
        assert "CREATE TABLE" in made
        assert "AUTO_INCREMENT" not in made
        assert "AUTOINCREMENT" not in made


def test_revisions_and_places_follow_the_writes_over_a_reopened_database(storage: Storage, database: str) -> None:
    make_scopes(storage, "demo")
    for number in range(1, 4):
        again = open_storage(database)
        again.prepare()
        assert write_memory(again, "demo", write(f"e{number}")) == number
        again.close()
    memory = memory_at(storage, "demo", 3)
    assert memory is not None
    assert [entry.entry_id for entry in memory.entries] == ["e1", "e2", "e3"]
    with storage.reading() as reader:
        assert len(reader.search("memory", ["demo"], ["text"], depth=16)["demo"]) == 3
