"""A served database, the writes that it acknowledged, and what must hold of every answer while something is broken."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx
from records import Fault, Measured
from sqlalchemy import event, select

from backends.operations import CreatePrincipal, CreateScope, Grant, Operation, WriteDocument, WriteMemory
from backends.seeding import clear, seed
from harness.target.reference import Server
from runtime.application import ContextApplication
from runtime.artifacts import FAMILIES, Address, EntryAddress, EntryWrite, Experience, Profile, Topic
from runtime.errors import OperationError, RuntimeNotReady, ServiceUnavailable, StorageUnreachable
from runtime.http.server import ContextServer
from runtime.recall import default_sources
from runtime.storage import Storage, open_storage, tables

SECONDS = 2.0
"""The time-out of most servers here, so that a test of it need not take the usual 5 s."""
AT_ONCE = 2.0
"""The bound of what nobody has to wait for, on a machine that does other things as well."""
TOKEN = "the reader's token"
REQUEST = {
    "scope_id": "demo",
    "query": "contract tests",
    "assembly": {"sections": [{"family": family, "limit": 2} for family in FAMILIES]},
}
LEDGER = "ledger"
"""The Scope of the writes that are counted: nobody asks for it, so that the right answer stays the same."""
WORLD: tuple[Operation, ...] = (
    *(CreateScope("demo"), CreateScope(LEDGER)),
    WriteMemory("demo", (EntryWrite("entry-1", "entry-1-v1", "Run the contract tests."),)),
    WriteDocument("demo", "experience-1", Experience("contract", "tests", "contract", "tests")),
    WriteDocument("demo", "profile", Profile("Likes contract tests.")),
    WriteDocument("demo", "topic-1", Topic("contract", "tests", "contract tests")),
    *(CreatePrincipal("reader", TOKEN), Grant("reader", "demo")),
)


def make_schema(url: str) -> None:
    """Make the tables in an empty database, however long that takes."""
    with closing(open_storage(url)) as storage:
        storage.prepare()


class Service:
    """One server on a database, with a time-out."""

    def __init__(self, url: str, seconds: float) -> None:
        storage = open_storage(url, timeout_seconds=seconds)
        self.application = ContextApplication(
            storage, sources=default_sources(), recall_timeout_seconds=seconds, storage_timeout_seconds=seconds
        )
        server = ContextServer(self.application)
        self.make_ready = server.make_ready
        self._server = Server(server.app)
        # Far above any bound: a test fails by the bound that it states, not by its client's.
        self.http = httpx.Client(base_url=self._server.url, timeout=60, trust_env=False)

    def prepare(self) -> httpx.Response:
        """Ask for all four families."""
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        return self.http.post("/v1/context/prepare", content=json.dumps(REQUEST), headers=headers)

    def close(self) -> None:
        """Stop the server."""
        self.http.close()
        self._server.stop()
        self.application.close()


class System:
    """A seeded database, a server on it whose right answer is known, and a writer beside it."""

    def __init__(self, url: str, row: Fault, measured: Measured, *, seconds: float = SECONDS) -> None:
        self.url, self.row, self.measured, self.seconds = url, row, measured, seconds
        self.writer = open_storage(url, timeout_seconds=seconds)
        self._service = Service(url, seconds)
        # Not by a request, whose bound would count.
        self._service.make_ready()
        with closing(open_storage(url)) as fresh:
            clear(fresh)
            seed(fresh, WORLD)
        self.acknowledged: list[tuple[EntryAddress, str]] = []
        self._more: list[Service] = []
        self.right = self._service.prepare().content
        assert json.loads(self.right)["status"] == "ready"
        assert all(word in self.right.decode() for word in ("Memory", "Experience", "Profile", "Topic Memory"))

    @property
    def storage(self) -> Storage:
        """The server's storage."""
        return self._service.application.storage

    def another_server(self) -> Service:
        """Start one more server on the database, which has not looked at it yet."""
        self._more.append(Service(self.url, self.seconds))
        return self._more[-1]

    def forget_servers(self) -> None:
        """Stop the servers that were started beside the first."""
        while self._more:
            self._more.pop().close()

    def is_right(self, service: Service | None = None) -> None:
        """Ask, and see that the answer has the bytes that it had before anything was broken."""
        answer = self._ask(service)
        assert answer.status_code == 200, answer.text
        assert answer.content == self.right

    def is_refused(self, service: Service | None = None, *, error: type[OperationError] = ServiceUnavailable) -> None:
        """Ask while something is broken, and see that it is told in time, and nothing else is."""
        self._refused(self._ask(service), error)

    def all_are_refused(self, count: int) -> None:
        """Ask many times at once."""
        with ThreadPoolExecutor(count) as threads:
            for answer in threads.map(lambda _: self._ask(None), range(count)):
                self._refused(answer, ServiceUnavailable)

    def is_right_or_refused(self, service: Service | None = None) -> bool:
        """Ask, accept nothing but the right answer and a service error, and say which it was."""
        answer = self._ask(service)
        if answer.status_code == 200:
            assert answer.content == self.right
            return True
        self._refused(answer, RuntimeNotReady if "not_ready" in answer.text else ServiceUnavailable)
        return False

    def write(self, scope_id: str = LEDGER, *, text: str = "written") -> bool:
        """Write one Entry, and say whether the write was acknowledged."""
        entry_id = f"{scope_id}-{time.monotonic_ns()}"
        try:
            with self.writer.writing() as writer:
                revision = writer.write_memory(scope_id, [EntryWrite(entry_id, "v1", text)])
        except StorageUnreachable:
            return False
        address = EntryAddress(Address(scope_id, "memory", "memory", revision), entry_id, "v1")
        self.acknowledged.append((address, text))
        return True

    def writes(self, count: int) -> None:
        """Write so many Entries, all of which must be acknowledged."""
        assert all(self.write() for _ in range(count))

    def nothing_is_lost(self) -> None:
        """Read every acknowledged write back by its exact citation, over connections that know nothing of before."""
        fresh = open_storage(self.url, timeout_seconds=30)
        with fresh.reading() as reader:
            found = [(entry := reader.entry(address)) and entry.text for address, _ in self.acknowledged]
        fresh.close()
        lost = sum(got != text for got, (_, text) in zip(found, self.acknowledged, strict=True))
        self.measured.acknowledged += len(found)
        self.measured.lost += lost
        assert lost == 0

    def head(self) -> int:
        """Return how many revisions the Scope of the counted writes has."""
        table = tables.artifacts
        with self.writer.engine.connect() as connection:
            found = connection.scalar(select(table.c.head_revision).where(table.c.scope_id == LEDGER))
        return found or 0

    def let_go(self) -> None:
        """Close all connections, so that new ones have to be made."""
        self.storage.close()
        self.writer.close()

    @contextmanager
    def before_statement(
        self, number: int, act: Callable[[], object], *, of: Storage | None = None
    ) -> Iterator[list[str]]:
        """Do something right before the next statement of this number, the server's or another storage's.

        Yields what was executed.
        """
        executed: list[str] = []
        engine = (of or self.storage).engine

        def listen(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            executed.append(statement)
            if len(executed) == number:
                act()

        event.listen(engine, "before_cursor_execute", listen)
        try:
            yield executed
        finally:
            event.remove(engine, "before_cursor_execute", listen)

    def statements(self) -> int:
        """Return how many statements one prepare takes."""
        with self.before_statement(0, lambda: None) as executed:
            self.is_right()
        return len(executed)

    def injected(self, times: int = 1) -> None:
        """Count a fault that was brought about."""
        self.measured.injected += times

    def close(self) -> None:
        """Stop the servers and let go of the database."""
        for service in (self._service, *self._more):
            service.close()
        self.writer.close()

    def _ask(self, service: Service | None) -> httpx.Response:
        started = time.perf_counter()
        answer = (service or self._service).prepare()
        seconds = time.perf_counter() - started
        self.measured.slowest = max(self.measured.slowest, seconds)
        assert seconds <= self.row.bound, f"answered after {seconds:.2f} s"
        return answer

    def _refused(self, answer: httpx.Response, error: type[OperationError]) -> None:
        # The whole body: there is no room for a word of the driver's, for SQL or for a path.
        expected = {"error": {"code": error.code, "message": error.message, "details": None}}
        assert (answer.status_code, answer.json()) == (error.status, expected)
        assert set(answer.headers) <= {"content-type", "content-length", "x-request-id", "date", "connection"}


class Writers:
    """Threads that write as fast as they can, each into a Scope of its own, until they are stopped."""

    def __init__(self, system: System, scope_ids: Sequence[str]) -> None:
        self._system = system
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        self._written = 0
        seed(system.writer, [CreateScope(scope_id) for scope_id in scope_ids])
        self._threads = [threading.Thread(target=self._write, args=[scope_id]) for scope_id in scope_ids]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, count: int) -> None:
        """Wait until so many more writes were acknowledged."""
        with self._changed:
            wanted = self._written + count
            assert self._changed.wait_for(lambda: self._written >= wanted, 60)

    def _write(self, scope_id: str) -> None:
        while not self._stopped.is_set():
            if self._system.write(scope_id):
                with self._changed:
                    self._written += 1
                    self._changed.notify_all()
