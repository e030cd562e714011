"""A scenario's text with expected values put in from what was answered; nothing else in it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.accept.values import expectations
from harness.errors import HarnessError
from harness.explain.walk import walk
from harness.explore.writing import Plain
from harness.run.result import Outcome
from harness.scenario.formatting import WIDTH, flat, rendered, sort_expectations
from harness.scenario.loader import Loaded, parse
from harness.scenario.model import Expect, Scenario
from harness.scenario.plain_values import entry_of, value_of
from harness.scenario.written import Entry, Value, read_written

_WIDEST = WIDTH - len("      sections: ")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A file before and after, and the numbers of the steps that changed, from 1."""

    before: str
    after: str
    steps: tuple[int, ...]


def accept(loaded: Loaded, source: str, outcome: Outcome, chosen: Sequence[int]) -> Accepted:
    """Return a scenario's text with the chosen steps' expected values as an outcome has them.

    Raises HarnessError for a file that cannot be taken apart.
    """
    results = {step.index: step for step in outcome.steps}
    changes: dict[int, dict[str, Any]] = {}
    for moment in walk(loaded, backend=outcome.backend):
        result = results.get(moment.index)
        if moment.index not in chosen or result is None:
            continue
        changed = expectations(loaded.scenario, moment, result)
        if changed:
            changes[moment.index] = changed
    text = source.replace("\r\n", "\n")
    # From the last one on, so that the places of those before stay as they are.
    for index in sorted(changes, reverse=True):
        text = _with_step(text, index, changes[index])
    if _without_expectations(parse(text.encode(), loaded.path)) != _without_expectations(loaded):
        raise HarnessError("unformattable", f"{loaded.path} is left as it is", hint="write the values by hand")
    return Accepted(source, text, tuple(index + 1 for index in sorted(changes)))


def _without_expectations(loaded: Loaded) -> Scenario:
    """Return a scenario with nothing expected: what must stay as it is."""
    steps = tuple(step.model_copy(update={"expect": Expect()}) for step in loaded.scenario.steps)
    return loaded.scenario.model_copy(update={"steps": steps})


def _with_step(text: str, index: int, changed: Plain) -> str:
    """Return a file's text with one step's expectations changed; a value of None is taken out."""
    steps = read_written(text).value.get("steps")
    assert steps is not None
    item = steps.value.entries[index]
    step = item.value
    expect = step.get("expect")
    if expect is None:
        expect = Entry("expect", "expect", Value("mapping", flow=True))
        is_new = True
    else:
        is_new = False
    _change(expect.value, changed)
    if step.flow:
        if is_new:
            step.entries.append(expect)
        elif not expect.value.entries:
            step.entries.remove(expect)
        step.raw = ""
        line = flat(step)
        step.flow = line is not None and item.column + 2 + len(line) <= WIDTH
        return _spliced(text, item, item.column)
    if not expect.value.entries:
        return text if is_new else _without(text, expect, step)
    if is_new:
        last = step.entries[-1]
        end = _line_end(text, last.value.end)
        return text[:end] + "\n" + "\n".join(rendered(expect, last.column)) + text[end:]
    return _spliced(text, expect, expect.column)


def _change(value: Value, changed: Plain) -> None:
    """Put new values into a mapping, and take out those that are None."""
    value.raw = ""
    for key, plain in changed.items():
        entry = value.get(key)
        if plain is None:
            if entry is not None:
                value.entries.remove(entry)
        elif entry is not None:
            entry.value = value_of(plain, is_text=key == "content")
        else:
            value.entries.append(entry_of(key, plain, is_text=key == "content"))
    for entry in value.entries:
        line = flat(entry.value)
        if entry.name in changed and entry.value.flow and line is not None and len(line) > _WIDEST:
            entry.value.flow = False
    sort_expectations(value)
    line = flat(value)
    if value.flow and (line is None or len(line) > _WIDEST):
        value.flow = False
    if not value.entries:
        value.flow = True


def _spliced(text: str, entry: Entry, column: int) -> str:
    """Return the text with an entry written anew from its first column to the end of its last line."""
    first, *lines = rendered(entry, column)
    end = _line_end(text, _old_end(text, entry))
    return text[: entry.start] + "\n".join([first[column:], *lines]) + text[end:]


def _old_end(text: str, entry: Entry) -> int:
    """Return where an entry ends in the text that it was read from."""
    steps = read_written(text).value.get("steps")
    assert steps is not None
    for item in steps.value.entries:
        for one in (item, *item.value.entries):
            if one.start == entry.start and (one.key is None) == (entry.key is None):
                return one.value.end
    raise AssertionError("an entry that was read is in the text")


def _without(text: str, entry: Entry, step: Value) -> str:
    """Return the text without an entry, or with an empty one where it stands behind a dash."""
    if step.entries[0] is entry:
        return _spliced(text, entry, entry.column)
    start = text.rindex("\n", 0, entry.start)
    return text[:start] + text[_line_end(text, _old_end(text, entry)) :]


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
