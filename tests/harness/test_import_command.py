"""`harness import` and `harness anonymize` as a user meets them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import Place, a_place
from targets.runs import outcomes

from harness.scenario.loader import load
from harness.target.reference import ReferenceTarget

REPORTS = Path(__file__).with_name("reports")
CURL = str(REPORTS / "curl_with_output.txt")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        yield place


def test_a_report_becomes_a_file_that_lints_and_runs(place: Place) -> None:
    made = place.harness("import", CURL, "--report", "owner/project #123")
    path = "scenarios/bugs/project_123.yaml"
    assert made.code == 0, made.output
    judged = "by itself the reported answer breaks no rule; whether it fits what is stored, an import by --right asks"
    assert made.output == f"{path}\n1 request, 1 guess marked by `# guess:`\nrun it: harness run {path}\n{judged}\n"
    assert load(place.folder / path).scenario.report == ("owner/project #123",)
    assert place.harness("lint", path).code == 0
    assert place.harness("run", path, "--backend", "sqlite").code == 0
    again = place.harness("import", CURL, "--report", "owner/project #123")
    assert (again.code, again.output.splitlines()[0]) == (2, f"file_exists: {path} exists already")


def test_a_report_is_anonymized_by_a_seed_that_is_told(place: Place) -> None:
    made = place.harness("import", CURL, "--anonymize", "--seed", "7", "--output", "other.yaml")
    assert made.code == 0, made.output
    assert "\nanonymized with seed 7\nkept: structure," in made.output
    text = (place.folder / "other.yaml").read_text("utf-8")
    for secret in ("project:demo", "entry-1", "experience-1", "OpenAPI", "契约"):
        assert secret not in text
    assert re.search(r"# came: 200 ready, 1097 bytes: \w{10}-\d#1, \w{5}-\d@", text)
    assert place.harness("run", "other.yaml", "--backend", "sqlite").code == 0
    drawn = place.harness("import", CURL, "--anonymize", "--output", "-")
    assert re.search(r"(?m)^anonymized with seed \d+$", drawn.output)


def test_a_broken_answer_is_told_and_without_its_texts_where_they_are_anonymized(place: Place) -> None:
    report = Path(CURL).read_text("utf-8").replace("### Memory 1", "### Memory 3")
    (place.folder / "report.txt").write_text(report, encoding="utf-8")
    told = 'the reported answer breaks the contract: numbering in heading of "Memory 3"'
    made = place.harness("import", "report.txt")
    assert made.output.splitlines()[3:] == [f"{told}: expected the number 1, got 3"]
    hidden = place.harness("import", "report.txt", "--anonymize", "--output", "other.yaml")
    assert hidden.output.splitlines()[3] == told
    assert f"  # {told}\n" in (place.folder / "other.yaml").read_text("utf-8")


LONG = "{repeat: tea, times: 900}"
ONE_ID_OF_TWO_FAMILIES = f"""\
scenario: a topic and an experience have one id, and both are cut
scopes:
  demo:
    experience: [{{id: x, situation: tea, action: {LONG}, outcome: o, lesson: l}}]
    topics: [{{id: x, title: tea, summary: {LONG}, detail: tea}}]
steps:
  - prepare:
      scope_id: demo
      query: tea
      assembly: {{sections: [{{family: experience, limit: 1}}, {{family: topic-memory, limit: 1}}]}}
"""


def test_what_no_scenario_can_name_is_told_without_a_line_of_a_file(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (outcome,) = outcomes(
        ONE_ID_OF_TWO_FAMILIES, ReferenceTarget, monkeypatch, tmp_path / "reported", backends=["sqlite"]
    )
    step = outcome.steps[0]
    assert step.request is not None
    assert step.body is not None
    (place.folder / "pair.json").write_text(
        json.dumps({"request": step.request.decode(), "response": step.body.decode()}), encoding="utf-8"
    )
    ended = place.harness("import", "pair.json", "--right")
    assert ended.code == 2
    assert ended.output == (
        "unimportable: the report makes no scenario that can be read; nothing is written\n"
        '  cause: "x#1" is ambiguous: it is in experience and topic-memory\n'
        '         "x#1" is ambiguous: it is in experience and topic-memory\n'
        "  hint: without --right no item has to be named\n"
    )
    assert not (place.folder / "scenarios" / "bugs").exists()
    assert place.harness("import", "pair.json").code == 0


def test_what_is_no_report_is_told_in_a_sentence(place: Place) -> None:
    (place.folder / "note.txt").write_text("it does not work\n")
    ended = place.harness("import", "note.txt")
    assert (ended.code, ended.output.splitlines()[0]) == (
        2,
        "unreadable_report: the report is none of the kinds that are known",
    )
    assert place.harness("import", "absent.txt").output.startswith("unreadable_report: absent.txt cannot be read")
    assert not (place.folder / "scenarios" / "bugs").exists()


def test_a_scenario_is_anonymized_beside_itself(place: Place) -> None:
    assert place.harness("new", "tea").code == 0
    made = place.harness("anonymize", "scenarios/tea.yaml", "--seed", "5")
    assert made.code == 0, made.output
    lines = made.output.splitlines()
    assert lines[:3] == [
        "scenarios/tea_anonymized.yaml",
        "run it: harness run scenarios/tea_anonymized.yaml",
        "anonymized with seed 5",
    ]
    assert lines[-1] == "kept: no comment of the file"
    text = (place.folder / "scenarios/tea_anonymized.yaml").read_text("utf-8")
    assert "contract" not in text
    assert "entry-1" not in text
    ended = place.harness("run", "scenarios/tea_anonymized.yaml", "--backend", "sqlite")
    assert ended.code == 0, ended.output
    assert place.harness("anonymize", "scenarios/absent.yaml").code == 2


def test_what_the_answer_itself_says_of_the_rules_is_told(place: Place) -> None:
    request = {"scope_id": "demo", "query": "tea", "assembly": {}}
    empty = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
    refused = {"error": {"code": "forbidden", "message": "No.", "details": None}}
    by_the_run = "by itself the reported answer breaks no rule; whether it fits what is stored, the run tells"
    for number, (answer, status, told) in enumerate(
        [
            (empty, 200, by_the_run),
            (empty | {"content_bytes": 7}, 200, "the reported answer breaks the contract: "),
            # Of a refusal only what is stored could tell.
            (refused, 403, "run it: "),
        ]
    ):
        report = [{"request": {"body": request}, "response": {"status": status, "body": answer}}]
        (place.folder / f"report{number}.json").write_text(json.dumps(report), encoding="utf-8")
        made = place.harness("import", f"report{number}.json", "--right")
        assert made.code == 0, made.output
        assert made.output.rstrip("\n").split("\n")[-1].startswith(told)
