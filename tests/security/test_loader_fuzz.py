"""Whatever a scenario file holds: a scenario or a HarnessError, nothing executed, nothing else read, bounded work."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzzing import fuzz
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.scenario.loader import Loaded, load, parse

SECONDS = 4.0
ROOT = Path(__file__).parents[2]
HERE = Path("scenario.yaml")
FILES = [
    path.read_bytes()
    for path in sorted(
        [*(ROOT / "scenarios").rglob("*.yaml"), *(ROOT / "tests/harness/scenario_files").rglob("*.yaml")]
    )
    if path.stat().st_size < 4000 and path.name != "ledger.yaml"
]
SMALL = b"scenario: s\nscopes:\n  demo:\n    memory:\n      - {entry: entry-1, text: %s}\nsteps: []\n"


def judged(raw: bytes) -> Loaded | HarnessError:
    """Load, and make sure that a refusal can be told."""
    try:
        return parse(raw, HERE)
    except HarnessError as error:
        refused = error
    told = str(refused)
    assert 0 < len(told) < 20_000 + 30 * len(raw)
    return refused


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch {path}']",
        "!!python/object/new:pathlib.Path ['{path}']",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
        "!include {path}",
        "!!binary aGVsbG8=",
        "!<tag:yaml.org,2002:python/object/apply:open> ['{path}', 'w']",
    ],
)
def test_a_tag_is_refused_and_executes_and_reads_nothing(tmp_path: Path, text: str) -> None:
    marked = tmp_path / "marked"
    secret = tmp_path / "secret"
    secret.write_text("what the file holds")
    for path in (marked, secret):
        refused = judged(SMALL % text.replace("{path}", str(path)).encode())
        assert isinstance(refused, HarnessError)
        assert "tags are not part of the format" in str(refused)
        assert "what the file holds" not in str(refused)
    assert not marked.exists()


def bomb(levels: int, width: int) -> bytes:
    """Return a file whose aliases stand for width ** levels values."""
    lines = ["scenario: s", "x0: &a0 [x, x]"]
    lines += [f"x{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join([*lines, f"steps: *a{levels - 1}"]).encode()


@pytest.mark.parametrize(
    "raw",
    [
        bomb(9, 10),
        bomb(60, 2),
        bomb(3, 400),
        b"scenario: &a [*a]\nsteps: *a\n",
        b"scenario: s\nwhy: &a {repeat: x, times: 8000000}\ntags: [" + b"*a, " * 2000 + b"x]\nsteps: []\n",
        SMALL % b"{repeat: x, times: 999999999999}",
        SMALL % b"{repeat: {repeat: x, times: 5000}, times: 5000}",
        SMALL % (b"{join: [" + b"{repeat: x, times: 8000000}, " * 20 + b"x]}"),
        b"[" * 100_000,
        b"scenario: s\nsteps: " + b"[" * 5_000 + b"]" * 5_000,
        b"scenario: s\nsteps: " + b"{a: " * 5_000 + b"}" * 5_000,
        b"? " * 20_000,
        b"- " * 20_000,
        SMALL % (b"'" + b"x" * 1_000_000 + b"'"),
        SMALL % (b"9" * 900),
        SMALL % (b"0x" + b"f" * 100_000),
        SMALL % (b"1" * 100_000),
        SMALL % (b"1e" + b"9" * 100_000),
        b"scenario: s\nsteps:\n  - prepare: {scope_id: x, query: x, max_bytes: 0x" + b"f" * 20_000 + b"}\n",
        b"scenario: s\nsteps:\n  - {prepare: {}, expect: {bytes: 0x" + b"f" * 20_000 + b"}}\n",
        b"".join(b"k%d: 1\n" % n for n in range(20_000)),
        b"scenario: s\nscenario: s\n" * 5_000,
        b"%YAML 9.9\n---\nscenario: s\nsteps: []\n",
        b"%TAG ! tag:x,2000:\n---\n!a scenario: s\n",
    ],
    ids=lambda raw: raw[:24].decode().replace("\n", " "),
)
def test_a_file_that_grows_or_nests_without_bound_is_bounded(raw: bytes) -> None:
    began = time.monotonic()
    judged(raw)
    assert time.monotonic() - began < 10


def test_a_link_or_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "folder.yaml").mkdir()
    for name in ("loop.yaml", "folder.yaml", "absent.yaml"):
        with pytest.raises(HarnessError):
            load(tmp_path / name)


_pieces = st.sampled_from(
    [
        *(
            b"!!python/object/apply:os.abort []",
            b"!include x",
            b"&a ",
            b"*a",
            b"<<: *a",
            b"? ",
            b"- ",
            b": ",
            b"{",
            b"}",
        ),
        *(b"[", b"]", b"'", b'"', b"|\n", b">-\n", b"%", b"@", b"`", b"---\n", b"...\n", b"#", b"\t", b"\r", b"\xff"),
        *(b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\x00", b"null", b"~", b"010"),
        *(
            b"yes",
            b"12:30:45",
            b"2020-01-01",
            b".nan",
            b"1e999",
            b"0x" + b"f" * 5000,
            b"9" * 1001,
            b"{repeat: x, times: 9}",
        ),
        *(b"{join: [a, b]}", b"everything cited", b"any_order", b"\n", b"\n  ", b" " * 40),
    ]
)
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10) | st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["demo", "memory", "entry-1", "", "a/b", "a@b#c", "@", "#", "/", "everything cited", "x" * 300]),
    st.dates(),
    st.binary(max_size=4),
)
_values: st.SearchStrategy[Any] = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["entry", "text", "repeat", "times", "join", "any_order", "id", "scope"]), inner
        )
    ),
    max_leaves=5,
)
_keys = st.sampled_from(
    [
        "scopes",
        "steps",
        "principals",
        "runtime",
        "expect",
        "prepare",
        "read",
        "write",
        "as",
        "tags",
        "extra",
        "sweep",
        "fault",
    ]
)


def _trees(file: bytes) -> Any:
    try:
        return yaml.safe_load(file)
    except (yaml.YAMLError, ValueError):
        return {}


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every container with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
    return found


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """Give a file of ours with pieces put in, taken out and doubled."""
    raw = draw(st.sampled_from(FILES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.sampled_from([0, 0, 1, 2, 10, 100])))
        put = draw(_pieces | st.binary(max_size=3) | st.just(raw[start:end] * 2))
        raw = raw[:start] + put + raw[end:]
    return raw


@st.composite
def replanted(draw: st.DrawFn) -> bytes:
    """Give a file of ours in which other values stand at some places, or keys that do not belong there."""
    # What aliases stand for would be walked again and again.
    tree = _trees(draw(st.sampled_from([file for file in FILES if b"&" not in file])))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(tree, [])
        if not places:
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        if isinstance(container, dict) and draw(st.booleans()):
            container[draw(_keys)] = draw(_values)
        else:
            container[key] = draw(_values)
    return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False).encode("utf-8", "surrogatepass")


def test_every_file_is_a_scenario_or_is_refused_by_a_harness_error() -> None:
    verdicts: Counter[str] = Counter()

    def judge(raw: bytes) -> None:
        verdicts[type(judged(raw)).__name__] += 1

    count = fuzz(edited() | replanted(), judge, seconds=SECONDS, name="loader")
    print(f"verdicts: {dict(verdicts)}")
    assert count >= 20
    assert set(verdicts) == {"Loaded", "ScenarioErrors"}


def test_a_planted_fault_is_found() -> None:
    def judge(raw: bytes) -> None:
        loaded = judged(raw)
        assert isinstance(loaded, HarnessError) or len(loaded.scenario.steps) < 2

    with pytest.raises(AssertionError) as caught:
        fuzz(edited() | replanted(), judge, seconds=60, name="planted")
    assert any("FUZZ_SEED=" in note for note in caught.value.__notes__)


def test_the_files_are_there() -> None:
    assert len(FILES) > 100
    assert random.Random(1).choice(FILES)
