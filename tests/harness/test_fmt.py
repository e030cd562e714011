"""The usual form of scenario files: the same meaning and comments, twice is once, and what is odd is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import HarnessError
from harness.scenario.files import scenario_files
from harness.scenario.formatting import formatted
from harness.scenario.loader import parse

ROOT = Path(__file__).parents[2]
VALID = Path(__file__).parent / "scenario_files" / "valid"
CHAPTERS = sorted(path for path in (ROOT / "scenarios").iterdir() if path.is_dir())
PATH = Path("asked.yaml")


def form(text: str) -> str:
    return formatted(text.encode(), PATH)


@pytest.mark.parametrize("folder", [*CHAPTERS, VALID], ids=lambda path: path.name)
def test_every_scenario_means_the_same_in_its_usual_form(folder: Path) -> None:
    left = []
    for path in scenario_files([folder]):
        raw = path.read_bytes()
        try:
            text = formatted(raw, path)
        except HarnessError as error:
            left.append((error.code, path.name))
            continue
        assert parse(text.encode(), path).scenario == parse(raw, path).scenario, path
        assert formatted(text.encode(), path) == text, path
    # A text with an indentation indicator of its own.
    assert left == ([("unformattable", "texts.yaml")] if folder == VALID else [])


HEAD = "# one\nscenario: x\n"
WORLD = "\nscopes:\n  demo: {}\n"
STEP = "\nsteps:\n  - prepare: {scope_id: demo, query: a}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Keys in their order, each with its comments.
        (
            HEAD
            + "steps: # all\n  - expect: {sections: [], status: empty} # e\n    # why\n    prepare:"
            + " {scope_id: demo, query: a}\n"
            + "# the world\nscopes: {demo: {}}\ntags: [a]\n",
            HEAD + "tags: [a]\n\n# the world\nscopes: {demo: {}}\n\n"
            "steps:  # all\n  # why\n  - prepare: {scope_id: demo, query: a}\n"
            "    expect: {status: empty, sections: []}  # e\n",
        ),
        # A request goes out as it is written.
        (
            HEAD + WORLD + "\nsteps:\n- prepare: {query: a,   scope_id: demo}\n",
            HEAD + WORLD + "\nsteps:\n  - prepare: {query: a, scope_id: demo}\n",
        ),
        # Quotes and escapes stay, whatever they could be.
        (
            HEAD + WORLD + 'steps: [{prepare: {scope_id: "demo", query: \'\u00e9\', x: "\\u200b\\u00e9"}}]\n',
            HEAD + WORLD + '\nsteps: [{prepare: {scope_id: "demo", query: \'\u00e9\', x: "\\u200b\\u00e9"}}]\n',
        ),
        # What is in brackets over several lines is put on one where it fits, and left as it is where it does not.
        (
            HEAD + WORLD + STEP + "    expect: {status: empty,\n             sections: []}\n",
            HEAD + WORLD + STEP + "    expect: {status: empty, sections: []}\n",
        ),
        (
            HEAD + WORLD + STEP + f"    expect: {{absent: [{'a' * 60},\n      {'b' * 60}], status: empty}}   # c\n",
            HEAD + WORLD + STEP + f"    expect: {{absent: [{'a' * 60},\n      {'b' * 60}], status: empty}}   # c\n",
        ),
        # A text keeps its lines, their blanks, and its blank lines at the end where they count.
        (
            HEAD + WORLD + "\nsteps:\n    -   body: |\n           a\n             b  \n\n           c\n\n\n",
            HEAD + WORLD + "\nsteps:\n  - body: |\n      a\n        b  \n\n      c\n",
        ),
        (
            HEAD + WORLD + "\nsteps:\n  - body: |+\n       a\n\n\n    expect: {http: 422, error: invalid_request}\n",
            HEAD + WORLD + "\nsteps:\n  - body: |+\n      a\n\n\n    expect: {http: 422, error: invalid_request}\n",
        ),
        # Comments behind the last item of a list stay as deep as they are.
        (
            HEAD + "\nscopes:\n  demo:\n    memory:\n      - {entry: e, text: t}\n      # - more\n" + STEP,
            HEAD + "\nscopes:\n  demo:\n    memory:\n      - {entry: e, text: t}\n      # - more\n" + STEP,
        ),
        # Anchors and aliases.
        (
            HEAD + "scopes: {a: &s {profile:   [p]}, b: *s}\n" + STEP,
            HEAD + "\nscopes: {a: &s {profile: [p]}, b: *s}\n" + STEP,
        ),
    ],
)
def test_the_usual_form(before: str, after: str) -> None:
    assert form(before) == after
    assert form(after) == after


def test_a_form_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(HarnessError, match="left as it is") as refused:
        form(HEAD + WORLD + "\nsteps:\n  - ? prepare\n    : {scope_id: demo, query: a}\n")
    assert refused.value.code == "unformattable"


def test_the_command_writes_or_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "a.yaml").write_text(HEAD + WORLD + STEP)
    (folder / "b.yaml").write_text(HEAD + STEP + WORLD)
    (folder / "c.yaml").write_text("scenario: [\n")

    def run(*words: str) -> tuple[int, list[str]]:
        ended = CliRunner().invoke(app, ["fmt", *words])
        return ended.exit_code, ended.output.splitlines()

    assert run("--check", "scenarios/a.yaml", "scenarios/b.yaml") == (
        1,
        ["scenarios/b.yaml would change", "2 files, 1 would change, 0 left as they are, 0 refused"],
    )
    code, lines = run()
    assert (code, lines[0], lines[-1]) == (
        2,
        "scenarios/b.yaml changed",
        "3 files, 1 changed, 0 left as they are, 1 refused",
    )
    assert lines[1].startswith("scenarios/c.yaml:")
    assert (folder / "b.yaml").read_text() == HEAD + WORLD + STEP
    assert (folder / "c.yaml").read_text() == "scenario: [\n"
    assert sorted(path.name for path in folder.iterdir()) == ["a.yaml", "b.yaml", "c.yaml"]
    assert run("--check", "scenarios/a.yaml", "scenarios/b.yaml")[0] == 0
