"""What users of pytest expect of the plugin: ids, -k, -m, -x, --lf, -n, --junitxml, and how names are refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from targets.processes import Place, a_place
from targets.runs import ASK, SCENARIO

BOTH = ("--backend", "sqlite", "--backend", "second")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("selection")) as place:
        tagged = SCENARIO.replace("scopes:", "tags: [chosen]\nscopes:", 1)
        place.write("grouping/one.yaml", tagged + "steps:" + ASK)
        place.write("grouping/two.yaml", SCENARIO + "steps:" + ASK)
        place.write(
            "budgets/three.yaml", SCENARIO + "steps:" + ASK.replace("entry-2, entry-1@entry-1-v2", "entry-1, entry-2")
        )
        place.write("ledger.yaml", "[]\n")
        yield place


def test_ids_are_paths_and_backends(place: Place) -> None:
    ended = place.pytest("--collect-only", "-q", *BOTH, "scenarios")
    assert ended.output.splitlines()[:6] == [
        f"scenarios/{file}.yaml::{backend}"
        for file in ("budgets/three", "grouping/one", "grouping/two")
        for backend in ("sqlite", "second")
    ]


@pytest.mark.parametrize(
    ("words", "counted"),
    [
        (("-k", "one and second"), "1 passed, 5 deselected"),
        (("-m", "chosen"), "2 passed, 4 deselected"),
        (("scenarios/grouping/two.yaml::second",), "1 passed"),
        (("-x",), "1 failed"),
    ],
)
def test_selection_is_pytests(place: Place, words: tuple[str, ...], counted: str) -> None:
    paths = () if words[0].startswith("scenarios") else ("scenarios",)
    ended = place.pytest("-q", *BOTH, *words, *paths)
    assert re.search(rf"(?m)^{counted} in", ended.output), ended.output


def test_processes_share_files_not_items_and_report_alike(place: Place) -> None:
    ended = place.pytest("-v", "-n", "2", "--junitxml", "report.xml", *BOTH, "scenarios")
    workers = defaultdict(set)
    for worker, verdict, file in re.findall(r"\[(gw\d)\].*(PASSED|FAILED) (\S+)::", ended.output):
        workers[file].add(worker)
        assert verdict == ("FAILED" if "three" in file else "PASSED")
    assert [len(seen) for seen in workers.values()] == [1, 1, 1]
    assert ended.code == 1
    cases = list(ElementTree.parse(place.folder / "report.xml").iter("testcase"))
    assert {(case.get("classname"), case.get("name")) for case in cases} == {
        (f"scenarios.{file}.yaml", backend)
        for file in ("budgets.three", "grouping.one", "grouping.two")
        for backend in ("sqlite", "second")
    }
    [told] = [one.text for case in cases for one in case.iter("failure") if case.get("name") == "sqlite"]
    assert told is not None
    assert told.startswith("scenarios/budgets/three.yaml:20 'alice asks' on sqlite (runtime)\n  sections in section")


def test_last_failed_compares_again_although_one_side_is_selected(place: Place) -> None:
    words = ("-q", "--target", "miscounts-on-second", *BOTH, "scenarios/grouping/two.yaml")
    mismatch = "BEHAVIOUR MISMATCH in response"
    first = place.pytest(*words)
    again = place.pytest(*words, "--lf")
    assert "1 failed, 1 passed" in first.output
    assert re.search(r"(?m)^1 failed(, 1 deselected)? in", again.output), again.output
    for ended in (first, again):
        assert mismatch in ended.output
        assert "FAILED scenarios/grouping/two.yaml::second" in ended.output
        assert ended.code == 1


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_unknown_names_stop_the_run_with_the_known_ones(place: Place, processes: tuple[str, ...]) -> None:
    ended = place.pytest("-q", "--backend", "mysql", "--target", "prod", *processes, "scenarios")
    assert ended.code == pytest.ExitCode.USAGE_ERROR
    assert ended.output == (
        'ERROR: unknown_backend: unknown backend "mysql"\n'
        "  hint: known: sqlite, oceanbase, second\n"
        'unknown_target: unknown target "prod"\n'
        "  hint: known: runtime, cannot-fail, miscounts-on-second, swaps-on-second, stores-other-rows-on-second, "
        "powercontext==VERSION, powercontext, http://HOST:PORT\n\n"
    )


def test_the_summary_counts_chapters_and_backends(place: Place) -> None:
    ended = place.pytest("-q", *BOTH, "scenarios")
    summary = ended.output.partition(" backends ")[2].partition("\n")[2]
    assert (
        re.sub(r"\d+\.\d+\.\d+", "VERSION", re.sub(r"\b\d\.\d\b(?!\.)", "N.N", summary.partition("=====")[0]))
        == """\
