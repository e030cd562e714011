"""The command line as a user meets it: lint, schema, new, doctor, and the mistakes that are told in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import HARNESS, Place, a_place
from targets.runs import ASK, SCENARIO

from harness.scenario.schema import PATH as SCHEMA


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        yield place


def test_a_new_scenario_passes_on_both_engines(place: Place) -> None:
    made = place.harness("new", "x")
    assert (made.code, made.output) == (0, "scenarios/x.yaml\nrun it: harness run scenarios/x.yaml\n")
    ended = place.harness("run", "scenarios/x.yaml")
    assert ended.code == 0, ended.output
    assert "executed: 2 of 2 (scenarios x backends), 1 scenario, " in ended.output
    assert re.search(r"(?m)^all        1 passed  1 passed$", ended.output)
    assert place.left_over() == []


def test_doctor_starts_both_engines(place: Place) -> None:
    ended = place.harness("doctor")
    assert ended.code == 0, ended.output
    assert re.search(r"(?m)^ok   sqlite: starts: .* \(file\), default isolation SERIALIZABLE", ended.output)
    assert re.search(r"(?m)^ok   oceanbase: starts: .*OceanBase.* \(embedded\), default isolation READ", ended.output)
    assert place.left_over() == []


def test_doctor_says_what_does_not_start(place: Place) -> None:
    ended = place.harness("doctor", "--oceanbase-url", "http://x")
    assert ended.code == 2
    assert "\nok   sqlite: starts" in ended.output
    assert "\nNOT  oceanbase: url_invalid: the OceanBase server URL cannot be used: its scheme is" in ended.output


def test_schema_is_the_committed_file(place: Place) -> None:
    ended = place.harness("schema")
    assert (ended.code, ended.output) == (0, SCHEMA.read_text("utf-8"))


def test_lint_tells_every_mistake_of_every_file(place: Place) -> None:
    place.write("a/good.yaml", SCENARIO + "steps:" + ASK)
    place.write("a/bad.yaml", "scenario: bad\ntgas: [x]\nsteps:\n  - prepare: {}\n    expect: {http: '9'}\n")
    place.write("b/worse.yml", "scenario: [\n")
    ended = place.harness("lint")
    assert ended.code == 2
    assert re.sub(r"(?m)^(\S+\.ya?ml:\d+:\d+): .*", r"\1", ended.output).splitlines()[::2][0] == (
        "scenarios/a/bad.yaml:2:1"
    )
    assert 'unknown key "tgas"\n  did you mean "tags"?' in ended.output
    assert re.search(r"scenarios/a/bad.yaml:5:\d+: ", ended.output)
    assert re.search(r"scenarios/b/worse.yml:\d+:\d+: ", ended.output)
    assert ended.output.endswith("3 files, 2 refused\n")
    assert place.harness("lint", "scenarios/a/good.yaml").output == "1 file, 0 refused\n"


@pytest.mark.parametrize(
    "words",
    ["schema", "--help", "lint scenarios", "run scenarios --backend sqlite", "run scenarios --backend sqlite -n 2"],
)
def test_an_output_without_room_is_told_in_a_sentence(place: Place, words: str) -> None:
    place.write("x.yaml", SCENARIO + "\nsteps:" + ASK)
    ended = place.end(place.start("bash", "-c", f"{HARNESS} {words} > /dev/full"))
    assert (ended.code, ended.output) == (
        2,
        "no_room: the output cannot be written\n  cause: No space left on device\n  hint: make room there\n",
    )
    assert place.left_over() == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_fault(place: Place, closed: str) -> None:
    ended = place.end(place.start("bash", "-c", f"{HARNESS} schema {closed}"))
    assert (ended.code, ended.output) == (0, SCHEMA.read_text("utf-8") if closed == "2>&-" else "")
