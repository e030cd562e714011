"""A failed case again, from its results file alone; and the database that it leaves."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from targets.processes import Place, a_place

from backends import Backend
from backends.copies import copy_database
from backends.oceanbase import OceanBase
from backends.provision.databases import Endpoint, databases_of, drop_database
from harness.cli_repro import choose, options
from harness.errors import HarnessError
from harness.plugin import RUN
from harness.run.keeping import OWNER, NotKept, keep
from runtime.artifacts import EntryWrite
from runtime.storage import Storage, open_storage

BAD = """\
scenario: something is expected that does not come
scopes:
  demo:
    memory: [{entry: entry-1, text: tea}]
steps:
  - prepare: {scope_id: demo, query: tea, assembly: {}}
    expect: {status: empty}
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        yield place
        for left in place.temporary.glob("powercontext-repro-*"):
            shutil.rmtree(left)


def test_a_case_fails_again_elsewhere(place: Place, tmp_path: Path) -> None:
    place.write("budgets/bad.yaml", BAD)
    place.write("budgets/good.yaml", BAD.replace("empty", "ready"))
    assert place.harness("run", "scenarios", "--backend", "sqlite", "--results", "run.json").code == 1
    # Another machine: nothing but the file.
    shutil.rmtree(place.folder / "scenarios")
    listed = place.harness("repro", "run.json")
    assert (listed.code, listed.output.splitlines()) == (
        0,
        ["   1  scenarios/budgets/bad.yaml::sqlite  failed: status in response", "1 of 2 cases did not pass"],
    )
    for case in ("1", "scenarios/budgets/bad.yaml"):
        ended = place.harness("repro", "run.json", case)
        assert ended.code == 1, ended.output
        assert "  expected: empty\n  got:      ready\n" in ended.output
        assert "scenarios/budgets/bad.yaml::sqlite: the same outcome as then\n" in ended.output
        file = re.search(r"(?m)^the scenario lies at (\S+)$", ended.output)
        assert file is not None
        assert not (place.folder / "results").exists()
    well = place.harness("repro", "run.json", "good")
    assert well.code == 0, well.output
    assert "good.yaml::sqlite: the same outcome as then" in well.output


def test_a_case_that_is_mended_is_told(place: Place) -> None:
    place.write("bad.yaml", BAD)
    assert place.harness("run", "scenarios", "--backend", "sqlite", "--results", "run.json").code == 1
    results = place.folder / "run.json"
    results.write_text(results.read_text("utf-8").replace("{status: empty}", "{status: ready}"), encoding="utf-8")
    ended = place.harness("repro", "run.json", "1")
    assert ended.code == 0, ended.output
    assert "scenarios/bad.yaml::sqlite: failed then, passes here\n" in ended.output


def a_case(path: str, backend: str, verdict: str = "failed") -> dict[str, Any]:
    return {"id": f"{path}::{backend}", "scenario": path, "target": "runtime", "backend": backend, "verdict": verdict}


CASES = {
    "cases": [
        a_case("scenarios/budgets/cut.yaml", "sqlite", "passed"),
        a_case("scenarios/budgets/cut.yaml", "oceanbase"),
        a_case("scenarios/empty/blank.yaml", "sqlite"),
        a_case("scenarios/bugs/blank.yaml", "sqlite"),
    ]
}


def test_a_case_has_several_names() -> None:
    for name in ("1", "cut", "cut.yaml", "budgets/cut.yaml", "./scenarios/budgets/cut.yaml"):
        assert [case["id"] for case in choose(CASES, name)] == ["scenarios/budgets/cut.yaml::oceanbase"]
    assert choose(CASES, "scenarios/budgets/cut.yaml::sqlite")[0]["verdict"] == "passed"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("budgets/cat.yaml", "scenarios/budgets/cut.yaml"),
        ("cut.yml", "did you mean scenarios/budgets/cut.yaml"),
        ("blank.yaml", "scenarios/empty/blank.yaml"),
        ("4", "leave it out"),
        ("0", "leave it out"),
        ("quite another", "leave it out"),
    ],
)
def test_an_unknown_case_names_the_nearest(name: str, told: str) -> None:
    with pytest.raises(HarnessError) as found:
        choose(CASES, name)
    assert found.value.code == "unknown_case"
    assert told in (found.value.hint or "")


def test_the_options_are_those_of_the_run() -> None:
    asked = {
        "options": {
            "backends": ["sqlite", "second", "oceanbase"],
            "twins": ["case", "accent"],
            "shuffle": "7",
            "sweep": "budget",
            "oceanbase_url": None,
            "oceanbase_image": "an/image",
        }
    }
    chosen = [a_case("x.yaml", "oceanbase") | {"target": "powercontext==1.4.1"}]
    words = options(asked, chosen, oceanbase_url=None)
    assert " ".join(words) == (
        "--backend sqlite --backend oceanbase --target powercontext==1.4.1 --twins case,accent --shuffle 7"
        " --sweep budget --oceanbase-image an/image"
    )
    assert options(asked, chosen, oceanbase_url="mysql://u@h")[-2:] == ["--oceanbase-url", "mysql://u@h"]
    assert options({"options": {}}, [a_case("x.yaml", "sqlite")], oceanbase_url=None) == ["--backend", "sqlite"]


