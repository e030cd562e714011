"""The loader: small files that are right, small files that are wrong, and bytes that an editor hides."""

from __future__ import annotations

import pickle
import re
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from harness.errors import HarnessError, NotRun, ScenarioError, ScenarioErrors, UnknownNames, did_you_mean
from harness.scenario.items import NotAnItem, entry_and_version, short_form
from harness.scenario.loader import load, parse
from harness.scenario.model import ItemSpec
from harness.scenario.needs import needs
from harness.scenario.scalars import Refusal, plain

FILES = Path(__file__).with_name("scenario_files")
INVALID = sorted((FILES / "invalid").glob("*.yaml"))
VALID = sorted((FILES / "valid").glob("*.yaml"))
HERE = Path("scenario.yaml")


def said(error: ScenarioError) -> str:
    return f"{error.line}:{error.column} {error.message}" + (f"; {error.hint}" if error.hint else "")


def mistakes(text: str | bytes) -> list[str]:
    raw = text.encode("utf-8") if isinstance(text, str) else text
    with pytest.raises(ScenarioErrors) as refused:
        parse(raw, HERE)
    return [said(error) for error in refused.value.errors]


def in_a_world(step: str, entries: str = "{entry: entry-1, text: Run.}") -> str:
    return f"scenario: s\nscopes:\n  demo:\n    memory:\n      - {entries}\nsteps:\n  - {step}\n"


