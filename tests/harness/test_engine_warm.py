"""An engine that is kept between runs, and scenarios that are run again as they change."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import HARNESS, Place, a_place, read_until, wait_until_gone
from targets.runs import ASK, SCENARIO

from backends.oceanbase import choose_way
from backends.provision import warm
from backends.provision.databases import Endpoint
from backends.provision.embedded import EmbeddedEngine
from backends.provision.homes import STATE_VARIABLE
from backends.provision.warm import USE_VARIABLE

WRONG = ASK.replace("[entry-2, entry-1@entry-1-v2]", "[entry-2]")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        place.write("asked.yaml", SCENARIO + "steps:" + ASK)
        yield place
        place.harness("engine", "down")


def endpoint(kept: warm.Kept) -> Endpoint:
    info = kept.info
    return Endpoint(user="root", password=info["password"], socket=info["socket"], port=int(info["port"]))


def databases(kept: warm.Kept) -> list[str]:
    with endpoint(kept).cursor() as cursor:
        cursor.execute("SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'pch\\_%'")
        return sorted(str(row[0]) for row in cursor.fetchall())


def wait_for_spares(kept: warm.Kept, *, without: frozenset[str] | None = None) -> frozenset[str]:
    """Wait until nothing is there but two databases that wait, not the same as before."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        registry, *spares = databases(kept) or [""]
        found = frozenset(spares)
        if registry == "pch_registry" and len(found) == 2 and found != without and is_waiting(kept, found):
            assert all(name.startswith("pch_spare_") for name in found)
            return found
        time.sleep(0.1)
    raise AssertionError(databases(kept))


def is_waiting(kept: warm.Kept, names: frozenset[str]) -> bool:
    with endpoint(kept).cursor() as cursor:
        cursor.execute("SELECT name FROM pch_registry.owners WHERE run LIKE 'waiting %'")
        return {bytes(row[0]).decode() for row in cursor.fetchall()} == names


def test_runs_share_an_engine_that_is_kept(place: Place) -> None:
    state = place.state / "warm"
    assert place.harness("engine", "status").code == 1
    started = place.harness("engine", "up")
    assert started.code == 0, started.output
    assert started.output.startswith("started: process ")
    kept = warm.find(state)
    assert kept is not None
    assert (oct(state.stat().st_mode & 0o777), oct((state / warm.FILE).stat().st_mode & 0o777)) == ("0o700", "0o600")
    assert place.engines() == [kept.pid]
    # The password is in no line and no argument.
    password = kept.info["password"]
    said = started.output + place.harness("engine", "status").output + (state / "keeper.log").read_text()
    assert password not in said
    assert password.encode() not in Path(f"/proc/{kept.keeper}/cmdline").read_bytes()

    waiting = wait_for_spares(kept)
    for _ in range(2):
        ended = place.harness("run", "scenarios/asked.yaml")
        assert ended.code == 0, ended.output
        assert re.search(r"(?m)^oceanbase: .* \(kept warm\), ", ended.output)
        # A run's database goes with it, and the keeper makes another one for the next run.
        after = wait_for_spares(kept, without=waiting)
        assert len(waiting & after) == 1
        waiting = after
    # What a run asks for otherwise is gone with it, too.
    assert place.harness("run", "scenarios/asked.yaml", "-n", "3").code == 0
    wait_for_spares(kept)
    assert place.harness("engine", "up").output.startswith("up already: process ")
    assert place.engines() == [kept.pid]
    without = place.harness("run", "scenarios/asked.yaml", **{USE_VARIABLE: "no"})
    assert re.search(r"(?m)^oceanbase: .* \(embedded\), ", without.output)

    assert place.harness("engine", "down").output == f"ended: process {kept.pid}\n"
    assert place.engines() == []
    assert not (state / warm.FILE).exists()
    assert not list(state.glob("engine-*"))
    assert place.harness("engine", "down").output == "no engine is kept\n"


def test_an_engine_goes_with_its_keeper_and_the_next_one_tidies_up(place: Place) -> None:
    state = place.state / "warm"
    assert place.harness("engine", "up").code == 0
    kept = warm.find(state)
    assert kept is not None
    os.kill(kept.keeper, signal.SIGKILL)
    wait_until_gone([kept.pid])
    assert warm.find(state) is None
    told = place.harness("engine", "status")
    assert (told.code, told.output) == (1, f"no engine is kept in {state}\n")
    assert place.harness("engine", "up").code == 0
    again = warm.find(state)
    assert again is not None
    assert [home.name for home in state.glob("engine-*")] == [again.home.directory.name]
    # An engine that dies takes its keeper's word with it.
    os.kill(again.pid, signal.SIGKILL)
    wait_until_gone([again.pid, again.keeper])
    assert not (state / warm.FILE).exists()


@pytest.fixture
def believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that would be believed, if the kernel and the file system said so too."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    file = warm.directory() / warm.FILE
    file.parent.mkdir()
    told = {"pid": os.getpid(), "keeper": os.getpid(), "home": "/x", "socket": "/x", "port": 1, "password": "p"}
    file.write_text(json.dumps(told))
    file.chmod(0o600)
    return file


def test_a_file_that_nobody_stands_behind_is_not_believed(believed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Both processes are there, and are neither a keeper nor an engine.
    assert warm.find() is None
    monkeypatch.setattr(warm, "_is_keeper", lambda *_: True)
    assert warm.find() is None
    monkeypatch.setattr(warm, "is_engine", lambda *_: True)
    assert warm.find() is not None
    # Somebody else could have read it, or written it.
    believed.chmod(0o644)
    assert warm.find() is None
    believed.chmod(0o600)
    believed.rename(believed.with_name("other"))
    believed.symlink_to("other")
    assert warm.find() is None
    believed.unlink()
    believed.write_text("{")
    believed.chmod(0o600)
    assert warm.find() is None


def test_a_kept_engine_is_used_only_where_that_is_wished(believed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_is_keeper", lambda *_: True)
    monkeypatch.setattr(warm, "is_engine", lambda *_: True)
    monkeypatch.delenv(USE_VARIABLE, raising=False)
    assert isinstance(choose_way(None), EmbeddedEngine)
    monkeypatch.setenv(USE_VARIABLE, "yes")
    assert choose_way(None).way == "kept warm"
    assert choose_way("mysql://root:x@db.example").way == "server"


def test_what_changes_is_run_again(place: Place) -> None:
    place.write("other.yaml", SCENARIO + "steps:" + ASK)
    watching = place.start(HARNESS, "watch", "--backend", "sqlite")
    try:
        told = read_until(watching, b"other.yaml: sqlite passed")
        assert b"watching 2 files on sqlite, Ctrl-C ends it\n" in told
        assert b"asked.yaml: sqlite passed" in told
        place.write("asked.yaml", SCENARIO + "steps:" + WRONG)
        told = read_until(watching, b"asked.yaml: sqlite failed")
        assert b"expected: Memory: [entry-2]" in told
        assert b"other.yaml" not in told
        place.write("asked.yaml", "scenario: [\n")
        read_until(watching, b"no YAML")
        place.write("new.yaml", SCENARIO + "steps:" + ASK)
        read_until(watching, b"new.yaml: sqlite passed")
    finally:
        os.kill(watching.pid, signal.SIGINT)
        ended = place.end(watching)
    assert (ended.code, ended.output) == (0, "ended\n")
    assert place.left_over() == []
