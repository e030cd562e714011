"""The backends, on real engines: start, databases, facts, attachment, death, stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from sqlalchemy import text

import backends
from backends.base import Backend
from backends.errors import (
    EngineError,
    ForeignDatabase,
    NameInvalid,
    NotStarted,
    RightsMissing,
    UnknownBackend,
    WrongPassword,
)
from backends.oceanbase import OceanBase
from backends.provision.databases import Endpoint
from backends.provision.embedded import EmbeddedEngine
from backends.provision.server import URL_VARIABLE, ServerEngine
from backends.sqlite import SQLite
from runtime.storage.engines import open_engine

RUN = "0123456789abcdef"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    started = EmbeddedEngine(state=tmp_path_factory.mktemp("engines"))
    started.start()
    yield started
    started.stop()


@pytest.fixture
def oceanbase(engine: EmbeddedEngine) -> OceanBase:
    return OceanBase(engine, run=RUN, owner=False)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Backend]:
    backend = backends.create("sqlite", oceanbase_url=None, run_directory=tmp_path)
    backend.start()
    yield backend
    backend.stop()


@pytest.fixture
def server(engine: EmbeddedEngine) -> Iterator[OceanBase]:
    backend = OceanBase(ServerEngine(over_tcp(engine)), run="fedcba9876543210", owner=True)
    backend.start()
    yield backend
    backend.stop()


def over_tcp(engine: EmbeddedEngine) -> Endpoint:
    return replace(engine.endpoint, socket="", host="127.0.0.1", port=int(str(query(engine.endpoint, "SELECT @@port"))))


def query(endpoint: Endpoint, statement: str) -> object:
    with endpoint.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return row[0] if row else None


def exists(endpoint: Endpoint, name: str) -> bool:
    return query(endpoint, f"SELECT 1 FROM information_schema.schemata WHERE schema_name = '{name}'") is not None


def write_a_row(url: str) -> None:
    engine = open_engine(url, timeout_seconds=5)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INT)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
    engine.dispose()


# Names


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownBackend, match=r"'sqlit'(.|\n)*oceanbase, sqlite") as caught:
        backends.create("sqlit", oceanbase_url=None, run_directory=tmp_path)
    assert str(caught.value).startswith("unknown_backend: ")


@pytest.mark.parametrize("name", ["demo", "pch_", "pch_A", "pch_a-b", "pch_a; DROP DATABASE test", "pch_é", "pch_a\n"])
def test_other_database_names_are_refused(sqlite: Backend, oceanbase: OceanBase, name: str) -> None:
    for backend in (sqlite, oceanbase):
        with pytest.raises(NameInvalid):
            backend.database_url(name)
        with pytest.raises(NameInvalid):
            backend.drop(name)


# SQLite


def test_sqlite_gives_a_new_file_each_time(sqlite: Backend, tmp_path: Path) -> None:
    first = sqlite.database_url("pch_run_gw0")
    write_a_row(first)
    second = sqlite.database_url("pch_run_gw0")
    assert first != second
    write_a_row(second)
    assert len(list(tmp_path.rglob("*.db"))) == 1
    sqlite.drop("pch_run_gw0")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_sqlite_facts_are_of_the_library_in_use(sqlite: Backend) -> None:
    facts = sqlite.facts()
    assert (facts.name, facts.padding, facts.collation, facts.way) == ("sqlite", "exact", "BINARY", "file")
    assert all(isinstance(value, str) for value in facts.serializable().values())


def test_a_sqlite_worker_removes_only_its_own_files(sqlite: Backend, tmp_path: Path) -> None:
    write_a_row(sqlite.database_url("pch_run_main"))
    worker = backends.attach(json.loads(json.dumps(sqlite.connection_info())))
    write_a_row(worker.database_url("pch_run_gw0"))
    worker.stop()
    assert [path.name[:12] for path in tmp_path.rglob("*.db")] == ["pch_run_main"]
    sqlite.check()
    sqlite.stop()
    sqlite.stop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotStarted):
        sqlite.database_url("pch_run_main")


# OceanBase: one engine


def test_runtime_writes_through_the_url(oceanbase: OceanBase) -> None:
    url = oceanbase.database_url("pch_run_gw0")
    assert url.startswith("mysql+oceanbase://root:")
    write_a_row(url)
    assert oceanbase.database_url("pch_run_gw0") == url
    write_a_row(url)
    oceanbase.drop("pch_run_gw0")
    oceanbase.drop("pch_run_gw0")
    assert not exists(oceanbase.engine.endpoint, "pch_run_gw0")


def test_oceanbase_facts_are_measured(oceanbase: OceanBase) -> None:
    facts = oceanbase.facts()
    assert "OceanBase" in facts.version
    assert (facts.isolation, facts.time_zone, facts.collation) == ("READ COMMITTED", "+08:00", "utf8mb4_general_ci")
    assert (facts.padding, facts.way) == ("exact", "embedded")


def test_root_has_a_password_and_other_hosts_are_refused(engine: EmbeddedEngine) -> None:
    assert query(engine.endpoint, "SELECT @@GLOBAL.ob_tcp_invited_nodes") == "127.0.0.1"
    for password in ("", "wrong"):
        with pytest.raises(WrongPassword):
            query(replace(engine.endpoint, password=password), "SELECT 1")


def test_no_password_in_repr_facts_or_errors(engine: EmbeddedEngine, oceanbase: OceanBase) -> None:
    password = engine.endpoint.password
    with pytest.raises(EngineError) as caught:
        query(engine.endpoint, "SELECT nothing FROM nowhere")
    told = [repr(engine.endpoint), repr(oceanbase), repr(oceanbase.facts()), str(caught.value), repr(caught.value)]
    assert len(password) > 20
    assert password not in "".join(told)


def test_the_engine_is_a_child_without_telemetry(engine: EmbeddedEngine) -> None:
    environment = Path(f"/proc/{engine.pid}/environ").read_bytes().split(b"\0")
    assert b"TELEMETRY_ENABLED=false" in environment


def test_a_start_is_idempotent(engine: EmbeddedEngine) -> None:
    before = engine.pid
    engine.start()
    assert engine.pid == before


def test_a_worker_process_uses_and_leaves_the_engine(engine: EmbeddedEngine) -> None:
    owner = OceanBase(engine, run=RUN, owner=True)
    program = (
        "import backends, json, sys\n"
        "worker = backends.attach(json.load(sys.stdin))\n"
        "worker.start(); worker.check(); worker.database_url('pch_run_gw1'); worker.stop()\n"
    )
    told = json.dumps(owner.connection_info())
    subprocess.run([sys.executable, "-c", program], input=told, text=True, check=True, timeout=60)
    engine.check()
    owner.drop("pch_run_gw1")


# OceanBase: databases of others


def test_a_database_of_somebody_else_is_left_alone(engine: EmbeddedEngine, oceanbase: OceanBase) -> None:
    with engine.endpoint.cursor() as cursor:
        cursor.execute("CREATE DATABASE pch_foreign")
    for act in (oceanbase.database_url, oceanbase.drop):
        with pytest.raises(ForeignDatabase, match="pch_foreign"):
            act("pch_foreign")
    assert exists(engine.endpoint, "pch_foreign")


def test_a_database_of_another_run_is_left_alone(oceanbase: OceanBase, server: OceanBase) -> None:
    oceanbase.database_url("pch_shared")
    for act in (server.database_url, server.drop):
        with pytest.raises(ForeignDatabase, match="another run"):
            act("pch_shared")
    oceanbase.drop("pch_shared")


# OceanBase: the server way


def test_a_server_is_used_by_tcp_and_left_tidy(server: OceanBase, engine: EmbeddedEngine) -> None:
    write_a_row(server.database_url("pch_run_main"))
    crashed_worker = backends.attach(json.loads(json.dumps(server.connection_info())))
    crashed_worker.database_url("pch_run_gw0")
    assert server.facts().way == "server"
    server.check()
    server.stop()
    assert not exists(engine.endpoint, "pch_run_main")
    assert not exists(engine.endpoint, "pch_run_gw0")
    engine.check()


def test_the_environment_names_a_server(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = over_tcp(engine)
    monkeypatch.setenv(URL_VARIABLE, f"mysql://root:{there.password}@127.0.0.1:{there.port}")
    backend = backends.create("oceanbase", oceanbase_url=None, run_directory=tmp_path)
    backend.start()
    assert backend.facts().way == "server"
    backend.stop()


def test_a_wrong_password_is_told_apart(engine: EmbeddedEngine, tmp_path: Path) -> None:
    url = f"mysql://root:not-the-word@127.0.0.1:{over_tcp(engine).port}"
    backend = backends.create("oceanbase", oceanbase_url=url, run_directory=tmp_path)
    with pytest.raises(WrongPassword, match="root") as caught:
        backend.start()
    assert "not-the-word" not in str(caught.value)


def test_lost_rights_are_told_apart(engine: EmbeddedEngine) -> None:
    with engine.endpoint.cursor() as cursor:
        cursor.execute("CREATE USER limited IDENTIFIED BY 'x'")
    limited = replace(over_tcp(engine), user="limited", password="x")
    backend = OceanBase(ServerEngine(limited), run=RUN, owner=True)
    backend.start()
    with pytest.raises(RightsMissing, match="limited"):
        backend.database_url("pch_run_main")
    backend.stop()


# OceanBase: several engines, and their ends


def test_two_engines_side_by_side(engine: EmbeddedEngine, tmp_path: Path) -> None:
    other = EmbeddedEngine(state=tmp_path)
    other.start()
    try:
        first, second = OceanBase(engine, run=RUN, owner=False), OceanBase(other, run=RUN, owner=False)
        first.database_url("pch_run_gw0")
        assert not exists(other.endpoint, "pch_run_gw0")
        second.database_url("pch_run_gw0")
    finally:
        other.stop()
    engine.check()
    first.drop("pch_run_gw0")


def test_a_long_base_directory_gets_a_short_socket(tmp_path: Path) -> None:
    engine = EmbeddedEngine(state=tmp_path / ("long-" * 30))
    engine.start()
    try:
        assert len(engine.endpoint.socket.encode()) <= 107
        short = Path(engine.endpoint.socket).parents[2]
        write_a_row(OceanBase(engine, run=RUN, owner=False).database_url("pch_run_gw0"))
    finally:
        engine.stop()
    assert not short.exists()


def test_clients_of_a_stopped_engine_do_not_hang(engine: EmbeddedEngine) -> None:
    """A process under SIGSTOP accepts connections and says nothing."""
    hasty = replace(engine.endpoint, connect_seconds=1, read_seconds=1)
    os.kill(engine.pid, signal.SIGSTOP)
    try:
        with pytest.raises(EngineError, match="no server answers"):
            query(hasty, "SELECT 1")
    finally:
        os.kill(engine.pid, signal.SIGCONT)
    with closing(pymysql.connect(user="root", password=engine.endpoint.password, unix_socket=engine.endpoint.socket)):
        engine.check()


def test_the_registry_holds_the_two_classes() -> None:
    assert sorted(backends.BACKENDS) == ["oceanbase", "sqlite"]
    assert backends.BACKENDS["sqlite"] is SQLite
    assert backends.BACKENDS["oceanbase"] is OceanBase
