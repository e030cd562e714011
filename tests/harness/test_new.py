"""New scenarios: every combination of options runs green, and the schema line fits wherever the file lies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import HarnessError
from harness.explore.engines import open_session
from harness.run.session import Session
from harness.scenario.formatting import formatted
from harness.scenario.loader import load, parse
from harness.scenario.schema import text as schema_text
from harness.scenario.template import PERMISSIONS, Permission, template
from runtime.artifacts import FAMILIES, TOPIC_MEMORY, Family

REFUSED: tuple[tuple[Family, ...], Permission] = ((TOPIC_MEMORY,), "reference")
"""The one combination that cannot be: topics are read from no reference."""
CHOICES: list[tuple[tuple[Family, ...], Permission]] = [
    (some, permission)
    for count in range(1, 5)
    for some in combinations(FAMILIES, count)
    for permission in PERMISSIONS
    if (some, permission) != REFUSED
]
PATH = Path("scenarios/grouping/mine.yaml")


def named(part: Permission | tuple[Family, ...]) -> str:
    return part if isinstance(part, str) else "-".join(part)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session(["sqlite"]) as session:
        yield session


def new(*words: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["new", *words])
    return ended.exit_code, ended.output if ended.exception is None else str(ended.exception)


@pytest.mark.parametrize(("families", "permission"), CHOICES, ids=named)
def test_every_combination_runs_green(families: tuple[Family, ...], permission: Permission, session: Session) -> None:
    # The order is the caller's.
    text = template(PATH, schema="x", families=families[::-1], permission=permission)
    loaded = parse(text.encode(), PATH)
    outcome = session.outcome(loaded, "sqlite")
    assert (outcome.verdict, outcome.failed_step) == ("passed", None)
    assert formatted(text.encode(), PATH) == text
    refusals = {"none": 0, "reference": 1, "revoked": 1, "administrator": 3}
    assert text.count("error: ") == refusals[permission]


def test_a_reference_from_which_nothing_would_be_read_is_refused() -> None:
    families, permission = REFUSED
    with pytest.raises(HarnessError, match="topic memory is read from no referenced Scope") as refused:
        template(PATH, schema="x", families=families, permission=permission)
    assert (refused.value.code, refused.value.hint) == ("no_such_case", "add --family memory for instance")
    # The same families with another permission, and the same permission with one more family, are possible.
    assert (families, "none") in CHOICES
    assert (("memory", *families), permission) in CHOICES


def test_the_command_takes_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new("a", "--family", "topic-memory", "--family", "memory", "--permission", "revoked") == (
        0,
        "scenarios/a.yaml\nrun it: harness run scenarios/a.yaml\n",
    )
    made = load(tmp_path / "scenarios" / "a.yaml").scenario
    assert made.steps[0].prepare is not None
    assert [one["family"] for one in made.steps[0].prepare["assembly"]["sections"]] == ["topic-memory", "memory"]
    assert made.steps[2].revoke == {"alice": ("demo",)}
    assert new("b", "--family", "tea")[1].startswith('unknown_family: unknown family "tea"\n  hint: known: memory')
    assert new("b", "--permission", "tea")[1].startswith('unknown_permission: unknown permission "tea"')
    assert new("b", "--family", "topic-memory")[1].startswith("no_such_case: topic memory is read from no referenced")
    assert not (tmp_path / "scenarios" / "b.yaml").exists()


def test_the_schema_line_never_leaves_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new("deep/one")
    text = (tmp_path / "scenarios" / "deep" / "one.yaml").read_text()
    assert text.startswith("# for completion in editors: harness schema --write\nscenario: one\n")
    assert "site-packages" not in text
    ended = CliRunner().invoke(app, ["schema", "--write"])
    assert (ended.exit_code, ended.output) == (0, "scenarios/scenario.schema.json\n")
    assert (tmp_path / "scenarios" / "scenario.schema.json").read_text() == schema_text()
    new("deep/b")
    first = (tmp_path / "scenarios" / "deep" / "b.yaml").read_text().split("\n")[0]
    assert first == "# yaml-language-server: $schema=../scenario.schema.json"
    # A schema is no scenario.
    assert CliRunner().invoke(app, ["lint"]).output == "2 files, 0 refused\n"


def test_in_our_own_tree_the_line_names_our_file() -> None:
    from harness.scenario.schema import schema_place

    ours = Path(__file__).parents[2] / "scenarios" / "grouping" / "mine.yaml"
    assert schema_place(ours) == "../../harness/scenario/scenario.schema.json"


REQUEST = """\
scenario: mistyped
scopes: {demo: {}}
steps:
  - prepare: {scope_idd: demo, query: a}
  - prepare: {scope_idd: demo, query: a}
    expect: {http: 422, error: invalid_request}
  - prepare: {scope_id: demo, query: a, assembly: {sections: [{famly: memory, limit: 1}], shows: []}}
  - prepare: {scope_id: demo, query: a, asembly: {}}
    as: nobody
    expect: {http: 401, error: unauthorized}
