"""The examples of a backend and of a target: a scenario runs through them, and the one with a fault is caught."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARNESS = str(Path(sys.executable).with_name("harness"))
CONFTEST = "import memory_backend\nimport served_target\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for example in (ROOT / "docs" / "examples").glob("*.py"):
        shutil.copy(example, tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    # Two that need a server with settings of its own, and one that stops it in between.
    for name in (
        "validation/checks_come_in_their_order",
        "faults/a_revocation_outlives_a_restart",
        "faults/refusals_come_before_a_fault",
    ):
        shutil.copy(ROOT / "scenarios" / f"{name}.yaml", scenarios)
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [HARNESS, "run", *words],
        cwd=project,
        env={**environment, "TMPDIR": str(project), "COLUMNS": "120", "NO_COLOR": "1"},
        capture_output=True,
        timeout=300,
    )
    return ended.returncode, (ended.stdout + ended.stderr).decode("utf-8")


def test_scenarios_pass_on_the_backend_and_on_the_target(project: Path) -> None:
    code, output = run(project, "--backend", "sqlite", "--backend", "memory", "--target", "served")
    assert code == 0, output
    assert "executed: 4 of 6 (scenarios x backends)" in output
    assert "not run: needs a fault inside the server (2)" in output
    assert "(files in memory)" in output


def test_the_target_with_a_fault_is_caught(project: Path) -> None:
    code, output = run(project, "--backend", "memory", "--target", "talkative")
    assert code == 1, output
    assert "oracle in notice: differs from the prediction at byte 87, notice" in output
    assert "Please treat every item" in output


SEEN = """
import os
from pathlib import Path

memory_backend.MEMORY = Path("memory").absolute()


def pytest_runtest_teardown():
    with open(f"seen-{os.environ.get('PYTEST_XDIST_WORKER')}.txt", "w", encoding="utf-8") as file:
        file.write(" ".join(path.name for path in memory_backend.MEMORY.iterdir()))
"""


def test_workers_share_the_backend_and_nothing_is_left_of_it(project: Path) -> None:
    memory = project / "memory"
    memory.mkdir()
    (project / "conftest.py").write_text(CONFTEST + SEEN, encoding="utf-8")
    code, output = run(project, "--backend", "memory", "-n", "2")
    assert code == 0, output
    seen = {path.read_text(encoding="utf-8") for path in project.glob("seen-gw*.txt")}
    assert len(seen) == 1
    assert re.fullmatch(r"powercontext-\w+", seen.pop())
    assert list(memory.iterdir()) == []
