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
_ASKING = (signal.SIGINT, signal.SIGTERM)


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
        """Handle the signals from now on, those that were held too; one that the caller ignores stays ignored."""
        for number in _ASKING:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._earlier[number] = signal.signal(number, self._ask)
        self._earlier[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._overdue)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKING)

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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """Know whom to tell; a worker is born with the signals held, until it heeds them itself."""
        self._session = session
        with _masked(signal.SIG_BLOCK):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True, optionalhook=True)
    def pytest_configure_node(self) -> Generator[None, object, object]:
        """Hold nothing back while engines start, which may take long."""
        with _masked(signal.SIG_UNBLOCK):
            return (yield)

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
        if self._told is not None:
            self._tell(self._told)

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self._told is not None:
            raise KeyboardInterrupt
        self._told = f"asked to end by {signal.Signals(number).name}"
        self._tell(self._told)

    def _tell(self, told: str) -> None:
        if self._is_closing:
            return
        if self._session is not None:
            self._session.shouldstop = told
            # With several processes the loop is xdist's, which has a flag of its own.
            spread: Any = self._session.config.pluginmanager.getplugin("dsession")
            if spread is not None:
                spread.shouldstop = told
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def _overdue(self, _: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt


@contextmanager
def _masked(how: int) -> Iterator[None]:
    earlier = signal.pthread_sigmask(how, _ASKING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
