"""HTTP below the routes: how long a head may be, how long a client may take, and refusals in the shape of SPEC.md 2.

uvicorn itself bounds neither a request's head nor the time that a client takes over it, and answers what is no HTTP
in plain text.
"""

from __future__ import annotations

import json
import logging
import uuid
from asyncio import AbstractEventLoop, TimerHandle, Transport
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Literal

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

log = logging.getLogger("runtime.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """What one client may take of a server."""

    connections: int = 256
    headers: int = 100
    head_bytes: int = 16_384
    """Of the request's target, and of all names and values of its headers."""
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 30.0
    """How long a client may leave an answer unread."""
    idle_seconds: int = 5
    """How long a connection stays open between two requests."""


class _Refused(Exception):
    """Breaks off the parser."""


Refusal = tuple[Literal[400, 408, 431, 503], str, str]
_MALFORMED: Refusal = (400, "bad_request", "The request is not well-formed HTTP.")
_LATE: Refusal = (408, "request_timeout", "The request took too long to arrive.")
_HEAD_TOO_LARGE: Refusal = (431, "headers_too_large", "The request's target and headers are too large.")
_TOO_MANY: Refusal = (503, "service_unavailable", "There are too many connections.")


class BoundedProtocol(HttpToolsProtocol):
    """One connection: its requests are bounded, and whatever is refused here is the connection's last answer."""

    limits: ClassVar[HttpLimits] = HttpLimits()

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._deadline: TimerHandle | None = None
        """Until when the request that is being read must be there."""
        self._cut_off: TimerHandle | None = None
        """When a client that does not read is given up."""
        self._begun = self._in_head = self._in_body = False
        self._head_bytes = self._headers_seen = self._unparsed_bytes = 0
        self._refusal = _MALFORMED
        self._refused = False
        self._last_words: bytes | None = None
        """A refusal that waits for the answers to earlier requests."""
        self._stopping = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a connection, or refuse one too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(_TOO_MANY)
        else:
            self._wait(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        self._take_back_cut_off()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came; nothing more behind a refusal."""
        if self._refused:
            return
        if self._deadline is None:
            self._wait(self.limits.head_seconds)
        self._begun = True
        in_head = self._in_head
        super().data_received(data)
        # The parser keeps an unfinished line to itself.
        if in_head and self._in_head and not self._refused:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > self.limits.head_bytes:
                self._refuse(_HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._begun = self._in_head = True
        if self._deadline is None:
            # It came behind another one's end.
            self._wait(self.limits.head_seconds)
        self._head_bytes = self._headers_seen = self._unparsed_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one behind a chunked body is counted and not heard."""
        self._headers_seen += 1
        self._count(len(name) + len(value))
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, and wait for the body."""
        self._in_head = False
        super().on_headers_complete()
        self._in_body = True
        if self._stopping:
            self.cycle.keep_alive = False
        self._wait(self.limits.body_seconds)

    def on_message_complete(self) -> None:
        """Have a whole request; the next one may take its time to begin."""
        self._in_body = self._begun = False
        self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Have answered; a refusal that waited for this comes now."""
        super().on_response_complete()
        if self._last_words is not None and not self.pipeline and self.cycle.response_complete:
            self._end(self._last_words)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser broke off at."""
        del msg
        self._refuse(self._refusal)

    def shutdown(self) -> None:
        """Answer what was begun, then close."""
        self._stopping = True
        if self.cycle is not None and not self.cycle.response_complete:
            super().shutdown()
        else:
            # What lies unread in the kernel's buffer was begun, too: the loop looks there once more in between.
            self.loop.call_soon(self.loop.call_soon, self._close_if_idle)

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever."""
        super().pause_writing()
        self._give_up_later()

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        self._take_back_cut_off()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is not used."""
        super().timeout_keep_alive_handler()
        self._give_up_later()

    def _close_if_idle(self) -> None:
        if not self._begun and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
            self._give_up_later()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.limits.head_bytes or self._headers_seen > self.limits.headers:
            self._refusal = _HEAD_TOO_LARGE
            raise _Refused

    def _late(self) -> None:
        self._deadline = None
        if self._begun or self._in_body:
            self._refuse(_LATE)
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Give the connection's last answer, in its place behind those that are due."""
        self._refused = True
        self._stop_waiting()
        words = _answer(refusal)
        cycle = self.cycle
        if not self._in_body:
            if cycle is None or cycle.response_complete:
                self._end(words)
            else:
                self._last_words = words
        elif cycle.response_complete or cycle.response_started:
            # The request has its answer.
            self._end(b"")
        elif waiting := [queued for queued in self.pipeline if queued[0] is cycle]:
            self.pipeline.remove(waiting[0])
            self._last_words = words
            cycle.response_complete = True
        else:
            # Whoever waits for the body learns that it will not come.
            cycle.disconnected = True
            cycle.message_event.set()
            self._end(words)

    def _end(self, words: bytes) -> None:
        self._unset_keepalive_if_required()
        if not self.transport.is_closing():
            self.transport.write(words)
            self.transport.close()
            self._give_up_later()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up_later(self) -> None:
        self._take_back_cut_off()
        self._cut_off = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def _take_back_cut_off(self) -> None:
        if self._cut_off is not None:
            self._cut_off.cancel()
            self._cut_off = None


def bounded(limits: HttpLimits) -> type[BoundedProtocol]:
    """Return the protocol with other limits."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})


def server_config(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limits: HttpLimits | None = None,
    stop_seconds: float | None = None,
) -> uvicorn.Config:
    """Return how this runtime is served; `stop_seconds` bounds how long a stop waits for answers."""
    limits = limits or HttpLimits()
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=bounded(limits),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        # Nothing here asks who the client is, so nobody is believed about it.
        proxy_headers=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=None if stop_seconds is None else round(stop_seconds),
    )


def _answer(refusal: Refusal) -> bytes:
    status, code, message = refusal
    request_id = uuid.uuid4().hex
    log.info("%s refused %d", request_id, status)
    body = json.dumps({"error": {"code": code, "message": message, "details": None}}, separators=(",", ":")).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
