"""The way between server and engine is broken by a proxy: reset, half-closed, swallowed, slowed, cut at COMMIT."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from records import NOT_READY, READY, UNAVAILABLE, fault
from sqlalchemy import event
from systems import AT_ONCE, SECONDS, Service, System

from backends.faults import Fault, Proxy
from runtime.errors import RuntimeNotReady

NEXT = "with the next request"
AFTER_ITS_TIME = SECONDS + 1.0


def at_each_statement(system: System, proxy: Proxy, kind: Fault) -> None:
    """Break the way before each statement of a prepare in turn, and mend it after the answer."""
    for number in range(1, system.statements() + 1):
        system.writes(2)
        with system.before_statement(number, lambda: proxy.set(kind)):
            system.is_refused()
        assert proxy.met > 0
        system.injected()
        # As long as it lasts, every request meets it.
        system.is_refused()
        proxy.set("none")
        system.is_right()
    system.nothing_is_lost()


@fault(
    "connection reset, before each statement of a prepare",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=NEXT,
)
def test_a_reset(by_proxy: System, proxy: Proxy) -> None:
    at_each_statement(by_proxy, proxy, "reset")


@fault(
    "connection half-closed, before each statement of a prepare",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=NEXT,
    slow=True,
)
def test_a_half_close(by_proxy: System, proxy: Proxy) -> None:
    at_each_statement(by_proxy, proxy, "half-close")


@fault(
    "connection swallowed (black hole), before each statement of a prepare",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AFTER_ITS_TIME,
    recovers=NEXT,
    slow=True,
)
def test_a_black_hole_at_each_statement(by_proxy: System, proxy: Proxy) -> None:
    at_each_statement(by_proxy, proxy, "black hole")


@fault(
    "idle connections reset, new ones are well",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
)
def test_idle_connections_that_are_reset_are_not_noticed(by_proxy: System, proxy: Proxy) -> None:
    for _ in range(5):
        by_proxy.writes(1)
        with proxy.broken("reset"):
            pass
        by_proxy.injected()
        by_proxy.is_right()
    by_proxy.nothing_is_lost()


@fault(
    "connection swallowed (black hole), idle ones and new ones",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AFTER_ITS_TIME,
    recovers=NEXT,
)
def test_a_black_hole(by_proxy: System, proxy: Proxy) -> None:
    by_proxy.writes(5)
    with proxy.broken("black hole"):
        by_proxy.is_refused()
        assert not by_proxy.write()
        # Now there is no connection left, and a new one has to be made.
        by_proxy.is_refused()
        by_proxy.injected()
    by_proxy.is_right()
    by_proxy.writes(1)
    by_proxy.nothing_is_lost()


@fault(
    "connection swallowed while a prepare ends its snapshot",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AFTER_ITS_TIME,
    recovers=NEXT,
    slow=True,
)
def test_a_black_hole_after_the_last_read(by_proxy: System, proxy: Proxy) -> None:
    def break_it(_connection: object) -> None:
        proxy.set("black hole")

    event.listen(by_proxy.storage.engine, "rollback", break_it)
    by_proxy.is_refused()
    event.remove(by_proxy.storage.engine, "rollback", break_it)
    by_proxy.injected()
    proxy.set("none")
    by_proxy.is_right()


@fault(
    "connection swallowed, 80 requests at once",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=4 * SECONDS,
    recovers=NEXT,
    slow=True,
)
def test_a_crowd_before_a_black_hole_waits_no_longer_than_one(by_proxy: System, proxy: Proxy) -> None:
    by_proxy.writes(5)
    with proxy.broken("black hole"):
        by_proxy.all_are_refused(80)
        by_proxy.injected()
    by_proxy.is_right()
    by_proxy.nothing_is_lost()


@fault(
    "connection swallowed when the server starts, 10 requests at once",
    engine="OceanBase",
    answer=NOT_READY,
    bound=2 * SECONDS + 1.0,
    recovers=NEXT,
    slow=True,
)
def test_a_start_into_a_black_hole(by_proxy: System, proxy: Proxy) -> None:
    with proxy.broken("black hole"):
        service = by_proxy.another_server()
        with ThreadPoolExecutor(10) as threads:
            list(threads.map(lambda _: by_proxy.is_refused(service, error=RuntimeNotReady), range(10)))
        by_proxy.injected()
    by_proxy.is_right(service)


@fault(
    "each piece delayed by 5 ms",
    engine="OceanBase",
    answer=READY,
    bound=AFTER_ITS_TIME,
    recovers="no request fails",
    slow=True,
)
def test_a_short_delay_changes_no_byte(by_proxy: System, proxy: Proxy) -> None:
    with proxy.broken("delay", delay_seconds=0.005):
        for _ in range(3):
            by_proxy.is_right()
        by_proxy.writes(3)
        by_proxy.injected()
    by_proxy.nothing_is_lost()


@fault(
    "each piece delayed by 0.8 s, so that no statement but their sum takes too long",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=3 * SECONDS + 1.0,
    recovers=NEXT,
    slow=True,
)
def test_a_long_delay_is_bounded_as_a_whole(by_proxy: System, proxy: Proxy) -> None:
    by_proxy.writes(5)
    with proxy.broken("delay", delay_seconds=0.8):
        by_proxy.is_refused()
        by_proxy.is_refused()
        by_proxy.injected()
    by_proxy.is_right()
    by_proxy.nothing_is_lost()


@pytest.mark.parametrize("kind", ["cut before COMMIT", "cut after COMMIT"])
@fault(
    "connection cut at COMMIT, before and after the engine saw it",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no prepare meets it; the write is not acknowledged, and there wholly or not at all",
)
def test_a_cut_at_commit(by_proxy: System, proxy: Proxy, kind: Fault) -> None:
    committed = 0
    for _ in range(5):
        by_proxy.writes(2)
        before = by_proxy.head()
        with proxy.broken(kind):
            assert not by_proxy.write()
            by_proxy.injected()
            by_proxy.is_right()
        committed += by_proxy.head() - before
    assert committed == (5 if kind == "cut after COMMIT" else 0)
    by_proxy.nothing_is_lost()


@fault(
    "connection swallowed, with the time-out of 5 s that users have",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=6.0,
    recovers=NEXT,
    slow=True,
)
def test_the_usual_time_out(by_proxy: System, proxy: Proxy) -> None:
    usual = Service(by_proxy.url, 5.0)
    by_proxy.is_right(usual)
    with proxy.broken("black hole"):
        by_proxy.is_refused(usual)
        by_proxy.is_refused(usual)
        by_proxy.injected()
    by_proxy.is_right(usual)
    usual.close()