def test_what_is_no_results_file_is_told(place: Place) -> None:
    (place.folder / "run.json").write_text("{}")
    assert place.harness("repro", "run.json", "1").output.startswith("no_results: run.json is no results file")
    assert place.harness("repro", "absent.json", "1").code == 2


def test_a_failing_case_leaves_its_database(place: Place) -> None:
    place.write("bad.yaml", BAD)
    place.write("good.yaml", BAD.replace("empty", "ready"))
    ended = place.harness("run", "scenarios", "--backend", "sqlite", "--keep")
    assert ended.code == 1, ended.output
    (file,) = re.findall(r"(?m)^  kept:     sqlite3 (\S+)$", ended.output)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    connection.close()
    assert place.left_over() == []
    listed = place.harness("kept")
    assert listed.code == 0
    assert f"scenarios/bad.yaml on sqlite\n  sqlite3 {file}\n1 kept\n" in listed.output
    assert place.harness("kept", "--remove").output.endswith("1 kept, 1 removed\n")
    assert not Path(file).exists()
    assert place.harness("kept").output == "0 kept\n"


@pytest.fixture
def oceanbase(pytestconfig: pytest.Config) -> OceanBase:
    run = pytestconfig.stash[RUN]
    if "oceanbase" not in run.engines:
        pytest.skip("oceanbase was not asked for")
    engine: Backend = run.engines["oceanbase"]
    engine.start()
    assert isinstance(engine, OceanBase)
    return engine


def test_an_engine_that_ends_keeps_nothing(oceanbase: OceanBase) -> None:
    url = oceanbase.engine.endpoint.url("pch_x")
    with pytest.raises(NotKept, match="embedded engine ends with the run"):
        keep(url, oceanbase, scenario="x.yaml", backend="oceanbase")
    with pytest.raises(NotKept, match="target's own"):
        keep(None, oceanbase, scenario="x.yaml", backend="oceanbase")


def test_a_database_of_oceanbase_is_copied_as_it_is(oceanbase: OceanBase) -> None:
    url = oceanbase.database_url("pch_test_keeping")
    storage: Storage = open_storage(url)
    try:
        storage.prepare()
        with storage.writing() as writer:
            writer.create_scope("demo")
            writer.write_memory("demo", [EntryWrite("entry-1", "entry-1-v1", "tea")])
    finally:
        storage.close()
    endpoint = oceanbase.engine.endpoint
    try:
        copy_database(endpoint, "pch_test_keeping", "pch_kept_test", OWNER)
        with endpoint.cursor() as cursor:
            counts = []
            for database in ("pch_test_keeping", "pch_kept_test"):
                cursor.execute(f"SELECT count(*) FROM {database}.entries")
                counts.append(cursor.fetchone())
        assert counts == [(1,), (1,)]
    finally:
        drop_database(endpoint, "pch_kept_test", OWNER)
        oceanbase.drop("pch_test_keeping")


def test_an_engine_that_is_kept_warm_keeps_the_database(place: Place) -> None:
    place.write("bad.yaml", BAD)
    try:
        assert place.harness("engine", "up").code == 0
        ended = place.harness("run", "scenarios", "--backend", "oceanbase", "--keep")
        assert ended.code == 1, ended.output
        (command,) = re.findall(r"(?m)^  kept:     (MYSQL_PWD=.*)$", ended.output)
        (name,) = re.findall(r"pch_kept_\w+$", command)
        password = subprocess.run(
            ["bash", "-c", command.split(" mysql ")[0] + '; echo -n "$MYSQL_PWD"'], capture_output=True, check=True
        ).stdout.decode()
        socket = re.search(r"--socket=(\S+)", command)
        assert socket is not None
        endpoint = Endpoint(user="root", password=password, socket=socket[1])
        with endpoint.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {name}.entries")
            assert cursor.fetchone() == (1,)
        assert password not in ended.output
        assert place.harness("kept", "--remove").output.endswith("1 kept, 1 removed\n")
        assert databases_of(endpoint, OWNER) == []
    finally:
        place.harness("engine", "down")


def test_records_that_somebody_broke_are_passed_over(place: Place) -> None:
    folder = place.state / "kept"
    folder.mkdir(parents=True)
    (folder / "pch_kept_1.json").write_text("{")
    (folder / "pch_kept_2.json").write_text(json.dumps({"name": "x"}))
    assert place.harness("kept").output == "0 kept\n"
