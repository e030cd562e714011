"""What a soak is told and counts: callers, figures, faults."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from history import History
from judging import Caller

from runtime.artifacts import Citation

CALLERS: tuple[Caller, ...] = ("keeper", "guest", "visitor")
MAX_ENTRIES = "16"
"""The server's total of limits, so that a request has room for everything."""


def token_of(caller: Caller) -> str:
    """Return a caller's token."""
    return f"soak token of the {caller}"


@dataclass
class Soak:
    """What happened: counts, and what was wrong."""

    seed: int
    history: History = field(default_factory=History)
    answers: int = 0
    refusals: int = 0
    exact_reads: int = 0
    conflicts: int = 0
    lost: int = 0
    faults: list[str] = field(default_factory=list)
    cited: dict[Citation, str] = field(default_factory=dict)
    """What was cited, with the text that must stay there."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def told(self, engine: str, seconds: float) -> str:
        """Return the line that a person reads."""
        return (
            f"soak {engine}: seed {self.seed}, {seconds:.0f} s, {self.answers} answers checked "
            f"({self.refusals} of them refusals), {self.exact_reads} citations read again, "
            f"{self.history.acknowledged} writes acknowledged, {self.conflicts} conflicts, "
            f"{self.lost} lost, {len(self.faults)} faults"
        )

    def fault(self, text: str) -> None:
        with self.lock:
            self.faults.append(text)
