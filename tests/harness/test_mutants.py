"""The kill score: every change fits the runtime, wrong ones are caught, and one that changes nothing is told."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backends import Backend
from harness.errors import HarnessError
from harness.explore.mutants.__main__ import app
from harness.explore.mutants.catalogue import MUTANTS
from harness.explore.mutants.model import BOTH, OCEANBASE, SQLITE, Edit, Mutant, NotApplicable, apply, copy_runtime
from harness.explore.mutants.report import line, score_lines, write
from harness.explore.mutants.run import RUNTIME, SCENARIOS, Children, check_unchanged, corpus, judge
from harness.explore.mutants.verdict import Catch, Result
from harness.plugin import RUN

BY_NAME = {wrong.name: wrong for wrong in MUTANTS}
HARMLESS = Mutant(
    "text",
    "a comment more",
    "Nothing is wrong.",
    (Edit("text.py", "MAX_BODY_BYTES = 2000\n", "MAX_BODY_BYTES = 2000  # bytes\n"),),
    ("budgets/exact_size_of_one_item",),
)


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> list[Backend]:
    run = pytestconfig.stash[RUN]
    if run.missing or set(run.engines) != set(BOTH):
        pytest.skip("needs both engines")
    for engine in run.engines.values():
        engine.start()
    return [run.engines[name] for name in BOTH]


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenarios that the tests below name, and no others."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name in [
        "budgets/exact_size_of_one_item",
        "bugs/scope_ids_with_a_trailing_blank",
        "escaping/line_breaks_become_line_feeds",
        "grouping/guide_example_in_english",
        "consistency/a_write_is_visible_at_once",
    ]:
        target = folder / f"{name}.yaml"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((SCENARIOS / f"{name}.yaml").read_bytes())
    return folder


@pytest.fixture(scope="session")
def children(engines: list[Backend], small_corpus: Path) -> Iterator[Children]:
    made = Children(engines, scenarios=small_corpus)
    yield made
    made.close()


@pytest.mark.parametrize("wrong", MUTANTS, ids=lambda wrong: wrong.name)
def test_every_change_fits_the_runtime(wrong: Mutant, tmp_path: Path) -> None:
    for edit in wrong.edits:
        (tmp_path / edit.file).parent.mkdir(exist_ok=True)
        (tmp_path / edit.file).write_bytes((RUNTIME / edit.file).read_bytes())
    apply(wrong, tmp_path)
    for edit in wrong.edits:
        changed = (tmp_path / edit.file).read_text(encoding="utf-8")
        assert changed != (RUNTIME / edit.file).read_text(encoding="utf-8")
        ast.parse(changed)


def test_every_mutant_has_a_name_of_its_own_a_sentence_and_killers_that_exist() -> None:
    known = set(corpus())
    assert [name for name, times in Counter(wrong.name for wrong in MUTANTS).items() if times > 1] == []
    for wrong in MUTANTS:
        assert wrong.sentence.endswith("."), wrong.name
        assert 1 <= len(wrong.killers) <= 3, wrong.name
        assert set(wrong.killers) <= known, wrong.name
        assert wrong.backends in (BOTH, (SQLITE,), (OCEANBASE,)), wrong.name


def test_one_fifth_are_faults_of_one_engine_alone() -> None:
    alone = Counter(wrong.backends[0] for wrong in MUTANTS if wrong.backends != BOTH)
    assert len(MUTANTS) >= 55
    assert alone.total() >= max(11, len(MUTANTS) // 5)
    assert set(alone) == set(BOTH)


def test_a_change_that_no_longer_fits_is_told(children: Children) -> None:
    rotten = replace(HARMLESS, edits=(Edit("text.py", "MAX_BODY_BYTES = 1999", "MAX_BODY_BYTES = 1998"),))
    result = judge(rotten, children)
    assert (result.state, result.catch) == ("NOT APPLICABLE", None)
    assert result.reason == "text.py holds 'MAX_BODY_BYTES = 1999' 0 times, not 1"


def test_a_change_that_fits_twice_is_told(tmp_path: Path) -> None:
    twice = replace(HARMLESS, edits=(Edit("text.py", "MAX_BODY_BYTES", "MAX"),))
    with pytest.raises(NotApplicable, match="times, not 1"):
        apply(twice, copy_runtime(RUNTIME, tmp_path))


@pytest.mark.parametrize(
    ("name", "red"),
    [
        ("budget off by one", ["oceanbase", "sqlite"]),
        ("CR left in", ["oceanbase", "sqlite"]),
        ("blank-padding identity on OceanBase", ["oceanbase"]),
        ("stale reads on SQLite", ["sqlite"]),
    ],
)
def test_a_wrong_implementation_is_caught_where_it_is_wrong(name: str, red: list[str], children: Children) -> None:
    wrong = BY_NAME[name]
    result = judge(wrong, children)
    assert result.state == "caught", result.reason
    assert result.catch is not None
    assert result.by_killer
    assert result.catch.red == red
    assert result.catch.scenario in wrong.killers


def test_an_equivalent_mutant_is_uncaught(children: Children) -> None:
    result = judge(HARMLESS, children)
    assert (result.state, result.catch, result.reason) == ("UNCAUGHT", None, "every scenario is green")


def test_a_mutant_that_breaks_the_import_is_no_catch(children: Children) -> None:
    broken = replace(HARMLESS, edits=(Edit("text.py", "import json\n", "import no_such_module\n"),))
    result = judge(broken, children)
    assert result.state == "UNCAUGHT"
    assert "No module named 'no_such_module'" in result.reason


def test_an_internal_error_is_no_catch(children: Children) -> None:
    crashing = replace(
        HARMLESS, edits=(Edit("builder.py", "    blocks: list[bytes] = [text.HEADER]\n", "    1 / 0\n"),)
    )
    result = judge(crashing, children)
    assert result.state == "UNCAUGHT"
    assert "internal error" in result.reason


def test_a_fault_of_one_engine_is_no_catch_where_both_are_red(children: Children) -> None:
    result = judge(replace(BY_NAME["budget off by one"], backends=(SQLITE,)), children)
    assert result.state == "UNCAUGHT"
    assert "red otherwise than expected" in result.reason


def test_the_unchanged_runtime_is_green(children: Children) -> None:
    assert check_unchanged(children, [HARMLESS, BY_NAME["CR left in"]]) == 2


def test_a_killer_that_is_red_on_the_unchanged_runtime_stops_the_run(engines: list[Backend], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text = (SCENARIOS / "empty" / "no_hit.yaml").read_text(encoding="utf-8").replace("status: empty", "status: ready")
    (tmp_path / "empty" / "no_hit.yaml").write_text(text, encoding="utf-8")
    children = Children(engines, scenarios=tmp_path)
    with pytest.raises(HarnessError) as error:
        check_unchanged(children, [replace(HARMLESS, killers=("empty/no_hit",))])
    children.close()
    assert error.value.code == "unchanged_runtime_red"


def test_a_killer_that_does_not_exist_stops_the_run(children: Children) -> None:
    with pytest.raises(HarnessError) as error:
        check_unchanged(children, [replace(HARMLESS, killers=("empty/no_such_scenario",))])
    assert error.value.code == "unknown_killers"


def test_of_one_engine_the_comparison_suffices() -> None:
    compared = Catch("a/b", red=[], compared=True)
    assert compared.catches((SQLITE,))
    assert not compared.catches(BOTH)
    assert not Catch("a/b", red=[SQLITE], compared=True).catches((OCEANBASE,))
    assert not Catch("a/b", red=[SQLITE], compared=False, crashed=["sqlite: gone"]).catches((SQLITE,))


def test_the_report_tells_what_caught_it_and_what_is_uncaught(tmp_path: Path) -> None:
    catch = Catch("budgets/exact_size_of_one_item", ["oceanbase", "sqlite"], True, kind="bytes", region="response")
    results = [
        Result(BY_NAME["budget off by one"], "caught", catch, by_killer=True, caught_by=1),
        Result(HARMLESS, "UNCAUGHT", reason="every scenario is green"),
    ]
    assert " ".join(line(results[0]).split()) == (
        "budget: budget off by one oceanbase+sqlite budgets/exact_size_of_one_item: bytes in response"
    )
    lines = list(score_lines(results, seconds=1.2))
    assert lines[0] == "1 of 2 wrong implementations caught (50 %), in 1 s"
    assert "UNCAUGHT: text: a comment more: every scenario is green" in lines
    write(results, tmp_path / "results" / "mutants.json")
    assert '"caught": 1' in (tmp_path / "results" / "mutants.json").read_text(encoding="utf-8")


def test_an_unknown_name_is_refused_before_anything_starts() -> None:
    result = CliRunner().invoke(app, ["--only", "budget of by one"])
    assert isinstance(result.exception, HarnessError)
    assert "budget off by one" in str(result.exception)
