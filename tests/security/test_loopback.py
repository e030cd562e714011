"""What is started here can be reached from this machine alone."""

from __future__ import annotations

import re
import socket
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from backends import create
from backends.errors import EngineError
from backends.oceanbase import OceanBase
from backends.provision.databases import check_oceanbase
from bench.serving import RuntimeProcess
from runtime.settings import Settings


def other_address() -> str:
    """Return an IPv4 address of this machine's that is not loopback, as the kernel's table of routes has it."""
    trie = Path("/proc/net/fib_trie").read_text(encoding="ascii")
    local = re.findall(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", trie)
    others = [address for address in local if not address.startswith("127.")]
    if not others:
        pytest.skip("needs an address that is not loopback")
    return str(others[0])


def test_the_server_listens_on_loopback_unless_told_otherwise(tmp_path: Path) -> None:
    assert Settings(database_url="x").host == "127.0.0.1"
    address = other_address()
    with RuntimeProcess(f"sqlite:///{tmp_path}/x.db") as server:
        socket.create_connection(("127.0.0.1", server.port), timeout=10).close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((address, server.port), timeout=10)


def test_an_engine_lets_in_loopback_alone_and_nobody_without_a_password(tmp_path: Path) -> None:
    backend = create("oceanbase", oceanbase_url=None, run_directory=tmp_path)
    assert isinstance(backend, OceanBase)
    backend.start()
    try:
        there = backend.engine.endpoint
        if not there.socket:
            pytest.skip("needs an engine of our own")
        with there.cursor() as cursor:
            cursor.execute("SELECT @@port")
            row = cursor.fetchone()
        assert row is not None
        near = replace(there, socket="", host="127.0.0.1", port=int(row[0]))
        check_oceanbase(near)
        with pytest.raises(EngineError):
            check_oceanbase(replace(near, password=""))
        with pytest.raises(pymysql.MySQLError):
            pymysql.connect(
                user="root",
                password=there.password,
                host=other_address(),
                port=near.port,
                connect_timeout=10,
                read_timeout=10,
            )
    finally:
        backend.stop()
