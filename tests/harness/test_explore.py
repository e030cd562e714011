"""Exploration: a right build passes, a wrong one is found, shrunk, and saved as a scenario that fails by itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import Ended, Place, a_place

from harness.errors import HarnessError
from harness.explore.explore import explore
from harness.explore.writing import lines_in
from harness.scenario.loader import load

BOTH = ("sqlite", "oceanbase")
_SECONDS = 240

_PREAMBLE = """\
import sys
from pathlib import Path
"""
FOLDED = """
from sqlalchemy import Text
from runtime.storage import schema, types
exact = types.ExactString.load_dialect_impl
def folded(self, dialect):
    if dialect.name == "sqlite":
        return dialect.type_descriptor(Text(collation="NOCASE"))
    return exact(self, dialect)
types.ExactString.load_dialect_impl = folded
schema._check_columns = schema._check_collations = schema._check_keys = lambda *parts: None
"""
"""Identities of SQLite's that ignore case, unseen by the check at the start."""
PADDED = """
from sqlalchemy.dialects.mysql import VARCHAR
from runtime.storage import schema, types
exact = types.ExactString.load_dialect_impl
bound = types.ExactString.process_bind_param
def padded(self, dialect):
    if dialect.name == "mysql" and self.bytes_length == 1024:
        return dialect.type_descriptor(VARCHAR(self.bytes_length // 4, collation="utf8mb4_general_ci"))
    return exact(self, dialect)
def as_text(self, value, dialect):
    return value if dialect.name == "mysql" and self.bytes_length == 1024 else bound(self, value, dialect)
types.ExactString.load_dialect_impl = padded
types.ExactString.process_bind_param = as_text
schema._check_columns = schema._check_collations = schema._check_keys = lambda *parts: None
"""
"""Identities of OceanBase's that ignore case, accents and blanks at the end, unseen by the check at the start."""
OFF_BY_ONE = """
from runtime import builder
right = builder.build
builder.build = lambda *words, max_bytes, **rest: right(*words, max_bytes=max_bytes - 1, **rest)
"""
"""A budget of one byte less."""
EXPLORE = """
from harness.explore.explore import explore
explore(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:], out_dir=Path("scenarios/found"))
"""
RUN = """
from harness.cli import run_pytest
sys.exit(run_pytest(["scenarios/found", *(word for name in sys.argv[1:] for word in ("--backend", name))]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        yield place


def python(place: Place, script: str, *words: str) -> Ended:
    process = place.start(sys.executable, "-c", _PREAMBLE + script, *words)
    try:
        # Shrinking takes longer than the other commands that a place runs.
        output, _ = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
        process.wait()
    return Ended(process.returncode, output.decode("utf-8", "replace"))


def test_a_right_build_passes_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    explored = explore(20, 7, BOTH, report=told.append)
    assert (explored.examples, explored.finding, explored.path) == (20, None, None)
    assert told[0] == "exploring 20 worlds with seed 7 on sqlite, oceanbase"
    assert told[-1].startswith("20 worlds passed in ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "backends"),
    [
        pytest.param(FOLDED, BOTH, id="identities-folded-on-sqlite"),
        pytest.param(PADDED, BOTH, id="identities-padded-on-oceanbase"),
        pytest.param(OFF_BY_ONE, ("sqlite",), id="budget-off-by-one"),
    ],
)
def test_a_wrong_build_is_found_and_shrunk(place: Place, fault: str, backends: tuple[str, ...]) -> None:
    explored = python(place, fault + EXPLORE, "500", "1", *backends)
    assert explored.code == 0, explored.output
    assert "flaky" not in explored.output
    # A build that refuses to start would be found as well, but says nothing of what exploration can see.
    assert "runtime_not_ready" not in explored.output
    [path] = (place.folder / "scenarios" / "found").iterdir()
    assert f"repeat:  harness run scenarios/found/{path.name} --backend sqlite" in explored.output
    text = path.read_text(encoding="utf-8")
    assert f"--seed 1 --backend {' --backend '.join(backends)}`" in text
    assert len(text.splitlines()) <= 25, text
    assert next(iter(lines_in(text))).startswith("scenario: ")
    load(path)

    again = python(place, fault + RUN, *backends)
    assert again.code == 1, again.output
    assert python(place, RUN, *backends).code == 0
    assert place.left_over() == []


def test_nothing_to_explore_and_unknown_backends_are_told() -> None:
    with pytest.raises(HarnessError, match="is no number of examples"):
        explore(0, 1, ["sqlite"])
    with pytest.raises(HarnessError, match='unknown backend "mongo"'):
        explore(1, 1, ["mongo"])
