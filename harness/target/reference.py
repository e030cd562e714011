"""The in-tree runtime as a target: a real HTTP server on loopback, in this process, one for each way to set it up."""

from __future__ import annotations

import hashlib
import logging
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from sqlalchemy.exc import DBAPIError

from backends.operations import Operation
from backends.provision.sessions import watch
from backends.seeding import clear, digest, seed
from harness.scenario.model import RuntimeSpec, Scenario
from harness.target.base import Answer, Applied, Refused, TargetLost, Traits
from harness.target.client import Client
from harness.target.faults import DeclaredFaults
from harness.target.ids import Ids
from runtime.application import ContextApplication
from runtime.artifacts import Citation, Family
from runtime.builder import Candidate
from runtime.errors import SchemaRefused, StorageUnreachable, WriteRefused
from runtime.http.protocol import server_config
from runtime.http.server import ContextServer
from runtime.recall import RecallRequest, RecallSource, RerankedHit, default_sources
from runtime.storage import Reader, Storage, open_storage


@dataclass(frozen=True)
class ListedReranker:
    """Puts the listed Entries first, in the list's order; the others keep theirs behind them."""

    entry_ids: tuple[str, ...]

    def order(self, query: str, hits: Sequence[RerankedHit]) -> Sequence[int]:
        """Return the hits' places, best first."""
        del query
        places = {entry_id: place for place, entry_id in enumerate(self.entry_ids)}
        return sorted(range(len(hits)), key=lambda place: places.get(hits[place].entry_id, len(places)))


@dataclass(frozen=True)
class FixtureEmbedder:
    """Knows the vectors of the scenario's queries by their text."""

    dimension: int
    vectors: Mapping[str, Sequence[float]]

    def embed(self, query: str) -> Sequence[float]:
        """Return the query's vector."""
        return self.vectors[query]


@dataclass(frozen=True)
class FaultySource:
    """A recall source that does as it always does, after what is declared of its family."""

    family: Family
    source: RecallSource
    faults: DeclaredFaults

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        """Return the source's candidates; raises DeclaredFault."""
        self.faults.suffer(self.family)
        return self.source.recall(reader, request)


