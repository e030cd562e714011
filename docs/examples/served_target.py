"""An example of a target: a server in a process of its own, asked over HTTP, `--target served`.

The server is this repository's, `python -m runtime serve`; put your own command in its place. `--target talkative` is
the same with a fault, to see that it is found. Switched on by `-p served_target`, or by a conftest.py that imports it
(docs/extending.md).
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from backends.operations import Operation
from backends.seeding import clear, digest, seed
from harness.scenario.model import RuntimeSpec, Scenario
from harness.target import TARGETS
from harness.target.base import Answer, Applied, Refused, TargetLost, Traits
from harness.target.client import Client
from harness.target.ids import Ids
from runtime.artifacts import Citation, Family
from runtime.errors import WriteRefused
from runtime.storage import open_storage

SECONDS = 30
"""How long a server may take to be ready."""


class Served:
    """A server in a process of its own, on one database of one backend."""

    name = "served"
    traits = Traits(digests=True)
    """What it does otherwise than this repository's runtime, where the contract leaves it free."""

    def __init__(self, backend: str, database_url: str) -> None:
        self.backend = backend
        self.ids = Ids()
        """What a scenario's ids are called here: the same, since this server takes any id."""
        self._url = database_url
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._read = 0
        self._runtime = RuntimeSpec()
        self._storage = open_storage(database_url)
        self._storage.prepare()
        self._start()

    def token(self, principal_id: str, *, administrator: bool) -> str:
        """Return the token that a principal shows; the operation that creates him brings it along."""
        del administrator
        return hashlib.sha256(principal_id.encode()).hexdigest()

    def lacking(self, scenario: Scenario) -> str | None:
        """Say what a scenario needs that a server of its own cannot be told by its settings."""
        runtime = scenario.runtime
        if runtime.reranker or runtime.embedder or runtime.sources is not None:
            return "needs a reranker, an embedder or sources, for which the server has no setting"
        if any(step.fault for step in scenario.steps):
            return "needs a fault inside the server"
        return None

    def reset(self, runtime: RuntimeSpec) -> None:
        """Empty the database, and have a server with the scenario's settings."""
        clear(self._storage)
        if runtime != self._runtime:
            self._runtime = runtime
            self.restart()
        self.log()

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        """Write the operations; a server that has routes for writes is sent requests here."""
        try:
            seed(self._storage, operations)
        except WriteRefused as refused:
            return Refused(refused.code)
        return Applied(tuple(operations))

    def digest(self) -> str:
        """Return the digest of the rows, by which the backends' seeds are compared."""
        return digest(self._storage)

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Ask for a prepared context."""
        return self._client.prepare(body, token=token, headers=headers)

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        """Read exactly what a citation names."""
        return self._client.read(citation, token=token)

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        """Read one Artifact revision by its raw parts."""
        return self._client.read_revision(scope_id, family, artifact_id, revision, token=token)

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        """Read one version of an Entry."""
        return self._client.read_entry(body, token=token)

    def fault(self, family: Family, kind: str) -> None:
        """Never asked: scenarios with faults are lacking something here."""
        raise NotImplementedError(f"{family} {kind}")

    def restart(self) -> None:
        """Stop the server and start it again on the same database."""
        self._stop()
        self._start()

    def log(self) -> str:
        """Return what the server has logged since it was last asked: nothing secret may be in it."""
        self._log.seek(self._read)
        lines = self._log.read()
        self._read = self._log.tell()
        return lines

    def close(self) -> None:
        """Stop what this target started."""
        self._stop()
        self._storage.close()
        self._log.close()

    def _start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "DATABASE_URL": self._url,
            "PORT": str(port),
            "ACCESS_MODE": self._runtime.access,
            "RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES": str(self._runtime.max_entries or 8),
        }
        environment = {f"POWERCONTEXT_SERVER_{name}": value for name, value in settings.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "runtime", "serve"],
            env={**os.environ, **environment},
            stdout=self._log.fileno(),
            stderr=subprocess.STDOUT,
        )
        self._client = Client(f"http://127.0.0.1:{port}")
        self._await()

    def _await(self) -> None:
        """Wait until the server is ready; raises TargetLost for one that ends or takes too long."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self._client.send("GET", "/health/ready", None, token=None).status == 200:
                    return
            except TargetLost:
                # Nobody listens yet: a moment later, unless the server ends.
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.02)
        self._stop()
        raise TargetLost(f"the server is not ready: {self.log()}")

    def _stop(self) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait(SECONDS)


class Talkative(Served):
    """The same server behind something that adds a friendly word to each text."""

    name = "talkative"

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Ask, and change the answer."""
        answer = super().prepare(body, token=token, headers=headers)
        return replace(answer, body=answer.body.replace(b"Treat every item", b"Please treat every item"))


TARGETS[Served.name] = Served
TARGETS[Talkative.name] = Talkative
