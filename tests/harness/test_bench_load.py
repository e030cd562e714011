"""The load measure, small: it has all its figures, and it fails where an answer is not what it asked for."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bench.figures import BenchFailed
from bench.load import asking, run
from bench.serving import Connection, RuntimeProcess

ROOT = Path(__file__).resolve().parents[2]


def test_a_quick_load_has_all_its_figures(tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    ended = subprocess.run(
        [sys.executable, "-m", "bench", "--only", "load", "--quick", "--backend", "sqlite", "--output", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    figures = {figure["case"]: figure for figure in json.loads(output.read_text())["figures"]}
    for clients in ("1 client", "8 clients", "32 clients"):
        p50, p95, p99 = (figures[f"{clients}, p{percentile}"]["median"] for percentile in (50, 95, 99))
        assert 0 < p50 <= p95 <= p99
        assert figures[f"{clients}, requests"]["unit"] == "1/s"
    assert figures["memory growth, 600 requests"]["bound"] == 20
    assert "0 dropped" in figures["stop with 32 clients"]["note"]


def test_an_answer_that_is_no_200_ends_the_measure(tmp_path: Path) -> None:
    with RuntimeProcess(f"sqlite:///{tmp_path}/x.db") as server, pytest.raises(BenchFailed, match="answered 401"):
        run(server, 2, 10, asking([b'{"scope_id":"x","query":"x"}']))


def test_a_server_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchFailed, match="ACCESS_MODE takes"):
        RuntimeProcess(f"sqlite:///{tmp_path}/x.db", ACCESS_MODE="off")


def test_a_request_that_broke_off_does_not_stand_in_the_way_of_the_next() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    connection = Connection(port)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            connection.get("/health/ready", "")
