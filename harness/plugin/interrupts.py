"""Signals that ask a run to end: heeded between two scenarios, where nothing is half done.

Python raises KeyboardInterrupt at whatever instruction it has come to, inside a lock or in the bookkeeping of pytest
too, and what was found is then lost with a traceback. A flag that pytest looks at after each scenario has no such
moment.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

GRACE_SECONDS = 1.0
"""How long nothing may end once a run was asked to: what takes longer waits for something, and is interrupted there."""


class Interrupts:
    """Ends pytest's run soon at the first SIGINT or SIGTERM; at the second at once, wherever it is.

    A plugin of pytest's, in the process that prints and in each worker of xdist.
    """

    def __init__(self) -> None:
        self._session: pytest.Session | None = None
        self._told: str | None = None
        self._is_closing = False
        self._earlier: dict[signal.Signals, Any] = {}

    def heed(self) -> None:
        """Handle the signals from now on; one that the caller ignores stays ignored."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._earlier[number] = signal.signal(number, self._ask)
        self._earlier[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._overdue)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Handle the signals until the block ends."""
        self.heed()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in self._earlier.items():
                signal.signal(number, handler)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Know whom to tell."""
        self._session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begin nothing after a signal that came before, and wait no more once all has ended."""
        try:
            if self._told is not None:
                raise session.Interrupted(self._told)
            return (yield)
        finally:
            self._is_closing = True
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Wait anew: something has ended."""
        self._tell()

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self._told is not None or self._session is None:
            raise KeyboardInterrupt
        self._told = f"asked to end by {signal.Signals(number).name}"
        self._tell()

    def _tell(self) -> None:
        if self._told is None or self._session is None or self._is_closing:
            return
        self._session.shouldstop = self._told
        # With several processes the loop is xdist's, which has a flag of its own.
        spread: Any = self._session.config.pluginmanager.getplugin("dsession")
        if spread is not None:
            spread.shouldstop = self._told
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def _overdue(self, _: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt
