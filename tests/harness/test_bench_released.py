"""The comparison with a released PowerContext: its pure parts, and what a run without a release says."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from backends.operations import Operation, WriteDocument, WriteMemory
from backends.provision.homes import STATE_VARIABLE
from bench.corpus import Corpus
from bench.figures import RUNTIME, BenchFailed, Figure, Spread, ratios
from bench.prepare import Case
from bench.released import Asked, Server, apart, ask, figures, percentile, write
from bench.serving import Connection

ROOT = Path(__file__).resolve().parents[2]
OTHER = "powercontext==1.4.1"


def test_a_world_is_taken_apart_into_single_writes_in_their_order() -> None:
    world = Corpus(7).world(current=3, referenced=2, experiences=2)
    setup, writes = apart(world)
    assert not any(isinstance(one, WriteMemory | WriteDocument) for one in setup)
    assert len(setup) + len([one for one in world if isinstance(one, WriteMemory | WriteDocument)]) == len(world)
    memories = [one for one in writes if isinstance(one, WriteMemory)]
    assert [len(one.changes) for one in memories] == [1] * 5
    changes = [change for one in world if isinstance(one, WriteMemory) for change in one.changes]
    assert [one.changes[0] for one in memories] == changes
    assert len(writes) == 5 + 4


def test_each_write_goes_to_both_systems_and_neither_is_always_first() -> None:
    setup, writes = apart(Corpus(7).world(current=3, referenced=2, experiences=2))
    given: list[tuple[str, Sequence[Operation]]] = []
    writers = {name: lambda some, name=name: given.append((name, some)) for name in (RUNTIME, OTHER)}
    spent = write(writers, setup, writes)
    assert given[:2] == [(RUNTIME, setup), (OTHER, setup)]
    assert [name for name, _ in given[2:6]] == [RUNTIME, OTHER, OTHER, RUNTIME]
    for system in (RUNTIME, OTHER):
        assert [some for name, some in given[2:] if name == system] == [[one] for one in writes]
        assert {case: len(values[system]) for case, values in spent.items()} == {
            "write a memory": 5,
            "write an experience": 4,
        }


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers as the server's `answers` say, and notes who asked for what."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server: Any = self.server
        server.asked.append((self.headers["authorization"], asked["scope_id"], asked["query"]))
        body = json.dumps({"status": server.says}).encode()
        self.send_response(server.code)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep silent."""


@pytest.fixture
def answering() -> Iterator[Any]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    server.asked, server.says, server.code = [], "ready", 200
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def servers(answering: Any) -> Iterator[list[Server]]:
    made = [
        Server(name, os.getpid(), Connection(answering.server_port), f"token-{name}", f"scope-{name}")
        for name in (RUNTIME, OTHER)
    ]
    yield made
    for server in made:
        server.connection.close()


def test_both_are_asked_the_same_in_turns_each_in_its_own_scope(answering: Any, servers: list[Server]) -> None:
    answering.says = "empty"
    found = ask(servers, [Case("{}", {"assembly": {}}, ["one", "two", "three"])], warm_up=1)
    runtime, other = (("Bearer token-" + name, "scope-" + name) for name in (RUNTIME, OTHER))
    assert answering.asked == [
        (*runtime, "one"),
        (*other, "one"),
        (*other, "two"),
        (*runtime, "two"),
        (*runtime, "three"),
        (*other, "three"),
    ]
    for asked in found["{}"].values():
        assert (len(asked.milliseconds), asked.empty) == (2, 2)
        assert asked.sizes == [len('{"status": "empty"}')] * 2


def test_an_answer_that_is_no_200_names_the_system(answering: Any, servers: list[Server]) -> None:
    answering.code = 403
    with pytest.raises(BenchFailed, match=r"powercontext==1\.4\.1 answered 403 "):
        ask(servers[1:], [Case("{}", {}, ["one"])], warm_up=0)


def test_a_server_that_is_gone_is_told_and_no_traceback(answering: Any) -> None:
    unused = Server(OTHER, os.getpid(), Connection(1), "token", "scope")
    with pytest.raises(BenchFailed, match="gave no answer: ConnectionRefusedError"):
        ask([unused], [Case("{}", {}, ["one"])], warm_up=0)


def test_percentile_of_one_and_of_many() -> None:
    assert percentile([4.0], 95) == 4.0
    assert percentile([float(number) for number in range(101)], 95) == 95.0


def test_figures_of_a_case_and_their_ratios() -> None:
    def both(times: float) -> Iterator[Figure]:
        for system, slower in ((RUNTIME, 1.0), (OTHER, times)):
            values = [slower * number for number in range(1, 102)]
            asked = Asked(values, [100] * 101, empty=1, computed=slower * 0.202)
            yield from figures("{}", system, "sqlite", asked, "as released")

    found = list(both(4.0))
    assert [figure.spread.median for figure in found] == pytest.approx([51, 96, 2, 204, 384, 8])
    assert found[0].note == "answers of 100 bytes, 1 of 101 empty; as released"
    assert found[3].serializable()["system"] == OTHER
    assert ratios(found) == {
        f"released {{}}, p50 on sqlite: {OTHER} / runtime": 4.0,
        f"released {{}}, p95 on sqlite: {OTHER} / runtime": 4.0,
        f"released {{}}, server computes on sqlite: {OTHER} / runtime": 4.0,
    }


def test_ratios_are_of_one_backend_each_and_nothing_is_divided_by_no_time() -> None:
    values = {(RUNTIME, "sqlite"): 0.0, (RUNTIME, "oceanbase"): 3.0, (OTHER, "sqlite"): 2.0, (OTHER, "oceanbase"): 6.0}
    found = ratios(
        Figure("released", "{}", backend, "ms", Spread.of([value]), system=system)
        for (system, backend), value in values.items()
    )
    assert found == {f"released {{}} on oceanbase: {OTHER} / runtime": 2.0}


def bench(tmp_path: Path, *options: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    output = tmp_path / "bench.json"
    words = ["--only", "released", "--quick", "--backend", "sqlite", "--output", str(output), *options]
    ended = subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended, output


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--strict"], 1)], ids=["plain", "strict"])
def test_without_a_release_one_line_says_what_to_do(options: list[str], status: int, tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    output.write_text("of an earlier run")
    ended, _ = bench(tmp_path, *options, **{STATE_VARIABLE: str(tmp_path / "state")})
    assert ended.returncode == status
    (told,) = [line for line in ended.stderr.splitlines() if not line.startswith("measuring ")]
    assert told.startswith("left out: released: no release of PowerContext is installed: make powercontext")
    assert (ended.stdout, output.read_text()) == ("", "of an earlier run")


@pytest.mark.released
def test_a_quick_comparison_has_all_its_figures_and_ratios(tmp_path: Path) -> None:
    ended, output = bench(tmp_path)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(output.read_text())
    systems = {figure["system"] for figure in result["figures"]}
    assert len(systems) == 2
    assert RUNTIME in systems
    cases = [f"{form}, {what}" for form in ("{}", "memory 8", "sections []", "absent") for what in ("p50", "p95")]
    for case in [*cases, "write a memory", "write an experience"]:
        found = [figure for figure in result["figures"] if figure["case"] == case]
        assert {figure["system"] for figure in found} == systems
        assert all(figure["median"] > 0 for figure in found)
        (ratio,) = [
            value for name, value in result["ratios"].items() if name.startswith(f"released {case} on sqlite: ")
        ]
        assert ratio > 0
    assert "/ runtime" in ended.stdout