chapter   sqlite              second
budgets   1 failed            1 failed
grouping  2 passed            2 passed
all       2 passed, 1 failed  2 passed, 1 failed

executed: 6 of 6 (scenarios x backends), 3 scenarios, 54 steps and expectations judged

seconds  start  clear  seed  request  check
sqlite   N.N    N.N    N.N   N.N      N.N
second   N.N    N.N    N.N   N.N      N.N
sqlite: VERSION (file), default isolation SERIALIZABLE, binary identities compare exact
second: VERSION (file), default isolation SERIALIZABLE, binary identities compare exact
"""
    )


def test_nothing_selected_is_no_success(place: Place) -> None:
    assert place.pytest("-q", "--backend", "sqlite", "-k", "nothing", "scenarios").code == 5
    ended = place.harness("run", "--backend", "sqlite", "-k", "nothing")
    assert (ended.code, ended.is_clean) == (2, True)


def test_nothing_judged_is_red(place: Place) -> None:
    fault = "\n  - fault: {family: memory, kind: error}"
    place.write("../elsewhere/fault.yaml", SCENARIO + "steps:" + fault)
    ended = place.pytest("-q", "--target", "cannot-fail", "--backend", "sqlite", "elsewhere/fault.yaml")
    assert ended.code == 1
    assert "not run: needs faults (1)\nnothing was judged: the run is red\n" in ended.output
    assert "1 skipped" in ended.output


def test_no_temporary_file_is_left(place: Place) -> None:
    assert place.left_over() == []
    place.pytest("-q", "--backend", "oceanbase", "--oceanbase-url", "bogus", "scenarios")
    assert place.left_over() == []


@pytest.mark.parametrize("settings", ["[project]\nname = 'x'\nversion = '0'\n", "[tool.pytest.ini_options]\n"])
@pytest.mark.parametrize(
    ("folder", "words", "passed"),
    [
        ("kitchen", (), 2),
        ("kitchen", ("scenarios",), 2),
        ("kitchen", ("./scenarios/",), 2),
        ("kitchen", ("scenarios/tea",), 1),
        ("kitchen", ("../e2e/specs", "scenarios/one.yaml"), 2),
        (".", ("kitchen",), 2),
        (".", ("e2e/specs",), 1),
        ("e2e", ("specs", "../kitchen/scenarios/tea", "-n", "2"), 2),
    ],
)
def test_a_folder_that_is_named_is_run_wherever_it_lies(
    place: Place, settings: str, folder: str, words: tuple[str, ...], passed: int
) -> None:
    (place.folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    for name in ("../kitchen/scenarios/one.yaml", "../kitchen/scenarios/tea/two.yaml", "../e2e/specs/three.yaml"):
        place.write(name, SCENARIO + "steps:" + ASK)
    ended = place.inside(folder).harness("run", "--backend", "sqlite", *words)
    assert ended.code == 0, ended.output
    assert re.search(rf"(?m)^{passed} passed in", ended.output), ended.output


def test_the_ledger_beside_the_scenarios_of_this_folder_counts(place: Place) -> None:
    (place.folder / "pyproject.toml").write_text("", encoding="utf-8")
    place.write("../kitchen/scenarios/one.yaml", SCENARIO + "steps:" + ASK)
    place.write("../kitchen/scenarios/ledger.yaml", "- {}\n")
    ended = place.inside("kitchen").harness("run", "--backend", "sqlite")
    assert ended.code == 2
    assert "kitchen/scenarios/ledger.yaml:1:3" in ended.output
