"""The results file: what it holds, under xdist too, what a run that is broken off leaves, shards and their join."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from targets.processes import HARNESS, Place, a_place
from targets.runs import ASK, SCENARIO

from harness.errors import HarnessError
from harness.report.junit import junit
from harness.report.results import JOURNAL, SCHEMA, bytes_of, dumped, join, read, text_of
from harness.report.sharding import read_shard

ODD = """
  - step: bytes that are no text
    body: {hex: "ff00"}
    expect: {http: 422, error: invalid_request}
  - step: an exact read
    read: {scope: demo, entry: entry-1@entry-1-v2, revision: 2}
"""
SQLITE = ("--backend", "sqlite")
WRONG = ("-p", "targets.plugin", "--backend", "sqlite", "--backend", "second", "--target", "swaps-on-second")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        place.write("a/one.yaml", SCENARIO + "why: because\ntags: [t]\nsteps:" + ASK + ODD)
        place.write("b/two.yaml", SCENARIO + "steps:" + ASK)
        yield place


def found(place: Place, name: str = "results/run.json") -> dict[str, Any]:
    read_back = read(place.folder / name)
    jsonschema.validate(read_back, json.loads(SCHEMA.read_text("utf-8")))
    return read_back


def write_many(place: Place, count: int) -> None:
    for number in range(count):
        place.write(f"many/s{number:03}.yaml", SCENARIO + "steps:" + ASK)


def test_it_holds_the_run_the_scenarios_and_every_step(place: Place) -> None:
    ended = place.harness("run", *SQLITE)
    assert ended.code == 0, ended.output
    assert "\nresults: results/run.json\n" in ended.output
    whole = found(place)
    [run] = whole["runs"]
    assert run["complete"] is True
    assert run["columns"] == [["runtime", "sqlite"]]
    assert run["facts"]["sqlite"].startswith("3.")
    one = whole["scenarios"]["scenarios/a/one.yaml"]
    assert (one["chapter"], one["why"], one["tags"]) == ("a", "because", ["t"])
    assert one["text"] == (place.folder / "scenarios/a/one.yaml").read_text()
    case = whole["cases"][0]
    assert case["id"] == "scenarios/a/one.yaml::sqlite"
    assert case["repeat"] == "harness run scenarios/a/one.yaml --backend sqlite"
    seed, asks, odd, reads, _ = case["steps"]
    assert (seed["index"], seed["verb"]) == (-1, "seed")
    assert asks["line"] == SCENARIO.count("\n") + 4
    assert json.loads(asks["request"]) == {"scope_id": "demo", "query": "contract tests", "assembly": {}}
    assert json.loads(asks["body"])["status"] == "ready"
    assert 0 < asks["seconds"] < 30
    assert odd["request"] == {"hex": "ff00"}
    assert bytes_of(odd["request"]) == b"\xff\x00"
    assert (odd["status"], asks["failures"], asks["prediction"]) == (422, [], None)
    assert json.loads(reads["request"])["citation"]["entry_id"] == "entry-1"


def test_several_processes_write_the_same(place: Place) -> None:
    place.harness("run", *SQLITE, "-n", "0", "--results", "one.json")
    place.harness("run", *SQLITE, "-n", "2", "--results", "two.json")
    one, two = (found(place, name) for name in ("one.json", "two.json"))
    assert len({case["worker"] for case in two["cases"]}) == 2
    assert steady(one) == steady(two)


def steady(whole: dict[str, Any]) -> str:
    """Return all that does not change from run to run."""
    for case in whole["cases"]:
        del case["worker"], case["times"]
        for step in case["steps"]:
            del step["seconds"]
    return dumped([whole["scenarios"], whole["cases"]])


def test_what_is_wrong_is_there_with_its_prediction(place: Place) -> None:
    ended = place.harness("run", *WRONG, "-n", "2")
    assert ended.code == 1
    whole = found(place)
    verdicts = {(case["scenario"], case["backend"]): case["verdict"] for case in whole["cases"]}
    assert verdicts["scenarios/b/two.yaml", "sqlite"] == "passed"
    assert verdicts["scenarios/b/two.yaml", "second"] == "failed"
    failed = next(case for case in whole["cases"] if case["verdict"] == "failed")
    step = next(step for step in failed["steps"] if step["failures"])
    assert {"kind", "region", "expected", "got", "message"} == step["failures"][0].keys()
    assert "BEHAVIOUR MISMATCH" in [failure["kind"] for failure in step["failures"]]
    predicted, got = step["prediction"]["content"], json.loads(step["body"])["content"]
    assert predicted != got
    right = next(case for case in whole["cases"] if case["scenario"] == failed["scenario"] and case is not failed)
    assert json.loads(right["steps"][step["index"] + 1]["body"])["content"] == predicted
    assert failed["repeat"].endswith("--backend sqlite --backend second --target swaps-on-second")


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_an_interrupted_run_leaves_what_it_judged(place: Place, words: tuple[str, ...]) -> None:
    write_many(place, 200)
    process = place.start(HARNESS, "run", *SQLITE, *words)
    wait_for_lines(place, 4)
    os.killpg(process.pid, signal.SIGINT)
    ended = place.end(process)
    assert ended.code == 130, ended.output
    whole = found(place)
    assert whole["runs"][0]["complete"] is False
    assert 2 <= len(whole["cases"]) < 200
    assert not (place.folder / "results" / f"run.json{JOURNAL}").exists()


def test_a_killed_run_leaves_a_journal_that_is_read_in_its_place(place: Place) -> None:
    write_many(place, 200)
    process = place.start(HARNESS, "run", *SQLITE, "-n", "0")
    wait_for_lines(place, 4)
    process.kill()
    process.communicate()
    whole = found(place)
    assert whole["runs"][0]["complete"] is False
    assert 2 <= len(whole["cases"]) < 200
    reported = place.harness("report")
    assert reported.code == 0, reported.output
    assert "was broken off" in (place.folder / "results/report.html").read_text("utf-8")


def wait_for_lines(place: Place, count: int) -> None:
    journal = place.folder / "results" / f"run.json{JOURNAL}"
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_torn_last_line_of_a_journal_is_left_out(place: Place) -> None:
    place.harness("run", *SQLITE)
    whole = found(place)
    lines = [dumped({"format": 1, "runs": whole["runs"]})]
    lines += [dumped({"scenario": whole["scenarios"][case["scenario"]], "case": case}) for case in whole["cases"]]
    journal = place.folder / f"torn.json{JOURNAL}"
    journal.write_text("\n".join(lines)[:-5], encoding="utf-8")
    assert [case["scenario"] for case in read(journal)["cases"]] == ["scenarios/a/one.yaml"]
    assert read(place.folder / "torn.json") == read(journal)


def test_shards_are_parts_without_overlap_and_join_to_the_whole(place: Place) -> None:
    write_many(place, 20)
    for shard in (1, 2, 3):
        ended = place.harness("run", *SQLITE, "--shard", f"{shard}/3", "--results", f"{shard}.json")
        assert ended.code == 0, ended.output
    place.harness("run", *SQLITE)
    parts = [found(place, f"{shard}.json") for shard in (1, 2, 3)]
    named = [{case["id"] for case in part["cases"]} for part in parts]
    assert all(named)
    assert sum(map(len, named)) == len(set().union(*named)) == 22
    joined = place.harness("report", "3.json", "1.json", "2.json", "--joined", "all.json", "--output", "all.html")
    assert joined.output == "all.html\nall.json\n"
    whole = found(place, "all.json")
    assert [run["options"]["shard"] for run in whole["runs"]] == ["3/3", "1/3", "2/3"]
    assert all(whole["runs"][case["run"]]["id"] for case in whole["cases"])
    for case in whole["cases"]:
        case["run"] = 0
    assert steady(whole) == steady(found(place))


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_shard_without_scenarios_is_green_and_joins(place: Place, processes: str) -> None:
    counts = []
    for shard in (1, 2, 3):
        words = ("-n", processes, "--shard", f"{shard}/3", "--results", f"{shard}.json", "--junit", f"{shard}.xml")
        ended = place.harness("run", *SQLITE, *words)
        assert ended.code == 0, ended.output
        counts.append(len(found(place, f"{shard}.json")["cases"]))
        assert ("no scenario is in this shard" in ended.output) is (counts[-1] == 0)
        assert (place.folder / f"{shard}.xml").exists()
    # Two scenarios cannot fill three shards.
    assert 0 in counts
    assert sum(counts) == 2
    place.harness("report", "1.json", "2.json", "3.json", "--joined", "all.json", "--output", "all.html")
    assert len(found(place, "all.json")["cases"]) == 2


def test_a_shard_of_no_corpus_is_refused(place: Place) -> None:
    (place.folder / "nothing").mkdir()
    ended = place.harness("run", "nothing", *SQLITE, "--shard", "1/2")
    assert ended.code == 2
    assert "nothing_to_run: no scenario is in `nothing`" in ended.output


def test_a_shard_depends_on_the_path_alone() -> None:
    shard = read_shard("2/4")
    assert shard is not None
    # Pinned: on every machine and with every version a scenario stays in its shard.
    assert [shard.has(f"scenarios/s{number}.yaml") for number in range(8)] == PINNED


PINNED = [False, False, True, True, False, True, False, False]


@pytest.mark.parametrize("words", ["0/3", "4/3", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"])
def test_a_shard_that_is_none_is_refused(words: str) -> None:
    with pytest.raises(HarnessError, match=rf"^bad_shard: '{words}' is no shard\n  hint: write I/N, from 1/4 to 4/4"):
        read_shard(words)


def test_a_shard_that_is_none_is_told_in_a_sentence(place: Place) -> None:
    ended = place.harness("run", *SQLITE, "--shard", "4/3")
    assert ended.code == 2
    assert "bad_shard: '4/3' is no shard\n" in ended.output
    assert ended.is_clean


def test_of_a_case_in_several_files_the_last_counts() -> None:
    old, new = (document(verdict) for verdict in ("failed", "passed"))
    assert [case["verdict"] for case in join([old, new])["cases"]] == ["passed"]
    assert [case["run"] for case in join([old, new])["cases"]] == [1]
    assert read_text(text_of(join([old, new])))["runs"] == [*old["runs"], *new["runs"]]


def document(verdict: str) -> dict[str, Any]:
    case = {"scenario": "s.yaml", "target": "runtime", "backend": "sqlite", "run": 0, "verdict": verdict}
    return {"format": 1, "runs": [{"columns": [["runtime", "sqlite"]]}], "scenarios": {"s.yaml": {}}, "cases": [case]}


def read_text(text: str) -> Any:
    return json.loads(text.encode("utf-8"))


def test_texts_that_are_no_unicode_survive() -> None:
    for text in ("\ud800", "\U0001f600", "\u2028", "</script>"):
        assert json.loads(dumped([text]).encode("utf-8")) == [text]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            None,
            "no_results: {path} cannot be read\n  cause: No such file or directory\n  hint: `harness run` writes one",
        ),
        ("[]", "no_results: {path} is no results file"),
        ("{", "no_results: {path} is no results file"),
        (
            '{"format":2,"runs":[],"scenarios":{},"cases":[]}',
            "other_format: {path} cannot be read\n  cause: its format",
        ),
        ("\udcff", "no_results: {path} is no results file\n  cause: it is not UTF-8"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "x.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(HarnessError, match=f"^{re.escape(told.format(path=path))}"):
        read(path)


@pytest.mark.parametrize(
    ("name", "cause"), [("scenarios", "is a folder"), ("scenarios/a/one.yaml/x.json", "is no folder")]
)
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(place: Place, name: str, cause: str) -> None:
    ended = place.harness("run", *SQLITE, "--results", name)
    assert ended.code == 2
    assert re.search(rf"unwritable: \S*{name} cannot be written\n  cause: .* {cause}", ended.output), ended.output
    assert ended.is_clean


def test_the_schema_is_printed(place: Place) -> None:
    assert place.harness("schema", "--results").output == SCHEMA.read_text("utf-8")


def test_junit_has_a_case_for_each_step_with_what_was_expected_and_what_came(place: Place) -> None:
    ended = place.harness("run", *WRONG, "-n", "2", "--junit", "junit.xml")
    assert "\nresults: results/run.json, junit.xml\n" in ended.output
    root = ElementTree.parse(place.folder / "junit.xml").getroot()
    assert [suite.get("name") for suite in root][:2] == ["scenarios/a/one.yaml::sqlite", "scenarios/a/one.yaml::second"]
    right, wrong = root[0], root[1]
    names = ["the seed", "alice asks", "bytes that are no text", "an exact read"]
    assert [case.get("name") for case in right.iter("testcase")][:4] == names
    assert (right.get("failures"), wrong.get("failures"), root.get("errors")) == ("0", "1", "0")
    assert root.get("failures") == "2"
    failed = next(case for case in wrong.iter("testcase") if case.find("failure") is not None)
    assert (failed.get("name"), failed.get("classname")) == ("alice asks", "scenarios.a.one.swaps-on-second.second")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.get("message") == 'BEHAVIOUR MISMATCH in metadata of "Memory 1"'
    assert re.search(r'\n  expected: id="entry-2".*\n  got:      id="entry-1"', failure.text)
    assert "\nrepeat: harness run scenarios/a/one.yaml --backend sqlite --backend second" in failure.text


def test_junit_tells_what_was_not_run_what_is_known_and_what_an_engine_did() -> None:
    whole = document("not run")
    whole["scenarios"]["s.yaml"] = {"title": "a\x00\ud800\u200b\ufffe]]><b>"}
    whole["runs"][0]["started"] = "2026-01-01T00:00:00+00:00"
    [case] = whole["cases"]
    case |= {"id": "s.yaml::sqlite", "reason": "needs a reranker", "known": [], "steps": [], "times": {}, "repeat": "r"}
    others = [case | {"verdict": "engine fault"}, case | {"verdict": "known", "known": ["issue 9"]}]
    whole["cases"] += others
    root = ElementTree.fromstring(junit(whole).encode("utf-8"))
    assert (root.get("tests"), root.get("skipped"), root.get("errors")) == ("3", "2", "1")
    skipped = root[0].find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "needs a reranker"
    title = root[0].find("properties/property[@name='scenario']")
    assert title is not None
    assert title.get("value") == "a<U+0000>?<U+200B><U+FFFE>]]><b>"
