"""Requests that wait for a thread, or hold one, are given up in time; those that go on by their own bounds are not."""

from __future__ import annotations

import asyncio
import threading

import pytest

from runtime.http.workers import THREADS, Workers

SECONDS = 0.2


def never() -> bool:
    return False


def test_nobody_waits_in_line_for_longer_than_his_time() -> None:
    workers, released, begun = Workers(), threading.Event(), []

    def hang() -> None:
        begun.append(1)
        released.wait(60)

    async def crowd() -> list[object]:
        asked = [workers.run(hang, seconds=SECONDS, goes_on=never) for _ in range(3 * THREADS)]
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(asyncio.wait_for(crowd(), 30))
    assert [type(answer) for answer in answers] == [TimeoutError] * 3 * THREADS
    assert len(begun) == THREADS
    released.set()
    # Those who were given up in the line never begin; whoever comes now finds a thread.
    assert asyncio.run(workers.run(lambda: "done", seconds=30, goes_on=never)) == "done"
    assert len(begun) == THREADS


def test_what_goes_on_by_its_own_bounds_is_waited_for() -> None:
    workers, released = Workers(), threading.Event()

    def goes_on() -> bool:
        # It is asked when the time is over.
        released.set()
        return True

    def work() -> str:
        assert released.wait(60)
        return "done"

    assert asyncio.run(workers.run(work, seconds=SECONDS, goes_on=goes_on)) == "done"


def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(Workers().run(fail, seconds=60, goes_on=never))
