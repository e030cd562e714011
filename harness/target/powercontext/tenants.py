"""A loopback MySQL proxy for servers that ask which tenant they are in, of an engine that has no tenants.

Releases of PowerContext up to 1.4.0 refuse an OceanBase engine without tenants at their start. Here four questions are
put in other words that such an engine can answer; all else passes byte for byte, so the release itself is untouched.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

_QUESTIONS = (
    (
        b"SHOW VARIABLES LIKE 'ob_compatibility_mode'",
        b"SELECT 'ob_compatibility_mode' AS Variable_name, 'MYSQL' AS Value",
    ),
    (b"SELECT DATABASE(), effective_tenant_id()", b"SELECT DATABASE(), 1002"),
    (
        b"SELECT DISTINCT VALUE FROM oceanbase.GV$OB_PARAMETERS WHERE NAME = 'cluster_id'",
        b"SELECT '1' AS VALUE",
    ),
    (
        b"SELECT CREATE_TIME, TENANT_TYPE FROM oceanbase.DBA_OB_TENANTS",
        b"SELECT TIMESTAMP('2026-01-01 00:00:00') AS CREATE_TIME, 'USER' AS TENANT_TYPE",
    ),
)
"""How each question begins, and what is asked in its place."""

_HEADER = 4
_LONGEST_QUESTION = 1024
_FULL_PACKET = 0xFF_FF_FF
_COM_QUERY = 3
# A client that will encrypt or compress sends no packets that could be read.
_CLIENT_COMPRESS, _CLIENT_SSL = 0x20, 0x800


class ClientStream:
    """The bytes of one client on their way to the server, the questions in them put in other words."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._passing = 0
        self._greeted = self._continued = self._opaque = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes, and return those that may go on; the beginning of a packet is held until it is known."""
        if self._opaque:
            return data
        held, ready = self._held, bytearray()
        held += data
        while held:
            if self._passing:
                part = held[: self._passing]
                del held[: len(part)]
                self._passing -= len(part)
                ready += part
            elif not self._begin_packet(ready):
                break
        return bytes(ready)

    def _begin_packet(self, ready: bytearray) -> bool:
        """Decide on the packet that begins the held bytes; returns whether there were enough of them."""
        held = self._held
        if len(held) < _HEADER:
            return False
        length, number = int.from_bytes(held[:3], "little"), held[3]
        if not self._greeted:
            if len(held) < _HEADER + min(length, 4):
                return False
            self._greeted = True
            if int.from_bytes(held[_HEADER : _HEADER + 4], "little") & (_CLIENT_SSL | _CLIENT_COMPRESS):
                self._opaque = True
                ready += held
                held.clear()
                return True
        may_ask = number == 0 and not self._continued and length <= _LONGEST_QUESTION
        # What follows a packet of the full length is the rest of the same command, whatever it looks like.
        self._continued = length == _FULL_PACKET
        if not may_ask:
            self._passing = _HEADER + length
            return True
        if len(held) < _HEADER + length:
            return False
        command = bytes(held[_HEADER : _HEADER + length])
        del held[: _HEADER + length]
        command = _in_other_words(command)
        ready += len(command).to_bytes(3, "little") + b"\0" + command
        return True


def _in_other_words(command: bytes) -> bytes:
    if command[:1] == bytes([_COM_QUERY]):
        text = command[1:].strip()
        for question, other in _QUESTIONS:
            if text.startswith(question):
                return bytes([_COM_QUERY]) + other
    return command


class TenantProxy:
    """The proxy on a port of 127.0.0.1, served by a thread of its own until it is stopped."""

    def __init__(self, *, socket: str = "", host: str = "127.0.0.1", port: int = 0) -> None:
        self._socket, self._host, self._port = socket, host, port
        self._loop = asyncio.new_event_loop()
        self._sides: set[_Side] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tenant proxy", daemon=True)
        self._thread.start()
        try:
            self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except BaseException:
            self._end()
            raise

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.sockets[0].getsockname()[1])

    def stop(self) -> None:
        """Close every connection and the port; again is nothing."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._end()

    async def _listen(self) -> asyncio.Server:
        return await self._loop.create_server(lambda: _Client(self._sides, self._reach), "127.0.0.1", 0)

    async def _reach(self, client: _Client) -> None:
        def side() -> _Side:
            return _Side(self._sides, client)

        try:
            if self._socket:
                await self._loop.create_unix_connection(side, self._socket)
            else:
                await self._loop.create_connection(side, self._host, self._port)
        except OSError:
            # To the client this is a server that closes at once, which its driver tells in its own words.
            client.transport.abort()

    async def _close(self) -> None:
        self._server.close()
        for side in tuple(self._sides):
            side.transport.abort()
        # An aborted transport closes its socket in the loop's next turn.
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Side(asyncio.Protocol):
    """One of a connection's two ends: what it receives goes to its peer."""

    transport: asyncio.Transport

    def __init__(self, sides: set[_Side], peer: _Side | None) -> None:
        self._sides = sides
        self._peer = peer
        self._has_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the peer, which has waited for this."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._sides.add(self)
        if self._peer is not None:
            if self._peer.transport.is_closing():
                transport.abort()
                return
            self._peer._peer = self
            self._peer.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Hand on what came."""
        if self._peer is not None:
            self._peer.transport.write(self._passed_on(data))

    def eof_received(self) -> bool:
        """Close this direction only, as the end did; both ends having done so, close."""
        self._has_ended = True
        peer = self._peer
        if peer is None or peer._has_ended:
            return False
        peer.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        """Read no more for an end that does not keep up."""
        if self._peer is not None:
            self._peer.transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on once it has."""
        if self._peer is not None:
            self._peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the other end have what is on its way, then close it too."""
        del exc
        self._sides.discard(self)
        if self._peer is not None:
            self._peer.transport.close()

    def _passed_on(self, data: bytes) -> bytes:
        return data


class _Client(_Side):
    """The end that asks; nothing is read of it before the server is reached."""

    def __init__(self, sides: set[_Side], reach: Callable[[_Client], Coroutine[Any, Any, None]]) -> None:
        super().__init__(sides, None)
        self._reach = reach
        self._stream = ClientStream()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the server first."""
        super().connection_made(transport)
        self.transport.pause_reading()
        self._reaching = asyncio.ensure_future(self._reach(self))

    def _passed_on(self, data: bytes) -> bytes:
        return self._stream.feed(data)
