"""A comparison for people: a table of what differs, its texts word by word, and how fast both sides were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.check.display import show_invisible
from harness.report.compare_runs import Comparison, Speed
from harness.report.plots import milliseconds

_WORDS = re.compile(r"[^\W\u2e80-\U0003ffff]+|\s+|.", re.DOTALL)
"""Chinese, Japanese and Korean have no blanks between words: each character counts as one."""
_CONTEXT = 1
_SHOWN = 5
_LONGEST = 400
"""Characters of one line that is shown; what is longer is cut in the middle of what is alike."""

Word = tuple[str, str]
"""A part of a line, and whether it is " " in both, "-" on the left alone or "+" on the right alone."""


def show(comparison: Comparison, console: Console, *, diffs: int) -> None:
    """Print a comparison, with the texts of the first `diffs` steps that differ."""
    console.print(Text(f"{comparison.left} (left) against {comparison.right} (right)", style="bold"))
    if comparison.differences:
        _show_table(comparison, console)
        _show_diffs(comparison, console, diffs)
    for line in summary(comparison):
        console.print(Text(line), soft_wrap=True)


def summary(comparison: Comparison) -> Iterator[str]:
    """Yield how many cases were compared (a scenario on a backend), how many differ and how, and the speeds."""
    found = comparison.differences
    yield f"{_plural(comparison.compared, 'case')} compared, {len(found)} {'differs' if len(found) == 1 else 'differ'}"
    changes = Counter(difference.change for difference in found if difference.change)
    for change, count in sorted(changes.items()):
        yield f"{change}: {count}"
    if comparison.still_failing:
        yield f"failing on both sides: {len(comparison.still_failing)}"
    kinds = Counter(re.split("[: ]", step.what)[0] for difference in found for step in difference.steps)
    if kinds:
        yield "steps that differ: " + ", ".join(f"{count} by {kind}" for kind, count in kinds.most_common())
    for line in comparison.uncompared[:_SHOWN]:
        yield f"not compared: {line}"
    if len(comparison.uncompared) > _SHOWN:
        yield f"not compared: {len(comparison.uncompared) - _SHOWN} more"
    for pair, speed in comparison.speeds.items():
        yield _told(speed, pair)


def _told(speed: Speed, pair: str) -> str:
    ratio = speed.ratio
    return (
        f"prepare{f' on {pair}' if pair else ''}: right takes {ratio.median:.2f} times as long as left "
        f"(middle half {ratio.lower:.2f} to {ratio.upper:.2f}, {_plural(ratio.count, 'answer')}; "
        f"medians {milliseconds(speed.left.median)} and {milliseconds(speed.right.median)})"
    )


def _show_table(comparison: Comparison, console: Console) -> None:
    for difference in comparison.differences:
        told = [
            f" on {difference.pair}" if difference.pair else "",
            f": {difference.change}" if difference.change else "",
        ]
        console.print(Text(f"{difference.scenario}{''.join(told)}"), soft_wrap=True)
        table = Table.grid(padding=(0, 2))
        table.add_column(justify="right", min_width=5)
        for _ in ("step", "region", "what"):
            table.add_column(overflow="fold")
        for step in difference.steps:
            table.add_row(*map(Text, (str(step.line), step.step, step.region, step.what)))
        if difference.steps:
            console.print(table)


def _show_diffs(comparison: Comparison, console: Console, diffs: int) -> None:
    steps = [(difference, step) for difference in comparison.differences for step in difference.steps]
    for difference, step in steps[:diffs]:
        console.print()
        place = f"{difference.scenario}:{step.line} {step.step!r}{f' on {difference.pair}' if difference.pair else ''}"
        console.print(Text(place, style="bold"), soft_wrap=True)
        for line in word_diff(step.left, step.right):
            console.print(_painted(line), soft_wrap=True)
    if len(steps) > diffs:
        console.print(f"\n{_plural(len(steps) - diffs, 'more step')} can be shown: --diffs {len(steps)}")
    console.print()


def word_diff(left: str, right: str) -> Iterator[list[Word]]:
    """Yield the lines that differ word by word, and those beside them; "..." stands for what is left out."""
    lines = list(_lines(left, right))
    near = [
        any(_changed(other) for other in lines[max(0, at - _CONTEXT) : at + _CONTEXT + 1]) for at in range(len(lines))
    ]
    for at, line in enumerate(lines):
        if near[at]:
            yield [(kind, show_invisible(text.encode("utf-8", "replace"))) for kind, text in _short(line)]
        elif at == 0 or near[at - 1]:
            yield [(" ", "...")]


def _lines(left: str, right: str) -> Iterator[list[Word]]:
    """Yield the lines of both texts; one that was changed as one line that holds the words of both."""
    one, other = left.split("\n"), right.split("\n")
    for tag, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ([(" ", line)] for line in one[start:end])
            continue
        olds, news = one[start:end], other[begin:stop]
        pairs = min(len(olds), len(news))
        yield from (_words(old, new) for old, new in zip(olds, news, strict=False))
        yield from ([("-", line)] for line in olds[pairs:])
        yield from ([("+", line)] for line in news[pairs:])


def _words(old: str, new: str) -> list[Word]:
    one, other = _WORDS.findall(old), _WORDS.findall(new)
    found: list[Word] = []
    for tag, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append((" ", "".join(one[start:end])))
            continue
        found += [("-", "".join(one[start:end]))] if start < end else []
        found += [("+", "".join(other[begin:stop]))] if begin < stop else []
    return found


def _changed(line: Sequence[Word]) -> bool:
    return any(kind != " " for kind, _ in line)


def _short(line: Sequence[Word]) -> Iterator[Word]:
    for kind, text in line:
        half = _LONGEST // 2
        yield kind, text if len(text) <= _LONGEST else f"{text[:half]} [...] {text[-half:]}"


def plain(line: Sequence[Word]) -> str:
    """Return a line with its words marked as by `git diff --word-diff`: [-left-]{+right+}."""
    marks = {" ": ("", ""), "-": ("[-", "-]"), "+": ("{+", "+}")}
    return "  " + "".join(f"{marks[kind][0]}{text}{marks[kind][1]}" for kind, text in line)


def _painted(line: Sequence[Word]) -> Text:
    styles = {" ": "", "-": "red", "+": "green"}
    text = Text("  ")
    for kind, word in line:
        text.append(plain([(kind, word)])[2:], style=styles[kind])
    return text


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
