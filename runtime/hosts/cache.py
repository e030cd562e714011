"""The prepares of a host by their key: each is asked once, and whoever has the key shares it, under way or done."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from runtime.hosts.configuration import Effective
from runtime.hosts.outcomes import Outcome

MAX_ENTRIES = 256


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two prepares the same (SPEC.md 9); the older output has no assembly, so a key of its own."""

    scope_id: str
    turn: object
    """The turn itself: one that has ended may still be asked, and another one have its name."""
    query: str
    assembly: Effective | None
    max_bytes: int


@dataclass(slots=True, eq=False)
class Flight:
    """One prepare, from its start on, and the moment after which nobody waits for it."""

    deadline: float
    """By the host's clock, in seconds."""
    future: Future[Outcome] = field(default_factory=Future)
    told: bool = False
    """Whether its diagnostic was written."""

    def __post_init__(self) -> None:
        # From now on nobody who gives up waiting can cancel it for the others.
        self.future.set_running_or_notify_cancel()


class Cache:
    """A bounded number of flights, the longest unused landed one given up for a new one; for any number of threads."""

    def __init__(self, size: int = MAX_ENTRIES) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._flights: OrderedDict[Key, Flight] = OrderedDict()

    def __len__(self) -> int:
        with self._lock:
            return len(self._flights)

    def share(self, key: Key, begin: Callable[[], Flight]) -> tuple[Flight, bool]:
        """Return the flight of a key, and whether it is a new one, which the caller must then send off."""
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                self._flights.move_to_end(key)
                return flight, False
            flight = self._flights[key] = begin()
            self._shrink()
            return flight, True

    def first_to_tell(self, flight: Flight) -> bool:
        """Say whether the caller is the one who writes the diagnostic."""
        with self._lock:
            first, flight.told = not flight.told, True
            return first

    def forget(self, turn: object) -> None:
        """Drop what a turn has asked for; who waits for it still gets it."""
        with self._lock:
            for key in [key for key in self._flights if key.turn is turn]:
                del self._flights[key]

    def _shrink(self) -> None:
        # One under way stays, so that its key is not asked a second time; the host bounds how many there are.
        landed = [key for key, flight in self._flights.items() if flight.future.done()]
        for key in landed[: max(0, len(self._flights) - self._size)]:
            del self._flights[key]
