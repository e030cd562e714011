"""A server with its own limits, spoken to in bytes: whatever a client may send, and what comes back."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn

from runtime.application import ContextApplication
from runtime.artifacts import EntryWrite, Experience, Family, Profile
from runtime.http.protocol import HttpLimits, server_config
from runtime.http.server import ContextServer
from runtime.recall import RecallSource, default_sources
from runtime.storage import Storage, open_storage

TOKEN = "the-reader-s-token"
PREPARE = "/v1/context/prepare"
REVISION = "/v1/scopes/demo/artifacts/memory/memory/revisions/1"
BODY = b'{"scope_id":"demo","query":"contract tests","assembly":{}}'


def fill(storage: Storage) -> None:
    with storage.writing() as writer:
        for scope_id in ("demo", "unseen"):
            writer.create_scope(scope_id)
            writer.write_memory(scope_id, [EntryWrite("entry-1", "entry-1-v1", "contract tests")])
        writer.write_document("demo", "experience-1", Experience("contract", "tests", "were", "run"))
        writer.write_document("demo", "profile", Profile("prefers contract tests"))
        writer.store_token("reader", TOKEN)
        writer.grant("reader", "demo")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer: its status, its headers by lower-case name, its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(self.error["code"])

    @property
    def error(self) -> dict[str, Any]:
        """The error in the shape of SPEC.md 2."""
        assert self.headers["content-type"] == "application/json"
        assert self.headers["x-request-id"]
        value = json.loads(self.body)
        assert list(value) == ["error"]
        assert list(value["error"]) == ["code", "message", "details"]
        assert isinstance(value["error"]["message"], str)
        return dict(value["error"])


class Line:
    """One connection."""

    def __init__(self, port: int, *, seconds: float = 30.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._read = b""

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send; a server that has refused and closed takes no more."""
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def answer(self, *, to: str = "POST") -> Answered | None:
        """Return the next answer, or None where the connection ends instead of one."""
        head = self._until(b"\r\n\r\n")
        if not head:
            return None
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split(" ")[1])
        if status == 100:
            return self.answer(to=to)
        size = 0 if to == "HEAD" else int(headers["content-length"])
        return Answered(status, headers, self._take(size))

    def is_closed(self) -> bool:
        """Wait for the end of the connection, and say that nothing came before it."""
        return self._read == b"" and not self._more()

    def _until(self, end: bytes) -> bytes:
        while end not in self._read:
            if not self._more():
                assert self._read == b"", f"a broken off answer: {self._read[:200]!r}"
                return b""
        size = self._read.index(end) + len(end)
        return self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self._read) < size:
            assert self._more(), "an answer without its end"
        taken, self._read = self._read[:size], self._read[size:]
        return taken

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65_536)
        except ConnectionError:
            return False
        self._read += data
        return data != b""


def request(
    method: str = "POST",
    target: str = PREPARE,
    body: bytes | None = BODY,
    *headers: bytes,
    token: str | None = TOKEN,
    media_type: str | None = "application/json",
) -> bytes:
    """Return a request as it goes out."""
    lines = [f"{method} {target} HTTP/1.1".encode(), b"host: 127.0.0.1"]
    if token is not None:
        lines.append(b"authorization: Bearer " + token.encode())
    if media_type is not None and body is not None:
        lines.append(b"content-type: " + media_type.encode())
    if body is not None:
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, *headers, b"", body or b""])


class Guarded:
    """A server in this process, and everything that it logs."""

    def __init__(self, url: str, limits: HttpLimits, sources: Mapping[Family, RecallSource]) -> None:
        self.application = ContextApplication(open_storage(url), sources={**default_sources(), **sources})
        self.log = _Log()
        self._server = uvicorn.Server(
            server_config(ContextServer(self.application).app, limits=limits, stop_seconds=10)
        )
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(512)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.server_state.connections)

    def line(self, *, seconds: float = 30.0) -> Line:
        return Line(self.port, seconds=seconds)

    def ask(self, *requests: bytes) -> Answered | None:
        """Send this over a connection of its own, and return the first answer."""
        with self.line() as line:
            line.send(b"".join(requests))
            return line.answer()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=30)
        self._socket.close()
        self.application.close()
        self.log.close()


@contextmanager
def guarded(
    url: str, *, limits: HttpLimits | None = None, sources: Mapping[Family, RecallSource] | None = None
) -> Iterator[Guarded]:
    """Serve a database; `sources` take the place of the default ones of their families."""
    server = Guarded(url, limits or HttpLimits(), sources or {})
    try:
        yield server
    finally:
        server.stop()


class _Log(logging.Handler):
    """All that is logged, by whomever."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)
            logging.getLogger(name).setLevel(logging.INFO)
            logging.getLogger(name).propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def close(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)
        super().close()


_LOGGERS = ("runtime", "uvicorn", "asyncio")
