"""The ledger's file: what is wrong in it is told at its line, all at once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from targets.ledgers import ENTRY, RELEASED, TODAY, TOLD, Written, ledger_of, writer

from harness.errors import ScenarioErrors
from harness.run.ledger_file import check_steps, load_ledger
from harness.scenario.loader import load


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return writer(tmp_path)


def mistakes(path: Path) -> list[str]:
    with pytest.raises(ScenarioErrors) as refused:
        ledger_of(path)
    return [
        f"{error.line}:{error.column} {error.message}" + (f"; {error.hint}" if error.hint else "")
        for error in refused.value.errors
    ]


UNNAMED = "write powercontext, or powercontext==1.4.1"
GENERAL = "is too general to be known everywhere; quote what no other failure says"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "target": ({"target": "refrence"}, '3:11 unknown target "refrence"; known: reference, powercontext'),
    "one-sign": ({"target": "powercontext=1.4.1"}, f'3:11 unknown target "powercontext=1.4.1"; {UNNAMED}'),
    "two-parts": ({"target": "powercontext==1.4"}, f'3:11 unknown target "powercontext==1.4"; {UNNAMED}'),
    "backend": ({"backend": "seekdb"}, '4:12 unknown backend "seekdb"; known: sqlite, oceanbase, any'),
    "key": ({"ownr": "ann"}, '12:3 unknown key "ownr"; did you mean "owner"?'),
    "missing": ({"owner": None}, '1:3 "owner" is missing'),
    "untitled": ({"title": None}, '1:3 "title" is missing'),
    "two-lines": ({"title": "a\nb"}, "10:10 title is more than one line; put the rest into `note`"),
    "empty": ({"text": ""}, "6:9 text: String should have at least 8 characters"),
    "short": ({"text": ["expected items a", "got 500"]}, "6:30 text: String should have at least 8 characters"),
    "no-text": ({"text": []}, "6:9 text is empty"),
    "general": ({"everywhere": True, "text": "expected items "}, f'6:9 "expected items " {GENERAL}'),
    "no-flag": ({"everywhere": "yes"}, "12:15 everywhere: Input should be a valid boolean"),
    "since": (RELEASED | {"since": "1.4"}, "12:10 since is no release; write 1.4.1"),
    "until": (RELEASED | {"until": "v1.4.1"}, "12:10 until is no release; write 1.4.1"),
    "order": (RELEASED | {"since": "1.10.0", "until": "1.9.0"}, "13:10 1.9.0 comes before 1.10.0"),
    "no-release": ({"since": "1.4.0"}, '12:10 "since" bounds the releases of target powercontext'),
    "one-release": (
        {"target": "powercontext==1.4.1", "until": "1.4.1"},
        '12:10 "until" bounds the releases of target powercontext',
    ),
    "no-date": ({"review": "soon"}, "9:11 review is no day; write 2027-01-31, in quotes"),
    "no-day": ({"review": "2027-02-30"}, "9:11 review is no day; write 2027-01-31, in quotes"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_refused_at_its_line(written: Written, changes: dict[str, Any], message: str) -> None:
    assert mistakes(written(changes)) == [message]


def test_an_entry_of_no_file_is_refused(written: Written) -> None:
    path = written({}, {"scenario": "grouping/two.yaml"})
    assert mistakes(path) == [f"12:13 there is no scenario grouping/two.yaml below {path.parent}"]


def test_all_mistakes_are_told_at_once(written: Written) -> None:
    path = written({"target": "a", "backend": "b"}, {"issue": "b", "owner": None, "ownr": "ann"})
    assert [message.split()[0] for message in mistakes(path)] == ["3:11", "4:12", "12:3", "22:3"]


def test_what_is_said_of_an_issue_is_said_once(written: Written) -> None:
    again = dict.fromkeys(("title", "breaks", "owner", "review"))
    path = written({}, again | {"step": "step 2"})
    assert [entry.told for entry in ledger_of(path).entries] == [TOLD, TOLD]
    path = written({}, again | {"step": "step 2", "owner": "bob"})
    assert mistakes(path) == ["19:10 the first entry of powercontext 12 has another owner; leave it out here"]


def test_a_review_that_yaml_takes_for_a_date_is_refused(written: Written) -> None:
    lines = "\n".join(f'  {key}: "{value}"' for key, value in ENTRY.items() if key != "review")
    path = written(text=f"-{lines[1:]}\n  review: 2027-01-31\n")
    assert mistakes(path)[0].startswith("11:11 unquoted date 2027-01-31")


@pytest.mark.parametrize("target", ["powercontext==1.4.1", "powercontext", "http://127.0.0.1:8000"])
def test_a_target_without_a_name_of_ours_is_known(written: Written, target: str) -> None:
    assert [entry.target for entry in ledger_of(written({"target": target})).entries] == [target]


def test_names_are_checked_only_against_known_ones(written: Written) -> None:
    path = written({"target": "mine", "backend": "second"})
    assert len(load_ledger(path, today=TODAY).entries) == 1


@pytest.mark.parametrize("text", ["", "\n", "# nothing is known\n\n  # yet\n", "[]\n", "# none\n[]\n"])
def test_a_ledger_may_be_empty(written: Written, text: str) -> None:
    assert ledger_of(written(text=text)).entries == ()


def test_a_ledger_may_be_missing(tmp_path: Path) -> None:
    assert ledger_of(tmp_path / "ledger.yaml").entries == ()


def test_a_ledger_is_a_list(written: Written) -> None:
    assert mistakes(written(text="scenario: one\n")) == [
        "1:1 a ledger is a list of entries; begin each entry with a dash"
    ]
    assert mistakes(written(text="- a\n"))[0].startswith("1:3 an entry: ")


def test_the_example_of_the_documents_is_a_ledger(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"^```yml\n(.*?)^```", Path("docs/scenarios.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "ledger.yaml").write_text(example, encoding="utf-8")
    shutil.copytree("scenarios/grouping", tmp_path / "grouping")
    ledger = ledger_of(tmp_path / "ledger.yaml")
    (known,) = ledger.entries
    check_steps(ledger, load(ledger.scenario_path(known)))
    assert known.is_of("powercontext==1.4.1")