class Server:
    """One uvicorn on a free loopback port, in a thread of its own."""

    def __init__(self, app: Any) -> None:
        self._server = uvicorn.Server(server_config(app))
        # With its protocol named, asyncio sends each answer at once (TCP_NODELAY) instead of 40 ms later.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        # Who connects before the thread has come so far waits, instead of being refused.
        self._socket.listen()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="server", daemon=True
        )
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Let the server finish what it is doing."""
        self._server.should_exit = True

    def stop(self) -> None:
        """Stop the server and wait for its thread."""
        self.ask_to_stop()
        self._thread.join(timeout=10)
        self._socket.close()


class ReferenceTarget:
    """The runtime of this repository on one database of one backend."""

    name = "runtime"
    traits = Traits()

    def __init__(self, backend: str, database_url: str) -> None:
        self.backend = backend
        self.ids = Ids()
        self._url = database_url
        self._storages: dict[int | None, Storage] = {}
        self._clients: dict[str, Client] = {}
        self._servers: list[tuple[Server, ContextApplication]] = []
        self._faults = DeclaredFaults()
        self._log = _Log()
        self._storage = self._open(None)

    @property
    def database_url(self) -> str:
        """The URL of its database, which may hold a password."""
        return self._url

    def token(self, principal_id: str, *, administrator: bool) -> str:
        """Return a token that is the same on every backend, so that answers are comparable."""
        del administrator
        return hashlib.sha256(f"token of {principal_id}".encode()).hexdigest()

    def lacking(self, scenario: Scenario) -> str | None:
        """Return nothing: this target can do whatever a scenario says."""
        del scenario
        return None

    def reset(self, runtime: RuntimeSpec) -> None:
        """Empty the database, and have a server that is set up as the scenario asks."""
        self._storage = self._open(runtime.embedder.dimension if runtime.embedder else None)
        with _told_as_lost():
            clear(self._storage)
        self._faults.clear()
        self._runtime = runtime
        self._client = self._client_of(runtime)
        self._log.take()

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        """Write the operations in one transaction; a refusal leaves nothing of them."""
        try:
            with _told_as_lost():
                seed(self._storage, operations)
        except WriteRefused as refused:
            return Refused(refused.code, "; ".join(getattr(refused, "__notes__", ())))
        return Applied(tuple(operations))

    def digest(self) -> str:
        """Return the digest of the logical rows, read back from the engine."""
        with _told_as_lost():
            return digest(self._storage)

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Post these bytes to the prepare operation."""
        return self._client.prepare(body, token=token, headers=headers)

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        """Read exactly what a citation names."""
        return self._client.read(citation, token=token)

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        """Read one Artifact revision by its raw parts, legal or not."""
        return self._client.read_revision(scope_id, family, artifact_id, revision, token=token)

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        """Post these bytes to the exact read of an Entry version."""
        return self._client.read_entry(body, token=token)

    def fault(self, family: Family, kind: str) -> None:
        """Let the recall of a family fail from now on: `error`, `hang`, `slow`, or `none` again."""
        self._faults.declare(family, kind)
        self._client = self._client_of(self._runtime)

    def restart(self) -> None:
        """Stop all servers and start one again on the same database; declared faults stay declared."""
        dimension = self._runtime.embedder.dimension if self._runtime.embedder else None
        self._stop()
        self._storage = self._open(dimension)
        self._client = self._client_of(self._runtime)

    def log(self) -> str:
        """Return what the servers have logged since it was last asked, or since the last reset."""
        return self._log.take()

    def close(self) -> None:
        """Stop the servers and let go of the database."""
        self._faults.clear()
        self._stop()
        self._log.close()

    def _stop(self) -> None:
        for client in self._clients.values():
            client.close()
        # All at once: each takes a moment to look up.
        for server, _ in self._servers:
            server.ask_to_stop()
        for server, application in self._servers:
            server.stop()
            application.close()
        for storage in self._storages.values():
            storage.close()
        self._clients.clear()
        self._servers.clear()
        self._storages.clear()

    def _open(self, dimension: int | None) -> Storage:
        if dimension not in self._storages:
            storage = self._watched(dimension)
            with _told_as_lost():
                storage.prepare()
            self._storages[dimension] = storage
        return self._storages[dimension]

    def _watched(self, dimension: int | None) -> Storage:
        """Make a storage whose pool holds connections of one kind only; another one raises SessionDiffers."""
        storage = open_storage(self._url, dimension=dimension)
        watch(storage.engine)
        return storage

    def _client_of(self, runtime: RuntimeSpec) -> Client:
        patience = self._faults.patience_seconds
        key = f"{patience} {runtime.model_dump_json()}"
        if key not in self._clients:
            self._clients[key] = self._serve(runtime, patience)
        return self._clients[key]

    def _serve(self, runtime: RuntimeSpec, patience: float) -> Client:
        embedder = FixtureEmbedder(runtime.embedder.dimension, runtime.embedder.vectors) if runtime.embedder else None
        reranker = ListedReranker(runtime.reranker.order) if runtime.reranker else None
        every: Mapping[Family, RecallSource] = default_sources(embedder=embedder, reranker=reranker)
        application = ContextApplication(
            self._watched(runtime.embedder.dimension if runtime.embedder else None),
            sources={
                family: FaultySource(family, source, self._faults)
                for family, source in every.items()
                if runtime.sources is None or family in runtime.sources
            },
            access_mode=runtime.access,
            max_entries=runtime.max_entries or 8,
            recall_timeout_seconds=patience,
        )
        server = Server(ContextServer(application).app)
        self._servers.append((server, application))
        return Client(server.url)


@contextmanager
def _told_as_lost() -> Iterator[None]:
    """Turn a database that does not answer into TargetLost, with the driver's own sentence."""
    try:
        yield
    except (StorageUnreachable, SchemaRefused, DBAPIError) as error:
        told = f"{type(error).__name__}: {error.orig if isinstance(error, DBAPIError) else error}"
        driver = error.__cause__
        cause = f"\n  cause: {driver.orig}" if isinstance(driver, DBAPIError) else ""
        raise TargetLost(told + cause) from error


class _Log(logging.Handler):
    """What the servers of this process say, kept for the search for leaks."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: list[str] = []
        for name in ("runtime", "uvicorn"):
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.setLevel(logging.INFO)
            logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self._lines.append(self.format(record))

    def take(self) -> str:
        """Return the lines since it was last asked."""
        lines, self._lines = self._lines, []
        return "\n".join(lines)

    def close(self) -> None:
        """Stop listening."""
        for name in ("runtime", "uvicorn"):
            logging.getLogger(name).removeHandler(self)
        super().close()
