"""The life of a server process: with a program that stands in for a release, and with a real one."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.engine import make_url

from backends import create
from backends.base import Backend
from harness.errors import HarnessError, NotRun
from harness.target.powercontext import database, server
from harness.target.powercontext.database import AS_RELEASED, BEHIND_PROXY, OWN_TABLES, choose_way
from harness.target.powercontext.releases import Release, release
from harness.target.powercontext.server import ADMINISTRATOR, ReleasedServer, RunningServer, start_servers

READY = """
import http.server, os, socket, sys
print("I am ready", os.environ.get("POWERCONTEXT_SERVER_NOTE", ""), flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health/ready" else 404)
        self.send_header("content-length", "0")
        self.end_headers()
serving = http.server.HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
serving.socket.close()
serving.socket = socket.socket(fileno=int(os.environ["HARNESS_SOCKET"]))
serving.server_activate()
serving.serve_forever()
"""
ENDS = "import sys; print('out'); print('boom', file=sys.stderr); sys.exit(3)"
SILENT = "import signal; print('thinking', flush=True); signal.pause()"


def stand_in(directory: Path, body: str, version: str = "1.4.1") -> Release:
    """Write a program that stands in for a release's Python."""
    python = directory / version / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f"#!{sys.executable}\n{body}\n", "utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return Release(version, python)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Backend]:
    made = create("sqlite", oceanbase_url=None, run_directory=tmp_path)
    made.start()
    yield made
    made.stop()


class Makes:
    """Makes servers that are stopped after the test."""

    def __init__(self, engine: Backend, directory: Path) -> None:
        self.engine, self.directory = engine, directory
        self.servers: list[ReleasedServer] = []

    def __call__(self, body: str, **options: Any) -> ReleasedServer:
        made = ReleasedServer(stand_in(self.directory, body), self.engine, self.directory / "run", **options)
        self.servers.append(made)
        return made


@pytest.fixture
def make(engine: Backend, tmp_path: Path) -> Iterator[Makes]:
    made = Makes(engine, tmp_path)
    yield made
    for one in made.servers:
        one.stop()


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    return False


def await_end(pid: int, seconds: float = 20) -> None:
    """Wait for the end of a process that is no child of ours."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            assert select.select([descriptor], [], [], seconds)[0], f"process {pid} lives on"
        finally:
            os.close(descriptor)


# A program that stands in


def test_a_server_is_started_awaited_and_stopped(make: Makes) -> None:
    made = make(READY)
    assert not made.is_ready()
    made.start()
    made.await_ready()
    assert made.is_ready()
    pid = made.pid
    assert pid is not None
    assert (made.way, made.version, made.backend) == (AS_RELEASED, "1.4.1", "sqlite")
    assert made.log_path.read_text("utf-8").startswith("I am ready")
    made.check()
    made.stop()
    assert not is_alive(pid)
    assert not made.is_ready()
    made.stop()


def test_a_restart_keeps_the_url_and_the_log(make: Makes) -> None:
    made = make(READY)
    made.start()
    made.await_ready()
    url, log, pid = made.url, made.log_path, made.pid
    made.restart()
    assert made.url == url
    assert made.is_ready()
    assert made.pid != pid
    assert made.log_path == log
    assert log.read_text("utf-8").count("I am ready") == 2


def test_a_server_that_ended_is_told_and_starts_again(make: Makes) -> None:
    made = make(READY)
    made.start()
    made.await_ready()
    assert made.pid is not None
    os.kill(made.pid, signal.SIGKILL)
    await_end(made.pid)
    with pytest.raises(httpx.ConnectError):
        httpx.get(made.url, timeout=5, trust_env=False)
    assert made._child is not None
    assert made._child.ended_within(10)
    with pytest.raises(HarnessError, match="in mid-run") as caught:
        made.check()
    assert (caught.value.code, str(caught.value.cause).splitlines()[0]) == ("server_ended", "signal 9")
    made.restart()
    assert made.is_ready()


def test_a_server_that_ends_is_an_error_with_its_last_words(make: Makes) -> None:
    made = make(ENDS)
    made.start()
    with pytest.raises(HarnessError) as caught:
        made.await_ready()
    assert str(caught.value).splitlines()[:4] == [
        "server_ended: PowerContext 1.4.1 on sqlite ended while starting",
        "  cause: exit status 3",
        "         boom",
        "         out",
    ]


def test_a_server_that_never_is_ready_is_stopped(
    make: Makes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "_SLOW_SECONDS", 0.1)
    made = make(SILENT)
    made.start()
    pid = made.pid
    assert pid is not None
    with pytest.raises(HarnessError) as caught:
        made.await_ready(time.monotonic() + 1)
    assert caught.value.code == "server_slow"
    assert caught.value.cause == "thinking"
    assert not is_alive(pid)
    assert made.pid is None
    assert capsys.readouterr().err.count("waiting up to") == 1


def test_several_start_at_once_and_failures_are_values(make: Makes) -> None:
    good, bad = make(READY), ReleasedServer(stand_in(make.directory / "bad", ENDS), make.engine, make.directory)
    assert {name: error.code for name, error in start_servers({"good": good, "bad": bad}).items()} == {
        "bad": "server_ended"
    }
    assert good.is_ready()


def test_another_process_knows_all_but_is_no_owner(make: Makes) -> None:
    made = make(READY)
    made.start()
    made.await_ready()
    other = ReleasedServer.attach(made.info())
    assert type(other) is RunningServer
    for name in ("url", "way", "version", "backend", "log_path"):
        assert getattr(other, name) == getattr(made, name)
    assert other.token("ä b") == made.token("ä b") != made.token("a")
    other.ask_to_stop()
    other.stop()
    assert other.is_ready()
    with pytest.raises(NotRun, match="needs"):
        other.restart()


def test_the_process_gets_what_it_needs_and_no_more(make: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCONTEXT_SERVER_DATABASE_URL", "of somebody else")
    monkeypatch.setenv("SECRET", "of somebody else")
    made = make(READY, settings={"NOTE": "hello"}, access="disabled")
    made.start()
    made.await_ready()
    process = Path(f"/proc/{made.pid}")
    told = dict(line.split("=", 1) for line in process.joinpath("environ").read_text("utf-8").split("\0") if line)
    assert set(told) <= {"PATH", "LANG", "LC_ALL", "TMPDIR", "LC_CTYPE", "HOME", "POWERCONTEXT_HOME"} | {
        name for name in told if name.startswith(("POWERCONTEXT_SERVER_", "HARNESS_"))
    }
    assert told["POWERCONTEXT_SERVER_DATABASE_URL"].startswith("sqlite+aiosqlite:////")
    assert told["POWERCONTEXT_SERVER_ACCESS_MODE"] == "disabled"
    assert told["HOME"] == told["POWERCONTEXT_HOME"] == str(made.log_path.parent)
    assert "I am ready hello" in made.log_path.read_text("utf-8")
    line = process.joinpath("cmdline").read_text("utf-8")
    assert not [value for name, value in told.items() if "KEY" in name or "URL" in name if value in line]


OWNER = """
import signal, sys, time
from pathlib import Path
from backends import create
from harness.target.powercontext.releases import Release
from harness.target.powercontext.server import ReleasedServer, start_servers
directory = Path(sys.argv[1])
engine = create("sqlite", oceanbase_url=None, run_directory=directory)
engine.start()
server = ReleasedServer(Release(sys.argv[2], Path(sys.argv[3])), engine, directory)
failed = start_servers({"one": server}) if sys.argv[4] == "ready" else server.start()
assert not failed, failed
print(server.pid, flush=True)
try:
    server.await_ready() if sys.argv[4] == "starting" else signal.pause()
except KeyboardInterrupt:
    sys.exit(130)
"""


def owner(directory: Path, made: Release, state: str) -> tuple[subprocess.Popen[str], int]:
    """Start a process that owns a server; returns it and the server's pid."""
    words = [sys.executable, "-c", OWNER, str(directory), made.version, str(made.python), state]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    line = process.stdout.readline()
    process.stdout.close()
    return process, int(line)


@pytest.mark.parametrize("state", ["starting", "ready"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_server_outlives_its_owner(tmp_path: Path, how: signal.Signals, state: str) -> None:
    process, pid = owner(tmp_path, stand_in(tmp_path, SILENT if state == "starting" else READY), state)
    assert is_alive(pid)
    process.send_signal(how)
    await_end(pid)
    assert process.wait(20) in ((130, -signal.SIGINT) if how == signal.SIGINT else (-how,))


# The way to a database


def test_a_database_without_tenants_needs_a_way_round(databases: Any, tmp_path: Path) -> None:
    url = databases.shared("oceanbase")[0]
    if database.has_tenants(database._endpoint(make_url(url))):
        pytest.skip("this OceanBase has tenants")
    older = choose_way(stand_in(tmp_path, READY, "1.4.0"), "oceanbase", url)
    assert older.sentence == BEHIND_PROXY
    assert older.proxy is not None
    assert f"@127.0.0.1:{older.proxy.port}/" in older.environment["POWERCONTEXT_SERVER_DATABASE_URL"]
    older.proxy.stop()
    gate = tmp_path / "1.4.1/lib/python3.11/site-packages/powercontext/builtin/persistence/migrations"
    gate.mkdir(parents=True)
    (gate / "server_readiness.py").touch()
    newer = choose_way(stand_in(tmp_path, READY, "1.4.1"), "oceanbase", url)
    assert (newer.sentence, newer.proxy) == (OWN_TABLES, None)
    product = make_url(newer.environment["POWERCONTEXT_SERVER_DATABASE_URL"])
    assert (product.drivername, product.query) == ("mysql+aoceanbase", {"charset": "utf8mb4"})
    assert product.password
    assert product.password not in repr(newer)


def test_a_database_with_tenants_is_used_as_released(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(database, "has_tenants", lambda _endpoint: True)
    url = "mysql+oceanbase://root%40t%23c:p%40w@db.example:2881/pch_x?connect_timeout=10&charset=utf8mb4"
    way = choose_way(stand_in(tmp_path, READY, "1.2.0"), "oceanbase", url)
    assert (way.sentence, way.proxy) == (AS_RELEASED, None)
    assert way.environment == {
        "POWERCONTEXT_SERVER_DATABASE_KIND": "oceanbase",
        "POWERCONTEXT_SERVER_DATABASE_URL": "mysql+aoceanbase://root%40t%23c:p%40w@db.example:2881/pch_x?charset=utf8mb4",
    }


def test_an_encrypted_connection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        choose_way(stand_in(tmp_path, READY), "oceanbase", "mysql+oceanbase://root:secret@h:1/x?ssl_ca=/ca.pem")
    assert caught.value.code == "needs_no_encryption"
    assert "secret" not in str(caught.value)


# A real release


@pytest.fixture(scope="module")
def newest_release() -> Release:
    # Not installed is a failure with the hint, never a skip.
    return release("1.4.1")


@pytest.mark.released
def test_a_real_server_on_each_engine_knows_principals_and_comes_back(
    newest_release: Release, databases: Any, engine_name: str, tmp_path: Path
) -> None:
    made = ReleasedServer(newest_release, databases.engine(engine_name), tmp_path)
    try:
        assert start_servers({"one": made}) == {}
        scope = {"title": "t", "summary": "s", "context_references": [], "idempotency_key": "k"}
        with httpx.Client(base_url=made.url, trust_env=False, timeout=30) as client:
            told = {
                name: client.post("/v1/scopes", json=scope, headers={"authorization": f"Bearer {token}"}).status_code
                for name, token in [
                    ("administrator", made.token(ADMINISTRATOR)),
                    ("stranger", made.token("stranger")),
                    ("forged", made.token(ADMINISTRATOR)[:-1]),
                ]
            }
            assert told == {"administrator": 201, "stranger": 403, "forged": 401}
            made.restart()
            headers = {"authorization": f"Bearer {made.token(ADMINISTRATOR)}"}
            again = client.post("/v1/scopes", json=scope, headers=headers)
            assert (again.status_code, again.json()["title"]) == (201, "t")
        assert made.way in (AS_RELEASED, OWN_TABLES)
    finally:
        made.stop()


@pytest.mark.released
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_real_server_outlives_its_owner(newest_release: Release, tmp_path: Path, how: signal.Signals) -> None:
    process, pid = owner(tmp_path, newest_release, "ready")
    process.send_signal(how)
    await_end(pid)
    process.wait(20)
