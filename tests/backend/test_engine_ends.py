"""How an embedded engine ends: stopped, killed, forgotten, its owner crashed; nothing is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from backends.errors import (
    EngineDied,
    EngineError,
    NotStarted,
)
from backends.oceanbase import OceanBase
from backends.provision.embedded import AttachedEngine, EmbeddedEngine
from backends.provision.homes import STATE_VARIABLE
from backends.provision.warm import WarmEngine

RUN = "0123456789abcdef"


def test_a_stop_removes_everything_and_is_idempotent(tmp_path: Path) -> None:
    engine = EmbeddedEngine(state=tmp_path)
    engine.start()
    watched = os.pidfd_open(engine.pid)
    engine.stop()
    engine.stop()
    assert ended(watched)
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.lock"]
    with pytest.raises(NotStarted):
        engine.check()


def test_an_engine_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    engine = EmbeddedEngine(state=tmp_path)
    thread = threading.Thread(target=engine.start)
    thread.start()
    thread.join()
    try:
        engine.check()
    finally:
        engine.stop()


def test_a_killed_engine_is_reported_with_its_last_words(tmp_path: Path) -> None:
    engine = EmbeddedEngine(state=tmp_path)
    engine.start()
    try:
        owner = OceanBase(engine, run=RUN, owner=True)
        worker = OceanBase.attach(owner.connection_info())
        watched = os.pidfd_open(engine.pid)
        os.kill(engine.pid, signal.SIGKILL)
        assert ended(watched)
        for act in (worker.check, worker.facts, owner.check, owner.facts, lambda: owner.database_url("pch_run_gw0")):
            with pytest.raises(EngineDied, match=r"in mid-run(.|\n)*cause(.|\n)*hint"):
                act()
        with pytest.raises(EngineDied, match="signal 9"):
            owner.check()
    finally:
        engine.stop()
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.lock"]


def until_it_fails(engine: EmbeddedEngine | AttachedEngine | WarmEngine) -> EngineError:
    """Check an engine until that fails."""
    while True:
        try:
            engine.check()
        except EngineError as error:
            return error


@pytest.mark.parametrize("view", ["owner", "worker", "warm"])
def test_an_engine_that_is_just_dying_is_told_as_dead(tmp_path: Path, view: str) -> None:
    # The kernel closes a killed process's sockets some milliseconds before it has an exit status.
    engine = EmbeddedEngine(state=tmp_path)
    engine.start()
    try:
        views: dict[str, EmbeddedEngine | AttachedEngine | WarmEngine] = {
            "owner": engine,
            "worker": AttachedEngine(engine.info()),
            "warm": WarmEngine(engine.info()),
        }
        os.kill(engine.pid, signal.SIGKILL)
        told = until_it_fails(views[view])
        assert isinstance(told, EngineDied), told
        if view == "owner":
            assert told.cause is not None
            assert told.cause.startswith("signal 9\n")
    finally:
        engine.stop()


def test_a_crashed_owner_leaves_no_engine_and_the_next_start_sweeps(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from backends.provision.embedded import EmbeddedEngine\n"
        "engine = EmbeddedEngine()\n"
        "engine.start()\n"
        "print(engine.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = {**os.environ, STATE_VARIABLE: str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout is not None
        watched = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    assert ended(watched)
    (left,) = tmp_path.glob("engine-*")
    following = EmbeddedEngine(state=tmp_path)
    following.start()
    try:
        assert not left.exists()
        following.check()
    finally:
        following.stop()


def test_an_owner_that_forgets_to_stop_leaves_nothing(tmp_path: Path) -> None:
    program = "from backends.provision.embedded import EmbeddedEngine; EmbeddedEngine().start(); raise SystemExit(3)"
    environment = {**os.environ, STATE_VARIABLE: str(tmp_path)}
    owner = subprocess.run([sys.executable, "-c", program], env=environment, timeout=60, check=False)
    assert owner.returncode == 3
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.lock"]


def ended(pidfd: int) -> bool:
    """Wait for a process that need not be our child, and say whether it ended."""
    try:
        return bool(select.select([pidfd], [], [], 10)[0])
    finally:
        os.close(pidfd)
