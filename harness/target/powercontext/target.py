"""A released PowerContext server as a target, through its public HTTP alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from backends.operations import Operation
from harness.scenario.model import RuntimeSpec, Scenario
from harness.target.base import Answer, Applied, Refused, TargetLost, Traits
from harness.target.client import Client
from harness.target.ids import Ids
from harness.target.powercontext.answers import entry_of_atomic_memory, reduced_entry, reduced_revision
from harness.target.powercontext.limits import Abilities, lacking
from harness.target.powercontext.memories import AtomicMemories
from harness.target.powercontext.requests import ATOMIC_MEMORIES_SINCE, ATOMIC_MEMORY, Request, release_of
from harness.target.powercontext.seeding import Seeding
from harness.target.powercontext.server import ADMINISTRATOR
from runtime.artifacts import Citation, EntryAddress, Family

OWNER_UNKNOWN = "artifact_owner_pending"
"""How releases before 1.4.1 answer with 503 where there is no such Artifact: nothing is lost."""

WRITING_SECONDS = 60.0


class PowerContextTarget:
    """A released server, unmodified; each scenario has Scopes of its own, nothing is ever deleted.

    `token` gives the bearer token of a principal. `administrators_only`: there is none but the administrator's, who
    stands in for principals that read every Scope. `restart` restarts the server; it must then listen on the same URL.
    `log` tells the file that the server logs to now, if no other process uses the server. `without_access` gives the
    URL of a server of the same release and backend whose access control is off, at first use.
    """

    def __init__(
        self,
        url: str,
        *,
        release: str,
        backend: str,
        token: Callable[[str], str],
        name: str | None = None,
        administrator: str = ADMINISTRATOR,
        administrators_only: bool = False,
        restart: Callable[[], None] | None = None,
        log: Callable[[], Path] | None = None,
        without_access: Callable[[], str] | None = None,
    ) -> None:
        self.name = name or f"powercontext=={release}"
        self.backend = backend
        self.ids = Ids()
        self._release = release_of(release)
        atomic = self._release >= ATOMIC_MEMORIES_SINCE
        self.traits = Traits(
            style="1.3-1.4" if atomic else "1.0-1.2",
            makes_ids=True,
            own_search=True,
            digests=False,
            request_ids=False,
            snippet_windows=True,
            other_families=frozenset((ATOMIC_MEMORY,)) if atomic else frozenset(),
            raw_line_characters=not atomic,
        )
        self._url = url
        self._without_access = without_access
        self._is_open = False
        self._token = token
        self._administrator = administrator
        self._restart = restart
        self._abilities = Abilities(self._release, can_restart=restart is not None, only_one=administrators_only)
        self._abilities = replace(self._abilities, can_open=without_access is not None)
        self._connections: dict[str, tuple[Client, Client]] = {}
        self._client, self._writer = self._connection(url)
        self._log = log
        self._log_path: Path | None = None
        self._log_read = 0
        self._seeding = self._new_seeding()

    def token(self, principal_id: str, *, administrator: bool) -> str:
        """Return the token of a principal of this name, or the administrator's."""
        return self._token(self._administrator if administrator or self._abilities.only_one else principal_id)

    def lacking(self, scenario: Scenario) -> str | None:
        """Return why a scenario cannot be run on this release, or None."""
        return lacking(scenario, self._abilities)

    def reset(self, runtime: RuntimeSpec) -> None:
        """Forget all ids: the next scenario makes Scopes of its own."""
        self._is_open = runtime.access == "disabled"
        url = self._without_access() if self._is_open and self._without_access is not None else self._url
        self._client, self._writer = self._connection(url)
        self.ids = Ids()
        self._seeding = self._new_seeding()
        self.log()

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        """Write the operations one by one; what precedes a refusal stays."""
        return self._seeding.apply(operations)

    def digest(self) -> str:
        """Raise: the rows cannot be read beside the public interface, as the traits say."""
        raise NotImplementedError

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Post these bytes to the prepare operation."""
        return self._client.prepare(body, token=token, headers=headers)

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        """Read exactly what a citation names."""
        if isinstance(citation, EntryAddress) and ATOMIC_MEMORY not in self.traits.other_families:
            return reduced_entry(self._client.read(citation, token=token))
        return reduced_revision(self._client.read(citation, token=token))

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        """Read one Artifact revision by its raw parts, legal or not."""
        answer = self._client.read_revision(scope_id, family, artifact_id, revision, token=token)
        return reduced_revision(answer)

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        """Read an Entry version; from 1.3 on, that revision of the atomic memory which is this version."""
        if not isinstance(self._seeding.memories, AtomicMemories):
            return reduced_entry(self._client.read_entry(body, token=token))
        request: Any = json.loads(body)
        scope, citation = request["scope_id"], request["citation"]
        artifact, version = citation["entry_id"], citation["entry_version_id"]
        # A version that was never written is asked for only where the Scope alone decides, as limits.py says.
        revision = self._seeding.memories.revision_of(scope, artifact, version) or 1
        answer = self._client.read_revision(scope, ATOMIC_MEMORY, artifact, str(revision), token=token)
        return entry_of_atomic_memory(answer, citation)

    def fault(self, family: Family, kind: str) -> None:
        """Raise: an unmodified server has no faults to declare, as `lacking` says."""
        raise NotImplementedError

    def restart(self) -> None:
        """Restart the server on the same database."""
        if self._restart is None:
            raise NotImplementedError
        self._restart()

    def log(self) -> str:
        """Return what the server's log has gained since it was last asked; nothing where others use the server too."""
        path = None if self._log is None else self._log()
        if path is None or not path.exists():
            return ""
        if path != self._log_path:
            # Each start of the server begins a new one.
            self._log_path, self._log_read = path, 0
        with path.open("rb") as file:
            file.seek(self._log_read)
            gained = file.read()
        self._log_read += len(gained)
        return gained.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Close the connections; the server is its owner's to stop."""
        for connections in self._connections.values():
            for client in connections:
                client.close()

    def _connection(self, url: str) -> tuple[Client, Client]:
        """Return the connections to a server, one to ask and one to write."""
        if url not in self._connections:
            self._connections[url] = (Client(url), Client(url, timeout_seconds=WRITING_SECONDS))
        return self._connections[url]

    def _new_seeding(self) -> Seeding:
        # Where access control is off, nobody has to be granted anything.
        only_one = self._abilities.only_one or self._is_open
        return Seeding(self._send, self._release, self.ids, administrators_only=only_one)

    def _send(self, request: Request) -> Answer:
        body = None if request.body is None else json.dumps(request.body).encode()
        token = self._token(self._administrator)
        found = self._writer.send(request.method, request.path, body, token=token, headers=request.headers)
        if found.status == httpx.codes.SERVICE_UNAVAILABLE:
            raise TargetLost(f"{request.method} {request.path}: {found.status} {found.body[:200]!r}")
        return found
