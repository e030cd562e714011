"""A report's scenario loads, runs, passes on a right build, and fails on the build that the report is about."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from targets import wrong
from targets.runs import ASK, SCENARIO, outcomes

from harness.errors import HarnessError
from harness.importing.bodies import stored, undisplay
from harness.importing.noted import text_with_notes
from harness.importing.reading import read_report
from harness.importing.rebuild import Rebuilt, rebuild
from harness.scenario.loader import Loaded, parse
from harness.target import TargetMaker
from harness.target.reference import ReferenceTarget

REPORTS = Path(__file__).with_name("reports")
FILE = Path("scenarios/bugs/imported.yaml")
FILES = [path.name for path in sorted(REPORTS.iterdir())]


def imported(raw: bytes, *, is_right: bool = False) -> str:
    rebuilt: Rebuilt = rebuild(read_report(raw), report="owner/project #7", is_right=is_right)
    return text_with_notes(rebuilt.plain, FILE, head=rebuilt.head, notes=rebuilt.notes)


def from_file(name: str) -> tuple[str, Loaded]:
    text = imported((REPORTS / name).read_bytes())
    return text, parse(text.encode(), FILE)


@pytest.mark.parametrize("name", FILES)
def test_each_report_makes_a_scenario_that_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text, loaded = from_file(name)
    assert loaded.scenario.report == ("owner/project #7",)
    assert "secret" not in text
    (outcome,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path, backends=["sqlite"])
    assert (outcome.verdict, [step.failures for step in outcome.steps if step.failures]) == ("passed", [])


def report_of(text: str, maker: TargetMaker, monkeypatch: pytest.MonkeyPatch, folder: Path) -> bytes:
    """Return what somebody would report of a build: the request and the answer of a scenario's first step."""
    (outcome,) = outcomes(text, maker, monkeypatch, folder, backends=["sqlite"])
    step = outcome.steps[0]
    assert step.body is not None
    assert step.request is not None
    return json.dumps({"request": step.request.decode(), "response": step.body.decode()}).encode()


CUT = """
  - step: one long body
    prepare: {scope_id: demo, query: long, assembly: {sections: [{family: memory, limit: 2}]}}
"""
LONG = SCENARIO.replace(
    "    experience:", "      - {entry: entry-3, text: {join: [a long one, {repeat: x, times: 3000}]}}\n    experience:"
)


