"""Accepting expected values from a real run: only what is agreed on, only what was asked for, nothing else touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from targets import wrong
from typer.testing import CliRunner

from harness.cli import app
from harness.scenario.loader import load
from harness.target import TARGETS, ReferenceTarget

HEAD = """\
# The author's own words.
scenario: accept me

scopes:
  demo:
    references: [shared]
    memory:
      - {entry: entry-1,   text: alpha beta}    # not in the usual form, and none of our business
      - {entry: entry-2, text: {join: [alpha, {repeat: " x", times: 1200}]}}
    experience:
      - {id: e-1, situation: alpha, action: a, outcome: b, lesson: c}
    profile: [tea]
  shared:
    memory: [{entry: entry-3, text: alpha}, {entry: entry-1, text: other}]

principals:
  alice: {reads: [demo, shared]}
  bob: {reads: [demo]}

steps:
"""
FILLED = """\
    expect:
      status: ready
      bytes: 3062
      sections: [{Memory: [demo/entry-1, entry-3, entry-2]}, {Experience: [e-1]}]
      truncated: [entry-2]
"""
RANKED = "  - prepare: {scope_id: demo, query: alpha, assembly: {show: [recall_rank]}}\n"
ASK = "    prepare: {scope_id: demo, query: alpha, assembly: {}}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("mine.yaml")


def accept(file: Path, *words: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["accept", str(file), "--backend", "sqlite", *words])
    return ended.exit_code, ended.output if ended.exception is None or ended.exit_code != 1 else str(ended.exception)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A step that says nothing is filled in; the comments around it stay.
        (
            "  - step: new   # one\n" + ASK + "    # two\n\n  - restart: true\n",
            "  - step: new   # one\n" + ASK + FILLED + "    # two\n\n  - restart: true\n",
        ),
        # One that names values keeps to them, and to the author's spelling of what is right.
        (
            "  - step: wrong\n" + ASK + "    expect:\n      # how long\n      bytes: 12  # no\n"
            "      sections:\n        - Memory: [demo/entry-1, entry-2@entry-2-v1]\n      contains: [alpha]\n",
            "  - step: wrong\n" + ASK + "    expect:\n      # how long\n      bytes: 3062  # no\n"
            "      sections: [{Memory: [demo/entry-1, entry-3@entry-3-v1, entry-2@entry-2-v1]}, {Experience: [e-1]}]\n"
            "      contains: [alpha]\n",
        ),
        # What holds stays as it is written, bounds and sets too.
        (
            "  - step: bounds\n" + ASK + "    expect:\n      bytes: {at_most: 8000}\n      truncated: []\n"
            "      sections: [{Memory: {any_order: [entry-2, entry-3, demo/entry-1]}}, {Experience: [e-1]}]\n",
            "  - step: bounds\n" + ASK + "    expect:\n      bytes: {at_most: 8000}\n"
            "      sections: [{Memory: {any_order: [entry-2, entry-3, demo/entry-1]}}, {Experience: [e-1]}]\n"
            "      truncated: [entry-2]\n",
        ),
        # A refusal takes the place of what a text was to hold, and the other way round.
        (
            "  - step: refused\n" + ASK + "    as: bob\n    expect: {status: ready, absent: [beta]}\n",
            "  - step: refused\n" + ASK + "    as: bob\n    expect: {http: 403, error: forbidden, absent: [beta]}\n",
        ),
        (
            "  - step: allowed\n" + ASK + "    expect: {http: 403, error: forbidden}\n",
            "  - step: allowed\n" + ASK + FILLED,
        ),
        # A step in brackets stays in them where it has room.
        (
            "  - {prepare: {scope_id: demo, query: gamma, assembly: {}}}\n  - restart: true\n",
            "  - {prepare: {scope_id: demo, query: gamma, assembly: {}}, expect: {status: empty}}\n  - restart: true\n",
        ),
        # Exact reads.
        (
            "  - read: {scope: demo, entry: entry-1@entry-1-v1, revision: 1}\n"
            "  - read: {scope: demo, family: profile, id: profile, revision: 1}\n"
            "    expect: {artifact: {content: ink}}\n"
            "  - read: {scope: demo, family: profile, id: profile, revision: 2}\n",
            "  - read: {scope: demo, entry: entry-1@entry-1-v1, revision: 1}\n    expect: {text: alpha beta}\n"
            "  - read: {scope: demo, family: profile, id: profile, revision: 1}\n"
            "    expect: {artifact: {content: tea}}\n"
            "  - read: {scope: demo, family: profile, id: profile, revision: 2}\n"
            "    expect: {http: 404, error: artifact_not_found}\n",
        ),
        # A write that is not refused any more; the last expectation goes.
        (
            "  - write: {demo: {profile: [ink]}}\n    expect: {refused: body_too_long}\n  - restart: true\n",
            "  - write: {demo: {profile: [ink]}}\n  - restart: true\n",
        ),
        (
            "  - expect: {refused: body_too_long}\n    write: {demo: {profile: [ink]}}\n  - restart: true\n",
            "  - expect: {}\n    write: {demo: {profile: [ink]}}\n  - restart: true\n",
        ),
        # Ranks, of what the author named.
        (
            RANKED + "    expect: {ranks: {entry-2: 9}}\n",
            RANKED + "    expect: {ranks: {entry-2: 3}}\n",
        ),
    ],
)
def test_values_are_put_in_and_nothing_else_changes(file: Path, before: str, after: str) -> None:
    file.write_text(HEAD + before)
    code, output = accept(file, "--yes")
    assert code == 0, output
    assert file.read_text() == HEAD + after
    assert accept(file, "--yes")[1] == "mine.yaml: nothing to accept, sqlite and the oracle have what is expected\n"


def test_content_is_written_where_the_scenario_has_it(file: Path) -> None:
    ask = "  - prepare: {scope_id: demo, query: alpha, assembly: {sections: [{family: experience, limit: 1}]}}\n"
    file.write_text(HEAD + ask + "    expect: {content: old}\n")
    assert accept(file, "--yes")[0] == 0
    text = file.read_text()
    assert text.startswith(HEAD + ask + "    expect:\n      content: |-\n        # PowerContext historical context\n\n")
    assert text.endswith("\n        >     Lesson: c\n\n        END_POWERCONTEXT_PREPARED_TEXT_V1\n")


def test_the_difference_is_shown_and_nothing_written_without_an_answer(file: Path) -> None:
    text = HEAD + "  - step: new\n" + ASK
    file.write_text(text)
    ended = CliRunner().invoke(app, ["accept", "mine.yaml", "--backend", "sqlite"])
    assert ended.exit_code == 1
    assert "+      status: ready\n+      bytes: 3062\n" in ended.output
    assert ended.output.endswith("nothing is written; --yes writes without asking\n")
    assert file.read_text() == text


def test_one_step_alone(file: Path) -> None:
    file.write_text(HEAD + "  - step: one\n" + ASK + "  - step: two\n" + ASK)
    assert accept(file, "--step", "2", "--yes")[0] == 0
    assert file.read_text() == HEAD + "  - step: one\n" + ASK + "  - step: two\n" + ASK + FILLED


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (wrong.SwapsItems, "on sqlite: oracle in "),
        (wrong.Miscounts, "on sqlite: byte-count in "),
    ],
)
def test_an_answer_that_the_oracle_does_not_have_is_refused(
    file: Path, target: type[wrong.Wrong], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, ReferenceTarget.name, target)
    text = HEAD + "  - step: new\n" + ASK
    file.write_text(text)
    code, output = accept(file, "--yes")
    assert code == 1
    assert output.startswith("not_accepted: mine.yaml is left as it is: its answers are not agreed on\n")
    assert "'new' " + told in output
    assert file.read_text() == text


def test_what_an_author_wants_shown_is_not_taken_from_a_run(file: Path) -> None:
    text = HEAD + "  - step: new\n" + ASK + "    expect: {bytes: 1, contains: [gamma]}\n"
    file.write_text(text)
    code, output = accept(file, "--yes")
    assert code == 1
    assert "(this is for its author to say: change it by hand)" in output
    assert file.read_text() == text


def test_both_engines_are_asked(file: Path) -> None:
    file.write_text(HEAD + "  - step: new\n" + ASK)
    ended = CliRunner().invoke(app, ["accept", "mine.yaml", "--yes"])
    assert ended.exit_code == 0, ended.output
    assert ended.output.endswith("values of step 1 as sqlite and oceanbase and the oracle have them\n")
    assert load(file).scenario.steps[0].expect.bytes == 3062
