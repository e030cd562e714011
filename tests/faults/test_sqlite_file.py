"""What happens to an SQLite file: locked, read-only, no room, damaged, another's journal, gone."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from records import NOT_READY, READY, UNAVAILABLE, Fault, Measured, fault
from systems import AT_ONCE, SECONDS, System

from backends.faults import MountRefused, fill, other_process, read_only, small_disk
from runtime.errors import RuntimeNotReady

NEXT = "with the next request"
PAGE = 4096

# Another program on the same file; it says "ready" when it has done its part.
LOCKS = """
import sqlite3, sys
file, locking, begin = sys.argv[1:]
connection = sqlite3.connect(file, isolation_level=None)
connection.execute(f"PRAGMA locking_mode={locking}")
connection.execute(f"BEGIN {begin}")
connection.execute("INSERT INTO scopes VALUES ('held')")
print("ready", flush=True)
sys.stdin.read()
"""
WRITES = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint=0")
for number in range(200):
    connection.execute("INSERT INTO scopes VALUES (?)", [f"other-{number}"])
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO scopes VALUES ('broken off')")
print("ready", flush=True)
sys.stdin.read()
"""


@fault(
    "another process holds the write lock (BEGIN IMMEDIATE, BEGIN EXCLUSIVE)",
    engine="SQLite",
    answer=READY,
    bound=AT_ONCE,
    recovers="no prepare meets it; a write gives up after its time, unacknowledged",
)
def test_a_locked_file(on_file: System, file: Path) -> None:
    on_file.writes(20)
    for begin in ("IMMEDIATE", "EXCLUSIVE"):
        with other_process(LOCKS, str(file), "NORMAL", begin) as other:
            assert other.said() == "ready"
            on_file.injected()
            on_file.is_right()
            assert not on_file.write()
            on_file.is_right()
        on_file.writes(1)
    on_file.nothing_is_lost()


@fault(
    "another process has the file for itself (locking_mode EXCLUSIVE) between requests",
    engine="SQLite",
    answer=UNAVAILABLE,
    bound=SECONDS + 1.0,
    recovers=NEXT,
    slow=True,
)
def test_a_file_that_another_process_has_for_itself(on_file: System, file: Path) -> None:
    on_file.writes(20)
    on_file.let_go()
    with other_process(LOCKS, str(file), "EXCLUSIVE", "EXCLUSIVE") as other:
        assert other.said() == "ready"
        on_file.injected()
        on_file.is_refused()
        assert not on_file.write()
    on_file.is_right()
    on_file.writes(1)
    on_file.nothing_is_lost()


@fault(
    "another process has the file for itself when the server starts",
    engine="SQLite",
    answer=NOT_READY,
    bound=2 * SECONDS + 1.0,
    recovers=NEXT,
    slow=True,
)
def test_a_start_on_a_locked_file(on_file: System, file: Path) -> None:
    on_file.let_go()
    with other_process(LOCKS, str(file), "EXCLUSIVE", "EXCLUSIVE") as other:
        assert other.said() == "ready"
        on_file.injected()
        service = on_file.another_server()
        on_file.is_refused(service, error=RuntimeNotReady)
    on_file.is_right(service)


@fault(
    "another process is killed in a transaction and leaves its journal (WAL)",
    engine="SQLite",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
)
def test_a_journal_of_another_process(on_file: System, file: Path) -> None:
    on_file.writes(20)
    on_file.let_go()
    with other_process(WRITES, str(file)) as other:
        assert other.said() == "ready"
        other.kill()
    on_file.injected()
    assert Path(f"{file}-wal").stat().st_size > 0
    on_file.is_right()
    on_file.writes(1)
    on_file.nothing_is_lost()
    with on_file.writer.reading() as reader:
        assert all(reader.scopes(f"other-{number}", None) for number in range(200))
        assert reader.scopes("broken off", None) == []


@fault(
    "a killed writer, in mid-write",
    engine="SQLite",
    answer=READY,
    bound=AT_ONCE,
    recovers="no request meets it",
    slow=True,
)
def test_a_killed_writer_keeps_what_was_acknowledged(on_file: System, file: Path) -> None:
    acknowledged = 0
    for _ in range(3):
        program = KILLED_WRITER
        with other_process(program, on_file.url, str(acknowledged)) as other:
            for _ in range(20):
                acknowledged = int(other.said())
            other.kill()
        on_file.injected()
        on_file.is_right()
    with on_file.writer.reading() as reader:
        found = sum(bool(reader.scopes(f"scope-{number}", None)) for number in range(1, acknowledged + 1))
    on_file.measured.acknowledged += acknowledged
    on_file.measured.lost += acknowledged - found
    assert found == acknowledged
    on_file.nothing_is_lost()


