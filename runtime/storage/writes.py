"""The write surface: each accepted write is one revision, its search index included (SPEC.md 1)."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from sqlalchemy import Connection, Table, and_, delete, exists, func, insert, select, update

from runtime.artifacts import (
    MAX_BODY_BYTES,
    MAX_ID_CHARACTERS,
    MAX_REFERENCES,
    MEMORY,
    MEMORY_ID,
    PROFILE,
    PROFILE_ID,
    CandidateState,
    Document,
    EntryChange,
    EntryWrite,
    Family,
    family_of,
)
from runtime.errors import WriteRefused
from runtime.storage import tables
from runtime.storage.entries import write_entries
from runtime.storage.index import Indexed, SearchIndex, delete_all


def token_hash(token: str) -> str:
    """Return what is stored of a bearer token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_id(identity: str) -> None:
    """Refuse an id that SPEC.md 1 does not allow; raises WriteRefused."""
    _check_unicode(identity)
    if not identity.strip() or len(identity) > MAX_ID_CHARACTERS:
        raise WriteRefused("invalid_id", f"An id has 1 to {MAX_ID_CHARACTERS} characters and is not blank.")


def check_body(*texts: str) -> None:
    """Refuse a body, given by its fields, of more bytes than SPEC.md 1 allows; raises WriteRefused."""
    if sum(_check_unicode(text) for text in texts) > MAX_BODY_BYTES:
        raise WriteRefused("body_too_long", f"A body holds at most {MAX_BODY_BYTES} bytes of UTF-8.")


def _check_document(artifact_id: str, content: Document) -> Family:
    check_id(artifact_id)
    family = family_of(content)
    if family == PROFILE and artifact_id != PROFILE_ID:
        raise WriteRefused("invalid_id", "A Scope's Profile is named profile.")
    check_body(*astuple(content))
    return family


