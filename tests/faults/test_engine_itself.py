"""The engine is killed, hung, restarted, or out of disk, while it is read from and written to."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from records import READY, UNAVAILABLE, Fault, Measured, fault
from systems import AT_ONCE, LEDGER, SECONDS, System, Writers, make_schema

from backends.faults import MountRefused, end_at_once, fill, hung, small_disk
from backends.operations import CreateScope, WriteMemory
from backends.provision.databases import make_database
from backends.provision.embedded import EmbeddedEngine
from backends.seeding import seed
from runtime.artifacts import EntryWrite
from runtime.errors import StorageUnreachable

AGAIN = "as soon as the engine runs again"


@fault(
    "engine killed in mid-request, with a writer at work",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=AGAIN,
)
def test_an_engine_killed_in_mid_request(direct: System, engine: EmbeddedEngine) -> None:
    with Writers(direct, ["w-1"]) as writers:
        writers.wait_for(20)
        with direct.before_statement(3, lambda: end_at_once(engine.pid)):
            direct.is_refused()
        direct.injected()
        direct.is_refused()
        engine.start_again()
        direct.is_right()
        writers.wait_for(5)
    direct.nothing_is_lost()


@fault(
    "engine killed in mid-seed, which leaves nothing of the seed",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=AGAIN,
)
def test_an_engine_killed_in_mid_seed(direct: System, engine: EmbeddedEngine) -> None:
    direct.writes(5)
    before = direct.head()
    operations = [CreateScope("seeded")] + [
        WriteMemory(scope_id, (EntryWrite(f"seeded-{number}", "v1", "seeded"),))
        for number in range(20)
        for scope_id in ("seeded", LEDGER)
    ]
    with direct.before_statement(150, lambda: end_at_once(engine.pid), of=direct.writer) as executed:
        with pytest.raises(StorageUnreachable):
            seed(direct.writer, operations)
        assert len(executed) == 150
    direct.injected()
    direct.is_refused()
    engine.start_again()
    direct.is_right()
    assert direct.head() == before
    # A seed of which a part had stayed could not be written again.
    seed(direct.writer, operations)
    direct.nothing_is_lost()


@fault(
    "engine killed three times under three writers",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=AGAIN,
    slow=True,
)
def test_an_engine_killed_again_and_again(direct: System, engine: EmbeddedEngine) -> None:
    with Writers(direct, ["w-1", "w-2", "w-3"]) as writers:
        for _ in range(3):
            writers.wait_for(100)
            end_at_once(engine.pid)
            direct.injected()
            direct.is_refused()
            engine.start_again()
            direct.is_right()
    direct.nothing_is_lost()


@fault(
    "engine stopped and started between two requests",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
    slow=True,
)
def test_an_engine_that_is_restarted_between_requests(direct: System, engine: EmbeddedEngine) -> None:
    direct.writes(10)
    end_at_once(engine.pid)
    engine.start_again()
    direct.injected()
    direct.is_right()
    direct.writes(1)
    direct.nothing_is_lost()


@fault(
    "engine hung (SIGSTOP) in mid-request",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=SECONDS + 1.0,
    recovers="with the next request after SIGCONT",
)
def test_an_engine_hung_in_mid_request(direct: System, engine: EmbeddedEngine) -> None:
    direct.writes(5)
    with ExitStack() as fault, direct.before_statement(3, lambda: fault.enter_context(hung(engine.pid))):
        direct.is_refused()
        direct.injected()
    direct.is_right()
    direct.writes(1)
    direct.nothing_is_lost()


@fault(
    "engine hung (SIGSTOP) before each statement of a prepare, and between requests",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=SECONDS + 1.0,
    recovers="with the next request after SIGCONT",
    slow=True,
)
def test_a_hung_engine(direct: System, engine: EmbeddedEngine) -> None:
    direct.writes(5)
    for number in range(1, direct.statements() + 1):
        with ExitStack() as fault, direct.before_statement(number, lambda: fault.enter_context(hung(engine.pid))):
            direct.is_refused()
            direct.injected()
        direct.is_right()
    with hung(engine.pid):
        direct.is_refused()
        assert not direct.write()
        direct.injected()
    direct.is_right()
    direct.writes(1)
    direct.nothing_is_lost()


@fault(
    "engine hung while three writers write",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=SECONDS + 1.0,
    recovers="with the next request after SIGCONT",
    slow=True,
)
def test_an_engine_hung_under_writers(direct: System, engine: EmbeddedEngine) -> None:
    with Writers(direct, ["w-1", "w-2", "w-3"]) as writers:
        for _ in range(3):
            writers.wait_for(50)
            with hung(engine.pid):
                direct.injected()
                direct.is_refused()
            direct.is_right()
    direct.nothing_is_lost()


@pytest.fixture
def on_small_disk(row: Fault, measured: Measured) -> Iterator[tuple[System, EmbeddedEngine, Path]]:
    with tempfile.TemporaryDirectory(prefix="h-", dir="/tmp") as place:
        try:
            # What the engine itself asks for before it starts, and a little.
            with small_disk(Path(place), 2_700_000_000) as disk:
                engine = EmbeddedEngine(state=disk)
                engine.start()
                make_database(engine.endpoint, "pch_full", "0123456789abcdef")
                make_schema(engine.endpoint.url("pch_full"))
                system = System(engine.endpoint.url("pch_full"), row, measured)
                yield system, engine, disk
                system.close()
                engine.stop()
        except MountRefused as refused:
            pytest.skip(f"a small disk needs the right to mount: {refused}")


@fault(
    "disk of the engine full",
    engine="OceanBase",
    answer=f"{READY}, until the log is full; then {UNAVAILABLE}",
    bound=SECONDS + 1.0,
    recovers="with a restart of the engine, not of the server (it stays wedged when the disk has room again)",
    slow=True,
)
def test_a_full_disk(on_small_disk: tuple[System, EmbeddedEngine, Path]) -> None:
    system, engine, disk = on_small_disk
    system.writes(5)
    with fill(disk):
        system.injected()
        system.is_right()
        # The log has some 60 MB that were there before the disk was full.
        assert any(not system.write(text="full " * 20_000) for _ in range(4_000))
        system.is_right_or_refused()
    end_at_once(engine.pid)
    system.is_refused()
    engine.start_again()
    system.is_right()
    system.writes(5)
    system.nothing_is_lost()
