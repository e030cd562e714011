"""Runs of Hypothesis that are bounded by time instead of by a number of examples, with a seed that is told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

SECONDS_VARIABLE, SEED_VARIABLE = "FUZZ_SECONDS", "FUZZ_SEED"
_EXAMPLES = 60
"""Of one round, after which the clock is asked."""


def first_seed() -> int:
    """Return the seed of the first round; each further one has the next."""
    return int(os.environ.get(SEED_VARIABLE, "1489"))


def fuzz(strategy: SearchStrategy[Any], judge: Callable[[Any], None], *, seconds: float, name: str) -> int:
    """Judge generated values until the time is over, and return how many; a failure tells its seed."""
    seconds = float(os.environ.get(SECONDS_VARIABLE, seconds))
    deadline, number, judged = time.monotonic() + seconds, first_seed(), 0

    def counted(value: Any) -> None:
        nonlocal judged
        judged += 1
        judge(value)

    rules = settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        # To shrink takes up to five minutes, and what is generated is small.
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    while time.monotonic() < deadline:
        try:
            seed(number)(rules(given(strategy)(counted)))()
        except BaseException as error:
            error.add_note(f"{name}: repeat with {SEED_VARIABLE}={number}")
            raise
        number += 1
    print(f"{name}: {judged} judged in {seconds:g} s, seeds {first_seed()} to {number - 1}")
    return judged