def _check_unicode(text: str) -> int:
    """Return the UTF-8 bytes of a text."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise WriteRefused("invalid_unicode", "A text holds a lone surrogate.") from None


class Writer:
    """Writes within one transaction; each method raises WriteRefused, after which nothing of the transaction stays."""

    def __init__(self, connection: Connection, *, dimension: int | None = None) -> None:
        self._connection = connection
        self._index = SearchIndex(connection, dimension=dimension)

    def create_scope(self, scope_id: str, references: Sequence[str] = ()) -> None:
        """Make a Scope; its references must exist."""
        check_id(scope_id)
        if self._scope_exists(scope_id):
            raise WriteRefused("revision_conflict", "There is such a Scope already.")
        self._insert(tables.scopes, {"scope_id": scope_id})
        if references:
            self.set_references(scope_id, references)

    def set_references(self, scope_id: str, references: Sequence[str]) -> None:
        """Replace a Scope's Context References, kept in this order."""
        self._need_scope(scope_id)
        for reference in references:
            check_id(reference)
        if len(references) > MAX_REFERENCES:
            raise WriteRefused("invalid_reference", f"A Scope refers to at most {MAX_REFERENCES} others.")
        if scope_id in references:
            raise WriteRefused("invalid_reference", "A Scope does not refer to itself.")
        if len(set(references)) < len(references):
            raise WriteRefused("invalid_reference", "A Scope refers to another at most once.")
        known = select(tables.scopes.c.scope_id).where(tables.scopes.c.scope_id.in_(list(references)))
        if references and len(self._connection.execute(known).all()) < len(references):
            raise WriteRefused("invalid_reference", "A referenced Scope does not exist.")
        table = tables.scope_references
        self._connection.execute(delete(table).where(table.c.scope_id == scope_id))
        self._insert(
            table,
            *(
                {"scope_id": scope_id, "position": position, "target_id": target}
                for position, target in enumerate(references, start=1)
            ),
        )

    def write_memory(
        self, scope_id: str, changes: Sequence[EntryChange], *, expected_revision: int | None = None
    ) -> int:
        """Write and retire Entries as one revision; returns its number.

        `expected_revision` is the Head that the writer saw, 0 for none; another Head is a `revision_conflict`.
        """
        for change in changes:
            check_id(change.entry_id)
            if isinstance(change, EntryWrite):
                check_id(change.entry_version_id)
                check_id(change.kind)
                check_body(change.text)
        revision = self._next_revision(scope_id, MEMORY, MEMORY_ID, expected_revision)
        write_entries(self._connection, self._index, scope_id, revision, changes)
        return revision

    def write_document(
        self,
        scope_id: str,
        artifact_id: str,
        content: Document,
        *,
        vector: Sequence[float] | None = None,
        expected_revision: int | None = None,
    ) -> int:
        """Write the next official revision of an Experience, a Profile or a topic; returns its number."""
        family = _check_document(artifact_id, content)
        revision = self._next_revision(scope_id, family, artifact_id, expected_revision)
        key = {"scope_id": scope_id, "family": family, "artifact_id": artifact_id}
        self._insert(
            tables.fields,
            *(
                key | {"revision": revision, "position": position, "text": text, "blank": not text.strip()}
                for position, text in enumerate(astuple(content))
            ),
        )
        if family != PROFILE:
            self._index.replace(
                scope_id, family, [Indexed(artifact_id, "", astuple(content), vector)], known=revision > 1
            )
        return revision

    def propose(self, scope_id: str, artifact_id: str, content: Document, state: CandidateState) -> None:
        """Write a Candidate: it is never recalled, never a Head, never exactly read."""
        family = _check_document(artifact_id, content)
        self._need_scope(scope_id)
        key = {"scope_id": scope_id, "family": family, "artifact_id": artifact_id}
        table = tables.candidates
        last = self._connection.scalar(
            select(func.max(table.c.number)).where(*(table.c[name] == value for name, value in key.items()))
        )
        text = json.dumps(astuple(content), ensure_ascii=False)
        self._insert(table, key | {"number": (last or 0) + 1, "state": state, "content": text})

    def create_principal(self, principal_id: str, *, administrator: bool = False) -> None:
        """Make a principal known, or change whether he is an administrator."""
        check_id(principal_id)
        table = tables.principals
        if self._principal_exists(principal_id):
            self._connection.execute(
                update(table).where(table.c.principal_id == principal_id).values(administrator=administrator)
            )
        else:
            self._insert(table, {"principal_id": principal_id, "administrator": administrator})

    def create_token(self, principal_id: str) -> str:
        """Make a bearer token for a principal; it is returned here and stored nowhere."""
        token = secrets.token_urlsafe(32)
        self.store_token(principal_id, token)
        return token

    def store_token(self, principal_id: str, token: str) -> None:
        """Let a principal in by a token that was made elsewhere."""
        if not self._principal_exists(principal_id):
            self.create_principal(principal_id)
        row = {"token_hash": token_hash(token), "principal_id": principal_id}
        table = tables.tokens
        if self._connection.scalar(select(exists().where(table.c.token_hash == row["token_hash"]))):
            raise WriteRefused("token_conflict", "This token is in use.")
        self._insert(table, row)

    def grant(self, principal_id: str, scope_id: str) -> None:
        """Make a principal viewer of a Scope."""
        self._need_scope(scope_id)
        if not self._principal_exists(principal_id):
            self.create_principal(principal_id)
        table = tables.grants
        row = {"principal_id": principal_id, "scope_id": scope_id}
        held = exists().where(table.c.principal_id == principal_id, table.c.scope_id == scope_id)
        if not self._connection.scalar(select(held)):
            self._insert(table, row)

    def revoke(self, principal_id: str, scope_id: str) -> None:
        """Take a principal's view of a Scope away."""
        self._need_scope(scope_id)
        table = tables.grants
        self._connection.execute(
            delete(table).where(table.c.principal_id == principal_id, table.c.scope_id == scope_id)
        )

    def clear(self) -> None:
        """Empty every table but the schema's, children first."""
        for table in reversed(tables.metadata.sorted_tables):
            if table is not tables.schema_facts:
                delete_all(self._connection, table)
        self._index.clear_vectors()

    def _insert(self, table: Table, *rows: Mapping[str, object]) -> None:
        if rows:
            self._connection.execute(insert(table), list(rows))

    def _scope_exists(self, scope_id: str) -> bool:
        return bool(self._connection.scalar(select(exists().where(tables.scopes.c.scope_id == scope_id))))

    def _principal_exists(self, principal_id: str) -> bool:
        known = exists().where(tables.principals.c.principal_id == principal_id)
        return bool(self._connection.scalar(select(known)))

    def _need_scope(self, scope_id: str) -> None:
        check_id(scope_id)
        if not self._scope_exists(scope_id):
            raise WriteRefused("unknown_scope", "There is no such Scope.")

    def _next_revision(self, scope_id: str, family: Family, artifact_id: str, expected: int | None) -> int:
        """Move the Head by one; the key of `revisions` makes sure that only one writer does."""
        self._need_scope(scope_id)
        table = tables.artifacts
        key = {"scope_id": scope_id, "family": family, "artifact_id": artifact_id}
        here = and_(*(table.c[name] == value for name, value in key.items()))
        head = self._connection.scalar(select(table.c.head_revision).where(here))
        if expected is not None and expected != (head or 0):
            raise WriteRefused("revision_conflict", "Another revision was written meanwhile.")
        if head is None:
            self._insert(table, key | {"head_revision": 1})
        else:
            self._connection.execute(update(table).where(here).values(head_revision=head + 1))
        revision = (head or 0) + 1
        self._insert(tables.revisions, key | {"revision": revision})
        return revision
