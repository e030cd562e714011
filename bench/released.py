"""The newest installed release of PowerContext beside the runtime: the same worlds and requests over HTTP, in turns."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPException

from backends.errors import EngineError
from backends.operations import Operation, WriteDocument, WriteMemory
from backends.seeding import seed
from bench.context import Bench, turns
from bench.corpus import CURRENT, READER, TOKEN
from bench.figures import RUNTIME, BenchFailed, Figure, LeftOut, Spread
from bench.prepare import ASSEMBLIES, Case
from bench.serving import Connection, RuntimeProcess, cpu_seconds
from harness.errors import HarnessError
from harness.target.base import Applied, TargetLost
from harness.target.powercontext.releases import Release, newest
from harness.target.powercontext.server import ReleasedServer, start_servers
from harness.target.powercontext.target import PowerContextTarget
from runtime.storage import open_storage

MEASURE = "released"
"""The measure's name in the table."""
WRITES = {"write a memory": WriteMemory, "write an experience": WriteDocument}
"""The writes that are timed, by their cases."""

Write = Callable[[Sequence[Operation]], None]


@dataclass(frozen=True, slots=True)
class Server:
    """A server process that holds the world: how it is asked, and in whose name."""

    system: str
    pid: int
    connection: Connection
    token: str
    scope_id: str


@dataclass(slots=True)
class Asked:
    """What one system's answers to one case were like."""

    milliseconds: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    empty: int = 0
    computed: float = 0.0
    """Seconds of the server's processor time."""


def released(bench: Bench) -> Iterator[Figure]:
    """Write two Scopes with both systems, then ask both; on one backend after the other.

    Raises LeftOut without an installed release, and where a server of it cannot be had.
    """
    try:
        release = newest()
    except HarnessError as error:
        raise LeftOut(one_line(error)) from error
    sizes = bench.sizes
    memories, experiences = sizes.released_memories, sizes.experiences
    world = bench.corpus.world(current=memories, referenced=memories, experiences=experiences)
    with bench.databases(MEASURE) as urls:
        for backend, url in urls.items():
            with _serving(bench, release, backend) as server:
                yield from _on_backend(bench, server, backend, url, world)


def apart(operations: Sequence[Operation]) -> tuple[list[Operation], list[Operation]]:
    """Return what is made first, and the writes, each of one memory or one Experience as a release takes them."""
    setup: list[Operation] = []
    writes: list[Operation] = []
    for operation in operations:
        if isinstance(operation, WriteMemory):
            writes += [replace(operation, changes=(change,)) for change in operation.changes]
        else:
            (writes if isinstance(operation, WriteDocument) else setup).append(operation)
    return setup, writes


def write(
    writers: Mapping[str, Write], setup: Sequence[Operation], writes: Sequence[Operation]
) -> dict[str, dict[str, list[float]]]:
    """Write all with every system, in turns, and return the milliseconds of each write by case and system."""
    spent: dict[str, dict[str, list[float]]] = {case: {name: [] for name in writers} for case in WRITES}
    for give in writers.values():
        give(setup)
    for number, operation in enumerate(writes):
        case = next(case for case, kind in WRITES.items() if isinstance(operation, kind))
        for name in turns(tuple(writers), number):
            began = time.perf_counter()
            writers[name]([operation])
            spent[case][name].append(1000 * (time.perf_counter() - began))
    return spent


def ask(servers: Sequence[Server], cases: Sequence[Case], *, warm_up: int) -> dict[str, dict[str, Asked]]:
    """Send all cases' requests to all servers in turns, the first ones unmeasured. Raises BenchFailed."""
    by_name = {server.system: server for server in servers}
    found = {case.name: {name: Asked() for name in by_name} for case in cases}
    for number in range(max(len(case.queries) for case in cases)):
        for case in cases:
            for name in turns(tuple(by_name), number):
                asked = found[case.name][name] if number >= warm_up else Asked()
                _ask_one(by_name[name], case, case.queries[number], asked)
    return found


