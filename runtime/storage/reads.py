"""What one snapshot of the database answers: callers, Scopes, recalled material, exact revisions."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, and_, bindparam, case, exists, func, literal, select, tuple_

from runtime.artifacts import MEMORY, MEMORY_ID, Address, Document, Entry, EntryAddress, Family, Memory
from runtime.storage import exact, search, tables
from runtime.storage.search import Hit, Hits
from runtime.storage.types import Body
from runtime.storage.writes import token_hash


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls."""

    principal_id: str
    administrator: bool


@dataclass(frozen=True, slots=True)
class ScopeAccess:
    """A Scope that a request concerns, and whether its caller was granted a view of it."""

    scope_id: str
    granted: bool


@dataclass(frozen=True, slots=True)
class StoredText:
    """The beginning of a stored text, as much as was asked for.

    `size` counts the UTF-8 bytes of all of it, `blank` speaks of all of it.
    """

    text: str
    size: int
    blank: bool

    @property
    def whole(self) -> bool:
        """Say whether this is all of it."""
        return len(self.text.encode()) == self.size


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """The head of an active Entry, at the Head revision of its Memory."""

    address: EntryAddress
    text: StoredText


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The Head of an Experience, a Profile or a topic, with its fields in their order."""

    address: Address
    fields: tuple[StoredText, ...]


# Made once: building a statement costs about as much as running it.
_principal_of_token = (
    select(tables.tokens.c.token_hash, tables.principals.c.principal_id, tables.principals.c.administrator)
    .join_from(tables.tokens, tables.principals)
    .where(tables.tokens.c.token_hash == bindparam("digest"))
)


def _select_scopes() -> Select[Any]:
    scopes, references, grants = tables.scopes, tables.scope_references, tables.grants
    scope_id: BindParameter[str] = bindparam("current")
    current = select(scopes.c.scope_id, literal(0).label("position")).where(scopes.c.scope_id == scope_id)
    referenced = select(references.c.target_id, references.c.position).where(references.c.scope_id == scope_id)
    concerned = current.union_all(referenced).subquery()
    granted = exists().where(grants.c.principal_id == bindparam("principal"), grants.c.scope_id == concerned.c.scope_id)
    return select(concerned.c.scope_id, case((granted, 1), else_=0).label("granted")).order_by(concerned.c.position)


def _select_entries() -> Select[Any]:
    entries, versions, artifacts = tables.entries, tables.entry_versions, tables.artifacts
    return (
        select(
            entries.c.scope_id,
            entries.c.entry_id,
            entries.c.entry_version_id,
            artifacts.c.head_revision,
            func.substr(versions.c.text, 1, bindparam("at_most"), type_=Body).label("text"),
            func.length(versions.c.text).label("size"),
            versions.c.blank,
        )
        .join_from(
            entries,
            versions,
            and_(
                versions.c.scope_id == entries.c.scope_id,
                versions.c.entry_id == entries.c.entry_id,
                versions.c.entry_version_id == entries.c.entry_version_id,
            ),
        )
        .join(
            artifacts,
            and_(
                artifacts.c.scope_id == entries.c.scope_id,
                artifacts.c.family == MEMORY,
                artifacts.c.artifact_id == MEMORY_ID,
            ),
        )
        .where(tuple_(entries.c.scope_id, entries.c.entry_id).in_(bindparam("entry_keys", expanding=True)))
    )


@cache
def _select_documents(whole_field: int | None) -> Select[Any]:
    fields, artifacts = tables.fields, tables.artifacts
    part = func.substr(fields.c.text, 1, bindparam("at_most"), type_=Body)
    text = part if whole_field is None else case((fields.c.position == whole_field, fields.c.text), else_=part)
    return (
        select(
            artifacts.c.scope_id,
            artifacts.c.artifact_id,
            artifacts.c.head_revision,
            text.label("text"),
            func.length(fields.c.text).label("size"),
            fields.c.blank,
        )
        .join_from(
            artifacts,
            fields,
            tables.FIELDS_OF_HEAD,
        )
        .where(
            artifacts.c.family == bindparam("of_family"),
            tuple_(artifacts.c.scope_id, artifacts.c.artifact_id).in_(bindparam("artifact_keys", expanding=True)),
        )
        .order_by(artifacts.c.scope_id, artifacts.c.artifact_id, fields.c.position)
    )


_scopes_of_request = _select_scopes()
_entries_of_hits = _select_entries()


class Reader:
    """Reads within one transaction, so that all answers are of one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.busy: Future[Any] | None = None
        """Whoever still reads in another thread after he was given up."""

    def ping(self) -> None:
        """Ask the database for something that is always there."""
        self._connection.execute(select(tables.schema_facts.c.name).limit(1)).all()

    def principal(self, token: str) -> Principal | None:
        """Return who holds this token."""
        digest = token_hash(token)
        row = self._connection.execute(_principal_of_token, {"digest": digest}).first()
        if row is None or not hmac.compare_digest(row.token_hash, digest):
            return None
        return Principal(row.principal_id, bool(row.administrator))

    def scopes(self, scope_id: str, principal_id: str | None) -> list[ScopeAccess]:
        """Return the current Scope and its references in their order; empty when there is no such Scope."""
        rows = self._connection.execute(_scopes_of_request, {"current": scope_id, "principal": principal_id or ""})
        return [ScopeAccess(row.scope_id, bool(row.granted)) for row in rows]

    def search(
        self,
        family: Family,
        scope_ids: Sequence[str],
        tokens: Sequence[str],
        *,
        depth: int,
        vector: Sequence[float] | None = None,
    ) -> Hits:
        """Return at most `depth` hits of each Scope, best first."""
        lexical = search.search_lexical(self._connection, family, scope_ids, tokens, depth=depth)
        if vector is None:
            return lexical
        nearest = search.search_vectors(self._connection, family, scope_ids, vector, depth=depth)
        return search.fuse_all(lexical, nearest, depth=depth)

    def entries(self, hits: Sequence[tuple[str, Hit]], *, at_most: int) -> dict[tuple[str, Hit], StoredEntry]:
        """Return the Entries of these hits, each by its Scope and hit, with at most so many bytes of their texts."""
        if not hits:
            return {}
        keys = search.padded([(scope_id, hit.entry_id) for scope_id, hit in hits])
        rows = self._connection.execute(_entries_of_hits, {"at_most": at_most, "entry_keys": keys})
        found: dict[tuple[str, Hit], StoredEntry] = {}
        # SQLite's substr of an empty blob is NULL.
        for row in rows:
            memory = Address(row.scope_id, MEMORY, MEMORY_ID, row.head_revision)
            found[row.scope_id, Hit(MEMORY_ID, row.entry_id)] = StoredEntry(
                EntryAddress(memory, row.entry_id, row.entry_version_id),
                StoredText(row.text or "", row.size, bool(row.blank)),
            )
        return found

    def documents(
        self, family: Family, hits: Sequence[tuple[str, str]], *, at_most: int, whole_field: int | None = None
    ) -> dict[tuple[str, str], StoredDocument]:
        """Return the Heads of these Artifacts, each by its Scope and artifact id, with at most so many bytes a field.

        The field at the place `whole_field` comes whole.
        """
        if not hits:
            return {}
        rows = self._connection.execute(
            _select_documents(whole_field),
            {"of_family": family, "at_most": at_most, "artifact_keys": search.padded(list(hits))},
        )
        found: dict[tuple[str, str], StoredDocument] = {}
        for row in rows:
            key = (row.scope_id, row.artifact_id)
            earlier = found[key].fields if key in found else ()
            found[key] = StoredDocument(
                Address(row.scope_id, family, row.artifact_id, row.head_revision),
                (*earlier, StoredText(row.text or "", row.size, bool(row.blank))),
            )
        return found

    def document(self, address: Address) -> Document | None:
        """Return exactly this revision of an Experience, a Profile or a topic."""
        return exact.document(self._connection, address)

    def memory(self, address: Address) -> Memory | None:
        """Return exactly this revision's manifest, in its order."""
        return exact.memory(self._connection, address)

    def entry(self, address: EntryAddress) -> Entry | None:
        """Return exactly this Entry version, as it stands in exactly this revision's manifest."""
        return exact.entry(self._connection, address)
