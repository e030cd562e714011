"""SIGTERM under load: each request that was begun is answered, and nobody new is let in."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator

import pytest

from backends.seeding import seed
from bench.corpus import CURRENT, TOKEN, Corpus
from bench.load import stop_under_load
from bench.serving import RuntimeProcess
from runtime.storage import Storage

BODY = json.dumps({"scope_id": CURRENT, "query": "a b c", "assembly": {}}).encode()
HEAD = (
    b"POST /v1/context/prepare HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nexpect: 100-continue\r\n\r\n" % (TOKEN.encode(), len(BODY))
)


@pytest.fixture
def server(database: str, storage: Storage) -> Iterator[RuntimeProcess]:
    seed(storage, Corpus(1).world(current=20, referenced=20, experiences=2))
    with RuntimeProcess(database) as process:
        yield process


def test_no_request_that_was_begun_before_the_signal_is_dropped(server: RuntimeProcess) -> None:
    drained = stop_under_load(server, [BODY], clients=16)
    print(drained)
    assert (drained.status, drained.dropped) == (0, 0)
    assert drained.refused == 16
    assert drained.answered >= 3 * 16
    assert "Traceback" not in "\n".join(server.last_lines)


def test_a_request_whose_body_is_still_coming_is_answered(server: RuntimeProcess) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(8)]
    for line in lines:
        line.sendall(HEAD)
        # The server asks for the body: it has begun with the request.
        assert line.recv(1000).startswith(b"HTTP/1.1 100 ")
        line.sendall(BODY[:10])
    server.ask_to_stop()
    # Once it has shut the door it refuses; before, a connection may still be taken and closed.
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=30).close()
        except ConnectionRefusedError:
            break
    with pytest.raises(subprocess.TimeoutExpired):
        server._process.wait(0.3)
    for line in lines:
        line.sendall(BODY[10:])
        answer = line.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in answer
        assert b'"schema":"powercontext.prepared-context.v1"' in answer
        line.close()
    assert server.wait() == 0
