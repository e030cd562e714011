"""What a measure gives: values with their spread, the bound beside them, and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

Unit = Literal["ms", "s", "MB", "1/s"]

RUNTIME = "runtime"
"""The system that others are compared with."""


class BenchFailed(Exception):
    """A measure that could not be taken, or whose answers were not those that it was about."""


class LeftOut(Exception):
    """A measure that needs what is not there: one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How often something was measured, and where the values lie."""

    n: int
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Make it from at least one value."""
        if len(values) == 1:
            return cls(1, *([values[0]] * 5))
        q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
        return cls(len(values), min(values), q1, median, q3, max(values))


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured, on one backend or on none; the bound holds for the median."""

    measure: str
    case: str
    backend: str | None
    unit: Unit
    spread: Spread
    bound: float | None = None
    note: str = ""
    system: str | None = None
    """Which of several systems was measured, where they are compared."""

    @property
    def met(self) -> bool | None:
        """Whether the bound is met; None where there is none."""
        return None if self.bound is None else self.spread.median <= self.bound

    @property
    def verdict(self) -> str:
        """The word in the table."""
        if self.bound is None:
            return ""
        over = self.spread.median - self.bound
        return "met" if over <= 0 else f"missed by {over:.3g} {self.unit}"

    def serializable(self) -> dict[str, Any]:
        """Return it as plain values."""
        spread = {name: round(value, 4) for name, value in asdict(self.spread).items()}
        named = {"measure": self.measure, "case": self.case, "system": self.system, "backend": self.backend}
        return {**named, "unit": self.unit, **spread, "bound": self.bound, "met": self.met, "note": self.note}


def ratios(figures: Iterable[Figure]) -> dict[str, float]:
    """Return ratios of medians: between backends, to the runtime where systems are compared, and of the large Scope."""
    medians = {(one.measure, one.case, one.system, one.backend): one.spread.median for one in figures}
    found: dict[str, float] = {}
    for (measure, case, system, backend), median in medians.items():
        if system is None and backend == "oceanbase" and (other := medians.get((measure, case, None, "sqlite"))):
            found[f"{measure} {case}: oceanbase / sqlite"] = median / other
        if system not in (None, RUNTIME) and (other := medians.get((measure, case, RUNTIME, backend))):
            found[f"{measure} {case} on {backend}: {system} / {RUNTIME}"] = median / other
    for backend in ("sqlite", "oceanbase"):
        small, large = medians.get(("prepare", "{}", None, backend)), medians.get(("large", "3 words", None, backend))
        if small and large:
            found[f"{backend}: large 3 words / prepare {{}}"] = large / small
    return {name: round(value, 3) for name, value in found.items()}
