"""The examples for CI: their shell steps are executed in a folder that has scenarios and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from console import ROOT, Shell, a_home

EXAMPLES = ROOT / "docs" / "examples"
INSTALL = 'pip install "$HARNESS"'
SHARDS = 2

NAMES = ("one.yaml", "two.yaml", "three.yaml", "four.yaml")
"""By their names two are in the first part and two in the second."""
GOOD = """\
scenario: tea is found

scopes: {kitchen: {memory: [{entry: green, text: Green tea.}]}}

steps:
  - prepare: {scope_id: kitchen, query: tea, assembly: {}}
    expect: {sections: [{Memory: [green]}]}
"""


def read(name: str) -> dict[str, Any]:
    """Read a workflow; YAML 1.1 takes GitHub's key `on` for true."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    return found


def github(job: str, shard: int) -> list[str]:
    steps = read("github-actions.yml")["jobs"][job]["steps"]
    return [step["run"].replace("${{ matrix.shard }}", str(shard)) for step in steps if "run" in step]


def gitlab(job: str, shard: int) -> list[str]:
    workflow = read("gitlab-ci.yml")
    variables = {"CI_NODE_INDEX": shard, "CI_NODE_TOTAL": SHARDS}
    exports = [f"export {name}={value}" for name, value in variables.items()]
    return [*exports, *workflow["default"]["before_script"], *workflow[job]["script"]]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with a_home() as folder:
        yield folder


@pytest.fixture
def shell(tmp_path: Path, home: Path) -> Iterator[Shell]:
    (tmp_path / "scenarios").mkdir()
    for name in NAMES:
        (tmp_path / "scenarios" / name).write_text(GOOD, encoding="utf-8")
    with closing(Shell(tmp_path, home)) as shell:
        # Kept for all tests.
        shell.run("harness engine up")
        yield shell


def test_both_examples_split_into_as_many_parts_as_are_joined() -> None:
    assert read("github-actions.yml")["jobs"]["run"]["strategy"]["matrix"]["shard"] == [1, SHARDS]
    assert read("gitlab-ci.yml")["run"]["parallel"] == SHARDS
    for steps in (github("run", 1), gitlab("run", 1)):
        assert INSTALL in steps


@pytest.mark.docs
@pytest.mark.parametrize("steps_of", [github, gitlab])
def test_an_example_runs_every_scenario_and_joins_the_parts(steps_of: Any, shell: Shell) -> None:
    jobs = [("form", 1), *(("run", shard) for shard in range(1, SHARDS + 1)), ("report", 1)]
    for job, shard in jobs:
        for step in steps_of(job, shard):
            # The harness is installed where this test runs.
            if step != INSTALL:
                code, output = shell.run(step)
                assert code == 0, (step, output)
    project = shell.folder
    joined = json.loads((project / "run.json").read_text(encoding="utf-8"))
    assert len(joined["cases"]) == len(NAMES) * 2
    assert {case["verdict"] for case in joined["cases"]} == {"passed"}
    parts = [json.loads((project / f"run-{shard}.json").read_text(encoding="utf-8"))["cases"] for shard in (1, SHARDS)]
    assert all(parts)
    assert sum(map(len, parts)) == len(joined["cases"])
    assert (project / "report.html").stat().st_size > 10_000
    assert (project / "junit-1.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.docs
@pytest.mark.parametrize("steps_of", [github, gitlab])
def test_an_example_is_red_where_a_scenario_is(steps_of: Any, shell: Shell) -> None:
    for name in NAMES:
        (shell.folder / "scenarios" / name).write_text(GOOD.replace("[green]", "[]"), encoding="utf-8")
    *before, judging = (step for step in steps_of("run", 1) if step != INSTALL)
    for step in before:
        shell.run(step)
    code, output = shell.run(judging)
    assert code == 1, output