@pytest.mark.parametrize(
    ("maker", "world", "step"),
    [
        (wrong.SwapsItems, SCENARIO, ASK),
        (wrong.Miscounts, SCENARIO, ASK),
        (wrong.AddsAField, SCENARIO, ASK),
        (wrong.CutsTooEarly, LONG, CUT),
        (wrong.ShowsAll, LONG, CUT),
    ],
)
def test_a_report_of_a_real_fault_fails_on_the_wrong_build_alone(
    maker: TargetMaker, world: str, step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    raw = report_of(world + "\nsteps:" + step, maker, monkeypatch, tmp_path / "reported")
    text = imported(raw)
    (right,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path / "right", backends=["sqlite"])
    (other,) = outcomes(text, maker, monkeypatch, tmp_path / "wrong", backends=["sqlite"])
    assert (right.verdict, other.verdict) == ("passed", "failed")


def test_what_came_right_is_expected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = report_of(SCENARIO + "\nsteps:" + ASK, ReferenceTarget, monkeypatch, tmp_path / "reported")
    judged = parse(imported(raw).encode(), FILE).scenario
    assert judged.steps[0].expect.model_fields_set == set()
    assert "not by the report" in judged.why
    text = imported(raw, is_right=True)
    scenario = parse(text.encode(), FILE).scenario
    assert scenario.why.startswith("expects what was reported")
    expect = scenario.steps[0].expect
    assert expect.status == "ready"
    assert expect.sections == (
        {"Memory": ("entry-2@entry-2-v1", "entry-1@entry-1-v2")},
        {"Experience": ("experience-1#1",)},
    )
    (right,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path / "right", backends=["sqlite"])
    assert right.verdict == "passed"
    changed = text.replace(
        "text: Contract tests run nightly.", "text: Contract tests run on all of our many old slow machines."
    )
    assert changed != text
    (other,) = outcomes(changed, ReferenceTarget, monkeypatch, tmp_path / "other", backends=["sqlite"])
    assert other.verdict == "failed"


def test_a_rebuilt_world_gives_the_reported_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = report_of(SCENARIO + "\nsteps:" + ASK, ReferenceTarget, monkeypatch, tmp_path / "reported")
    (again,) = outcomes(imported(raw), ReferenceTarget, monkeypatch, tmp_path / "again", backends=["sqlite"])
    assert (again.steps[0].body or b"").decode() == json.loads(raw)["response"]


def test_a_session_with_writes_between() -> None:
    text, loaded = from_file("session.har")
    assert [step.verb for step in loaded.scenario.steps] == ["prepare", "write", "prepare", "prepare"]
    assert [step.as_ for step in loaded.scenario.steps] == ["caller-1", None, "caller-1", "caller-2"]
    assert loaded.scenario.scopes["a"].references == ("shared",)
    assert "# guess: an earlier revision, of which nothing is reported\n      - {entry: e-1, version: before-1" in text
    assert "  # came: 403 forbidden\n" in text


def test_a_caller_who_was_rightly_refused_reads_nothing() -> None:
    scenario = parse(imported((REPORTS / "session.har").read_bytes(), is_right=True).encode(), FILE).scenario
    assert scenario.principals is not None
    assert (scenario.principals["caller-2"].reads, scenario.steps[3].expect.http) == ((), 403)
    assert scenario.steps[3].expect.error == "forbidden"


def test_atomic_memories_become_entries() -> None:
    text, loaded = from_file("curl_with_head.txt")
    scopes = list(loaded.scenario.scopes.values())
    assert [item[0].entry for item in scopes[0].memory] == ["art_689200d94df640f4aade4afd42c8bffa"]
    assert scopes[1].memory[0][0].text == "Later contract tests advice.\nSecond line\u200b here."
    assert "# guess: \\u200b in it" in text
    older = from_file("older_pair.json")[1].scenario
    assert [topic.detail for topic in next(iter(older.scopes.values())).topics] == ["Detail of tests"]


def test_a_cut_body_is_cut_at_the_same_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = json.loads((REPORTS / "cut.json").read_text("utf-8"))
    text, _ = from_file("cut.json")
    assert "# guess: cut in the report behind 1997 bytes: the end is made up" in text
    (outcome,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path, backends=["sqlite"])
    content = json.loads(outcome.steps[0].body or b"")["content"]
    assert content == report["response"]["body"]["content"]


SKIPPED = """\
scenario: a long body between two short ones does not fit
scopes:
  demo:
    memory:
      - {entry: a-1, text: tea}
      - {entry: a-2, text: {join: [tea jug, {repeat: "~", times: 2500}]}}
      - {entry: a-3, text: tea jug}
steps:
  - prepare:
      scope_id: demo
      query: tea
      max_bytes: 724
      assembly: {sections: [{family: memory, limit: 8}], show: [recall_rank]}
"""


def test_a_candidate_that_ranks_leave_out_is_made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = report_of(SKIPPED, ReferenceTarget, monkeypatch, tmp_path / "reported")
    content = json.loads(json.loads(raw)["response"])["content"]
    assert "Recall rank: 1\n" in content
    assert "Recall rank: 3\n" in content
    assert "Recall rank: 2\n" not in content
    text = imported(raw)
    assert "# guess: a candidate of rank 2 was not delivered; this one is too long for what was left" in text
    (again,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path / "again", backends=["sqlite"])
    assert again.verdict == "passed"
    assert json.loads(again.steps[0].body or b"")["content"] == content


def test_ranks_that_leave_one_out_without_need_are_the_fault() -> None:
    text, _ = from_file("curl_with_output.txt")
    assert "Recall rank: 2" in (REPORTS / "curl_with_output.txt").read_text("utf-8")
    assert "was not delivered" not in text


def test_later_versions_of_atomic_memories_have_earlier_ones() -> None:
    report = (REPORTS / "curl_with_head.txt").read_text("utf-8").replace('5838a\\", revision=1', '5838a\\", revision=3')
    scenario = parse(imported(report.encode()).encode(), FILE).scenario
    writes = [change for item in list(scenario.scopes.values())[1].memory for change in item]
    assert [change.text for change in writes[:2]] == ["~", "~"]
    assert (writes[2].text or "").startswith("Later contract")
    assert len({change.entry for change in writes}) == 1


def test_a_revision_that_is_far_away_is_not_filled_up() -> None:
    report = (REPORTS / "session.har").read_text("utf-8").replace("revision=2", "revision=20000")
    text = imported(report.encode())
    assert text.count("version: before-") == 200
    assert "cited at revision 20000; no more than 200 are filled up" in text
    assert "cited at revision 4 after 20000; it is not turned back" in text


def test_a_text_that_breaks_the_frame_is_read_leniently() -> None:
    report = json.loads((REPORTS / "cut.json").read_text("utf-8"))
    content = report["response"]["body"]["content"].replace("## Memory\n\n", "##  Memory\n")
    report_text = json.dumps({"request": report["request"], "response": {"content": content}})
    text = imported(report_text.encode())
    assert "# guess: the text breaks the fixed frame (" in text
    assert "entry: e-1" in text
    rebuilt = rebuild(read_report(report_text.encode()), report="x #1")
    assert "frame (" not in text_with_notes(rebuilt.plain, FILE, notes=rebuilt.notes, called=lambda name: name)


@pytest.mark.parametrize(
    ("request_text", "http"),
    [
        ('{"scope_id": "demo"}', 422),
        ('{"scope_id": "demo", "query": "a", "query": "b"}', None),
        ('{"scope_id": "demo", "query": "tea", "max_bytes": 8.0}', 422),
        ("no JSON", 422),
        ('{"scope_id": "demo", "query": "\\ud800"}', 422),
    ],
)
def test_requests_that_only_bytes_can_hold(
    request_text: str, http: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = imported(f"curl https://x/v1/context/prepare --json '{request_text}'".encode())
    step = parse(text.encode(), FILE).scenario.steps[0]
    assert step.expect.http == http
    (outcome,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path, backends=["sqlite"])
    assert outcome.verdict == "passed"
    assert (outcome.steps[0].request or b"").decode() == request_text


def test_escapes_are_undone_where_the_product_makes_them() -> None:
    assert undisplay("a\\u200bb\\U000e0041") == ("a\u200bb\U000e0041", ("\\u200b", "\\U000e0041"))
    for kept in ("\\u0041", "\\u200B", "\\u000a", "\\\\u200b", "\\U0000200b", "\\u2028"):
        assert undisplay(kept) == (kept, ())


@pytest.mark.parametrize(
    ("family", "shown", "fields"),
    [
        ("experience", "Situation: a\nb\nAction: c\nOutcome: \nLesson: d", ["a\nb", "c", "~", "d"]),
        ("topic-memory", "Title: a\n\nSummary: b\n\nSnippet: c", ["a", "b", "c"]),
        ("topic-memory", "Title: a\n\nSummary: b", ["a", "b", "~"]),
        ("profile", "a", ["a"]),
        ("atomic-memory", "a", ["a"]),
    ],
)
def test_bodies_are_taken_apart(family: str, shown: str, fields: list[str]) -> None:
    assert list(stored(family, shown, is_older=False, is_cut=False, spare=0).fields.values()) == fields


def test_a_cut_experience_has_the_fields_that_were_shown() -> None:
    fields: dict[str, Any] = stored(
        "experience", "Situation: a\nAction: bcd…", is_older=False, is_cut=True, spare=0
    ).fields
    assert fields["situation"] == "a"
    assert fields["action"].startswith("bcd~~")
    assert (fields["outcome"], fields["lesson"]) == ("~", "~")


PIECES = (
    b"\\u200b",
    b'"',
    b"\\",
    b"\n",
    b"{",
    b"}",
    b"\xff",
    b"\\ud800",
    b"\0",
    b"9" * 12,
    b"'",
    b"null",
    b"@",
    b"#",
    b"/",
)


def test_whatever_is_pasted_is_a_scenario_or_an_error_in_a_sentence() -> None:
    random = Random(5)
    reports = [path.read_bytes() for path in sorted(REPORTS.iterdir())]
    made = 0
    for _ in range(300):
        raw = bytearray(random.choice(reports))
        for _ in range(random.randint(1, 5)):
            at = random.randrange(len(raw) + 1)
            if random.random() < 0.5:
                raw[at:at] = random.choice(PIECES)
            else:
                del raw[at : at + random.randint(1, 40)]
        # Anything else than our own errors ends the test.
        with suppress(HarnessError):
            parse(imported(bytes(raw), is_right=random.random() < 0.5).encode(), FILE)
            made += 1
    assert made > 50


TWO_SCOPES = """\
scenario: the same ids in two Scopes
scopes:
  kitchen:
    references: [house]
    memory: [{entry: e, text: tea in the kitchen}]
    experience: [{id: x, situation: tea, action: a, outcome: o, lesson: l}]
    profile: [A cook.]
  house:
    memory: [{entry: e, text: tea in the house}]
    experience: [{id: y, situation: tea, action: a, outcome: o, lesson: l}]
    profile: [A house.]
steps:
  - prepare:
      scope_id: kitchen
      query: tea
      assembly: {sections: [{family: memory, limit: 2}, {family: experience, limit: 2}, {family: profile, limit: 2}]}
"""


def test_one_id_in_two_scopes_is_expected_with_its_scope(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = report_of(TWO_SCOPES, ReferenceTarget, monkeypatch, tmp_path / "reported")
    text = imported(raw, is_right=True)
    assert parse(text.encode(), FILE).scenario.steps[0].expect.sections == (
        {"Memory": ("kitchen/e@e-v1", "house/e@e-v1")},
        {"Experience": ("x#1", "house/y#1")},
        {"Profile": ("kitchen/profile#1", "house/profile#1")},
    )
    (right,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path / "right", backends=["sqlite"])
    assert right.verdict == "passed"