KILLED_WRITER = """
import sys
from itertools import count
from runtime.errors import WriteRefused
from runtime.storage import open_storage
storage = open_storage(sys.argv[1])
for number in count(int(sys.argv[2]) + 1):
    try:
        with storage.writing() as writer:
            writer.create_scope(f"scope-{number}")
    except WriteRefused:
        pass  # It was committed before the kill, and not yet said.
    print(number, flush=True)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    try:
        with small_disk(tmp_path / "disk", 4_194_304) as disk:
            yield disk
    except MountRefused as refused:
        pytest.skip(f"a small disk needs the right to mount: {refused}")


@pytest.fixture
def on_disk(disk: Path, row: Fault, measured: Measured) -> Iterator[System]:
    system = System(f"sqlite:///{disk / 'powercontext.db'}", row, measured)
    yield system
    system.close()


@fault("disk full while the server runs", engine="SQLite", answer=READY, bound=AT_ONCE, recovers="no prepare meets it")
def test_a_full_disk(on_disk: System, disk: Path) -> None:
    on_disk.writes(20)
    for _ in range(3):
        with fill(disk):
            on_disk.injected()
            # What the journal has room for is written still.
            assert any(not on_disk.write() for _ in range(500))
            on_disk.is_right()
        on_disk.is_right()
        on_disk.writes(1)
    on_disk.nothing_is_lost()


@fault("disk full when the server starts", engine="SQLite", answer=NOT_READY, bound=AT_ONCE, recovers=NEXT)
def test_a_start_on_a_full_disk(on_disk: System, disk: Path) -> None:
    on_disk.writes(20)
    on_disk.let_go()
    with fill(disk):
        on_disk.injected()
        service = on_disk.another_server()
        on_disk.is_refused(service, error=RuntimeNotReady)
    on_disk.is_right(service)
    on_disk.nothing_is_lost()


@fault("directory read-only", engine="SQLite", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT)
def test_a_read_only_directory(on_disk: System, disk: Path) -> None:
    on_disk.writes(20)
    on_disk.let_go()
    with read_only(disk):
        on_disk.injected()
        # Even to read, SQLite has to make a journal's index beside the file.
        on_disk.is_refused()
        assert not on_disk.write()
        on_disk.is_refused(on_disk.another_server(), error=RuntimeNotReady)
    on_disk.is_right()
    on_disk.writes(1)
    on_disk.nothing_is_lost()


def damages(page: int) -> Iterator[bytes]:
    """Yield what may stand in a page's place."""
    yield bytes(PAGE)
    yield b"\xff" * PAGE
    yield random.Random(page).randbytes(PAGE)


def put(file: Path, content: bytes) -> None:
    """Change a file in its place, as a disk does."""
    with file.open("r+b") as stream:
        stream.write(content)


@fault(
    "each page of the file damaged in turn, three ways",
    engine="SQLite",
    answer=f"{UNAVAILABLE}, or {READY} where the page is not needed",
    bound=AT_ONCE,
    recovers="with the next request after the file is mended",
)
def test_a_damaged_page(on_file: System, file: Path) -> None:
    on_file.writes(20)
    on_file.let_go()
    whole = file.read_bytes()
    refused = 0
    for page in range(len(whole) // PAGE):
        for damage in damages(page):
            on_file.is_right()
            # Pages that a connection has read already are damaged unseen.
            on_file.storage.close()
            put(file, whole[: page * PAGE] + damage + whole[(page + 1) * PAGE :])
            on_file.injected()
            refused += not on_file.is_right_or_refused()
            put(file, whole)
            on_file.is_right()
            on_file.storage.close()
    assert refused > 20
    on_file.nothing_is_lost()


@fault(
    "file cut to half its length, or no database at all",
    engine="SQLite",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers="with the next request after a copy is in its place",
)
def test_a_file_that_is_no_database(on_file: System, file: Path) -> None:
    on_file.writes(20)
    on_file.let_go()
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no database " * 100, whole[: PAGE // 2], b""):
        os.truncate(file, len(damaged))
        put(file, damaged)
        on_file.injected()
        on_file.is_refused()
        # A server that starts on an empty file takes it for a new database.
        if damaged:
            on_file.is_refused(on_file.another_server(), error=RuntimeNotReady)
        copy = file.with_name("copy.db")
        copy.write_bytes(whole)
        copy.rename(file)
        on_file.is_right()
        on_file.let_go()
        on_file.forget_servers()
    on_file.writes(1)
    on_file.nothing_is_lost()


@fault("file moved away and back", engine="SQLite", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT)
def test_a_file_that_is_moved_away(on_file: System, file: Path) -> None:
    on_file.writes(20)
    for _ in range(3):
        aside = file.rename(file.with_name("aside.db"))
        on_file.injected()
        on_file.is_refused()
        assert not on_file.write()
        on_file.is_refused(on_file.another_server(), error=RuntimeNotReady)
        assert not file.exists()
        aside.rename(file)
        on_file.is_right()
        on_file.writes(1)
    on_file.nothing_is_lost()


@fault("file moved away in mid-write", engine="SQLite", answer=UNAVAILABLE, bound=AT_ONCE, recovers=NEXT)
def test_a_file_that_is_moved_away_in_mid_write(on_file: System, file: Path) -> None:
    on_file.writes(5)
    aside = file.with_name("aside.db")
    with on_file.before_statement(5, lambda: file.rename(aside), of=on_file.writer):
        assert not on_file.write()
    on_file.injected()
    on_file.is_refused()
    aside.rename(file)
    on_file.is_right()
    on_file.writes(1)
    on_file.nothing_is_lost()


@fault(
    "file removed, and brought back from a copy",
    engine="SQLite",
    answer=UNAVAILABLE,
    bound=AT_ONCE,
    recovers="with the next request after the copy is there",
)
def test_a_file_that_is_removed(on_file: System, file: Path) -> None:
    on_file.writes(20)
    on_file.let_go()
    whole = file.read_bytes()
    on_file.is_right()
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{file}{suffix}").unlink()
    on_file.injected()
    on_file.is_refused()
    assert not on_file.write()
    assert not file.exists()
    file.write_bytes(whole)
    on_file.is_right()
    on_file.writes(1)
    on_file.nothing_is_lost()
