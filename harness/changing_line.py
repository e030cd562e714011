"""How far a long command has come: a line that changes on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

SECONDS_BETWEEN_LINES = 10.0


class ChangingLine:
    """One line on standard error, which goes when something is printed, and at the end."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def show(self, line: str) -> None:
        """Show how far it is."""
        if self._console.is_terminal:
            text = Text(line, no_wrap=True, overflow="ellipsis")
            if self._live is None:
                self._live = Live(text, console=self._console, transient=True, redirect_stdout=False)
                self._live.start(refresh=True)
            self._live.update(text)
        elif time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def print(self, line: str) -> None:
        """Print a line that stays, on standard output."""
        self._stop()
        print(line, flush=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
