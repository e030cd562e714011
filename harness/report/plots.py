"""Where the time went and how long answers took, as shapes for the report's SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.results import Json, column_of
from harness.report.tally import PHASES

Column = tuple[str, str]

WIDTH = 900
_LEFT = 190
_RIGHT = 60
_BINS = 48


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took: the ends, the quarters, the median and the slow end, in seconds."""

    count: int
    least: float
    lower: float
    median: float
    upper: float
    slow: float
    most: float

    @property
    def told(self) -> str:
        """The spread in a line."""
        slow = f"95 % within {milliseconds(self.slow)}"
        return f"{self.count} answers, median {milliseconds(self.median)}, {slow}, longest {milliseconds(self.most)}"


def spread(values: Sequence[float]) -> Spread | None:
    """Return how values are spread, None where there are none."""
    if not values:
        return None
    ordered = sorted(values)
    parts = (_quantile(ordered, part) for part in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0))
    return Spread(len(ordered), *parts)


def _quantile(ordered: Sequence[float], part: float) -> float:
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def milliseconds(seconds: float) -> str:
    """Return a time as people write it."""
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def prepare_seconds(cases: Sequence[Json]) -> list[float]:
    """Return how long each prepare of some cases took."""
    return [
        step["seconds"]
        for case in cases
        for step in case["steps"]
        if step["verb"] in ("prepare", "body") and step["seconds"]
    ]


def phase_seconds(cases: Sequence[Json]) -> dict[str, float]:
    """Return the seconds of each phase over some cases; a worker's start counts once."""
    starts = {(case["run"], case["worker"]): case["times"].get("start", 0.0) for case in cases}
    spent = {phase: sum(case["times"].get(phase, 0.0) for case in cases) for phase in PHASES if phase != "start"}
    return {"start": sum(starts.values()), **spent}


def phases_plot(cases: Sequence[Json], titles: Mapping[Column, str]) -> dict[str, Any]:
    """Return one bar for each column, of its phases one behind the other."""
    rows = []
    spent = {column: phase_seconds([case for case in cases if column_of(case) == column]) for column in titles}
    longest = max([sum(phases.values()) for phases in spent.values()] or [0.0]) or 1.0
    scale = (WIDTH - _LEFT - _RIGHT) / longest
    for place, (column, phases) in enumerate(spent.items()):
        at, bars = float(_LEFT), []
        for phase, seconds in phases.items():
            bars.append({"phase": phase, "x": round(at, 1), "width": round(seconds * scale, 1), "told": _told(seconds)})
            at += seconds * scale
        told = _told(sum(phases.values()))
        rows.append({"title": titles[column], "y": place * 28, "bars": bars, "end": round(at, 1), "told": told})
    legend = [{"phase": phase, "x": _LEFT + place * 90} for place, phase in enumerate(PHASES)]
    return {"width": WIDTH, "height": len(rows) * 28 + 26, "rows": rows, "legend": legend}


def latency_plot(cases: Sequence[Json], titles: Mapping[Column, str]) -> dict[str, Any]:
    """Return one histogram for each column, on one logarithmic scale, with the quarters below it."""
    values = {column: prepare_seconds([case for case in cases if column_of(case) == column]) for column in titles}
    every = [seconds for found in values.values() for seconds in found]
    low = math.floor(math.log10(min(every))) if every else -3
    high = max(math.ceil(math.log10(max(every))), low + 1) if every else 0
    left, width = _LEFT + 130, WIDTH - _LEFT - 130 - _RIGHT

    def x(seconds: float) -> float:
        return round(left + (math.log10(seconds) - low) / (high - low) * width, 1)

    rows = []
    for place, (column, found) in enumerate(values.items()):
        top, told = place * 72, spread(found)
        counts = [0] * _BINS
        for seconds in found:
            counts[min(int((math.log10(seconds) - low) / (high - low) * _BINS), _BINS - 1)] += 1
        bars = []
        for number, count in enumerate(counts):
            if count:
                height = round(max(1.5, count / max(counts) * 40), 1)
                begin = 10 ** (low + number * (high - low) / _BINS)
                bars.append(
                    {
                        "x": round(left + number * width / _BINS, 1),
                        "y": round(top + 42 - height, 1),
                        "width": round(width / _BINS - 0.6, 1),
                        "height": height,
                        "told": f"{count} from {milliseconds(begin)} on",
                    }
                )
        box = told and {
            "x": x(told.lower),
            "width": round(max(x(told.upper) - x(told.lower), 1), 1),
            "median": x(told.median),
        }
        about = "none" if told is None else f"{told.count}, median {milliseconds(told.median)}"
        rows.append({"title": titles[column], "y": top, "bars": bars, "box": box, "told": about})
    ticks = [
        {"x": x(10.0**power), "told": f"{10.0**power:g} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"}
        for power in range(low, high + 1)
    ]
    return {"width": WIDTH, "height": len(rows) * 72 + 24, "rows": rows, "ticks": ticks}


def _told(seconds: float) -> str:
    return f"{seconds:.1f} s"
