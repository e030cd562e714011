"""The public requests of a released PowerContext server, one function each; what differs by release is decided here.

Measured on 1.0.0 to 1.4.1. Nothing is sent here: a Request is data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from runtime.artifacts import Document, Experience, Profile, Topic, family_of

Release = tuple[int, ...]
"""A release's number: `(1, 4, 1)`."""

ATOMIC_MEMORIES_SINCE: Release = (1, 3)
"""From here on each memory is an Artifact of its own; before, an Entry of the Scope's Memory."""
TOPICS_SINCE: Release = (1, 1)
CANDIDATES_SINCE: Release = (1, 4)
"""From here on candidates are decided on at `/v1/candidates`; before, at `/v1/artifact-candidates`."""

ATOMIC_MEMORY = "atomic-memory"


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the public interface, with a JSON body where there is one."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def release_of(version: str) -> Release:
    """Return the number of a release: of "1.4.1" as of "1.4.1rc2", `(1, 4, 1)`."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def create_scope() -> Request:
    """Make a Scope without references; its id comes with the answer."""
    body = {**_DESCRIBED, "context_references": [], "idempotency_key": uuid4().hex}
    return Request("POST", "/v1/scopes", body)


def set_references(scope: str, version: int, references: Sequence[str]) -> Request:
    """Replace a Scope's references; `version` is the Scope's present one."""
    body = {**_DESCRIBED, "expected_version": version, "context_references": list(references)}
    return Request("PUT", f"/v1/scopes/{segment(scope)}", body)


def create_document(scope: str, content: Document) -> Request:
    """Make an Experience, a Profile or a topic; it is official at once."""
    return _create(scope, family_of(content), document_fields(content))


def replace_document(scope: str, artifact: str, revision: int, content: Document) -> Request:
    """Write the next revision of an Experience, a Profile or a topic; `revision` is the present one."""
    return _replace(scope, family_of(content), artifact, revision, document_fields(content))


def create_atomic_memory(scope: str, kind: str, text: str) -> Request:
    """Make a memory, from 1.3 on."""
    return _create(scope, ATOMIC_MEMORY, {"kind": kind, "text": text})


def replace_atomic_memory(scope: str, artifact: str, revision: int, kind: str, text: str) -> Request:
    """Write the next revision of a memory, from 1.3 on."""
    return _replace(scope, ATOMIC_MEMORY, artifact, revision, {"kind": kind, "text": text})


def forget_atomic_memory(scope: str, artifact: str, revision: int, state_version: int) -> Request:
    """Keep a memory from being recalled, from 1.3 on; both numbers are the present ones."""
    reference = {"family": ATOMIC_MEMORY, "artifact_id": artifact, "revision": revision}
    target = {"artifact": reference, "state_version": state_version}
    body = {"scope_id": scope, "target": target, "state": "forgotten"}
    return Request("POST", "/v1/atomic-memory/lifecycle", body)


def remember(scope: str, kind: str, text: str) -> Request:
    """Add an Entry to the Scope's Memory, before 1.3; equal kind and text of an active one change nothing."""
    return Request("POST", "/v1/memory/remember", {"scope_id": scope, "kind": kind, "text": text})


def revise(scope: str, citation: Mapping[str, Any], kind: str, text: str) -> Request:
    """Write the next version of an Entry, before 1.3; the citation names it at the Memory's present revision."""
    body = {"scope_id": scope, "citation": citation, "kind": kind, "text": text}
    return Request("POST", "/v1/memory/entries/revise", body)


def retire(scope: str, citation: Mapping[str, Any]) -> Request:
    """Keep an Entry from being recalled, before 1.3."""
    return Request("POST", "/v1/memory/entries/retire", {"scope_id": scope, "citation": citation})


def entry_citation(revision: int, entry: str, version: str) -> dict[str, Any]:
    """Return how an Entry version is cited in one revision of the Scope's Memory."""
    memory = {"family": "memory", "artifact_id": "memory", "revision": revision}
    return {"memory_ref": memory, "entry_id": entry, "entry_version_id": version}


def capture_evidence(scope: str) -> Request:
    """Store a Source: a proposal without a target must name one."""
    source = {"source_type": "content", "content": "Evidence of a proposal."}
    return Request("POST", f"/v1/scopes/{segment(scope)}/sources", source)


def propose_new(scope: str, content: Experience, source: str) -> Request:
    """Propose a new Experience; it stays pending until someone decides."""
    return _propose(scope, content, {"source_refs": [{"name": "content", "source_id": source}], "artifact_refs": []})


def propose_next(scope: str, content: Experience, artifact: str, revision: int) -> Request:
    """Propose the next revision of an Experience whose present one this is."""
    target = {"family": "experience", "artifact_id": artifact, "revision": revision}
    return _propose(scope, content, {"source_refs": [], "artifact_refs": [target], "target": target})


def reject(release: Release, scope: str, candidate: str, version: int) -> Request:
    """Reject a pending proposal."""
    name = "candidates" if release >= CANDIDATES_SINCE else "artifact-candidates"
    body = {"scope_id": scope, "candidate_id": candidate, "expected_version": version, "reason": "Rejected in a test."}
    return Request("POST", f"/v1/{name}/reject", body)


def grant(principal: str, scope: str) -> Request:
    """Make a principal viewer of a Scope; each such request makes a binding of its own."""
    body = {
        "subject": {"type": "user", "id": principal},
        "resource": {"type": "scope", "scope_id": scope},
        "role": "scope.viewer",
        "idempotency_key": uuid4().hex,
    }
    return Request("POST", "/v1/access/bindings/create", body)


def revoke(binding: str, version: int) -> Request:
    """Take back what one binding gives."""
    body = {"binding_id": binding, "expected_version": version, "idempotency_key": uuid4().hex}
    return Request("POST", "/v1/access/bindings/revoke", body)


def document_fields(content: Document) -> dict[str, str]:
    """Return a content as the interface takes it."""
    match content:
        case Experience(situation, action, outcome, lesson):
            return {"situation": situation, "action": action, "outcome": outcome, "lesson": lesson}
        case Profile(text):
            return {"content": text}
        case Topic(title, summary, detail):
            return {"title": title, "summary": summary, "detail": detail}


def segment(text: str) -> str:
    """Encode one path segment."""
    return quote(text, safe="").replace(".", "%2E")


_DESCRIBED = {"title": "A Scope of a backend test", "summary": "Made by the harness."}


def _create(scope: str, family: str, content: Mapping[str, Any]) -> Request:
    return Request("POST", f"/v1/scopes/{segment(scope)}/artifacts", {"family": family, "content": content})


def _replace(scope: str, family: str, artifact: str, revision: int, content: Mapping[str, Any]) -> Request:
    path = f"/v1/scopes/{segment(scope)}/artifacts/{family}/{segment(artifact)}"
    return Request("PUT", path, {"content": content}, {"if-match": f'"revision:{revision}"'})


def _propose(scope: str, content: Experience, evidence: Mapping[str, Any]) -> Request:
    body = {"scope_id": scope, "proposal": document_fields(content), **evidence}
    return Request("POST", "/v1/experience/propose", body)
