"""What a database administrator or another client can do to the server's account, sessions and rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from records import READY, UNAVAILABLE, Fault, Measured, fault
from sqlalchemy import text
from systems import AT_ONCE, System

from backends.provision.databases import Endpoint
from backends.provision.embedded import EmbeddedEngine

NEXT = "with the next request"
USER, PASSWORD = "pch_reader", "the first password"
RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX, REFERENCES"


class Account:
    """A user of the engine who is not root, and what root does to him."""

    def __init__(self, engine: EmbeddedEngine, database: str) -> None:
        self._root = engine.endpoint
        self._database = database
        self.endpoint = replace(engine.endpoint, user=USER, password=PASSWORD)
        self.run(f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'")
        self.grant()

    def run(self, *statements: str) -> None:
        """Do something as root."""
        with self._root.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def grant(self) -> None:
        """Give all rights that a server needs."""
        self.run(f"GRANT {RIGHTS} ON {self._database}.* TO {USER}")

    def revoke(self) -> None:
        """Take them all."""
        self.run(f"REVOKE ALL PRIVILEGES ON {self._database}.* FROM {USER}")


@pytest.fixture
def account(engine: EmbeddedEngine, database: str) -> Iterator[Account]:
    account = Account(engine, database)
    yield account
    account.run(f"DROP USER {USER}")


@pytest.fixture
def by_account(account: Account, database: str, row: Fault, measured: Measured) -> Iterator[System]:
    system = System(account.endpoint.url(database), row, measured)
    yield system
    system.close()


def sessions(endpoint: Endpoint, count: int) -> ExitStack:
    """Open so many sessions."""
    held = ExitStack()
    for _ in range(count):
        held.enter_context(endpoint.cursor())
    return held


@fault(
    "the user's limit of connections is reached", engine="OceanBase", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT
)
def test_the_limit_of_a_user_is_reached(by_account: System, account: Account) -> None:
    by_account.writes(5)
    by_account.let_go()
    account.run(f"ALTER USER {USER} WITH MAX_USER_CONNECTIONS 2")
    with sessions(account.endpoint, 2):
        by_account.injected()
        by_account.is_refused()
        assert not by_account.write()
    by_account.is_right()
    by_account.writes(1)
    account.run(f"ALTER USER {USER} WITH MAX_USER_CONNECTIONS 0")
    by_account.nothing_is_lost()


@fault(
    "the engine's limit of connections is reached",
    engine="OceanBase",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers=NEXT,
    slow=True,
)
def test_the_limit_of_the_engine_is_reached(by_account: System, engine: EmbeddedEngine) -> None:
    by_account.writes(5)
    by_account.let_go()
    with engine.endpoint.cursor() as root:
        root.execute("SELECT @@GLOBAL.max_connections")
        row = root.fetchone()
        assert row is not None
        root.execute("SET GLOBAL max_connections = 1")
        try:
            by_account.injected()
            by_account.is_refused()
            assert not by_account.write()
        finally:
            # In this session, since no other one could be had.
            root.execute(f"SET GLOBAL max_connections = {row[0]}")
    by_account.is_right()
    by_account.writes(1)
    by_account.nothing_is_lost()


@fault("the password was changed", engine="OceanBase", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT)
def test_a_changed_password(by_account: System, account: Account) -> None:
    by_account.writes(5)
    account.run(f"ALTER USER {USER} IDENTIFIED BY 'another'")
    # A session that is open stays so.
    by_account.is_right()
    by_account.let_go()
    by_account.injected()
    by_account.is_refused()
    assert not by_account.write()
    account.run(f"ALTER USER {USER} IDENTIFIED BY '{PASSWORD}'")
    by_account.is_right()
    by_account.writes(1)
    by_account.nothing_is_lost()


@fault("the account is locked", engine="OceanBase", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT, slow=True)
def test_a_locked_account(by_account: System, account: Account) -> None:
    by_account.writes(5)
    account.run(f"ALTER USER {USER} ACCOUNT LOCK")
    by_account.let_go()
    by_account.injected()
    by_account.is_refused()
    account.run(f"ALTER USER {USER} ACCOUNT UNLOCK")
    by_account.is_right()
    by_account.nothing_is_lost()


@fault("the rights on the database were taken", engine="OceanBase", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT)
def test_rights_that_are_taken(by_account: System, account: Account) -> None:
    by_account.writes(5)
    account.revoke()
    by_account.let_go()
    by_account.injected()
    by_account.is_refused()
    assert not by_account.write()
    account.grant()
    by_account.is_right()
    by_account.writes(1)
    by_account.nothing_is_lost()


@fault(
    "the server's sessions are killed",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
    slow=True,
)
def test_killed_sessions(by_account: System, account: Account, engine: EmbeddedEngine) -> None:
    by_account.writes(5)
    with engine.endpoint.cursor() as root:
        root.execute("SHOW PROCESSLIST")
        theirs = [row[0] for row in root.fetchall() if row[1] == USER]
        assert theirs
        for number in theirs:
            root.execute(f"KILL {number}")
            by_account.injected()
    by_account.is_right()
    by_account.writes(1)
    by_account.nothing_is_lost()


@fault(
    "the engine is set read-only",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
    slow=True,
)
def test_a_read_only_engine(by_account: System, account: Account) -> None:
    by_account.writes(5)
    account.run("SET GLOBAL read_only = 1")
    try:
        by_account.let_go()
        by_account.injected()
        by_account.is_right()
        assert not by_account.write()
    finally:
        account.run("SET GLOBAL read_only = 0")
    by_account.is_right()
    by_account.writes(1)
    by_account.nothing_is_lost()


@fault(
    "rows locked by another session",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no prepare meets it; a write gives up after its time, unacknowledged",
)
def test_rows_that_another_session_locks(direct: System) -> None:
    direct.writes(5)
    before = direct.head()
    with direct.storage.engine.connect() as holder:
        for table in ("artifacts", "revisions", "entries", "entry_versions", "postings", "fields", "tokens", "grants"):
            holder.execute(text(f"SELECT * FROM {table} FOR UPDATE"))
        direct.injected()
        direct.is_right()
        assert not direct.write()
        direct.is_right()
    direct.is_right()
    direct.writes(1)
    assert direct.head() == before + 1
    direct.nothing_is_lost()


@fault(
    "the engine's time zone is changed",
    engine="OceanBase",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
    slow=True,
)
def test_another_time_zone(direct: System, engine: EmbeddedEngine) -> None:
    with engine.endpoint.cursor() as root:
        for zone in ("+13:00", "-12:00", "+08:00"):
            root.execute(f"SET GLOBAL time_zone = '{zone}'")
            for renew in (True, False):
                if renew:
                    direct.let_go()
                direct.injected()
                direct.is_right()
                direct.writes(1)
    direct.nothing_is_lost()
