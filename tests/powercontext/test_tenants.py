"""The tenant proxy: what it says in other words, and that all else passes byte for byte, on a real engine."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pymysql
import pytest
from sqlalchemy.engine import URL, make_url

from harness.target.powercontext.tenants import ClientStream, TenantProxy

MODE = b"SHOW VARIABLES LIKE 'ob_compatibility_mode'"
LOGIN = b"\x85\xa6\x0f\x00" + bytes(28) + b"root\0"
FULL = 0xFF_FF_FF


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def query(text: bytes) -> bytes:
    return packet(0, b"\x03" + text)


def passed(data: bytes, sizes: Iterator[int]) -> bytes:
    """Feed the bytes in pieces of these sizes."""
    stream, out = ClientStream(), b""
    while data:
        size = next(sizes)
        out += stream.feed(data[:size])
        data = data[size:]
    return out


def whole() -> Iterator[int]:
    while True:
        yield 1 << 30


# The words


@pytest.mark.parametrize(
    ("asked", "answerable"),
    [
        (MODE, b"SELECT 'ob_compatibility_mode' AS Variable_name, 'MYSQL' AS Value"),
        (b"SELECT DATABASE(), effective_tenant_id()", b"SELECT DATABASE(), 1002"),
        (b"SELECT DISTINCT VALUE FROM oceanbase.GV$OB_PARAMETERS WHERE NAME = 'cluster_id'", b"SELECT '1' AS VALUE"),
        (
            b"SELECT CREATE_TIME, TENANT_TYPE FROM oceanbase.DBA_OB_TENANTS WHERE TENANT_ID = effective_tenant_id()",
            b"SELECT TIMESTAMP('2026-01-01 00:00:00') AS CREATE_TIME, 'USER' AS TENANT_TYPE",
        ),
    ],
)
def test_the_four_questions_are_put_in_other_words(asked: bytes, answerable: bytes) -> None:
    assert passed(packet(1, LOGIN) + query(asked), whole()) == packet(1, LOGIN) + query(answerable)


@pytest.mark.parametrize("seed", range(20))
def test_any_pieces_give_the_same_bytes(seed: int) -> None:
    chance = random.Random(seed)
    talk = packet(1, LOGIN) + packet(3, b"") + query(b"SELECT 1") + query(MODE) + packet(0, b"\x01") + query(MODE)
    assert passed(talk, iter(lambda: chance.randint(1, 9), 0)) == passed(talk, whole())
    assert passed(talk, whole()) != talk


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(query(b"SELECT '" + MODE + b"'"), id="a text that holds a question"),
        pytest.param(query(b"SELECT 1"), id="another query"),
        pytest.param(packet(0, b"\x16" + MODE), id="a statement that is prepared"),
        pytest.param(packet(0, b""), id="an empty packet"),
        pytest.param(packet(2, b"\x03" + MODE), id="a later packet of a command"),
        pytest.param(query(b"SELECT '" + b"x" * 5000 + b"'"), id="a long query"),
        pytest.param(
            packet(0, b"\x03" + b"x" * (FULL - 1)) + packet(0, b"\x03" + MODE), id="the rest of a packet of 16 MiB"
        ),
    ],
)
def test_all_else_is_left_alone(talk: bytes) -> None:
    talk = packet(1, LOGIN) + talk
    assert passed(talk, whole()) == talk


@pytest.mark.parametrize("flag", [0x800, 0x20])
def test_a_client_that_encrypts_or_compresses_is_not_read(flag: int) -> None:
    talk = packet(1, flag.to_bytes(4, "little") + bytes(28)) + query(MODE)
    assert passed(talk, whole()) == talk
    assert passed(talk, iter([3, 2, 1, 1, 10, *[7] * 100])) == talk


# A real engine


@pytest.fixture(scope="module")
def engine_url(databases: Any) -> URL:
    return make_url(databases.shared("oceanbase")[0])


@pytest.fixture(params=["socket", "port"])
def proxy(request: pytest.FixtureRequest, engine_url: URL) -> Iterator[TenantProxy]:
    path = engine_url.query.get("unix_socket")
    if request.param == "socket" and not path:
        pytest.skip("this engine is reached over TCP only")
    host = "127.0.0.1" if path else str(engine_url.host)
    made = TenantProxy(
        socket=str(path) if request.param == "socket" else "", host=host, port=engine_url.port or pytest.fail("no port")
    )
    yield made
    made.stop()


def connect(url: URL, proxy: TenantProxy) -> pymysql.Connection[Any]:
    return pymysql.connect(
        user=url.username,
        password=url.password or "",
        host="127.0.0.1",
        port=proxy.port,
        database=url.database,
        charset="utf8mb4",
        autocommit=True,
        read_timeout=60,
    )


def test_the_engine_answers_the_questions(engine_url: URL, proxy: TenantProxy) -> None:
    with closing(connect(engine_url, proxy)) as connection, connection.cursor() as cursor:
        cursor.execute(MODE.decode())
        assert cursor.fetchall() == (("ob_compatibility_mode", "MYSQL"),)
        assert [column[0] for column in cursor.description] == ["Variable_name", "Value"]
        cursor.execute("SELECT DATABASE(), effective_tenant_id()")
        assert cursor.fetchone() == (engine_url.database, 1002)


def test_results_and_texts_pass_unchanged(engine_url: URL, proxy: TenantProxy) -> None:
    text = "äöü \U0001f980 '\\ " * 40_000
    with closing(connect(engine_url, proxy)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %s AS text, LENGTH(%s) AS length", (text, text))
        assert cursor.fetchone() == (text, len(text.encode()))


def test_a_packet_of_more_than_16_mib_gets_the_engines_own_answer(engine_url: URL, proxy: TenantProxy) -> None:
    with closing(connect(engine_url, proxy)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@max_allowed_packet")
        (bound,) = cursor.fetchone() or (0,)
        if int(bound) > FULL + 2000:
            cursor.execute("SELECT LENGTH(%s) AS length", ("x" * (FULL + 1000),))
            assert cursor.fetchone() == (FULL + 1000,)
        else:
            with pytest.raises(pymysql.OperationalError, match="max_allowed_packet"):
                cursor.execute("SELECT LENGTH(%s) AS length", ("x" * (FULL + 1000),))


def test_many_connections_at_once(engine_url: URL, proxy: TenantProxy) -> None:
    found: list[int] = []

    def ask(number: int) -> None:
        with closing(connect(engine_url, proxy)) as connection, connection.cursor() as cursor:
            for _ in range(20):
                cursor.execute("SELECT %s", (number,))
                found.extend(cursor.fetchone() or ())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == sorted(list(range(8)) * 20)


def test_stopping_ends_what_is_connected_and_frees_the_port(engine_url: URL, proxy: TenantProxy) -> None:
    port = proxy.port
    with closing(connect(engine_url, proxy)) as connection:
        proxy.stop()
        with pytest.raises(pymysql.OperationalError), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
    proxy.stop()


# A server of bare bytes


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(10)
        yield made


@pytest.fixture
def pair(listener: socket.socket) -> Iterator[tuple[socket.socket, socket.socket, TenantProxy]]:
    proxy = TenantProxy(port=listener.getsockname()[1])
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as client:
        server, _ = listener.accept()
        server.settimeout(10)
        with server:
            yield client, server, proxy
    proxy.stop()


def test_an_end_that_says_no_more_is_still_told(pair: tuple[socket.socket, socket.socket, TenantProxy]) -> None:
    client, server, _ = pair
    client.sendall(packet(1, LOGIN))
    client.shutdown(socket.SHUT_WR)
    assert b"".join(iter(lambda: server.recv(4096), b"")) == packet(1, LOGIN)
    server.sendall(b"late")
    assert client.recv(4096) == b"late"
    server.shutdown(socket.SHUT_WR)
    assert client.recv(4096) == b""


def test_a_server_that_closes_closes_the_client(pair: tuple[socket.socket, socket.socket, TenantProxy]) -> None:
    client, server, _ = pair
    server.sendall(b"bye")
    server.close()
    assert client.recv(4096) == b"bye"
    with suppress(ConnectionResetError):
        assert client.recv(4096) == b""


def test_a_client_of_16_mib_and_more_loses_nothing(pair: tuple[socket.socket, socket.socket, TenantProxy]) -> None:
    client, server, _ = pair
    sent = packet(1, LOGIN) + packet(0, b"\x03" + bytes(FULL - 1)) + packet(1, MODE)
    sender = threading.Thread(target=client.sendall, args=(sent,))
    sender.start()
    came = bytearray()
    while len(came) < len(sent):
        came += server.recv(1 << 20)
    sender.join(10)
    assert came == sent


def test_a_slow_reader_loses_nothing(pair: tuple[socket.socket, socket.socket, TenantProxy]) -> None:
    client, server, _ = pair
    sent = random.Random(1).randbytes(20_000_000)
    sender = threading.Thread(target=server.sendall, args=(sent,))
    sender.start()
    came = bytearray()
    while len(came) < len(sent):
        came += client.recv(1 << 20)
    sender.join(10)
    assert came == sent


def test_a_server_that_is_not_there_is_a_closed_connection() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy = TenantProxy(port=nobody.getsockname()[1])
        with socket.create_connection(("127.0.0.1", proxy.port), 10) as client, suppress(ConnectionResetError):
            assert client.recv(1) == b""
        proxy.stop()
