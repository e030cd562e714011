"""Runs that go wrong outside the contract: missing backends, unreadable files, engines that die, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from targets.plugin import ASK_AFTER, HANG, KILL_AFTER, NO_WHEEL
from targets.processes import HARNESS, Place, a_place, read_until, wait_until_gone
from targets.runs import ASK, SCENARIO

BACKENDS = ("--backend", "sqlite", "--backend", "oceanbase")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        write_scenarios(place, 3)
        yield place


def write_scenarios(place: Place, count: int) -> None:
    for number in range(1, count + 1):
        place.write(f"s{number}.yaml", SCENARIO + "steps:" + ASK)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_server_that_is_not_there_is_told_once_and_the_others_results_are_kept(
    place: Place, closed_port: int
) -> None:
    ended = place.harness("run", "--oceanbase-url", f"mysql://root:secret@127.0.0.1:{closed_port}")
    assert ended.code == 2
    assert "all        3 passed  3 missing" in ended.output
    assert ended.output.count("Can't connect") == 1
    assert f"oceanbase is missing: unreachable: no server answers at 127.0.0.1:{closed_port}\n" in ended.output
    assert "secret" not in ended.output
    assert place.left_over() == []


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_missing_wheel_is_red_in_plain_pytest_too(place: Place, words: tuple[str, ...]) -> None:
    ended = place.pytest("-q", *words, "--backend", "sqlite", "--backend", "oceanbase", "scenarios", **{NO_WHEEL: "1"})
    assert ended.code == 1
    assert "all        3 passed  3 missing" in ended.output
    assert ended.output.count("hint: run `pip install pylibseekdb`") == 1
    assert ended.is_clean


def test_a_result_that_was_not_compared_is_no_success(place: Place) -> None:
    words = ("--backend", "oceanbase", "--backend", "sqlite", "scenarios")
    ended = place.pytest("-q", "-k", "sqlite", *words, **{NO_WHEEL: "1"})
    assert ended.code == 1
    assert "3 passed, 3 deselected" in ended.output
    assert "oceanbase is missing: wheel_missing" in ended.output


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_an_unreadable_scenario_is_told_with_its_place_and_the_others_run(place: Place, words: tuple[str, ...]) -> None:
    place.write("broken.yaml", "scenario: broken\nsteps:\n  - perpare: {}\n")
    ended = place.harness("run", "--backend", "sqlite", *words)
    assert ended.code == 2
    assert 'scenarios/broken.yaml:3:5: unknown key "perpare"\n  did you mean "prepare"?\n' in ended.output
    assert re.search(r"(?m)^3 passed, 1 error in", ended.output)
    assert ended.is_clean


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_an_engine_that_dies_in_mid_run_is_told_and_nothing_hangs(place: Place, words: tuple[str, ...]) -> None:
    write_scenarios(place, 6)
    ended = place.harness("run", "-p", "targets.plugin", *words, *BACKENDS, **{KILL_AFTER: "3"})
    assert ended.code == 1
    assert re.search(r"(?m)^all        6 passed  \d passed, \d engine fault$", ended.output), ended.output
    [told] = re.findall(r"(?m)^oceanbase had an engine fault: .*\n.*", ended.output)
    assert told == (
        "oceanbase had an engine fault: engine_died: the OceanBase engine ended in mid-run\n  cause: signal 9"
    )
    assert "no verdict on the contract: engine_died: the OceanBase engine ended in mid-run" in ended.output
    assert ended.is_clean
    assert place.left_over() == []


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_an_interrupt_leaves_nothing(place: Place, words: tuple[str, ...]) -> None:
    write_scenarios(place, 60)
    process = place.start(HARNESS, "run", *words)
    read_until(process, b"....")
    assert len(place.engines()) == 1
    os.killpg(process.pid, signal.SIGINT)
    ended = place.end(process)
    assert ended.code == 130
    assert place.engines() == []
    assert place.left_over() == []
    assert "INTERNALERROR" not in ended.output


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_a_run_that_is_asked_to_end_keeps_what_it_found(place: Place, words: tuple[str, ...]) -> None:
    write_scenarios(place, 60)
    process = place.start(HARNESS, "run", "--backend", "oceanbase", *words)
    read_until(process, b"....")
    os.kill(process.pid, signal.SIGTERM)
    ended = place.end(process)
    assert ended.code == 130, ended.output
    assert "results: results/run.json" in ended.output
    assert json.loads((place.folder / "results/run.json").read_bytes())["cases"]
    assert place.engines() == []
    assert place.left_over() == []


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_a_signal_breaks_nothing_off_in_the_middle(place: Place, words: tuple[str, ...]) -> None:
    write_scenarios(place, 60)
    words = ("-p", "targets.plugin", "--backend", "sqlite", *words)
    ended = place.harness("run", *words, **{ASK_AFTER: "2"})
    assert ended.code == 130, ended.output
    assert "counted to the end" in ended.output
    assert "asked to end by SIGINT" in ended.output
    assert ended.is_clean
    assert 2 <= len(json.loads((place.folder / "results/run.json").read_bytes())["cases"]) < 60


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_a_scenario_that_hangs_is_interrupted(place: Place, words: tuple[str, ...]) -> None:
    pipe = place.folder / "pipe"
    os.mkfifo(pipe)
    words = ("-p", "targets.plugin", "--backend", "sqlite", *words)
    process = place.start(HARNESS, "run", *words, **{HANG: str(pipe)})
    assert pipe.read_bytes()
    os.killpg(process.pid, signal.SIGINT)
    ended = place.end(process)
    assert ended.code == 130, ended.output
    assert "INTERNALERROR" not in ended.output
    assert place.left_over() == []


def test_a_killed_run_leaves_no_engine(place: Place) -> None:
    write_scenarios(place, 60)
    process = place.start(HARNESS, "run", "-n", "2")
    read_until(process, b"....")
    engines = place.engines()
    assert len(engines) == 1
    process.kill()
    process.communicate()
    wait_until_gone(engines)


def test_two_runs_at_once_do_not_disturb_each_other(place: Place) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(place.start(HARNESS, "run"))
        second = stack.enter_context(place.start(HARNESS, "run", "-p", "no:cacheprovider"))
        ended = [place.end(process) for process in (first, second)]
    assert [one.code for one in ended] == [0, 0], [one.output for one in ended]
    assert all("all        3 passed  3 passed" in one.output for one in ended)
    assert place.left_over() == []
