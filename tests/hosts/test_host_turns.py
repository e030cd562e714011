"""The host kit in one process: its cache, its turns and its patience, with an asker that a test holds and releases."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from relay import Relay

from runtime.hosts import Configuration, ContextHost, Outcome, Selection
from runtime.hosts.turns import MAX_UNDER_WAY
from runtime.http.client.errors import Unreachable

CONFIGURATION = Configuration(url="http://unused", scope_id="demo", selection=Selection.of({}), timeout_seconds=60)
SPELLED_OUT = Selection.of({"sections": [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}]})
SECONDS = 60
"""Far more than anything here takes; a test that fails ends."""


def prepared(text: str) -> bytes:
    fields = {"schema": "powercontext.prepared-context.v1", "status": "ready"}
    return json.dumps(fields | {"content": text, "content_bytes": len(text.encode())}).encode()


class Asker:
    """Answers with what it was asked and how often it has been; held ones wait for `release`."""

    def __init__(self, *, held: bool = False, error: BaseException | None = None) -> None:
        self.asked: list[tuple[Configuration, str, Selection]] = []
        self.begun = threading.Semaphore(0)
        self._error = error
        self._released = threading.Event()
        self._lock = threading.Lock()
        if not held:
            self._released.set()

    def __call__(self, configuration: Configuration, query: str, selection: Selection) -> bytes:
        with self._lock:
            self.asked.append((configuration, query, selection))
            number = len(self.asked)
        self.begun.release()
        assert self._released.wait(SECONDS)
        if self._error is not None:
            raise self._error
        return prepared(f"{configuration.scope_id} {query} {selection.max_bytes} {number}")

    def release(self) -> None:
        self._released.set()

    def wait_until_begun(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=SECONDS)


class Told:
    """Keeps the diagnostics."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def __call__(self, outcome: Outcome) -> None:
        if outcome.name != "ready":
            self.outcomes.append(outcome)


def host_of(asker: Asker, **options: object) -> ContextHost:
    return ContextHost(CONFIGURATION, ask=asker, **{"tell": Told(), **options})  # type: ignore[arg-type]


def test_a_prefetching_producer_and_its_consumer_share_one_request_that_is_under_way() -> None:
    asker = Asker(held=True)
    host = host_of(asker)
    host.turn("1").prefetch("query")
    asker.wait_until_begun()
    with ThreadPoolExecutor(1) as pool:
        consumed = pool.submit(host.turn("1").context, "query")
        asker.release()
        assert consumed.result(SECONDS) == "demo query 8000 1"
    assert host.turn("1").context("query") == "demo query 8000 1"
    assert len(asker.asked) == 1


def test_many_threads_of_one_turn_ask_once() -> None:
    asker = Asker(held=True)
    host = host_of(asker)
    ready = threading.Barrier(33)

    def consume() -> str | None:
        ready.wait(SECONDS)
        return host.turn("1").context("query")

    with ThreadPoolExecutor(32) as pool:
        consumers = [pool.submit(consume) for _ in range(32)]
        ready.wait(SECONDS)
        asker.wait_until_begun()
        asker.release()
        assert {consumer.result(SECONDS) for consumer in consumers} == {"demo query 8000 1"}
    assert len(asker.asked) == 1


def test_turns_at_the_same_time_do_not_share() -> None:
    asker = Asker(held=True)
    host = host_of(asker)
    with ThreadPoolExecutor(8) as pool:
        consumers = [pool.submit(host.turn(str(number)).context, "query") for number in range(8)]
        asker.wait_until_begun(8)
        asker.release()
        assert len({consumer.result(SECONDS) for consumer in consumers}) == 8


def test_one_turn_keeps_queries_assemblies_and_budgets_apart() -> None:
    asker = Asker()
    turn = host_of(asker).turn("1")
    selections = [
        None,
        Selection.of(),
        Selection.of({"sections": []}),
        Selection.of({"sections": [{"family": "memory", "limit": 6}]}),
        Selection.of({"sections": [{"family": "experience", "limit": 2}, {"family": "memory", "limit": 6}]}),
        Selection.of({"show": ["confidence"]}),
        Selection.of({}, max_bytes=512),
        Selection.of(max_bytes=512),
    ]
    first = [turn.context("query", selection) for selection in selections]
    assert len(set(first)) == len(selections)
    assert [turn.context("query", selection) for selection in selections] == first
    assert turn.context("query ") not in first
    assert len(asker.asked) == len(selections) + 1


def test_the_default_spelled_out_is_not_asked_again() -> None:
    asker = Asker()
    turn = host_of(asker).turn("1")
    assert turn.context("query") == turn.context("query", SPELLED_OUT)
    assert len(asker.asked) == 1
    # And what went out is what was given.
    assert asker.asked[0][2].assembly == {}


def test_a_change_of_the_configuration_waits_for_the_next_turn() -> None:
    asker = Asker()
    host = host_of(asker)
    first = host.turn("1")
    first.prefetch("query")
    host.configure(replace(CONFIGURATION, scope_id="other", selection=Selection.of(max_bytes=512)))
    assert host.turn("1").context("query") == "demo query 8000 1"
    assert first.context("another query") == "demo another query 8000 2"
    assert host.turn("2").context("query") == "other query 512 3"
    host.configure(None)
    assert host.turn("2").context("more") == "other more 512 4"
    assert host.turn("3").context("query") is None


