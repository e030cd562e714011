"""A loopback server that records each request as it came, byte for byte, and answers by a script."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

EMPTY = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
Script = bytes | Literal["hang", "close", "drip"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Recorder:
    """What was sent to a URL."""

    url: str
    sent: list[Sent] = field(default_factory=list)


def http(status: int, body: object, *headers: str) -> bytes:
    """Return an answer with a body: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(content)}", *headers]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode() + content


def error(status: int, code: object, *headers: str, message: str = "", details: Any = None) -> bytes:
    """Return a refusal in the shape of the contract."""
    return http(status, {"error": {"code": code, "message": message, "details": details}}, *headers)


@contextmanager
def recording(*scripts: Script) -> Iterator[Recorder]:
    """Serve one connection for each script, one after the other; the last one is for all that follow."""
    over = threading.Event()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        recorder = Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=_serve, args=(listener, recorder, scripts, over), daemon=True)
        thread.start()
        try:
            yield recorder
        finally:
            over.set()
            with suppress(OSError):
                # Closing it alone would not wake who waits for a connection.
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=30)
            assert not thread.is_alive()


def _serve(listener: socket.socket, recorder: Recorder, scripts: Sequence[Script], over: threading.Event) -> None:
    served = 0
    while not over.is_set():
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        script = scripts[min(served, len(scripts) - 1)]
        served += 1
        with connection, suppress(OSError):
            recorder.sent.append(_read(connection))
            if script == "hang":
                over.wait(60)
            elif script == "drip":
                connection.sendall(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{")
                # Not for ever: who waits for its end shall fail, not hang.
                for _ in range(100):
                    if not over.wait(0.05):
                        connection.sendall(b" ")
            elif script != "close":
                assert isinstance(script, bytes)
                connection.sendall(script)


def _read(connection: socket.socket) -> Sent:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or _ended()
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536) or _ended()
    return Sent(line, headers, body)


def _ended() -> bytes:
    raise OSError("the connection ended in mid-request")
