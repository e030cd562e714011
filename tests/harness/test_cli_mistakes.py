"""A user's mistakes on the command line: a sentence, exit code 2, nothing half-written, and never our own lines.

The commands run in this process, as the console script runs them; a few are real processes, see test_cli.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness import cli
from harness.scenario.loader import load


class Command:
    """The console script, called in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def __call__(self, *words: str) -> tuple[int, str]:
        self._monkeypatch.setattr(sys, "argv", ["harness", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = self._capfd.readouterr()
        return int(ended.value.code or 0), out + err


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capfd)


def test_new_never_overwrites(harness: Command, tmp_path: Path) -> None:
    assert harness("new", "budgets/mine")[0] == 0
    path = tmp_path / "scenarios" / "budgets" / "mine.yaml"
    path.write_text("mine\n")
    assert harness("new", "scenarios/budgets/mine.yaml") == (
        2,
        "file_exists: scenarios/budgets/mine.yaml exists already\n  hint: choose another name\n",
    )
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize(
    "name",
    [
        "yes",
        "12",
        "a: b",
        "x#y",
        'a"b',
        "{}",
        "[x",
        "null",
        "1:30:00",
        "表",
        "and/x",
        "yes/x",
        "x y/z w",
        "deep/er/x.yml",
    ],
)
def test_new_writes_a_scenario_that_can_be_read_whatever_its_name(harness: Command, name: str, tmp_path: Path) -> None:
    code, output = harness("new", name)
    assert code == 0
    load(tmp_path / output.splitlines()[0])


@pytest.mark.parametrize("name", ["", "/", "..", ".yaml", "a\nb", "\udcff", "../x", "scenarios/../x", "a/../../x.yaml"])
def test_new_refuses_what_is_no_name(harness: Command, name: str, tmp_path: Path) -> None:
    code, output = harness("new", name)
    assert (code, output.splitlines()[0].split(":")[0]) == (2, "unusable_name")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["/proc/x", "taken/x", "a" * 300])
def test_new_says_when_it_cannot_write(harness: Command, name: str, tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "taken").write_text("a file where a folder is due")
    code, output = harness("new", name)
    assert code == 2
    assert output.startswith("unwritable: ")
    assert "\n  cause: " in output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lint"], "no_such_file: scenarios does not exist"),
        (["lint", "a" * 300], "no_such_file: "),
        (["lint", "."], "nothing_to_lint: "),
        (
            ["doctor", "--backend", "Oceanbase"],
            'unknown_backend: unknown backend "Oceanbase"\n  hint: did you mean "oceanbase"? known: sqlite, oceanbase',
        ),
        (["doctor", "--backend", "nope"], 'unknown_backend: unknown backend "nope"\n  hint: known: sqlite, oceanbase'),
        (["nope"], "Usage: "),
        (["new"], "Usage: "),
        (["doctor", "--nope"], "Usage: "),
    ],
)
def test_a_mistake_is_told(harness: Command, words: list[str], told: str) -> None:
    code, output = harness(*words)
    assert code == 2
    assert output.startswith(told)
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing_to_run: there is no folder `scenarios` here"),
        (["nope"], "no_such_file: nope does not exist"),
        (["scenarios/nope.yaml"], "no_such_file: scenarios/nope.yaml does not exist"),
        (["empty"], "nothing_to_run: no scenario is in `empty`"),
        (["--backends", "sqlite"], 'unknown_option: "--backends"\n  hint: did you mean --backend?'),
        (["--backend"], "argument --backend: expected one argument"),
        (["--nope"], "unrecognized arguments: --nope"),
        (["--target", "http://127.0.0.1:1", "-n", "2", "one.yaml"], "one_process: http://127.0.0.1:1 is asked by one"),
        (["-n", "many"], "argument -n/--numprocesses: invalid"),
        (["-p", "no_such_plugin"], 'Error importing plugin "no_such_plugin"'),
        (
            ["--oceanbase-url", "mysql://:x@h", "."],
            "url_invalid: the OceanBase server URL cannot be used: it names no user",
        ),
        (["-k", "((", "."], "Wrong expression passed to '-k'"),
    ],
)
def test_a_mistake_in_a_run_is_told(harness: Command, words: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "one.yaml").write_text("scenario: one\nsteps: []\n", encoding="utf-8")
    code, output = harness("run", *words)
    assert code == 2
    assert told in output
    assert "Traceback" not in output


def test_a_mistyped_option_is_told_in_two_lines(harness: Command) -> None:
    assert harness("run", "--backends", "sqlite") == (
        2,
        'unknown_option: "--backends"\n  hint: did you mean --backend?\n',
    )


def test_a_folder_of_a_backends_or_targets_name_is_no_path(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "sqlite").mkdir()
    harness("new", "x")
    code, output = harness("run", "--target", "runtime", "--backend", "sqlite")
    assert code == 0
    assert "1 passed" in output
