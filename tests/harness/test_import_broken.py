"""What a reported answer breaks by itself is told, in the file and to the user; a right one is never called broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from targets.runs import outcomes

from harness.importing.noted import shown_note, text_with_notes
from harness.importing.reading import read_report
from harness.importing.rebuild import rebuild
from harness.target.reference import ReferenceTarget

REPORTS = Path(__file__).with_name("reports")
FILE = Path("scenarios/bugs/imported.yaml")
FILES = [path.name for path in sorted(REPORTS.iterdir())]


def broken(report: str) -> list[str]:
    """Return what is told of a reported answer, kind and region; each of it stands in the file too."""
    rebuilt = rebuild(read_report(report.encode()), report="x #1")
    text = text_with_notes(rebuilt.plain, FILE, notes=rebuilt.notes)
    told = [shown_note(one).removeprefix("the reported answer breaks the contract: ") for one in rebuilt.broken]
    assert all(f"  # the reported answer breaks the contract: {one}\n" in text for one in told)
    return [one.partition(": ")[0] for one in told]


BOTH = ("Experience", "Memory")
CURL = (REPORTS / "curl_with_output.txt").read_text("utf-8")
REQUESTED = CURL[CURL.index(', "assembly"') : CURL.index("}'\n{")]
LAST_ITEM = CURL[CURL.index("### Memory 1") : CURL.index("END_POWERCONTEXT")]
SHORT_CUT = LAST_ITEM[: LAST_ITEM.index("\u4fee")].replace("Truncated: no", "Truncated: yes") + "\u4fee…" + r"\n\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("the same", "the same", []),
        ("### Memory 1", "### Memory 3", ['numbering in heading of "Memory 3"']),
        ('"content_bytes": 1097', '"content_bytes": 1098', ["byte-count in response"]),
        ('"assembly": {', '"max_bytes": 1096, "assembly": {', ["budget in response"]),
        ('"assembly": {', '"max_bytes": 1097, "assembly": {', []),
        ('{"family": "experience", "limit": 2}, ', "", ["section-order in section Experience"]),
        ("Recall rank: 2", "Recall rank: 17", ['rank in metadata of "Memory 1"', "byte-count in response"]),
        ('["recall_rank", "confidence"]', '["recall_rank"]', [f'metadata in metadata of "{one} 1"' for one in BOTH]),
        ("OpenAPI \u540e", "Open\u2028I \u540e", ['escaping in body of "Memory 1"', "byte-count in response"]),
        ("\u4fee\u6539 OpenAPI", "x" * 2001, ['body-size in body of "Memory 1"', "byte-count in response"]),
        ("## Memory\\n", "##  Memory\\n", ["frame in section heading", "byte-count in response"]),
        ('"content_bytes"', '"seconds": 1, "content_bytes"', ["fields in response"]),
        ('"query": "', '"query": 1, "q": "', ["verdict in status"]),
        (', "assembly": {"sections"', ', "assembly": {"format": "markdown", "sections"', []),
        (REQUESTED, "", ["form in response"]),
        ("2\\n    Truncated: no", "2\\n    Truncated: yes", ['cut in body of "Memory 1"', "byte-count in response"]),
        (LAST_ITEM, SHORT_CUT, ['cut in body of "Memory 1"', "byte-count in response"]),
        (
            LAST_ITEM,
            LAST_ITEM + LAST_ITEM.replace("Memory 1", "Memory 2"),
            ['duplicate in metadata of "Memory 2"', 'rank in metadata of "Memory 2"', "byte-count in response"],
        ),
        ('"limit": 2}', '"limit": 1}', []),
    ],
)
def test_what_a_reported_answer_breaks_by_itself_is_told(old: str, new: str, told: list[str]) -> None:
    changed = CURL.replace(old, new)
    assert changed != CURL or old == new
    assert sorted(broken(changed)) == sorted(told)


def test_more_items_than_were_asked_for_are_told() -> None:
    twice = CURL.replace(LAST_ITEM, LAST_ITEM + LAST_ITEM.replace("Memory 1", "Memory 2")).replace(
        ', "limit": 5', ', "limit": 1'
    )
    assert "limit in section Memory" in broken(twice)


def test_a_broken_report_that_passes_here_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = (REPORTS / "curl_with_output.txt").read_text("utf-8").replace("### Memory 1", "### Memory 3")
    rebuilt = rebuild(read_report(report.encode()), report="owner/project #7")
    text = text_with_notes(rebuilt.plain, FILE, head=rebuilt.head, notes=rebuilt.notes)
    line = 'numbering in heading of "Memory 3": expected the number 1, got 3'
    assert f"\n  # the reported answer breaks the contract: {line}\n  - step: the request\n" in text
    (outcome,) = outcomes(text, ReferenceTarget, monkeypatch, tmp_path, backends=["sqlite"])
    assert outcome.verdict == "passed"


@pytest.mark.parametrize("name", FILES)
def test_no_report_of_a_right_answer_is_called_broken(name: str) -> None:
    assert rebuild(read_report((REPORTS / name).read_bytes()), report="x #1").broken == []


def test_a_text_alone_is_judged_where_its_end_was_pasted() -> None:
    pair = json.loads((REPORTS / "cut.json").read_text("utf-8"))
    content = pair["response"]["body"]["content"].replace("### Memory 1", "### Memory 2")
    told = [
        broken(json.dumps({"request": pair["request"], "response": text}))
        for text in (content, content[: content.index("END_POWERCONTEXT")])
    ]
    assert told == [['numbering in heading of "Memory 2"'], []]