def test_there_are_enough_wrong_files() -> None:
    assert len(INVALID) >= 30


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_a_wrong_file_is_refused_with_every_mistake_at_its_place(path: Path) -> None:
    expected = re.findall(r"^# expect: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert expected
    with pytest.raises(ScenarioErrors) as refused:
        load(path)
    assert [said(error) for error in refused.value.errors] == expected
    assert str(refused.value).startswith(f"{path}:{refused.value.errors[0].line}:")


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_right_file_is_loaded(path: Path) -> None:
    loaded = load(path)
    assert loaded.path == path
    assert loaded.scenario.steps


def test_texts_come_out_exactly() -> None:
    scenario = load(FILES / "valid" / "texts.yaml").scenario
    first, block, *others = [change for item in scenario.scopes["demo"].memory for change in item]
    assert first.entry == "abbb"
    assert first.text == "\u2028x\tx\t\0\x85\ufeff\r"
    assert block.text == "  two blanks kept\nand the end\n\n"
    assert [(change.entry, change.text) for change in others] == [
        ("yes", "it's \\n"),
        ("y", "1.2.3"),
        ("v1.1", "12:60:99"),
        ("010", "https://example.org/#part"),
    ]
    assert scenario.why == "the loader changes nothing but what YAML itself folds"
    assert scenario.steps[0].prepare == {
        "scope_id": "demo",
        "query": "界" * 8193,
        "max_bytes": 512,
        "assembly": None,
        "extra": [1.5, -3, True, None, 1000.0, "08"],
    }


def test_lines_are_those_of_the_file() -> None:
    loaded = load(FILES / "valid" / "design_example.yaml")
    assert loaded.line("scenario") == 2
    assert loaded.line("scopes", "demo", "memory", 1) == 12
    assert loaded.line("scopes", "demo", "memory", 1, 0, "text") == 12
    assert loaded.line("steps", 0) == 31
    assert loaded.line("steps", 0, "expect", "sections", 1, "Memory", 0) == 38
    assert loaded.line("steps", 0, "expect", "bytes") == 34
    assert loaded.line("steps", 9) == 30
    assert loaded.line() == 2


CHARACTERS = {
    "nul": ("\0", r"raw NUL (U+0000)"),
    "tab": ("\t", "raw tab (U+0009)"),
    "lone-carriage-return": ("a\rb", "raw carriage return (U+000D)"),
    "escape": ("\x1b", "raw control character (U+001B)"),
    "delete": ("\x7f", "raw control character (U+007F)"),
    "next-line": ("\x85", "raw next line (U+0085)"),
    "line-separator": ("\u2028", "raw line separator (U+2028)"),
    "paragraph-separator": ("\u2029", "raw paragraph separator (U+2029)"),
    "byte-order-mark": ("\ufeff", "raw byte order mark (U+FEFF)"),
}


@pytest.mark.parametrize(("character", "message"), CHARACTERS.values(), ids=CHARACTERS)
def test_a_character_that_no_editor_shows_is_refused(character: str, message: str) -> None:
    (found,) = mistakes(f'scenario: s\nwhy: "é{character}"\nsteps: []\n')
    column = 8 + len(character.partition("\r")[0]) if "\r" in character else 8
    assert found.startswith(f"2:{column} {message}; ")


def test_a_byte_order_mark_at_the_start_is_refused() -> None:
    assert mistakes("\ufeffscenario: s\nsteps: []\n") == [
        "1:1 raw byte order mark (U+FEFF); save the file as UTF-8 without it"
    ]


def test_bytes_that_are_no_utf8_are_refused() -> None:
    assert mistakes("scenario: é".encode() + b"\xff\n") == ["1:12 the file is not UTF-8: byte 0xff; save it as UTF-8"]
    assert mistakes(b"scenario: s\nwhy: \xed\xa0\x80\n") == ["2:6 the file is not UTF-8: byte 0xed; save it as UTF-8"]
    assert mistakes("scenario: s".encode("utf-16"))[0].startswith("1:1 the file is not UTF-8")


def test_an_empty_file_is_refused() -> None:
    assert mistakes(b"") == ["1:1 the file holds no scenario; begin with `scenario:` and `steps:`"]
    assert mistakes(b"---\n") == mistakes(b"~\n") == mistakes(b"# later\n") == mistakes(b"")


def test_crlf_is_one_line_break() -> None:
    loaded = parse(in_a_world("prepare: {scope_id: demo, query: run}").replace("\n", "\r\n").encode(), HERE)
    assert loaded.line("steps", 0) == 7


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\ud83d\ude00", r"\U0000d800", r"\U00110000"])
def test_a_surrogate_escape_is_refused(escape: str) -> None:
    (found,) = mistakes(f'scenario: "{escape}"\nsteps: []\n')
    assert found.startswith("1:")
    assert "invalid Unicode character escape" in found


@pytest.mark.parametrize("word", ["yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "yEs"])
def test_a_word_that_may_be_a_boolean_is_refused(word: str) -> None:
    with pytest.raises(Refusal):
        plain(word)


@pytest.mark.parametrize(
    "word",
    [
        *("010", "-010", "+07", "00", "00.5", "12:30", "12:30:45", "-1:59", "1:30.5", "2024-05-17", "2024-5-7"),
        *("2024-05-17T10:00:00Z", "8_000", "1_0.5", "0b11", ".nan", ".inf", "-.inf", "+.INF", "1e999", "<<"),
    ],
)
def test_a_number_that_readers_disagree_about_is_refused(word: str) -> None:
    with pytest.raises(Refusal):
        plain(word)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5e3", -1500.0),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        (".", "."),
        ("..", ".."),
        ("-v", "-v"),
        ("12:60", "12:60"),
        ("12:30 Uhr", "12:30 Uhr"),
        ("2024-05", "2024-05"),
        ("1-a", "1-a"),
        ("٣", "٣"),
        ("0x", "0x"),
        ("y", "y"),
        ("none", "none"),
    ],
)
def test_a_plain_scalar_is_read_as_yaml_1_2_says(word: str, value: object) -> None:
    assert plain(word) == value
    assert type(plain(word)) is type(value)


def test_a_number_without_end_is_refused_at_once() -> None:
    (found,) = mistakes(in_a_world(f"prepare: {{scope_id: demo, query: run, max_bytes: {'9' * 5000}}}"))
    assert "a number of 5000 digits" in found


def test_what_multiplies_ends_soon() -> None:
    started = time.perf_counter()
    bomb = "scenario: s\nscopes:\n  a: &a {profile: [{repeat: x, times: 8000000}]}\n"
    bomb += "".join(f"  b{n}: *a\n" for n in range(1000))
    (found,) = mistakes(bomb + "steps: []\n")
    assert "stand for too much" in found
    many = ", ".join("{repeat: x, times: 8000000}" for _ in range(20))
    assert "too long" in mistakes(f"scenario: s\nscopes:\n  a: {{profile: [{many}]}}\nsteps: []\n")[0]
    assert "deep" in mistakes("scenario: s\nsteps: " + "{a: " * 500 + "}" * 500)[0]
    assert "nesting depth" in mistakes("[" * 100_000)[0] or "deep" in mistakes("[" * 100_000)[0]
    assert time.perf_counter() - started < 5


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    found = mistakes(
        in_a_world("prepare: {scope_id: demo, query: run}\n    as: bob\n    expct: {}", "{entry: no, text: 5}")
    )
    assert [line.split()[0] for line in found] == ["5:17", "5:27", "9:5"]


def test_a_body_s_own_scope_decides_what_its_items_may_be() -> None:
    world = "scenario: s\nscopes:\n" + "".join(
        f"  {name}: {{memory: [{{entry: entry-1, text: Run.}}]}}\n" for name in ("demo", "other")
    )
    step = "steps:\n  - {body: BODY, expect: {sections: [{Memory: [entry-1]}]}}\n"
    parse((world + step.replace("BODY", """'{"scope_id": "demo", "query": "run"}'""")).encode(), HERE)
    assert "ambiguous" in mistakes(world + step.replace("BODY", "'{'"))[0]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as refused:
        load(tmp_path / "none.yaml")
    assert str(refused.value) == (
        f"unreadable_scenario: {tmp_path / 'none.yaml'} cannot be read\n  cause: No such file or directory"
    )
    with pytest.raises(HarnessError):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "memory", "parts"),
    [
        ("entry-1", True, ItemSpec(entry="entry-1")),
        ("entry-1@v2", True, ItemSpec(entry="entry-1", version="v2")),
        ("shared/entry-1", True, ItemSpec(scope="shared", entry="entry-1")),
        ("experience-1#12", False, ItemSpec(id="experience-1", revision=12)),
        ("shared/profile", False, ItemSpec(scope="shared", id="profile")),
    ],
)
def test_a_short_form_has_parts(text: str, memory: bool, parts: ItemSpec) -> None:
    assert short_form(text, memory=memory) == parts


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        *[("", True), ("@v", True), ("a@", True), ("a@b@c", True), ("a#1", True), ("a@b", False), ("a#0", False)],
        *[("a#x", False), ("a#01", False), ("/a", True), ("a/", True), ("a/b/c", False)],
    ],
)
def test_what_is_no_short_form_is_refused(text: str, memory: bool) -> None:
    with pytest.raises(NotAnItem):
        short_form(text, memory=memory)


