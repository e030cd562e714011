"""A TCP proxy on loopback in front of a server of MySQL's protocol, that breaks the way to it on demand."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backends.provision.databases import Endpoint

Fault = Literal["none", "reset", "half-close", "black hole", "delay", "cut before COMMIT", "cut after COMMIT"]
"""What happens to each connection, those that exist already and those to come.

reset: the client is told at once that it is over. half-close: the server's side says nothing more and reads on.
black hole: nothing arrives any more, and nobody is told. delay: each piece takes longer. cut at COMMIT: the client is
reset instead of getting the answer to COMMIT, which the server has not seen, or has carried out.
"""

_PIECE_BYTES = 65_536
_HEADER_BYTES = 4
_COM_QUERY = 3
_AWAIT_SECONDS = 30.0


@dataclass(eq=False)
class _Connection:
    """A client and its server, each a pair of streams."""

    client: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    cut_at_answer: bool = False
    pumps: list[asyncio.Task[None]] = field(default_factory=list)

    def reset(self) -> None:
        """End both sides, the client's by a TCP reset."""
        channel = self.client[1].get_extra_info("socket")
        # Lingering for no time at all is what turns an end into a reset.
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client[1].transport.abort()
        self.server[1].transport.abort()


class Proxy:
    """A listener on a free loopback port; what arrives goes to an endpoint, unless a fault is set."""

    def __init__(self, upstream: Endpoint) -> None:
        self._upstream = upstream
        self._fault: Fault = "none"
        self._delay_seconds = 0.0
        self._connections: set[_Connection] = set()
        self._changed = threading.Condition()
        self.met = 0
        """How often a fault met somebody: a connection that was reset, a piece that was held back."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._open = self._do(self._new_event())
        self._server = self._do(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def endpoint(self) -> Endpoint:
        """The server's endpoint by way of this proxy."""
        return replace(self._upstream, socket="", host="127.0.0.1", port=self.port)

    def set(self, fault: Fault, *, delay_seconds: float = 0.0) -> None:
        """Let a fault begin, or end it by `none`; returns when it is so."""
        self._do(self._set(fault, delay_seconds))

    @contextmanager
    def broken(self, fault: Fault, *, delay_seconds: float = 0.0) -> Iterator[None]:
        """Let a fault last as long as the block."""
        self.set(fault, delay_seconds=delay_seconds)
        try:
            yield
        finally:
            self.set("none")

    def wait_until_met(self, times: int) -> bool:
        """Wait until a fault has met somebody so many times since the start, and say whether it did."""
        with self._changed:
            return self._changed.wait_for(lambda: self.met >= times, _AWAIT_SECONDS)

    def close(self) -> None:
        """End all connections and the listener."""
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_AWAIT_SECONDS)
        self._loop.close()

    async def _new_event(self) -> asyncio.Event:
        event = asyncio.Event()
        event.set()
        return event

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_AWAIT_SECONDS)

    def _count(self) -> None:
        with self._changed:
            self.met += 1
            self._changed.notify_all()

    async def _set(self, fault: Fault, delay_seconds: float) -> None:
        self._fault, self._delay_seconds = fault, delay_seconds
        self._open.clear() if fault == "black hole" else self._open.set()
        for connection in tuple(self._connections):
            if fault == "reset":
                self._reset(connection)
            elif fault == "half-close":
                self._half_close(connection)

    async def _close(self) -> None:
        self._server.close()
        connections = tuple(self._connections)
        for connection in connections:
            connection.reset()
            for pump in connection.pumps:
                pump.cancel()
        await asyncio.gather(*(pump for c in connections for pump in c.pumps), return_exceptions=True)

    def _reset(self, connection: _Connection) -> None:
        connection.reset()
        self._count()

    def _half_close(self, connection: _Connection) -> None:
        with suppress(OSError, RuntimeError):
            connection.client[1].write_eof()
        self._count()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = self._upstream
        try:
            server = await (
                asyncio.open_unix_connection(there.socket)
                if there.socket
                else asyncio.open_connection(there.host, there.port)
            )
        except OSError:
            # As a port on which nobody listens: the client learns it at once.
            writer.transport.abort()
            return
        connection = _Connection((reader, writer), server)
        self._connections.add(connection)
        if self._fault == "reset":
            self._reset(connection)
        elif self._fault == "half-close":
            self._half_close(connection)
        to_server = self._pump(connection, connection.client[0], connection.server[1], self._sent)
        to_client = self._pump(connection, connection.server[0], connection.client[1], self._answered)
        connection.pumps = [asyncio.ensure_future(to_server), asyncio.ensure_future(to_client)]
        # One side's end is the other's, as with a firewall that forgets a connection as a whole.
        await asyncio.wait(connection.pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in connection.pumps:
            pump.cancel()
        for stream in (connection.client[1], connection.server[1]):
            stream.close()
        self._connections.discard(connection)

    async def _pump(
        self,
        connection: _Connection,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        look: Callable[[_Connection, bytes], bool],
    ) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE_BYTES):
                if not self._open.is_set():
                    self._count()
                    await self._open.wait()
                if self._fault == "delay":
                    self._count()
                    await asyncio.sleep(self._delay_seconds)
                if not look(connection, piece):
                    return
                sink.write(piece)
                await sink.drain()

    def _sent(self, connection: _Connection, piece: bytes) -> bool:
        """Say whether what a client sends may pass."""
        if self._fault.startswith("cut") and _is_commit(piece):
            if self._fault == "cut before COMMIT":
                self._reset(connection)
                return False
            connection.cut_at_answer = True
        return True

    def _answered(self, connection: _Connection, piece: bytes) -> bool:
        """Say whether what a server answers may pass."""
        del piece
        if connection.cut_at_answer:
            self._reset(connection)
            return False
        # After a half-close the server's words have nowhere to go.
        return self._fault != "half-close"


def _is_commit(piece: bytes) -> bool:
    """Say whether a piece is the statement COMMIT: a client sends it alone and waits for its answer."""
    command, statement = piece[_HEADER_BYTES : _HEADER_BYTES + 1], piece[_HEADER_BYTES + 1 :]
    return command == bytes([_COM_QUERY]) and statement.strip().upper() == b"COMMIT"
