"""The real engine is killed while a prepare reads from it: what the caller gets, and what the run says."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from targets.runs import ASK, SCENARIO

from backends.oceanbase import OceanBase
from backends.operations import CreatePrincipal, CreateScope, Grant
from backends.provision.embedded import EmbeddedEngine
from backends.seeding import seed
from harness.run.session import Session
from harness.scenario.loader import parse
from harness.target.client import Client
from harness.target.reference import Server
from runtime.application import ContextApplication
from runtime.http.server import ContextServer
from runtime.recall import default_sources
from runtime.storage import open_storage

REQUEST = json.dumps({"scope_id": "demo", "query": "contract tests", "assembly": {}}).encode()


@pytest.fixture
def engine() -> Iterator[EmbeddedEngine]:
    state = Path(tempfile.mkdtemp(prefix="h-", dir="/tmp"))
    engine = EmbeddedEngine(state=state)
    engine.start()
    yield engine
    engine.stop()
    shutil.rmtree(state)


# The driver leaves a unix socket open when nobody listens any more; the collector closes it.
@pytest.mark.filterwarnings("ignore:.*<socket.socket:pytest.PytestUnraisableExceptionWarning")
def test_a_prepare_answers_503_and_the_run_tells_an_engine_fault(engine: EmbeddedEngine) -> None:
    backend = OceanBase(engine, run="0123456789abcdef", owner=False)
    session = Session({"oceanbase": backend}, names=["oceanbase"], target="runtime", database="pch_killed")
    loaded = parse((SCENARIO + "steps:" + ASK).encode(), Path("scenarios/asked.yaml"))
    assert session.outcome(loaded, "oceanbase").verdict == "passed"

    storage = open_storage(backend.database_url("pch_killed_too"))
    storage.prepare()
    seed(storage, [CreateScope("demo"), CreatePrincipal("alice", "token-of-alice"), Grant("alice", "demo")])
    application = ContextApplication(storage, sources=default_sources())
    server = Server(ContextServer(application).app)
    with closing(Client(server.url)) as client:
        assert client.prepare(REQUEST, token="token-of-alice").status == 200
        killed: list[int] = []

        @event.listens_for(storage.engine, "after_cursor_execute")
        def kill(*_: Any) -> None:
            if not killed:
                killed.append(engine.pid)
                os.kill(engine.pid, signal.SIGKILL)

        for _ in range(2):
            answer = client.prepare(REQUEST, token="token-of-alice")
            assert (answer.status, answer.json["error"]["code"]) == (503, "service_unavailable")
    assert killed
    server.stop()
    application.close()

    other = parse((SCENARIO + "steps:" + ASK).encode(), Path("scenarios/other.yaml"))
    outcome = session.outcome(other, "oceanbase")
    assert outcome.verdict == "engine fault"
    assert outcome.reason.startswith("engine_died: the OceanBase engine ended in mid-run\n  cause: signal 9\n")
    session.close()
    gc.collect()
