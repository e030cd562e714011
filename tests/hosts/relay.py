"""What stands between a host and the server on loopback: it keeps what passes, or does wrong in the server's place."""

from __future__ import annotations

import http.client
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit


@dataclass(slots=True)
class Exchange:
    """One request and its answer; the answer's fields are those of a request that got none until it came."""

    path: str
    body: bytes
    headers: dict[str, str]
    status: int = 0
    answer: bytes = b""


@dataclass(slots=True)
class Silence:
    """An answer that never comes, or of which only the `first` bytes come, until it is released."""

    first: bytes = b""
    released: threading.Event = field(default_factory=threading.Event)


Instead = tuple[int, bytes] | Silence
"""What is answered in the server's place."""


class Relay:
    """Serves while it is entered: passes everything on to `upstream`, or answers `instead`."""

    def __init__(self, upstream: str | None = None, *, instead: Instead | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self._instead = instead
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                exchange = Exchange(self.path, body, {name.lower(): value for name, value in self.headers.items()})
                relay.exchanges.append(exchange)
                if isinstance(instead, Silence):
                    if instead.first:
                        self.send_response(200)
                        self.send_header("content-length", "1000")
                        self.end_headers()
                        self.wfile.write(instead.first)
                        self.wfile.flush()
                    instead.released.wait(120)
                    self.close_connection = True
                    return
                exchange.status, exchange.answer = instead or _passed_on(str(upstream), exchange)
                self.send_response(exchange.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(exchange.answer)))
                self.end_headers()
                self.wfile.write(exchange.answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._instead, Silence):
            self._instead.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _passed_on(upstream: str, exchange: Exchange) -> tuple[int, bytes]:
    parts = urlsplit(upstream)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    kept = {name: value for name, value in exchange.headers.items() if name in ("authorization", "content-type")}
    try:
        connection.request("POST", exchange.path, exchange.body, kept)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