def test_the_cache_stays_within_its_size_and_forgets_the_longest_unused() -> None:
    asker = Asker()
    host = host_of(asker, cache_entries=3)
    for query in ("a", "b", "c", "a", "d"):
        host.turn("1").context(query)
    assert (len(host.cache), len(asker.asked)) == (3, 4)
    host.turn("1").context("a")
    assert len(asker.asked) == 4
    host.turn("1").context("b")
    assert len(asker.asked) == 5
    for number in range(100):
        host.turn(f"turn {number}").context("query")
    assert len(host.cache) == 3


def test_a_request_under_way_is_not_given_up_for_new_ones() -> None:
    held, quick = Asker(held=True), Asker()
    host = ContextHost(
        CONFIGURATION,
        ask=lambda configuration, query, selection: (held if query == "held" else quick)(
            configuration, query, selection
        ),
        cache_entries=2,
    )
    host.turn("1").prefetch("held")
    held.wait_until_begun()
    for query in ("a", "b", "c", "d"):
        host.turn("1").context(query)
    assert len(host.cache) == 2
    held.release()
    assert host.turn("1").context("held") == "demo held 8000 1"
    assert len(held.asked) == 1


def test_a_turn_that_has_ended_is_forgotten() -> None:
    asker = Asker()
    host = host_of(asker)
    host.turn("1").context("query")
    host.turn("2").context("query")
    host.end("1")
    assert len(host.cache) == 1
    assert host.turn("1").context("query") == "demo query 8000 3"


def test_a_turn_that_goes_on_after_its_end_does_not_answer_for_a_new_one_of_its_name() -> None:
    asker = Asker()
    host = host_of(asker)
    old = host.turn("1")
    host.end("1")
    host.configure(replace(CONFIGURATION, token="another"))
    assert old.context("query") == "demo query 8000 1"
    # The same key but for the turn, of another caller.
    assert host.turn("1").context("query") == "demo query 8000 2"
    assert [configuration.token for configuration, _, _ in asker.asked] == [None, "another"]


def test_a_turn_that_was_given_up_for_newer_ones_begins_anew_with_the_configuration_of_now() -> None:
    asker = Asker()
    host = host_of(asker, cache_entries=2)
    host.turn("1").context("query")
    # The same key, of another caller.
    host.configure(replace(CONFIGURATION, token="another"))
    for name in ("2", "3"):
        host.turn(name)
    assert host.turn("1").context("query") == "demo query 8000 2"
    assert [configuration.token for configuration, _, _ in asker.asked] == [None, "another"]


def test_the_time_of_a_prefetch_counts_and_a_late_consumer_does_not_wait_anew() -> None:
    now = [100.0]
    asker, told = Asker(held=True), Told()
    host = host_of(asker, tell=told, clock=lambda: now[0])
    host.turn("1").prefetch("query")
    asker.wait_until_begun()
    now[0] += CONFIGURATION.timeout_seconds
    # A minute of patience would be left if it began again.
    assert host.turn("1").context("query") is None
    assert asyncio.run(host.turn("1").context_async("query")) is None
    assert told.outcomes == [Outcome("server_unavailable", reason="timeout")]
    asker.release()


def test_a_text_that_has_come_is_given_however_late_somebody_asks() -> None:
    now = [100.0]
    host = host_of(Asker(), clock=lambda: now[0])
    assert host.turn("1").context("query") == "demo query 8000 1"
    now[0] += 1000
    assert host.turn("1").context("query") == "demo query 8000 1"
    assert asyncio.run(host.turn("1").context_async("query")) == "demo query 8000 1"


@pytest.mark.parametrize("wait", ["thread", "asyncio"])
def test_a_server_that_does_not_answer_holds_a_turn_up_for_the_time_out(wait: str) -> None:
    asker, told = Asker(held=True), Told()
    host = ContextHost(replace(CONFIGURATION, timeout_seconds=0.05), ask=asker, tell=told)
    turn = host.turn("1")
    given = turn.context("query") if wait == "thread" else asyncio.run(turn.context_async("query"))
    assert given is None
    assert told.outcomes == [Outcome("server_unavailable", reason="timeout")]
    # The answer comes when nobody waits any more, and the loop is closed.
    asker.release()


def test_tasks_of_a_loop_share_with_threads() -> None:
    asker = Asker(held=True)
    host = host_of(asker)

    async def consume() -> list[str | None]:
        waiting = [asyncio.create_task(host.turn("1").context_async("query")) for _ in range(20)]
        await asyncio.to_thread(asker.wait_until_begun)
        asker.release()
        return await asyncio.gather(*waiting)

    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(host.turn("1").context, "query")
        assert set(asyncio.run(consume())) == {"demo query 8000 1"} == {beside.result(SECONDS)}
    assert len(asker.asked) == 1