"""


def test_lint_warns_of_a_mistyped_key_of_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(REQUEST)
    ended = CliRunner().invoke(app, ["lint", "a.yaml"])
    assert ended.exit_code == 0
    assert re.sub(r"known: .*", "known", ended.output).splitlines() == [
        'a.yaml:4:15: warning: unknown key "scope_idd" of the request; it is answered with 422',
        '  did you mean "scope_id"?',
        'a.yaml:7:91: warning: unknown key "shows" of the request; it is answered with 422',
        '  did you mean "show"?',
        'a.yaml:7:64: warning: unknown key "famly" of the request; it is answered with 422',
        '  did you mean "family"?',
        "1 file, 0 refused, 3 warnings",
    ]


WORDS = """\
scenario: mistyped
scopes: {kitchen: {id: "room:kitchen"}}
steps:
  - prepare: {scope_id: kichen, query: a}
  - prepare: {scope_id: kichen, query: a}
    expect: {http: 403, error: forbidden}
  - write: {cellar: {}}
  - prepare: {scope_id: "kitchen ", query: a}
    expect: {http: 403, error: forbidden}
  - prepare: {scope_id: nowhere, query: a}
    expect: {http: 403, error: forbidden}
  - prepare: {scope_id: cellar, query: a}
  - prepare: {scope_id: "room:kitchen", query: a}
  - prepare: {scope_id: kitchen, query: a, assembly: {sections: [{family: memories, limit: 1}]}}
  - prepare: {scope_id: kitchen, query: a, assembly: {sections: [{family: topic_memory, limit: 1}]}}
  - prepare: {scope_id: kitchen, query: a, assembly: {sections: [{family: memories, limit: 1}]}}
    expect: {http: 422, error: invalid_request}
  - prepare: {scope_id: kitchen, query: a, assembly: {sections: [{family: 5, limit: 1}, 7]}}
"""


def test_lint_warns_of_a_mistyped_family_and_scope_of_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(WORDS)
    ended = CliRunner().invoke(app, ["lint", "a.yaml"])
    assert ended.exit_code == 0
    assert ended.output.splitlines() == [
        'a.yaml:4:25: warning: no Scope "kichen" in the scenario; it is answered with 403 or 404',
        '  did you mean "kitchen"?',
        'a.yaml:5:25: warning: no Scope "kichen" in the scenario; it is answered with 403 or 404',
        '  did you mean "kitchen"?',
        'a.yaml:14:75: warning: unknown family "memories" of the request; it is answered with 422',
        '  did you mean "memory"?',
        'a.yaml:15:75: warning: unknown family "topic_memory" of the request; it is answered with 422',
        '  did you mean "topic-memory"?',
        "a.yaml:18:75: warning: one of memory, experience, profile, topic-memory is expected; it is answered with 422",
        "1 file, 0 refused, 5 warnings",
    ]


MISPLACED = """\
scenario: misplaced
scopes: {demo: {}}
steps:
  - prepare:
      scope_id: demo
      query: a
      show: [confidence]
      assembly:
        max_bytes: 600
        sections: [{family: memory, limit: 1, format: markdown}]
        limit: 2
