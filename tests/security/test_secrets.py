"""Passwords and tokens are in no log, no message, no repr, no traceback; a token is nowhere in the database."""

from __future__ import annotations

import hashlib
import hmac
import io
import logging
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError
from talking import PREPARE, TOKEN, fill, guarded, request

from backends.provision.databases import Endpoint
from bench.serving import RuntimeProcess
from runtime.errors import StorageUnreachable
from runtime.settings import Settings
from runtime.storage import Storage, open_storage, reads
from runtime.storage.tables import metadata, tokens
from runtime.storage.writes import token_hash

PASSWORD = "hunter2-in-clear"
NOWHERE = f"mysql+oceanbase://somebody:{PASSWORD}@127.0.0.1:1/nothing"


def told_by(error: BaseException) -> str:
    """Return everything that a log would hold of an error."""
    stream = io.StringIO()
    logger = logging.Logger("told")
    logger.addHandler(logging.StreamHandler(stream))
    logger.error("%r %s", error, error, exc_info=error)
    return stream.getvalue() + "".join(traceback.format_exception(error)) + repr(error.args)


def test_a_token_is_stored_as_its_hash_alone(storage: Storage) -> None:
    fill(storage)
    with storage.writing() as writer:
        made = writer.create_token("reader")
    # 256 random bits need no slow hash: there is nothing to guess.
    assert len(made) == 43
    with storage.engine.connect() as connection:
        kept = set(connection.scalars(select(tokens.c.token_hash)))
        assert kept == {hashlib.sha256(token.encode()).hexdigest() for token in (TOKEN, made)}
        for table in metadata.sorted_tables:
            rows = repr(connection.execute(select(table)).all())
            assert made not in rows
            assert TOKEN not in rows


def test_tokens_are_compared_in_constant_time(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(storage)
    compared: list[tuple[Any, Any]] = []
    genuine = hmac.compare_digest

    def compare(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return genuine(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    with storage.reading() as reader:
        assert reader.principal(TOKEN) is not None
        assert reader.principal("another") is None
    # The look-up is by hash, so what its time could tell is of a hash that nobody can aim at.
    assert compared == [(token_hash(TOKEN), token_hash(TOKEN))]


def test_settings_endpoints_and_engines_do_not_show_a_password() -> None:
    settings = Settings(database_url=NOWHERE)
    storage = open_storage(NOWHERE)
    shown = [settings, storage, storage.engine, storage.engine.url, storage.engine.pool]
    assert PASSWORD not in " ".join([*map(repr, shown), *map(str, shown), repr(Endpoint("u", PASSWORD))])


def test_a_database_that_is_not_there_is_told_without_its_password() -> None:
    storage = open_storage(NOWHERE, timeout_seconds=1)
    with pytest.raises(StorageUnreachable) as caught:
        storage.prepare()
    assert PASSWORD not in told_by(caught.value)


def test_a_failed_statement_is_told_without_its_parameters(storage: Storage) -> None:
    sql = text("SELECT nothing FROM nowhere WHERE token = :token")
    with pytest.raises(DBAPIError) as caught, storage.engine.connect() as connection:
        connection.execute(sql, {"token": TOKEN})
    assert TOKEN not in told_by(caught.value)


@pytest.mark.parametrize("command", [["migrate"], ["token", "x"], ["migrate", "--database-url", NOWHERE]])
def test_no_command_prints_the_password(command: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-m", "runtime", *command],
        env={**os.environ, "POWERCONTEXT_SERVER_DATABASE_URL": NOWHERE},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("storage_unreachable: ")
    assert PASSWORD not in ended.stdout + ended.stderr


def test_a_server_without_its_database_does_not_print_the_password() -> None:
    with RuntimeProcess(NOWHERE, RECALL_TIMEOUT_SECONDS="1") as server:
        connection = server.connection()
        status, body = connection.get("/health/ready", TOKEN)
        connection.close()
    assert status == 503
    assert any("does not answer yet" in line for line in server.last_lines)
    assert PASSWORD not in "\n".join(server.last_lines) + body.decode()


def test_the_server_s_log_holds_neither_tokens_nor_ids_nor_queries(database: str, storage: Storage) -> None:
    fill(storage)
    with RuntimeProcess(database) as server:
        connection = server.connection()
        for token in (TOKEN, "an-unknown-token"):
            connection.prepare(token, b'{"scope_id":"demo","query":"a-secret-query","assembly":{}}')
            connection.get("/v1/scopes/demo/artifacts/memory/a-secret-id/revisions/1", token)
        connection.close()
        server.ask_to_stop()
        assert server.wait() == 0
        log = "\n".join(server.last_lines)
    assert "POST 200" in log
    for secret in (TOKEN, "an-unknown-token", "a-secret-query", "a-secret-id", *_password(database)):
        assert secret not in log


def test_a_fault_of_our_own_is_logged_without_the_caller_s_values(
    database: str, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(storage)

    def fail(*_: object) -> None:
        with storage.engine.connect() as connection:
            connection.execute(text("SELECT nothing FROM nowhere WHERE token = :token"), {"token": TOKEN})

    monkeypatch.setattr(reads.Reader, "principal", fail)
    with guarded(database) as server:
        answer = server.ask(request("POST", PREPARE))
        assert answer is not None
        assert answer.status in (500, 503)
        assert TOKEN not in server.log.text + repr(answer)
        for secret in _password(database):
            assert secret not in server.log.text


def _password(database: str) -> list[str]:
    return [password] if (password := (database.partition("://")[2].partition("@")[0].partition(":")[2])) else []


def test_no_file_of_ours_holds_a_password_of_an_engine() -> None:
    root = Path(__file__).parents[2]
    # As in a URL: a scenario may call a principal root.
    password = re.compile(r"root(@[^:@\s]*)?:[^@\s\"{]+@")
    assert password.search("mysql+oceanbase://root:secret@127.0.0.1:2881/x")
    assert not [path for path in (root / "results").glob("*.json") if password.search(path.read_text(encoding="utf-8"))]
