"""The tables: what is kept, append-only but for heads, grants and the search index."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKeyConstraint, Index, Integer, MetaData, Table, and_

from runtime.artifacts import MAX_ID_CHARACTERS
from runtime.storage.tokenizer import MAX_TOKEN_BYTES
from runtime.storage.types import Body, ExactString

metadata = MetaData()

_ID = ExactString(4 * MAX_ID_CHARACTERS)
_FAMILY = ExactString(16)
_SHORT = ExactString(64)


def _references(here: list[str], table: str, there: list[str] | None = None) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(here, [f"{table}.{column}" for column in there or here])


schema_facts = Table(
    "powercontext_schema",
    metadata,
    Column("name", _SHORT, primary_key=True),
    Column("value", _SHORT, nullable=False),
)
"""What made this schema; written last, so that a half-made one is known."""

scopes = Table("scopes", metadata, Column("scope_id", _ID, primary_key=True))

scope_references = Table(
    "scope_references",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("target_id", _ID, nullable=False),
    _references(["scope_id"], "scopes"),
    _references(["target_id"], "scopes", ["scope_id"]),
    Index("scope_references_once", "scope_id", "target_id", unique=True),
)

principals = Table(
    "principals",
    metadata,
    Column("principal_id", _ID, primary_key=True),
    Column("administrator", Boolean, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("token_hash", _SHORT, primary_key=True),
    Column("principal_id", _ID, nullable=False),
    _references(["principal_id"], "principals"),
)
"""Bearer tokens, as their SHA-256 in hexadecimal; the token itself is nowhere."""

grants = Table(
    "grants",
    metadata,
    Column("principal_id", _ID, primary_key=True),
    Column("scope_id", _ID, primary_key=True),
    _references(["principal_id"], "principals"),
    _references(["scope_id"], "scopes"),
)

_ARTIFACT = ["scope_id", "family", "artifact_id"]

artifacts = Table(
    "artifacts",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("family", _FAMILY, primary_key=True),
    Column("artifact_id", _ID, primary_key=True),
    Column("head_revision", BigInteger, nullable=False),
    _references(["scope_id"], "scopes"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("family", _FAMILY, primary_key=True),
    Column("artifact_id", _ID, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    _references(_ARTIFACT, "artifacts"),
)
"""One row a revision: its key is what makes two writers of the same revision a conflict."""

fields = Table(
    "fields",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("family", _FAMILY, primary_key=True),
    Column("artifact_id", _ID, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("text", Body, nullable=False),
    Column("blank", Boolean, nullable=False),
    _references([*_ARTIFACT, "revision"], "revisions"),
)
"""The fields of an Experience, a Profile or a topic, in the order of their dataclass."""

candidates = Table(
    "candidates",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("family", _FAMILY, primary_key=True),
    Column("artifact_id", _ID, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("state", _SHORT, nullable=False),
    Column("content", Body, nullable=False),
    _references(["scope_id"], "scopes"),
)
"""Proposed revisions; their fields as one JSON array, since they are never recalled and never exactly read."""

entries = Table(
    "entries",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("entry_id", _ID, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("entry_version_id", _ID, nullable=False),
    Column("state", _SHORT, nullable=False),
    _references(["scope_id"], "scopes"),
    Index("entries_by_position", "scope_id", "position", unique=True),
)
"""Each Entry's place in the manifest, and its head."""

entry_versions = Table(
    "entry_versions",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("entry_id", _ID, primary_key=True),
    Column("entry_version_id", _ID, primary_key=True),
    Column("kind", _ID, nullable=False),
    Column("text", Body, nullable=False),
    Column("blank", Boolean, nullable=False),
    _references(["scope_id", "entry_id"], "entries"),
)

entry_changes = Table(
    "entry_changes",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("entry_id", _ID, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("entry_version_id", _ID, nullable=False),
    Column("state", _SHORT, nullable=False),
    _references(["scope_id", "entry_id", "entry_version_id"], "entry_versions"),
)
"""What each Memory revision changed; a revision's manifest is each Entry's last change up to it."""

postings = Table(
    "postings",
    metadata,
    Column("scope_id", _ID, primary_key=True),
    Column("family", _FAMILY, primary_key=True),
    Column("token", ExactString(MAX_TOKEN_BYTES), primary_key=True),
    Column("distinct_tokens", Integer, primary_key=True, autoincrement=False),
    Column("artifact_id", _ID, primary_key=True),
    Column("entry_id", _ID, primary_key=True),
    Index("postings_by_entry", "scope_id", "family", "artifact_id", "entry_id"),
    sqlite_with_rowid=False,
)
"""The lexical index of what is recalled now (SPEC.md 10); `entry_id` is empty but for Memory.

Its key is in the order of the search, so that one index answers it. It is derived from the other tables, and has no
foreign keys: millions of rows would be checked one by one.
"""

FIELDS_OF_HEAD = and_(
    fields.c.scope_id == artifacts.c.scope_id,
    fields.c.family == artifacts.c.family,
    fields.c.artifact_id == artifacts.c.artifact_id,
    fields.c.revision == artifacts.c.head_revision,
)
"""Joins an Artifact with the fields of its present revision."""