def test_an_entry_is_read_with_its_version() -> None:
    assert entry_and_version("a@b", None) == ("a", "b")
    assert entry_and_version("a@b", "c@d") == ("a@b", "c@d")
    for text in ("a", "a@b@c", "@b", "a@"):
        with pytest.raises(NotAnItem):
            entry_and_version(text, None)


def test_what_a_scenario_needs_follows_from_its_content() -> None:
    found = {path.stem: needs(load(path).scenario) for path in VALID}
    assert found["aliases"] == ()
    assert found["design_example"] == ("candidates",)
    assert found["twins_and_signs"] == ("chosen ids",)
    assert found["every_step"] == ("a text's length", "several changes in one revision", "faults", "restarts")
    assert found["set_up_target"] == (
        "access disabled",
        "max_entries 4",
        "a reranker",
        "an embedder",
        "the sources memory, experience",
    )


def test_errors_are_values() -> None:
    error = HarnessError("engine_died", "the engine is gone", cause="signal 9\nlog: x", hint="start it again")
    assert str(error) == ("engine_died: the engine is gone\n  cause: signal 9\n         log: x\n  hint: start it again")
    with pytest.raises(FrozenInstanceError):
        error.code = "other"
    refused = ScenarioErrors(HERE, [ScenarioError(HERE, 7, 5, "unknown key", 'did you mean "x"?')])
    for original in (error, refused, UnknownNames("backend", ["sqlit"], ["sqlite"])):
        copy = pickle.loads(pickle.dumps(original))
        assert (type(copy), str(copy)) == (type(original), str(original))
    assert str(refused) == 'scenario.yaml:7:5: unknown key\n  did you mean "x"?'
    assert NotRun("needs a reranker").reason == "needs a reranker"


def test_a_hint_names_the_nearest_word_or_all() -> None:
    assert did_you_mean("Sectoins", ["sections", "status"]) == 'did you mean "sections"?'
    assert did_you_mean("xyz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("xyz", []) is None
