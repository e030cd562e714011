"""Which way is chosen, what an image is told, and what a pool's connections must have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, text

import backends
from backends.base import Facts
from backends.errors import SessionDiffers, WaysConflict
from backends.oceanbase import OceanBase, choose_way
from backends.provision import sessions
from backends.provision.container_engine import ContainerEngine
from backends.provision.databases import Endpoint, check_writes, databases_of
from backends.provision.embedded import EmbeddedEngine
from backends.provision.images import (
    COMMUNITY,
    IMAGE_VARIABLE,
    MEMORY_VARIABLE,
    OURS,
    REUSE_VARIABLE,
    SEEKDB,
    Flavour,
    flavour_of,
)
from backends.provision.server import URL_VARIABLE, ServerEngine
from backends.provision.sessions import watch
from runtime.storage import open_storage

URL = "mysql://root:secret@db.example"
IMAGE = "oceanbase/oceanbase-ce:4.3.5"

# The way


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (URL_VARIABLE, IMAGE_VARIABLE, REUSE_VARIABLE, MEMORY_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


def test_without_a_wish_the_engine_is_embedded() -> None:
    assert isinstance(choose_way(None), EmbeddedEngine)


@pytest.mark.parametrize("told_by", ["option", "environment"])
def test_an_image_is_a_container(monkeypatch: pytest.MonkeyPatch, told_by: str) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, IMAGE if told_by == "environment" else "another")
    engine = choose_way(None, IMAGE if told_by == "option" else None)
    assert isinstance(engine, ContainerEngine)
    assert (engine.image, engine.way) == (IMAGE, "container")


@pytest.mark.parametrize("told_by", ["option", "environment"])
def test_a_container_is_kept_by_wish(monkeypatch: pytest.MonkeyPatch, told_by: str) -> None:
    if told_by == "environment":
        monkeypatch.setenv(REUSE_VARIABLE, "1")
    assert choose_way(None, IMAGE, reuse=told_by == "option").way == "reused container"


def test_an_option_is_heard_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, IMAGE)
    assert isinstance(choose_way(URL), ServerEngine)
    monkeypatch.delenv(IMAGE_VARIABLE)
    monkeypatch.setenv(URL_VARIABLE, URL)
    assert isinstance(choose_way(None, IMAGE), ContainerEngine)


def test_two_ways_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WaysConflict, match="--oceanbase-url and --oceanbase-image"):
        choose_way(URL, IMAGE)
    monkeypatch.setenv(URL_VARIABLE, URL)
    monkeypatch.setenv(IMAGE_VARIABLE, IMAGE)
    with pytest.raises(WaysConflict, match=f"{URL_VARIABLE} and {IMAGE_VARIABLE}") as caught:
        choose_way(None)
    assert "secret" not in str(caught.value)


# The image


@pytest.mark.parametrize(
    ("image", "labels", "flavour"),
    [
        (IMAGE, {}, COMMUNITY),
        ("oceanbase-ce", {}, COMMUNITY),
        ("registry.example:5000/mirrors/oceanbase-ce@sha256:00", {}, COMMUNITY),
        ("seekdb.example/oceanbase-ce", {}, COMMUNITY),
        ("oceanbase/seekdb:latest", {}, SEEKDB),
        ("powercontext-harness/engine:local", {"powercontext-harness.engine": "seekdb"}, OURS),
    ],
)
def test_flavours(image: str, labels: dict[str, str], flavour: Flavour) -> None:
    assert flavour_of(image, labels) is flavour


def test_oceanbase_ce_is_told_its_mode_memory_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    assert COMMUNITY.user == "root@test"
    told = {"MODE": "slim", "OB_TENANT_NAME": "test", "OB_MEMORY_LIMIT": "6G", "OB_TENANT_PASSWORD": "pw"}
    assert COMMUNITY.environment("pw") == told
    monkeypatch.setenv(MEMORY_VARIABLE, "10G")
    assert COMMUNITY.environment("pw") == {**told, "OB_MEMORY_LIMIT": "10G"}
    assert OURS.environment("pw") == {"ROOT_PASSWORD": "pw", "MEMORY_BUDGET": "10G"}


# The sessions


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    started = EmbeddedEngine(state=tmp_path_factory.mktemp("engines"))
    started.start()
    yield started
    started.stop()


@pytest.fixture
def oceanbase(engine: EmbeddedEngine) -> OceanBase:
    return OceanBase(engine, run="ways", owner=False)


def set_global(there: Endpoint, assignment: str) -> None:
    with there.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {assignment}")


def test_a_write_is_seen_and_nothing_is_left(engine: EmbeddedEngine) -> None:
    check_writes(engine.endpoint, "ready")
    assert databases_of(engine.endpoint, "ready") == []


def test_facts_tell_packet_and_time_outs(oceanbase: OceanBase) -> None:
    facts = oceanbase.facts()
    assert facts.packet == "16777216 bytes"
    assert facts.timeouts == "query 10 s, transaction 86400 s, lock as the query's"
    assert facts.sentence.endswith(
        "(embedded), default isolation READ COMMITTED, binary identities compare exact, default collation"
        " utf8mb4_general_ci, time zone +08:00, packets of at most 16777216 bytes, time-outs: query 10 s, transaction"
        " 86400 s, lock as the query's"
    )


def test_facts_of_an_engine_without_sessions_are_short(tmp_path: Path) -> None:
    facts = Facts("sqlite", "3.53.4", "SERIALIZABLE", "BINARY", "exact", "none", "file", "")
    assert facts.sentence == "3.53.4 (file), default isolation SERIALIZABLE, binary identities compare exact"


@pytest.mark.parametrize(
    ("changed", "back", "told"),
    [
        ("max_allowed_packet = 33554432", "max_allowed_packet = 16777216", "packet is 33554432 bytes, not 16777216"),
        ("ob_trx_lock_timeout = 3000000", "ob_trx_lock_timeout = -1", "lock 3 s, not query 30 s, transaction"),
    ],
)
def test_a_connection_unlike_the_first_is_refused_by_name(
    oceanbase: OceanBase, changed: str, back: str, told: str
) -> None:
    storage = open_storage(oceanbase.database_url("pch_ways_differ"))
    watch(storage.engine)
    try:
        storage.prepare()
        with storage.engine.connect(), storage.engine.connect() as second:
            assert second.execute(text("SELECT 1")).scalar() == 1
            oceanbase.check()
            set_global(oceanbase.engine.endpoint, changed)
            with pytest.raises(SessionDiffers, match=rf"pch_ways_differ(.|\n)*{told}"):
                storage.engine.connect()
        # Whoever asks why a scenario failed is told the same.
        with pytest.raises(SessionDiffers, match=told):
            oceanbase.check()
    finally:
        set_global(oceanbase.engine.endpoint, back)
        storage.close()
        oceanbase.drop("pch_ways_differ")
    oceanbase.database_url("pch_ways_differ")
    oceanbase.check()
    oceanbase.drop("pch_ways_differ")


def test_all_connections_of_a_full_pool_are_alike(oceanbase: OceanBase) -> None:
    storage = open_storage(oceanbase.database_url("pch_ways_alike"))
    watch(storage.engine)
    made: list[object] = []
    count: Callable[..., None] = lambda connection, _record: made.append(connection)  # noqa: E731
    event.listen(storage.engine, "connect", count)
    try:
        storage.prepare()
        held = [storage.engine.connect() for _ in range(10)]
        for connection in held:
            connection.close()
        assert len(made) == 10
        assert sessions.difference("pch_ways_alike") is None
        oceanbase.check()
    finally:
        storage.close()
        oceanbase.drop("pch_ways_alike")


def test_create_takes_the_options(tmp_path: Path) -> None:
    for name in ("sqlite", "oceanbase"):
        made = backends.create(name, oceanbase_url=None, run_directory=tmp_path, oceanbase_image=IMAGE, reuse=True)
        assert made.name == name
    assert isinstance(made, OceanBase)
    assert made.engine.way == "reused container"