"""


def test_lint_says_where_a_key_of_a_request_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(MISPLACED)
    ended = CliRunner().invoke(app, ["lint", "a.yaml"])
    told = re.findall(
        r'^a.yaml:([0-9:]+): warning: unknown key "(.*)" of.*\n  it belongs into (.*)$', ended.output, re.M
    )
    assert told == [
        ("7:7", "show", "`assembly`"),
        ("9:9", "max_bytes", "the request itself"),
        ("11:9", "limit", "an item of `sections`"),
        ("10:47", "format", "`assembly`"),
    ]


LEGAL = "scope_id: demo, query: a"


@pytest.mark.parametrize(
    ("request_", "column", "why"),
    [
        (f"{{{LEGAL}, assembly: {{sections: [{{family: memory}}]}}}}", 63, 'the key "limit" is missing'),
        (
            f"{{{LEGAL}, assembly: {{sections: [{{family: experience, limit: 3}}]}}}}",
            91,
            "an integer from 1 to 2 is expected",
        ),
        (f"{{{LEGAL}, assembly: {{sections: memory}}}}", 62, "an array is expected"),
        (f"{{{LEGAL}, assembly: null}}", 51, "an object is expected"),
        (f"{{{LEGAL}, assembly: {{show: [rank]}}}}", 59, "each of confidence, recall_rank may stand here once"),
        (f"{{{LEGAL}, assembly: {{format: text}}}}", 60, '"markdown" is expected'),
        (
            f"{{{LEGAL}, assembly: {{sections: [{{family: memory, limit: 1}}, {{family: memory, limit: 2}}]}}}}",
            100,
            "a family is selected once",
        ),
        (f"{{{LEGAL}, max_bytes: 511}}", 52, "an integer from 512 to 32768 is expected"),
        ("{scope_id: demo}", 14, 'the key "query" is missing'),
        ('{scope_id: demo, query: " "}', 38, "a string of 1 to 8192 characters is expected, not a blank one"),
        (
            f"{{{LEGAL}, assembly: {{sections: [{{family: memory, limit: 8}}, {{family: profile, limit: 1}}]}}}}",
            51,
            "the limits come to 9, and the Runtime's total is 8",
        ),
    ],
)
def test_lint_warns_of_a_request_that_no_server_may_accept(
    request_: str, column: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"scenario: illegal\nscopes: {{demo: {{}}}}\nsteps:\n  - prepare: {request_}\n"
    (tmp_path / "a.yaml").write_text(text)
    ended = CliRunner().invoke(app, ["lint", "a.yaml"])
    assert ended.exit_code == 0
    assert ended.output.split("\n")[0] == f"a.yaml:4:{column}: warning: {why}; it is answered with 422"
    assert "1 warning" in ended.output
    (tmp_path / "a.yaml").write_text(f"{text}    expect: {{http: 422, error: invalid_request}}\n")
    assert CliRunner().invoke(app, ["lint", "a.yaml"]).output == "1 file, 0 refused\n"


def test_lint_counts_with_the_total_of_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = "{scope_id: demo, query: a, assembly: {sections: [{family: memory, limit: 3}]}}"
    for total, warned in ((2, True), (3, False)):
        runtime = f"{{max_entries: {total}}}"
        text = f"scenario: few\nruntime: {runtime}\nscopes: {{demo: {{}}}}\nsteps:\n  - prepare: {asked}\n"
        (tmp_path / "a.yaml").write_text(text)
        assert ("the limits come to 3" in CliRunner().invoke(app, ["lint", "a.yaml"]).output) == warned
