"""Two columns of results side by side: which scenarios differ, in which region, by order or by set, and how fast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.check.delivered import Delivered, Malformed, read_delivered
from harness.check.regions import first_difference
from harness.errors import HarnessError
from harness.report.html_page import text_and_rest
from harness.report.plots import Spread, spread
from harness.report.results import Json, bytes_of, column_of, columns, titles
from harness.run.result import FAULTS
from harness.target import TARGETS
from runtime.artifacts import Citation, EntryAddress

Column = tuple[str, str]

NEW, FIXED, STILL = "new failure", "fixed", "still failing"
_PADDING = re.compile(r'~+(?=\\?")')
"""What fills a scenario's id up to the length of a real one, in the answers of targets that make their ids."""


@dataclass(frozen=True, slots=True)
class StepDifference:
    """How one step was answered otherwise: in which region, and whether by order, by set, or in the text alone."""

    step: str
    line: int
    region: str
    what: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A scenario that differs between two columns."""

    scenario: str
    pair: str
    """What was compared, where there are several pairs."""
    change: str
    """What became of the verdict; empty where both are the same."""
    steps: tuple[StepDifference, ...] = ()


@dataclass(slots=True)
class Comparison:
    """All that differs between what is called left and right."""

    left: str
    right: str
    compared: int = 0
    """How many cases: a scenario on two backends of both sides is two."""
    differences: list[Difference] = field(default_factory=list)
    still_failing: list[str] = field(default_factory=list)
    """Scenarios that fail on both sides, differing or not."""
    uncompared: list[str] = field(default_factory=list)
    """Scenarios that one side has no answers of, with the reason."""
    speeds: dict[str, Speed] = field(default_factory=dict)
    """By pair."""


@dataclass(frozen=True, slots=True)
class Speed:
    """How long prepares took on both sides, and how the ratios right to left are spread."""

    left: Spread
    right: Spread
    ratio: Spread


def compare_two(left: Json, right: Json, *, names: tuple[str, str]) -> Comparison:
    """Compare two runs: the same target and backend in both, or the same backend where the targets are others.

    Raises HarnessError where there is nothing to compare.
    """
    ours, theirs = columns(left["runs"]), columns(right["runs"])
    pairs = {column: column for column in ours if column in theirs}
    if not pairs:
        pairs = {one: other for one in ours for other in theirs if one[1] == other[1]}
    if not pairs:
        raise HarnessError(
            "nothing_to_compare", f"{names[0]} and {names[1]} have no backend in common", hint="see their `columns`"
        )
    found = Comparison(*names)
    told = titles(list(pairs))
    for one, other in pairs.items():
        _compare(found, _cases(left, one), _cases(right, other), pair=told[one], over_time=True)
    return found


def compare_columns(found: Json) -> list[Comparison]:
    """Compare the targets of one run by the first, or, of a single target, the backends by the first one.

    Raises HarnessError where there is a single column.
    """
    shown = columns(found["runs"])
    targets = list(dict.fromkeys(target for target, _ in shown))
    made: list[Comparison] = []
    for target in targets[1:]:
        comparison = Comparison(targets[0], target)
        for backend in [backend for name, backend in shown if name == target and (targets[0], backend) in shown]:
            cases = _cases(found, (targets[0], backend)), _cases(found, (target, backend))
            _compare(comparison, *cases, pair=backend, over_time=False)
        made.append(comparison)
    if len(targets) == 1:
        for column in shown[1:]:
            comparison = Comparison(shown[0][1], column[1])
            _compare(comparison, _cases(found, shown[0]), _cases(found, column), pair="", over_time=False)
            made.append(comparison)
    if not any(comparison.compared for comparison in made):
        raise HarnessError(
            "nothing_to_compare", "one backend alone was run", hint="name two: --backend NAME, or --target NAME"
        )
    return made


def _cases(found: Json, column: Column) -> dict[str, Json]:
    return {case["scenario"]: case for case in found["cases"] if column_of(case) == column}


def _compare(
    comparison: Comparison, left: Mapping[str, Json], right: Mapping[str, Json], *, pair: str, over_time: bool
) -> None:
    times: list[tuple[float, float]] = []
    for scenario in sorted(left.keys() & right.keys()):
        one, other = left[scenario], right[scenario]
        if unheard := [case for case in (one, other) if case["verdict"] in (*FAULTS, "not run")]:
            case = unheard[0]
            reason = case["reason"].partition("\n")[0]
            comparison.uncompared.append(f"{scenario}, {case['target']} on {case['backend']}: {reason}")
            continue
        comparison.compared += 1
        change = _change(one, other, comparison, over_time=over_time)
        if "failed" == one["verdict"] == other["verdict"]:
            comparison.still_failing.append(scenario)
        steps = tuple(_steps(one, other))
        times += _times(one, other)
        if steps or change:
            comparison.differences.append(Difference(scenario, pair, change, steps))
    for scenario in sorted(left.keys() ^ right.keys()):
        side = comparison.left if scenario in left else comparison.right
        comparison.uncompared.append(f"{scenario}: only in {side}")
    ratios = spread([after / before for before, after in times])
    before, after = spread([one for one, _ in times]), spread([other for _, other in times])
    if before is not None and after is not None and ratios is not None:
        comparison.speeds[pair] = Speed(before, after, ratios)


def _change(one: Json, other: Json, comparison: Comparison, *, over_time: bool) -> str:
    """Return what became of a verdict; an otherwise failing scenario is told as well."""
    failed = [case["verdict"] == "failed" for case in (one, other)]
    match failed:
        case [False, True]:
            return NEW if over_time else f"fails on {comparison.right} alone"
        case [True, False]:
            return FIXED if over_time else f"fails on {comparison.left} alone"
        case [True, True] if _faults(one) != _faults(other):
            return "fails otherwise"
    return "" if one["verdict"] == other["verdict"] else f"{one['verdict']}, then {other['verdict']}"


def _faults(case: Json) -> set[tuple[int, str, str]]:
    """Return what is wrong with a case, but not how it compares with another backend."""
    return {
        (step["index"], failure["kind"], failure["region"])
        for step in case["steps"]
        for failure in step["failures"]
        if not failure["kind"].endswith("MISMATCH")
    }


def _times(one: Json, other: Json) -> Iterator[tuple[float, float]]:
    for ours, theirs in _same_steps(one, other):
        if ours["verb"] in ("prepare", "body") and ours["seconds"] and theirs["seconds"]:
            yield ours["seconds"], theirs["seconds"]


def _same_steps(one: Json, other: Json) -> Iterator[tuple[Json, Json]]:
    theirs = {(step["index"], step["verb"]): step for step in other["steps"]}
    for step in one["steps"]:
        if (step["index"], step["verb"]) in theirs:
            yield step, theirs[step["index"], step["verb"]]


def _steps(one: Json, other: Json) -> Iterator[StepDifference]:
    makes_ids = any(case["target"] not in TARGETS for case in (one, other))
    for ours, theirs in _same_steps(one, other):
        found = _step(ours, theirs, makes_ids=makes_ids)
        if found is not None:
            yield found
    if one["digests"] and other["digests"] and one["digests"] != other["digests"]:
        at = next(
            place
            for place, pair in enumerate(zip(one["digests"], other["digests"], strict=False))
            if pair[0] != pair[1]
        )
        line = one["steps"][0]["line"]
        yield StepDifference(
            "the seed" if at == 0 else "the last write",
            line,
            "stored rows",
            "other rows",
            one["digests"][at],
            other["digests"][at],
        )


def _step(ours: Json, theirs: Json, *, makes_ids: bool) -> StepDifference | None:
    if ours["status"] != theirs["status"]:
        told = str(ours["status"]), str(theirs["status"])
        return StepDifference(ours["name"], ours["line"], "status", f"{told[0]} and {told[1]}", *told)
    texts = [text_and_rest(bytes_of(step["body"])) for step in (ours, theirs)]
    if makes_ids:
        texts = [(text and _PADDING.sub("", text), _PADDING.sub("", rest)) for text, rest in texts]
    (left, left_rest), (right, right_rest) = texts
    if left is None or right is None or texts[0] == texts[1]:
        return None
    if left == right:
        return StepDifference(ours["name"], ours["line"], "response", "beside the text", left_rest, right_rest)
    has_text = bool(left_rest) and bool(right_rest)
    difference = first_difference(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))
    region = difference.region if has_text and difference is not None else "response"
    return StepDifference(ours["name"], ours["line"], region, order_or_set(left, right), left, right)


def order_or_set(left: str, right: str) -> str:
    """Say whether two texts have the same items in another order, other items, or the same ones told otherwise."""
    one, other = _items(left), _items(right)
    if one is None or other is None:
        return "text"
    if one == other:
        return "text of the same items"
    if sorted(one) == sorted(other):
        return f"order: {', '.join(one)}; then {', '.join(other)}"
    gone, come = _without(one, other), _without(other, one)
    kept = [[item for item in side if item not in {*gone, *come}] for side in (one, other)]
    moved = ", and another order" if kept[0] != kept[1] else ""
    told = [f"only left {', '.join(gone)}" if gone else "", f"only right {', '.join(come)}" if come else ""]
    return f"set: {'; '.join(filter(None, told))}{moved}"


def _without(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return [item for item in one if item not in other]


def _items(text: str) -> list[str] | None:
    try:
        delivered = read_delivered(text, scope_id="")
    except Malformed:
        return None
    return [_named(item.citation) for item in delivered.items] if isinstance(delivered, Delivered) else None


def _named(citation: Citation) -> str:
    if isinstance(citation, EntryAddress):
        name, scope = f"{citation.entry_id}@{citation.entry_version_id}", citation.memory.scope_id
    else:
        name, scope = f"{citation.artifact_id}#{citation.revision}", citation.scope_id
    return f"{scope}/{name}" if scope else name
