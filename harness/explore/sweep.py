"""The budgets at which a text changes: every item's exact end, the floor, the cap, both limits, and a sample."""

from __future__ import annotations

import random
from collections.abc import Iterator

from harness.check.delivered import Delivered
from harness.check.parts import END, OLDER_END

SMALLEST, LARGEST = 512, 32768
FLOOR, CAP = 64, 2000
"""Bytes of a body: the least of a cut one, the most of any (SPEC.md 5)."""
SAMPLE = 16
LINE_PREFIX = 6


def interesting_budgets(delivered: Delivered, *, seed: str) -> list[int]:
    """Return the `max_bytes` at which this request's answer can change, in rising order.

    `delivered` is the answer with the largest budget. A few bytes around each edge are tried, since a cut item's
    metadata is a byte longer than a whole one's; the sample is drawn by the seed.
    """
    draw = random.Random(seed)
    found = {SMALLEST, SMALLEST + 1, LARGEST - 1, LARGEST, *_edges(delivered)}
    found.update(draw.randint(SMALLEST, LARGEST) for _ in range(SAMPLE))
    return sorted(budget for budget in found if SMALLEST <= budget <= LARGEST)


def _edges(delivered: Delivered) -> Iterator[int]:
    # What follows an item: the end of its block, and the end marker; of the older output the end of the JSON as well.
    rest = len(b"\n\n" + END) if delivered.form == "markdown" else len(b'","truncated":false}]}\n' + OLDER_END)
    for item in delivered.items:
        yield from range(item.body.end + rest - 1, item.body.end + rest + 2)
        for size in (FLOOR, CAP):
            edge = item.body.start + LINE_PREFIX + size + rest
            yield from range(edge - 1, edge + 3)
