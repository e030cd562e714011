"""How much a prepare asks of the database: few statements, and only what can be shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from worlds import make_scopes, write, write_document, write_memory

from runtime.application import ContextApplication
from runtime.artifacts import Experience, Profile
from runtime.contract import PrepareRequest, validate
from runtime.recall import default_sources
from runtime.storage import Storage, StoredText, reads

REFERENCED = [f"s{number}" for number in range(32)]


@contextmanager
def statements(storage: Storage) -> Iterator[list[str]]:
    """Collect the statements that are sent."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.upper().startswith(("BEGIN", "ROLLBACK", "COMMIT")):
            sent.append(statement)

    event.listen(storage.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(storage.engine, "before_cursor_execute", note)


def prepare(storage: Storage, **fields: Any) -> str:
    """Prepare as HTTP does: the token is read in the same snapshot."""
    application = ContextApplication(storage, sources=default_sources(), max_entries=26)
    request = {"scope_id": "demo", "query": "contract tests", "max_bytes": 32768} | fields
    with application.session() as session:
        principal = session.authenticate("a token")
        prepared = session.prepare(principal, validate(PrepareRequest, request))
    return prepared.content or ""


@pytest.mark.parametrize("references", [0, 1, 32])
@pytest.mark.parametrize("filled", [True, False])
def test_a_prepare_needs_at_most_six_statements(storage: Storage, references: int, filled: bool) -> None:
    make_scopes(storage, "demo", *REFERENCED)
    with storage.writing() as writer:
        writer.set_references("demo", REFERENCED[:references])
        writer.store_token("alice", "a token")
        for scope_id in ("demo", *REFERENCED):
            writer.grant("alice", scope_id)
            if filled:
                writer.write_memory(scope_id, [write(f"m{number}", "contract tests") for number in range(3)])
                writer.write_document(scope_id, "e", Experience("contract", "tests", "o", "l"))
    with statements(storage) as sent:
        content = prepare(storage, assembly={})
    assert content.count("### ") == (min(3 * (references + 1), 6) + min(references + 1, 2) if filled else 0)
    assert len(sent) <= 6
    with statements(storage) as sent:
        assert prepare(storage, assembly={"sections": []}) == ""
    assert len(sent) == 2


def test_the_longest_query_is_one_statement_over_all_scopes(storage: Storage) -> None:
    # Every character is a token, and so is every pair: 16,383 of them.
    query = "".join(chr(0x4E00 + number) for number in range(8192))
    make_scopes(storage, "demo", *REFERENCED)
    with storage.writing() as writer:
        writer.set_references("demo", REFERENCED)
        writer.store_token("alice", "a token")
        for scope_id in ("demo", *REFERENCED):
            writer.grant("alice", scope_id)
            writer.write_memory(scope_id, [write("last", query[-1]), write("pair", query[-2:])])
    with statements(storage) as sent:
        content = prepare(storage, query=query, assembly={"sections": [{"family": "memory", "limit": 8}]})
    assert content.count('Entry: id="pair"') == 8
    assert len(sent) == 4


def test_only_the_beginning_of_long_bodies_is_read(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    make_scopes(storage, "demo")
    with storage.writing() as writer:
        writer.store_token("alice", "a token")
        writer.grant("alice", "demo")
    long = "contract tests " + "界" * 300_000
    write_memory(storage, "demo", *(write(f"m{number}", long) for number in range(8)))
    write_document(storage, "demo", "profile", Profile(long))
    write_document(storage, "demo", "e", Experience(long, "a", "o", "l"))
    read: list[int] = []

    def counted(text: str, size: int, blank: bool) -> StoredText:
        read.append(len(text.encode()))
        return StoredText(text, size, blank)

    monkeypatch.setattr(reads, "StoredText", counted)
    sections = [
        {"family": "memory", "limit": 8},
        {"family": "profile", "limit": 1},
        {"family": "experience", "limit": 2},
    ]
    content = prepare(storage, assembly={"sections": sections})
    assert content.count("Truncated: yes") == 10
    assert prepare(storage).count('"truncated":true') == 8
    assert len(read) == 8 + 1 + 4 + 8 + 4
    assert max(read) <= 6003
