"""`python -m runtime` as a user starts it, on SQLite."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from runtime.artifacts import EntryWrite
from runtime.storage import open_storage

SECONDS = 60


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POWERCONTEXT_SERVER_")}
    return kept | {f"POWERCONTEXT_SERVER_{name}": value for name, value in settings.items()}


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runtime", *arguments],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def url_of(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runtime.db"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@contextmanager
def served(**settings: str) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Start a server, and wait until it answers."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime", "serve"],
        env=environment(PORT=port, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, transport=httpx.HTTPTransport(retries=12)
    )
    try:
        yield client, process
    finally:
        client.close()
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)


def test_a_token_and_a_grant_open_a_scope(tmp_path: Path) -> None:
    url = url_of(tmp_path)
    made = run("token", "alice", DATABASE_URL=url)
    assert (made.returncode, made.stderr) == (0, "")
    token = made.stdout.strip()
    assert len(token) >= 32
    storage = open_storage(url)
    with storage.writing() as writer:
        writer.create_scope("demo")
        writer.write_memory("demo", [EntryWrite("e", "v", "contract tests")])
    storage.close()
    asked = {"scope_id": "demo", "query": "contract", "assembly": {}}
    headers = {"authorization": f"Bearer {token}"}
    with served(DATABASE_URL=url) as (client, process):
        assert client.get("/health/ready").json() == {"status": "ready"}
        assert client.get("/health/live").status_code == 200
        assert client.post("/v1/context/prepare", json=asked, headers=headers).status_code == 403
        granted = run("grant", "alice", "demo", DATABASE_URL=url)
        assert (granted.returncode, granted.stdout, granted.stderr) == (0, "", "")
        answer = client.post("/v1/context/prepare", json=asked, headers=headers)
        assert answer.json()["status"] == "ready"
        absent = client.post("/v1/context/prepare", json=asked | {"scope_id": "absent"}, headers=headers)
        assert absent.status_code == 403
        assert run("token", "alice", "--administrator", DATABASE_URL=url).returncode == 0
        absent = client.post("/v1/context/prepare", json=asked | {"scope_id": "absent"}, headers=headers)
        assert absent.status_code == 404
        process.send_signal(signal.SIGTERM)
        output, log = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in log
    assert token not in log + output


def test_an_interrupt_stops_the_server_too(tmp_path: Path) -> None:
    with served(DATABASE_URL=url_of(tmp_path), ACCESS_MODE="disabled") as (client, process):
        assert client.get("/health/ready").status_code == 200
        answer = client.post("/v1/context/prepare", json={"scope_id": "demo", "query": "x"})
        assert answer.json()["error"]["code"] == "scope_not_found"
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in log


def test_a_server_without_its_database_lives_and_is_not_ready(tmp_path: Path) -> None:
    with served(DATABASE_URL=f"sqlite:///{tmp_path}/later/x.db") as (client, _):
        assert client.get("/health/live").status_code == 200
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "runtime_not_ready")
        assert str(tmp_path) not in answer.text
        (tmp_path / "later").mkdir()
        assert client.get("/health/ready").status_code == 200


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "POWERCONTEXT_SERVER_DATABASE_URL"),
        ({"PORT": "0"}, "POWERCONTEXT_SERVER_PORT"),
        ({"PORT": "65536"}, "POWERCONTEXT_SERVER_PORT"),
        ({"ACCESS_MODE": "off"}, "POWERCONTEXT_SERVER_ACCESS_MODE"),
        ({"RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES": "-1"}, "CONTEXT_ASSEMBLY_MAX_ENTRIES"),
        ({"RECALL_TIMEOUT_SECONDS": "nan"}, "POWERCONTEXT_SERVER_RECALL_TIMEOUT_SECONDS"),
        ({"DATABASE_URL": "oracle://user:secret@host/db"}, "oracle"),
        ({"DATABASE_URL": "mysql://user:secret@host:port/db"}, "database URL"),
        ({"DATABASE_URL": "sqlite://"}, "database URL"),
    ],
)
def test_a_bad_setting_ends_with_2_and_its_name(tmp_path: Path, settings: dict[str, str], named: str) -> None:
    known = {} if not settings else {"DATABASE_URL": url_of(tmp_path)}
    ended = run("serve", **(known | settings))
    assert ended.returncode == 2
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "secret" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_refused_write_and_a_lost_database_end_with_2(tmp_path: Path) -> None:
    for arguments, url, said in (
        (("grant", "alice", "absent"), url_of(tmp_path), "unknown_scope"),
        (("token", " "), url_of(tmp_path), "invalid_id"),
        (("token", "alice"), f"sqlite:///{tmp_path}/nothing/x.db", "storage_unreachable"),
    ):
        ended = run(*arguments, DATABASE_URL=url)
        assert ended.returncode == 2
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_foreign_database_is_refused_at_start(tmp_path: Path) -> None:
    storage = open_storage(url_of(tmp_path))
    with storage.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE customers (a INT)")
    storage.close()
    ended = run("serve", DATABASE_URL=url_of(tmp_path), PORT=free_port())
    assert ended.returncode == 2
    assert "customers" in ended.stderr
    assert "Traceback" not in ended.stderr
