"""A host's turns: the configuration frozen at a turn's start, one prepare for each key, and never an exception.

Threads are the model. Each prepare has a daemon thread of its own, so a host that ends is not held up by a server
that does not answer; asyncio callers wait for the same prepares with `context_async`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from runtime.contract import MAX_QUERY_CHARACTERS
from runtime.hosts.asking import ask
from runtime.hosts.cache import MAX_ENTRIES, Cache, Flight, Key
from runtime.hosts.configuration import Configuration, Selection
from runtime.hosts.outcomes import Outcome, of_error, tell
from runtime.hosts.validator import validate

MAX_UNDER_WAY = 16
"""Prepares at once; a server that hangs does not cost a thread for every turn."""

_TIMED_OUT = Outcome("server_unavailable", reason="timeout")


class Ask(Protocol):
    """Sends one prepare and returns the body of its 200; raises ContextError."""

    def __call__(self, configuration: Configuration, query: str, selection: Selection) -> bytes:
        """Ask once, within the configuration's time-out."""
        ...


class ContextHost:
    """What a host keeps for its life: the configuration of coming turns, the open turns, and the cache."""

    def __init__(
        self,
        configuration: Configuration | None,
        *,
        ask: Ask = ask,
        tell: Callable[[Outcome], None] = tell,
        clock: Callable[[], float] = time.monotonic,
        cache_entries: int = MAX_ENTRIES,
    ) -> None:
        self._configuration = configuration
        self._ask = ask
        self._tell = tell
        self.clock = clock
        self.cache = Cache(cache_entries)
        self._lock = threading.Lock()
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._most_turns = cache_entries
        self._under_way = threading.BoundedSemaphore(MAX_UNDER_WAY)

    def configure(self, configuration: Configuration | None) -> None:
        """Set up the turns that begin from now on; None asks for nothing."""
        with self._lock:
            self._configuration = configuration

    def turn(self, name: str) -> Turn:
        """Return the turn of this name, begun now where it is new; a producer and a consumer get the same one."""
        with self._lock:
            turn = self._turns.get(name)
            if turn is None:
                turn = self._turns[name] = Turn(self, self._configuration)
            self._turns.move_to_end(name)
            over = [self._turns.popitem(last=False)[1] for _ in range(len(self._turns) - self._most_turns)]
        for other in over:
            self.cache.forget(other)
        return turn

    def end(self, name: str) -> None:
        """Forget a turn and what it was given."""
        with self._lock:
            turn = self._turns.pop(name, None)
        if turn is not None:
            self.cache.forget(turn)

    def tell_once(self, flight: Flight, outcome: Outcome) -> None:
        """Write the diagnostic of a flight, unless somebody has."""
        if self.cache.first_to_tell(flight):
            self.tell(outcome)

    def tell(self, outcome: Outcome) -> None:
        """Write a diagnostic; whatever becomes of it, the turn goes on."""
        with suppress(Exception):
            self._tell(outcome)

    def send_off(self, flight: Flight, configuration: Configuration, query: str, selection: Selection) -> None:
        """Ask in a thread of its own; the flight lands in every case."""
        if not self._under_way.acquire(blocking=False):
            flight.future.set_result(Outcome("skipped", reason="busy"))
            return

        def run() -> None:
            try:
                outcome = self._outcome(configuration, query, selection)
            finally:
                self._under_way.release()
            flight.future.set_result(outcome)

        try:
            threading.Thread(target=run, name="powercontext-prepare", daemon=True).start()
        except RuntimeError:
            self._under_way.release()
            flight.future.set_result(Outcome("skipped", reason="busy"))

    def _outcome(self, configuration: Configuration, query: str, selection: Selection) -> Outcome:
        try:
            text = validate(self._ask(configuration, query, selection), max_bytes=selection.max_bytes)
        except BaseException as error:
            # Of this thread alone; a cancelled task or an exit within `ask` ends no more than the prepare.
            return of_error(error, assembly_sent=selection.given is not None)
        return Outcome("empty") if text is None else Outcome("ready", text)


class Turn:
    """One turn of an agent: what it asks is asked once, by the configuration of its start."""

    def __init__(self, host: ContextHost, configuration: Configuration | None) -> None:
        self._host = host
        self._configuration = configuration
        self._lock = threading.Lock()
        self._skipped: set[Outcome] = set()

    def prefetch(self, query: str, selection: Selection | None = None) -> None:
        """Begin what `context` with the same arguments will return."""
        self._flight(query, selection)

    def context(self, query: str, selection: Selection | None = None) -> str | None:
        """Return the text for the model, to be passed on unchanged, or None; waits no longer than the time-out.

        `selection` takes the place of the configuration's for this question alone.
        """
        flight = self._flight(query, selection)
        if isinstance(flight, Outcome):
            self._skip(flight)
            return None
        try:
            outcome = flight.future.result(self._seconds_left(flight))
        except TimeoutError:
            outcome = _TIMED_OUT
        return self._done(flight, outcome)

    async def context_async(self, query: str, selection: Selection | None = None) -> str | None:
        """Return what `context` returns, while the loop goes on."""
        flight = self._flight(query, selection)
        if isinstance(flight, Outcome):
            self._skip(flight)
            return None
        try:
            # Giving up cancels only this wrapper. One that has landed would need a turn of the loop to be seen by it.
            outcome = (
                flight.future.result()
                if flight.future.done()
                else await asyncio.wait_for(asyncio.wrap_future(flight.future), self._seconds_left(flight))
            )
        except TimeoutError:
            outcome = _TIMED_OUT
        return self._done(flight, outcome)

    def _flight(self, query: str, selection: Selection | None) -> Flight | Outcome:
        configuration = self._configuration
        if configuration is None:
            return Outcome("skipped", reason="not_configured")
        if not configuration.enabled:
            return Outcome("skipped", reason="disabled")
        if not (isinstance(query, str) and query.strip()) or len(query) > MAX_QUERY_CHARACTERS:
            return Outcome("skipped", reason="query")
        asked = configuration.selection if selection is None else selection
        key = Key(configuration.scope_id, self, query, asked.effective, asked.max_bytes)
        host = self._host
        flight, new = host.cache.share(key, lambda: Flight(host.clock() + configuration.timeout_seconds))
        if new:
            host.send_off(flight, configuration, query, asked)
        return flight

    def _seconds_left(self, flight: Flight) -> float:
        return max(0.0, flight.deadline - self._host.clock())

    def _skip(self, outcome: Outcome) -> None:
        """Write the diagnostic of what is not asked, once for each reason."""
        with self._lock:
            if outcome in self._skipped:
                return
            self._skipped.add(outcome)
        self._host.tell(outcome)

    def _done(self, flight: Flight, outcome: Outcome) -> str | None:
        self._host.tell_once(flight, outcome)
        return outcome.text
