"""Threads that answer requests, each within a time that is counted from the request's arrival.

A database that hangs holds each of its callers for as long as its own bounds say, one after the other. Whoever asks
over HTTP shall not wait for the sum of them, nor for those who came before him.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

THREADS = 40

_Result = TypeVar("_Result")


class Workers:
    """A fixed number of threads; what they work at may be given up, and nobody waits in line for longer."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")

    async def run(self, work: Callable[[], _Result], *, seconds: float, goes_on: Callable[[], bool]) -> _Result:
        """Return what the work returns.

        Raises TimeoutError when it is not done after some seconds, unless it goes on by bounds of its own by then.
        """
        future = asyncio.wrap_future(self._threads.submit(work))
        done, _ = await asyncio.wait({future}, timeout=seconds)
        if not done and not goes_on():
            # What waits in line never begins; what has begun comes to its end unheard, and its thread is free then.
            future.cancel()
            raise TimeoutError
        return await future