def test_a_task_that_is_cancelled_takes_nothing_from_the_others() -> None:
    asker = Asker(held=True)
    host = host_of(asker)

    async def consume() -> str | None:
        given_up, waiting = (asyncio.create_task(host.turn("1").context_async("query")) for _ in range(2))
        await asyncio.to_thread(asker.wait_until_begun)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        asker.release()
        return await waiting

    assert asyncio.run(consume()) == "demo query 8000 1"
    assert len(asker.asked) == 1


def test_a_server_that_hangs_costs_a_bounded_number_of_threads() -> None:
    now = [100.0]
    asker, told = Asker(held=True), Told()
    host = host_of(asker, tell=told, clock=lambda: now[0])
    for number in range(MAX_UNDER_WAY):
        host.turn(str(number)).prefetch("query")
    asker.wait_until_begun(MAX_UNDER_WAY)
    assert host.turn("one more").context("query") is None
    assert told.outcomes == [Outcome("skipped", reason="busy")]
    asker.release()
    for number in range(MAX_UNDER_WAY):
        assert host.turn(str(number)).context("query") is not None
    assert host.turn("later").context("query") is not None


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("server_unreachable", "No."),
        OSError("x"),
        ValueError("secret"),
        KeyError("secret"),
        # What ends a task or a program ends the prepare alone.
        asyncio.CancelledError("secret"),
        SystemExit("secret"),
    ],
)
def test_a_failure_is_asked_and_told_once_a_turn_and_never_raised(error: BaseException) -> None:
    asker, told = Asker(error=error), Told()
    host = host_of(asker, tell=told)
    assert [host.turn("1").context("query"), asyncio.run(host.turn("1").context_async("query"))] == [None, None]
    assert (len(asker.asked), len(told.outcomes)) == (1, 1)
    # It has landed, and was not waited for in vain.
    assert told.outcomes[0].reason != "timeout"
    assert "secret" not in told.outcomes[0].line
    assert host.turn("2").context("query") is None
    assert (len(asker.asked), len(told.outcomes)) == (2, 2)


def test_a_diagnostic_that_cannot_be_written_stops_nobody() -> None:
    def broken(_: Outcome) -> None:
        raise OSError("closed")

    assert host_of(Asker(error=OSError()), tell=broken).turn("1").context("query") is None
    assert host_of(Asker(), tell=broken).turn("1").context("query") == "demo query 8000 1"


@pytest.mark.parametrize(
    ("configuration", "query", "reason"),
    [
        (None, "query", "not_configured"),
        (replace(CONFIGURATION, enabled=False), "query", "disabled"),
        (CONFIGURATION, "", "query"),
        (CONFIGURATION, " \n\u2003", "query"),
        (CONFIGURATION, "x" * 8193, "query"),
        (CONFIGURATION, None, "query"),
        (CONFIGURATION, b"query", "query"),
    ],
)
def test_what_is_not_asked_is_told_as_skipped_once_a_turn(
    configuration: Configuration | None, query: Any, reason: str
) -> None:
    asker, told = Asker(), Told()
    turn = ContextHost(configuration, ask=asker, tell=told).turn("1")
    turn.prefetch(query)
    assert told.outcomes == []
    for _ in range(2):
        # As an agent does for each of its model's requests.
        assert turn.context(query) is None
        assert asyncio.run(turn.context_async(query)) is None
    assert told.outcomes == [Outcome("skipped", reason=reason)]
    assert asker.asked == []


def test_the_longest_query_that_the_contract_has_is_asked() -> None:
    asker = Asker()
    host_of(asker).turn("1").context("é" * 8192)
    assert len(asker.asked) == 1


def test_an_answer_over_the_hosts_budget_is_invalid() -> None:
    told = Told()
    ask: Callable[..., bytes] = lambda *_: prepared("x" * 513)  # noqa: E731
    host = ContextHost(replace(CONFIGURATION, selection=Selection.of({}, max_bytes=512)), ask=ask, tell=told)
    assert host.turn("1").context("query") is None
    assert told.outcomes == [Outcome("invalid_response", reason="over_budget")]
    assert host.turn("1").context("query", Selection.of({}, max_bytes=513)) == "x" * 513


def test_turns_over_http_at_the_same_time_ask_once_for_each_key() -> None:
    with Relay(instead=(200, prepared("text"))) as relay:
        host = ContextHost(replace(CONFIGURATION, url=relay.url))

        async def consume(turn: str, selection: Selection) -> str | None:
            return await host.turn(turn).context_async("query", selection)

        async def all_of_a_loop() -> list[str | None]:
            return await asyncio.gather(*(consume(turn, one) for turn in turns for one in selections for _ in range(3)))

        turns, selections = ("1", "2", "3"), (Selection.of(), Selection.of({}), SPELLED_OUT)
        with ThreadPoolExecutor(4) as pool:
            loops = [pool.submit(asyncio.run, all_of_a_loop()) for _ in range(4)]
            assert {text for loop in loops for text in loop.result(SECONDS)} == {"text"}
    # The default and its spelled-out form are one key.
    assert len(relay.exchanges) == 3 * 2
