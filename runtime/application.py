"""The order of events of one prepare and of one exact read (SPEC.md 2, 3 and 6)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from typing import Any

from runtime import builder, contract, envelope
from runtime.access import Access
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, Address, Content, Entry, EntryAddress, Family
from runtime.builder import Candidate, Prepared
from runtime.contract import EntryReadRequest, PrepareRequest, RevisionReadRequest
from runtime.errors import (
    ArtifactNotFound,
    InvalidRequest,
    MemoryNotFound,
    Problem,
    ServiceUnavailable,
    StorageUnreachable,
    Unauthorized,
)
from runtime.recall import RecallRequest, RecallSource
from runtime.settings import AccessMode
from runtime.storage import Principal, Reader, ScopeAccess, Storage

log = logging.getLogger("runtime")

MOST_GIVEN_UP = 8
"""How many recalls of one family may hang before further ones are refused at once: the connections are for all."""

READS_REFERENCES: frozenset[Family] = frozenset({MEMORY, EXPERIENCE, PROFILE})
"""The families that read referenced Scopes; Topic Memory reads the current one alone."""


class ContextApplication:
    """The operations of the runtime on one storage, whoever calls them: HTTP, or a program."""

    def __init__(
        self,
        storage: Storage,
        *,
        sources: Mapping[Family, RecallSource],
        access_mode: AccessMode = "enforced",
        max_entries: int = 8,
        recall_timeout_seconds: float = 5.0,
        storage_timeout_seconds: float = 5.0,
    ) -> None:
        self.storage = storage
        self.storage_timeout_seconds = storage_timeout_seconds
        """How long a request waits for the database before its recalls begin, each of which has its own time."""
        self._sources = sources
        self._access_mode = access_mode
        self._max_entries = max_entries
        self._recall_timeout = recall_timeout_seconds
        self._recalls = ThreadPoolExecutor(thread_name_prefix="recall", max_workers=64)
        self._given_up: dict[Family, set[Future[Any]]] = defaultdict(set)
        """The recalls of each family that were given up and still run; each holds a connection."""

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open one snapshot to answer one request in; raises ServiceUnavailable where the database is lost."""
        try:
            with self.storage.reading() as reader:
                yield Session(self, reader)
        except StorageUnreachable as error:
            log.warning("storage unreachable: %s", error)
            raise ServiceUnavailable from error

    def prepare(self, principal: Principal | None, request: PrepareRequest | Mapping[str, Any]) -> Prepared:
        """Prepare a context for a caller who is already known, with the rules of HTTP; raises OperationError."""
        with self.session() as session:
            return session.prepare(principal, contract.validate(PrepareRequest, request))

    def close(self) -> None:
        """Let go of the threads and the connections."""
        self._recalls.shutdown(wait=False, cancel_futures=True)
        self.storage.close()

    def _access(self, principal: Principal | None) -> Access:
        return Access(self._access_mode, principal)

    def _recall(self, reader: Reader, family: Family, request: RecallRequest) -> Sequence[Candidate]:
        """Recall one family in bounded time; raises ServiceUnavailable."""
        source = self._sources.get(family)
        if source is None:
            return ()
        if len(self._given_up[family]) >= MOST_GIVEN_UP:
            log.warning("recall of %s hangs already %d times", family, MOST_GIVEN_UP)
            raise ServiceUnavailable
        future = self._recalls.submit(source.recall, reader, request)
        try:
            return future.result(timeout=self._recall_timeout)
        except FutureTimeout:
            reader.busy = future
            self._given_up[family].add(future)
            future.add_done_callback(self._given_up[family].discard)
            log.warning("recall of %s took longer than %s s", family, self._recall_timeout)
            raise ServiceUnavailable from None
        except Exception as error:
            log.warning("recall of %s failed: %s", family, type(error).__name__)
            raise ServiceUnavailable from error


class Session:
    """One request's snapshot: everything that it reads is of one moment (SPEC.md 8)."""

    def __init__(self, application: ContextApplication, reader: Reader) -> None:
        self._application = application
        self._reader = reader
        self.recalling = False
        """Whether everything that comes before the recalls is done."""

    def authenticate(self, token: str | None) -> Principal | None:
        """Return who shows this token, or None without access control; raises Unauthorized."""
        if self._application._access_mode == "disabled":
            return None
        principal = None if token is None else self._reader.principal(token)
        if principal is None:
            raise Unauthorized
        return principal

    def ping(self) -> None:
        """Make sure that the database answers."""
        self._reader.ping()

    def prepare(self, principal: Principal | None, request: PrepareRequest) -> Prepared:
        """Check, recall and assemble; raises OperationError."""
        application = self._application
        access = application._access(principal)
        scopes = self._scopes(access, request.scope_id)
        assembly = request.assembly
        if assembly is None:
            families: Sequence[Family] = envelope.FAMILIES
        else:
            if assembly.total > application._max_entries:
                raise InvalidRequest(
                    Problem("limits_total", ("body", "assembly", "sections"), "The limits exceed the server's total.")
                )
            families = [section.family for section in assembly.sections]
        if not families:
            return Prepared(None)
        if assembly is None or READS_REFERENCES.intersection(families):
            access.check_referenced(scopes)
        candidates = self._recall(families, request, tuple(scope.scope_id for scope in scopes))
        if assembly is None:
            return envelope.build(candidates, scope_id=request.scope_id, max_bytes=request.max_bytes)
        return builder.build(candidates, assembly, max_bytes=request.max_bytes)

    def read_revision(self, principal: Principal | None, request: RevisionReadRequest) -> Content:
        """Return exactly this revision's content; raises OperationError."""
        self._scopes(self._application._access(principal), request.scope_id)
        address = Address(request.scope_id, request.family, request.artifact_id, request.revision)
        read: Callable[[Address], Content | None] = (
            self._reader.memory if request.family == MEMORY else self._reader.document
        )
        content = read(address)
        if content is None:
            raise ArtifactNotFound
        return content

    def read_entry(self, principal: Principal | None, request: EntryReadRequest) -> Entry:
        """Return exactly this Entry version; raises OperationError."""
        self._scopes(self._application._access(principal), request.scope_id)
        cited = request.citation
        memory = Address(
            request.scope_id, cited.memory_ref.family, cited.memory_ref.artifact_id, cited.memory_ref.revision
        )
        entry = None
        if memory.family == MEMORY:
            entry = self._reader.entry(EntryAddress(memory, cited.entry_id, cited.entry_version_id))
        if entry is None:
            raise MemoryNotFound
        return entry

    def _scopes(self, access: Access, scope_id: str) -> list[ScopeAccess]:
        """Return the current Scope, checked, and its references, not checked yet."""
        scopes = self._reader.scopes(scope_id, access.principal_id)
        access.check_current(scopes)
        return scopes

    def _recall(
        self, families: Sequence[Family], request: PrepareRequest, scope_ids: tuple[str, ...]
    ) -> dict[Family, Sequence[Candidate]]:
        self.recalling = True
        recall = RecallRequest(request.query, scope_ids, older=request.assembly is None)
        return {family: self._application._recall(self._reader, family, recall) for family in families}
