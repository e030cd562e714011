"""docs/faults.md has a row for each fault that a test brings about, with what is promised of it, and no other."""

from __future__ import annotations

from pathlib import Path

import test_accounts_and_sessions
import test_engine_itself
import test_harness_says_engine_fault
import test_sqlite_file
import test_way_to_engine
from records import FAULTS, HEADINGS, rows_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
MODULES = (
    test_accounts_and_sessions,
    test_engine_itself,
    test_harness_says_engine_fault,
    test_sqlite_file,
    test_way_to_engine,
)


def test_the_table_has_the_rows_of_the_tests() -> None:
    rows = [dict(zip(HEADINGS, row, strict=True)) for row in rows_of(DOCUMENT.read_text(encoding="utf-8"))]
    shown = [tuple(row[name] for name in ("fault", "engine", "prepare answers", "bound", "recovers")) for row in rows]
    assert sorted(shown) == sorted(fault.promised for fault in FAULTS)


def test_nothing_was_slower_than_its_bound_and_nothing_was_lost() -> None:
    for row in (dict(zip(HEADINGS, row, strict=True)) for row in rows_of(DOCUMENT.read_text(encoding="utf-8"))):
        assert float(row["measured"].removesuffix(" s")) <= float(row["bound"].removesuffix(" s"))
        assert (row["acknowledged"].isdigit(), row["lost"]) == (True, "0")


def test_every_module_of_faults_is_in_the_table() -> None:
    here = {path.stem for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).stem, "test_workers"}
    assert here == {module.__name__ for module in MODULES}


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({(fault.name, fault.engine) for fault in FAULTS}) == len(FAULTS)
