"""Many clients of one server: requests a second, how long each takes, what stays in memory, how it ends."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count

from backends.seeding import seed
from bench.context import Bench
from bench.corpus import CURRENT, TOKEN
from bench.figures import BenchFailed, Figure, Spread
from bench.serving import Connection, RuntimeProcess
from runtime.storage import open_storage

CLIENTS = (1, 8, 32)
GROWTH_BOUND = 20.0
"""Megabytes between the warmed up server and the one behind all requests."""
STOP_BOUND = 5.0
"""Seconds from the signal to the end, under load."""
FORMS: Sequence[Mapping[str, object]] = ({"assembly": {}}, {}, {"assembly": {"sections": []}})
"""What is asked while the memory is watched."""
_PERCENTILES = (50, 95, 99)
_FEWEST_WARM_UP = 200

Ask = Callable[[Connection, int], None]


@dataclass
class Drained:
    """How a server under load came to its end."""

    answered: int = 0
    dropped: int = 0
    """Requests that were begun before the signal and have no answer."""
    too_late: int = 0
    """Requests that were begun behind the signal, on a connection that was about to be closed."""
    refused: int = 0
    """Clients who found no server when they connected anew."""
    status: int | None = None
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


def load(bench: Bench) -> Iterator[Figure]:
    """Two small Scopes, `assembly: {}`, at 1, 8 and 32 clients; then what is kept, then SIGTERM under load."""
    sizes = bench.sizes
    operations = bench.corpus.world(current=sizes.memories, referenced=sizes.memories, experiences=sizes.experiences)
    queries = bench.corpus.common_queries("load", 500, words=8)
    bodies = [_body(query, {"assembly": {}}) for query in queries]
    mixed = [_body(query, form) for query in queries for form in FORMS]
    with bench.databases("load") as urls:
        for backend, url in urls.items():
            storage = open_storage(url)
            storage.prepare()
            seed(storage, operations)
            storage.close()
            with RuntimeProcess(url) as server:
                # Each client's connection to the database is made once.
                run(server, max(CLIENTS), min(sizes.load_requests, 500), asking(bodies))
                for clients in CLIENTS:
                    yield from _speed(server, backend, clients, sizes.load_requests, bodies)
                yield _memory(server, backend, sizes.memory_requests, mixed)
                yield _stop(server, backend, bodies)


def asking(bodies: Sequence[bytes]) -> Ask:
    """Return a client's request: one of these bodies, which must be answered with 200. Raises BenchFailed."""

    def ask(connection: Connection, number: int) -> None:
        status, answer = connection.prepare(TOKEN, bodies[number % len(bodies)])
        if status != 200:
            raise BenchFailed(f"load: answered {status} {answer[:200]!r}")

    return ask


def run(server: RuntimeProcess, clients: int, requests: int, ask: Ask) -> list[float]:
    """Send so many requests, each client one after the other, and return the seconds of each. Raises BenchFailed."""
    numbers, seconds, failures = count(), list[float](), list[BaseException]()

    def client() -> None:
        connection = server.connection()
        try:
            while (number := next(numbers)) < requests and not failures:
                began = time.perf_counter()
                ask(connection, number)
                seconds.append(time.perf_counter() - began)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise BenchFailed(f"load: {type(failures[0]).__name__}: {failures[0]}")
    return seconds


def stop_under_load(server: RuntimeProcess, bodies: Sequence[bytes], *, clients: int = 32) -> Drained:
    """Send SIGTERM while all clients ask, and return what became of their requests."""
    drained, ask = Drained(), asking(bodies)
    signalled = threading.Event()
    busy = threading.Barrier(clients + 1)

    def client(number: int) -> None:
        connection = server.connection()
        ask(connection, number)
        busy.wait()
        while True:
            late = signalled.is_set()
            try:
                ask(connection, number)
            except ConnectionRefusedError:
                outcome = "refused"
            except (OSError, HTTPException):
                outcome = "too_late" if late else "dropped"
            else:
                outcome = "answered"
            with drained.lock:
                setattr(drained, outcome, getattr(drained, outcome) + 1)
            if outcome == "refused":
                break
        connection.close()

    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    busy.wait(60)
    # Each client has begun at least a few requests of the crowd by then.
    while drained.answered < 3 * clients:
        threads[0].join(0.01)
    began = time.perf_counter()
    signalled.set()
    server.ask_to_stop()
    drained.status = server.wait()
    drained.seconds = time.perf_counter() - began
    for thread in threads:
        thread.join(timeout=60)
    return drained


def _body(query: str, form: Mapping[str, object]) -> bytes:
    return json.dumps({"scope_id": CURRENT, "query": query, **form}).encode()


def _speed(
    server: RuntimeProcess, backend: str, clients: int, requests: int, bodies: Sequence[bytes]
) -> Iterator[Figure]:
    began, computed = time.perf_counter(), server.cpu_seconds
    seconds = run(server, clients, requests, asking(bodies))
    took = time.perf_counter() - began
    case = f"{clients} client{'s' if clients > 1 else ''}"
    note = f"server computed {(server.cpu_seconds - computed) / len(seconds) * 1000:.2f} ms a request"
    yield Figure("load", f"{case}, requests", backend, "1/s", Spread.of([len(seconds) / took]), note=note)
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    for percentile in _PERCENTILES:
        yield Figure("load", f"{case}, p{percentile}", backend, "ms", Spread.of([1000 * cuts[percentile - 1]]))


def _memory(server: RuntimeProcess, backend: str, requests: int, bodies: Sequence[bytes]) -> Figure:
    ask = asking(bodies)
    run(server, 32, max(_FEWEST_WARM_UP, requests // 20), ask)
    before = server.resident_megabytes
    run(server, 8, requests, ask)
    after = server.resident_megabytes
    growth = Spread.of([after - before])
    note = f"{before:.0f} MB before, {after:.0f} MB after"
    return Figure("load", f"memory growth, {requests:,} requests", backend, "MB", growth, GROWTH_BOUND, note)


def _stop(server: RuntimeProcess, backend: str, bodies: Sequence[bytes]) -> Figure:
    drained = stop_under_load(server, bodies)
    if drained.dropped or drained.status != 0:
        raise BenchFailed(f"load: the server under load did not end well on {backend}: {drained}")
    note = f"{drained.answered} answered, {drained.dropped} dropped, {drained.too_late} begun behind the signal"
    return Figure("load", "stop with 32 clients", backend, "s", Spread.of([drained.seconds]), STOP_BOUND, note)
