"""Faults of recall that a scenario declares: which families fail now, and how."""

from __future__ import annotations

import threading

from runtime.artifacts import Family

SLOW_SECONDS = 0.05
"""How long a slow recall takes longer: noticeable, and far below any time-out."""
RECALL_SECONDS = 5.0
"""The recall time-out of SPEC.md 2."""
PATIENCE_SECONDS = 0.5
"""The recall time-out of a server on which a hang is declared, so that a scenario need not wait for the usual one."""


class DeclaredFault(Exception):
    """A recall that fails because the scenario says so."""


class DeclaredFaults:
    """Which families fail now, and how."""

    def __init__(self) -> None:
        self._kinds: dict[Family, str] = {}
        self._released = threading.Event()

    def declare(self, family: Family, kind: str) -> None:
        """Let a family fail from now on, or end its fault by `none`."""
        self._kinds[family] = kind

    @property
    def patience_seconds(self) -> float:
        """The recall time-out that a server should have now."""
        return PATIENCE_SECONDS if "hang" in self._kinds.values() else RECALL_SECONDS

    def clear(self) -> None:
        """End all faults; whoever hangs goes on."""
        self._kinds.clear()
        self._released.set()
        self._released = threading.Event()

    def suffer(self, family: Family) -> None:
        """Do what is declared of a family; raises DeclaredFault."""
        match self._kinds.get(family):
            case "error":
                raise DeclaredFault
            case "hang":
                self._released.wait()
            case "slow":
                self._released.wait(SLOW_SECONDS)
            case _:
                pass
