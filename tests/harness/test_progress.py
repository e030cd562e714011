"""What is seen while a run goes on: one live line on a terminal, dots in CI, and the cursor given back."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import HARNESS, Place, a_place, read_until
from targets.runs import ASK, SCENARIO

ON_A_TERMINAL = (sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", HARNESS)
TERMINAL = {"TERM": "xterm", "CI": ""}
WRONG = ("-p", "targets.plugin", "--backend", "sqlite", "--backend", "second", "--target", "swaps-on-second")
SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        for number in range(4):
            place.write(f"s{number}.yaml", SCENARIO + "steps:" + ASK)
        yield place


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_a_terminal_has_one_line_with_the_counts_of_each_backend(place: Place, words: tuple[str, ...]) -> None:
    ended = place.end(place.start(*ON_A_TERMINAL, "run", *WRONG, *words, **TERMINAL))
    assert ended.code == 1, ended.output
    seen = re.sub(r"\x1b\[[0-9]*m", "", ended.output)
    assert "8 of 8  sqlite 4 passed  second 4 failed" in seen
    assert "starting sqlite, second" in seen
    # No dots beside it.
    assert not re.search(r"[.F]F[.F]|\[100%\]", seen.partition("=== FAILURES")[0])
    assert ended.output.rindex(SHOWN) > ended.output.rindex(HIDDEN)
    assert "all        4 passed  4 failed" in ended.output
    assert "4 failed, 4 passed" in ended.output


def test_ci_and_pipes_have_plain_lines(place: Place) -> None:
    on_ci = place.end(place.start(*ON_A_TERMINAL, "run", *WRONG, "-n", "0", **TERMINAL | {"CI": "true"}))
    piped = place.harness("run", *WRONG, "-n", "0", TERM="xterm", CI="")
    for ended in (on_ci, piped):
        assert ".F.F.F.F" in ended.output, ended.output
        assert HIDDEN not in ended.output


@pytest.mark.slow
def test_an_interrupt_gives_the_cursor_back(place: Place) -> None:
    for number in range(100):
        place.write(f"many/s{number}.yaml", SCENARIO + "steps:" + ASK)
    process = place.start(*ON_A_TERMINAL, "run", *WRONG, "-n", "0", **TERMINAL)
    before = read_until(process, b" of 208  sqlite").decode()
    # A terminal's Ctrl-C goes to the program in it.
    [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGINT)
    ended = place.end(process)
    assert ended.code == 130, ended.output
    whole = before + ended.output
    assert whole.rindex(SHOWN) > whole.rindex(HIDDEN)
