"""A seed on a released server, through its public HTTP alone: operations become requests, ids are learned.

There is no transaction: each change is a request of its own. They are sent one after the other: the server is one
process, and beside each other 40 writes took as long (34 and 37 ms each on SQLite). What comes back are the operations
as the product keeps them, with its ids, its texts and its revisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.target.base import Answer, Applied, Refused
from harness.target.ids import Ids
from harness.target.powercontext import requests
from harness.target.powercontext.answers import stored_document
from harness.target.powercontext.memories import AtomicMemories, EntriesOfMemory
from harness.target.powercontext.refusals import RequestRefused, refusal
from harness.target.powercontext.requests import Release, Request
from runtime.artifacts import PROFILE_ID, Document, Experience, Family, Profile, family_of

Send = Callable[[Request], Answer]
Written = tuple[Operation, ...]
ACCEPTED = (200, 201, 202)


class Seeding:
    """Writes operations to one server, and remembers what is needed to write on: real ids, present revisions."""

    def __init__(self, send: Send, release: Release, ids: Ids, *, administrators_only: bool) -> None:
        self._raw_send = send
        self._release = release
        self._ids = ids
        self._administrators_only = administrators_only
        kind = AtomicMemories if release >= requests.ATOMIC_MEMORIES_SINCE else EntriesOfMemory
        self.memories: AtomicMemories | EntriesOfMemory = kind(self._send, ids, release)
        self._scope_versions: dict[str, int] = {}
        self._documents: dict[tuple[str, Family, str], tuple[str, int]] = {}
        self._bindings: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._administrators: list[str] = []
        self._told: set[tuple[str, str]] = set()

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        """Write the operations, all Scopes first; what precedes a refusal stays."""
        written: list[Operation] = []
        created = [operation for operation in operations if isinstance(operation, CreateScope)]
        again = next((one for one in created if one.scope_id in self._ids.scopes), None)
        if again is not None:
            # The product would make another one: the id is the scenario's alone.
            return Refused("revision_conflict", f"CreateScope {again.scope_id!r}")
        at: Operation = created[0] if created else SetReferences("", ())
        try:
            self._create_scopes(created)
            for at in _single_changes(operations):
                written += self._write(at)
        except RequestRefused as refused:
            return refusal(at, refused, known_scope=getattr(at, "scope_id", "") in self._ids.scopes)
        return Applied((*written, *self._administrators_grants()))

    def _administrators_grants(self) -> Iterator[Operation]:
        """Tell that a product's administrator reads every Scope."""
        for principal in self._administrators:
            for scope in self._scope_versions:
                if (principal, scope) not in self._told:
                    self._told.add((principal, scope))
                    yield Grant(principal, scope)

    def _create_scopes(self, created: Sequence[CreateScope]) -> None:
        """Make the Scopes, and give each the next one of the ids that came, in order.

        The product keeps references sorted by id. With random ids that order would differ from run to run.
        """
        answers = [self._send(requests.create_scope()) for _ in created]
        scopes = sorted(answer.json["scope_id"] for answer in answers)
        for operation, scope in zip(created, scopes, strict=True):
            self._ids.learn_scope(operation.scope_id, scope)
            self._scope_versions[scope] = 1

    def _write(self, operation: Operation) -> Written:
        match operation:
            case CreateScope(scope_id):
                return (CreateScope(self._ids.scope(scope_id)),)
            case CreatePrincipal(principal_id, token, administrator):
                return (self._principal(CreatePrincipal(principal_id, token, administrator)),)
            case SetReferences(scope_id, references):
                return self._set_references(self._ids.scope(scope_id), tuple(map(self._ids.scope, references)))
            case WriteMemory(scope_id, (change,)):
                return self.memories.write(scope_id, change)
            case WriteDocument(scope_id, artifact_id, content):
                return self._write_document(scope_id, artifact_id, content)
            case Propose(scope_id, artifact_id, content, state):
                return self._propose(scope_id, artifact_id, content, rejected=state == "rejected")
            case Grant(principal_id, scope_id):
                return self._grant(principal_id, self._ids.scope(scope_id))
            case Revoke(principal_id, scope_id):
                return self._revoke(principal_id, self._ids.scope(scope_id))
        raise AssertionError(operation)

    def _principal(self, operation: CreatePrincipal) -> CreatePrincipal:
        """Ask for nothing: whoever shows a token is a principal, and the administrator is there from the start."""
        administrator = operation.administrator or self._administrators_only
        if administrator:
            self._administrators.append(operation.principal_id)
        return replace(operation, administrator=administrator)

    def _set_references(self, scope: str, references: tuple[str, ...]) -> Written:
        answer = self._send(requests.set_references(scope, self._scope_versions.get(scope, 1), references))
        self._scope_versions[scope] = answer.json["version"]
        # In the caller's order: that it is not kept is for the harness to find.
        return (SetReferences(scope, references),)

    def _write_document(self, scope_id: str, artifact_id: str, content: Document) -> Written:
        scope, key = self._ids.scope(scope_id), (scope_id, family_of(content), artifact_id)
        if key in self._documents:
            artifact, revision = self._documents[key]
            answer = self._send(requests.replace_document(scope, artifact, revision, content))
        else:
            answer = self._send(requests.create_document(scope, content))
            artifact = answer.json["artifact_id"]
            self._learn(scope_id, artifact_id, artifact, content)
        self._documents[key] = (artifact, answer.json["revision"])
        return (WriteDocument(scope, artifact, stored_document(content)),)

    def _propose(self, scope_id: str, artifact_id: str, content: Document, *, rejected: bool) -> Written:
        """Propose an Experience; one that is not there yet is known by its candidate's id alone."""
        assert isinstance(content, Experience), "limits.py lets through no other candidates"
        scope = self._ids.scope(scope_id)
        present = self._documents.get((scope_id, "experience", artifact_id))
        if present is not None:
            answer = self._send(requests.propose_next(scope, content, *present))
        else:
            source = self._send(requests.capture_evidence(scope)).json["source_id"]
            answer = self._send(requests.propose_new(scope, content, source))
        candidate = answer.json["candidate_id"]
        if rejected:
            self._send(requests.reject(self._release, scope, candidate, answer.json["version"]))
        if present is None:
            self._learn(scope_id, artifact_id, candidate, content)
        artifact = candidate if present is None else present[0]
        return (Propose(scope, artifact, content, "rejected" if rejected else "pending"),)

    def _grant(self, principal: str, scope: str) -> Written:
        if not self._reads_all(principal):
            binding = self._send(requests.grant(principal, scope)).json
            self._bindings.setdefault((principal, scope), []).append((binding["binding_id"], binding["version"]))
        return (Grant(principal, scope),)

    def _revoke(self, principal: str, scope: str) -> Written:
        if self._reads_all(principal):
            return ()
        for binding, version in self._bindings.pop((principal, scope), []):
            self._send(requests.revoke(binding, version))
        return (Revoke(principal, scope),)

    def _reads_all(self, principal: str) -> bool:
        return self._administrators_only or principal in self._administrators

    def _learn(self, scope_id: str, artifact_id: str, artifact: str, content: Document) -> None:
        if not (isinstance(content, Profile) and artifact == artifact_id == PROFILE_ID):
            self._ids.learn_artifact(scope_id, artifact_id, artifact)

    def _send(self, request: Request) -> Answer:
        """Send a request; raises RequestRefused where it is not accepted."""
        answer = self._raw_send(request)
        if answer.status not in ACCEPTED:
            raise RequestRefused(request, answer)
        return answer


def _single_changes(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Take writes of several changes of a Memory apart: the product makes one revision for each."""
    for operation in operations:
        if isinstance(operation, WriteMemory):
            for change in operation.changes:
                yield replace(operation, changes=(change,))
        else:
            yield operation
