"""The same scenario with another seed that must change nothing: twins beside everything, or rows in another order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from backends.operations import Operation
from harness.check.context import strings
from harness.explore.shuffle import shuffled
from harness.explore.twins import KINDS, with_twins
from harness.scenario.model import Read, Scenario, TwinKind

ALL_TWINS: tuple[TwinKind, ...] = tuple(KINDS)


@dataclass(frozen=True)
class Variant:
    """A way to seed a scenario otherwise; `name` says it in a verdict."""

    name: str
    seed: Callable[[Sequence[Operation]], list[Operation]]
    twins: bool = False
    """Whether it needs ids of the harness's choice."""


def twins_variant(scenario: Scenario, kinds: Iterable[TwinKind]) -> Variant:
    """Return the variant with twins of these kinds; ids that the steps spell out are nobody's twins."""
    ordered = [kind for kind in KINDS if kind in set(kinds)]
    said = strings([step.model_dump(mode="json", by_alias=True) for step in scenario.steps])
    # `entry-1@version` and `shared/topic-1#2` spell out each of their parts.
    spelled = frozenset(part for text in said for part in (text, *re.split("[@#/]", text)))

    def seed(operations: Sequence[Operation]) -> list[Operation]:
        return with_twins(operations, ordered, spelled=spelled, entries=not _shows_manifests(scenario))

    return Variant(f"twins {', '.join(ordered)}", seed, twins=True)


def shuffle_variant(scenario: Scenario, seed: str) -> Variant:
    """Return the variant whose rows are written in an order drawn by a seed."""
    entries = not any(isinstance(step.read, Read) for step in scenario.steps)
    return Variant(f"shuffle {seed}", lambda operations: shuffled(operations, seed, entries=entries))


def _shows_manifests(scenario: Scenario) -> bool:
    return any(isinstance(step.read, Read) and step.read.family == "memory" for step in scenario.steps)