def figures(case: str, system: str, backend: str, asked: Asked, way: str) -> Iterator[Figure]:
    """Yield what one system took for one case; the ratios are made of the medians."""

    def figure(what: str, values: Sequence[float], note: str = "") -> Figure:
        return Figure(MEASURE, f"{case}, {what}", backend, "ms", Spread.of(values), note=note, system=system)

    count = len(asked.milliseconds)
    note = f"answers of {statistics.median(asked.sizes):.0f} bytes, {asked.empty} of {count} empty; {way}"
    yield figure("p50", asked.milliseconds, note)
    yield figure("p95", [percentile(asked.milliseconds, 95)])
    yield figure("server computes", [1000 * asked.computed / count])


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many per cent do not exceed; of a single one, itself."""
    return values[0] if len(values) == 1 else statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def one_line(error: HarnessError | EngineError) -> str:
    """Return what is wrong and what to do, without the cause's many lines."""
    return f"{error.message}: {error.hint}" if error.hint else error.message


@contextmanager
def _serving(bench: Bench, release: Release, backend: str) -> Iterator[ReleasedServer]:
    """Have a server of the release on a new database of this backend. Raises LeftOut, EngineError."""
    server = ReleasedServer(release, bench.engine(backend), bench.directory / MEASURE)
    try:
        if failures := start_servers({backend: server}):
            raise LeftOut(one_line(failures[backend]))
        yield server
    finally:
        server.stop()


def _on_backend(
    bench: Bench, server: ReleasedServer, backend: str, url: str, world: Sequence[Operation]
) -> Iterator[Figure]:
    sizes = bench.sizes
    target = PowerContextTarget(server.url, release=server.version, backend=backend, token=server.token)
    ways = {RUNTIME: "python -m runtime serve", target.name: server.way}
    with closing(target):
        with closing(open_storage(url)) as storage:
            storage.prepare()
            writers = {RUNTIME: partial(seed, storage), target.name: partial(_apply, target)}
            notes = {RUNTIME: "one commit each, by its storage: it has no HTTP that writes", target.name: "over HTTP"}
            for case, spent in write(writers, *apart(world)).items():
                for name, values in spent.items():
                    yield Figure(MEASURE, case, backend, "ms", Spread.of(values), note=notes[name], system=name)
        queries = bench.corpus.common_queries(MEASURE, sizes.warm_up + sizes.requests, words=8)
        cases = [Case(name, fields, queries) for name, fields in ASSEMBLIES.items()]
        port = int(server.url.rpartition(":")[2])
        with RuntimeProcess(url) as runtime, closing(runtime.connection()) as own, closing(Connection(port)) as other:
            assert server.pid is not None, "a server that was started has a process"
            servers = (
                Server(RUNTIME, runtime.pid, own, TOKEN, CURRENT),
                Server(target.name, server.pid, other, server.token(READER), target.ids.scope(CURRENT)),
            )
            for case_name, answered in ask(servers, cases, warm_up=sizes.warm_up).items():
                for name, asked in answered.items():
                    yield from figures(case_name, name, backend, asked, ways[name])


def _apply(target: PowerContextTarget, operations: Sequence[Operation]) -> None:
    try:
        applied = target.apply(operations)
    except TargetLost as error:
        raise BenchFailed(f"{target.name} on {target.backend}: {error}") from error
    if not isinstance(applied, Applied):
        raise BenchFailed(f"{target.name} on {target.backend} refused a write: {applied}")


def _ask_one(server: Server, case: Case, query: str, asked: Asked) -> None:
    body = json.dumps({"scope_id": server.scope_id, "query": query, **case.fields}).encode()
    computed = cpu_seconds(server.pid)
    began = time.perf_counter()
    try:
        status, answer = server.connection.prepare(server.token, body)
    except (OSError, HTTPException) as error:
        raise BenchFailed(f"{case.name}: {server.system} gave no answer: {type(error).__name__}: {error}") from error
    asked.milliseconds.append(1000 * (time.perf_counter() - began))
    # In steps of the kernel's clock, which add up to the truth over many requests.
    asked.computed += cpu_seconds(server.pid) - computed
    if status != 200:
        raise BenchFailed(f"{case.name}: {server.system} answered {status} {answer[:200]!r}")
    asked.sizes.append(len(answer))
    asked.empty += json.loads(answer)["status"] == "empty"
