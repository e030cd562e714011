"""The embedded way: the server executable inside the wheel of pylibseekdb, run as a child for one test run.

Source of the parameters and the bounds: ENGINES.md, as measured.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from backends.base import Info
from backends.errors import EngineDied, EngineError, EngineSlow, NotStarted, PortInUse
from backends.provision.databases import Endpoint, check_oceanbase
from backends.provision.homes import STATE_VARIABLE, Home, is_engine, open_home, state_directory
from backends.provision.machine import (
    Machine,
    available_memory,
    check_disk,
    check_memory,
    free_port,
    free_space,
    locate_server,
    port_is_free,
)
from backends.provision.process import OwnedProcess

START_SECONDS = 60.0
_SLOW_SECONDS = 3.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LOG_LINES = 5
_LOG_LINE_CHARACTERS = 240
_PARAMETERS = ("memory_budget=1G", "datafile_size=64M", "log_disk_size=2G")
_PORT_TRIES = 3


@dataclass(frozen=True, slots=True)
class Needs:
    """How the machine is looked at, so that a test can show what happens on another one."""

    machine: Machine
    locate: Callable[[], Path] = locate_server
    free_space: Callable[[Path], int] = free_space
    available_memory: Callable[[], int] = available_memory
    choose_port: Callable[[], int] = free_port


class EmbeddedEngine:
    """A seekdb server that belongs to this process and dies with it."""

    way: ClassVar[str] = "embedded"

    def __init__(
        self, *, state: Path | None = None, start_seconds: float = START_SECONDS, needs: Needs | None = None
    ) -> None:
        self._state = state_directory() if state is None else state.absolute()
        self._start_seconds = start_seconds
        self._needs = Needs(Machine.here()) if needs is None else needs
        self._owner_pid = os.getpid()
        self._home: Home | None = None
        self._child: OwnedProcess | None = None
        self._endpoint: Endpoint | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the engine listens. Raises NotStarted."""
        if self._endpoint is None:
            raise NotStarted("oceanbase")
        return self._endpoint

    @property
    def pid(self) -> int:
        """The engine's process. Raises NotStarted."""
        if self._child is None:
            raise NotStarted("oceanbase")
        return self._child.pid

    @property
    def detail(self) -> str:
        """Process and directory, for a report."""
        return f"process {self.pid}" + (f" in {self._home.directory}" if self._home else "")

    def start(self) -> None:
        """Start the engine and secure it: a random root password, clients of this machine only.

        Raises PlatformUnsupported, WheelMissing, StateDirectoryUnusable, DiskFull, MemoryShort, PortInUse, EngineDied,
        EngineSlow.
        """
        if self._endpoint is not None:
            return
        deadline = time.monotonic() + self._start_seconds
        self._needs.machine.check()
        executable = self._needs.locate()
        check_memory(self._needs.available_memory)
        for attempt in range(1, _PORT_TRIES + 1):
            self._home = open_home(self._state, wait_seconds=self._start_seconds)
            atexit.register(self.stop)
            try:
                check_disk(self._state, STATE_VARIABLE, self._needs.free_space)
                self._endpoint = self._start_once(executable, self._home, deadline)
                return
            except PortInUse:
                self.stop()
                if attempt == _PORT_TRIES:
                    raise
            except BaseException:
                self.stop()
                raise

    def check(self) -> None:
        """Raise EngineDied with the engine's last words, or the error of a query that fails."""
        try:
            check_oceanbase(self.endpoint)
        except EngineError:
            # Asked after the query: it may have died at that very moment.
            if self._child is not None and self._child.exit_code is not None:
                raise self._died("in mid-run") from None
            raise

    def stop(self) -> None:
        """End the engine by its pid and remove its files; nothing in a process that was forked from the owner."""
        if os.getpid() != self._owner_pid:
            return
        atexit.unregister(self.stop)
        child, self._child = self._child, None
        home, self._home = self._home, None
        self._endpoint = None
        if child is not None:
            child.end(_STOP_SECONDS)
        if home is not None:
            home.remove()

    def start_again(self) -> None:
        """Start an engine that has ended on the files that it left; its socket and its password stay the same.

        Raises NotStarted, EngineDied, EngineSlow.
        """
        there, home = self.endpoint, self._home
        assert home is not None
        port = self._needs.choose_port()
        self._child = _begin(self._needs.locate(), home, port)
        self._await_query(there, time.monotonic() + self._start_seconds)
        self._endpoint = replace(there, port=port)

    def info(self) -> Info:
        """Describe the engine for a worker; holds the password."""
        there = self.endpoint
        home = str(self._home.directory) if self._home else ""
        told = {"socket": there.socket, "port": str(there.port), "password": there.password}
        return {**told, "pid": str(self.pid), "home": home}

    def _start_once(self, executable: Path, home: Home, deadline: float) -> Endpoint:
        port = self._needs.choose_port()
        self._child = _begin(executable, home, port)
        fresh = Endpoint(user="root", password="", socket=str(home.socket), connect_seconds=5, read_seconds=5)
        try:
            self._await_query(fresh, deadline)
            password = secrets.token_urlsafe(24)
            with fresh.cursor() as cursor:
                cursor.execute("SET GLOBAL ob_tcp_invited_nodes = '127.0.0.1'")
                cursor.execute("ALTER USER root IDENTIFIED BY %s", (password,))
        except EngineError:
            # The engine ends without a message when its port is taken, at times after its socket answered.
            if self._child.ended_within(0.5):
                raise self._died("while starting") if port_is_free(port) else PortInUse(port) from None
            raise
        return Endpoint(user="root", password=password, socket=str(home.socket), port=port)

    def _await_query(self, endpoint: Endpoint, deadline: float) -> None:
        child, home = self._child, self._home
        assert child is not None
        assert home is not None
        began, told, cause = time.monotonic(), False, None
        while True:
            if child.exit_code is not None:
                raise self._died("while starting")
            try:
                check_oceanbase(endpoint)
                return
            except EngineError as error:
                cause = error.cause or error.message
            now = time.monotonic()
            if now > deadline:
                raise EngineSlow(self._start_seconds, cause, last_lines(home))
            if not told and now - began > _SLOW_SECONDS:
                told = True
                left = deadline - now
                print(f"waiting up to {left:.0f} s for OceanBase (seekdb) to answer its first query", file=sys.stderr)
            child.ended_within(_POLL_SECONDS)

    def _died(self, when: str) -> EngineDied:
        assert self._child is not None
        assert self._home is not None
        return EngineDied(when, self._child.exit_code, last_lines(self._home))


class AttachedEngine:
    """An embedded engine that another process owns."""

    way: ClassVar[str] = EmbeddedEngine.way

    def __init__(self, info: Info) -> None:
        self._info = info
        self.endpoint = Endpoint(user="root", password=info["password"], socket=info["socket"], port=int(info["port"]))
        self.detail = f"process {info['pid']}, of another owner"

    def start(self) -> None:
        """It runs already."""

    def check(self) -> None:
        """Raise EngineDied when the process is gone, or the error of a query that fails."""
        check_owned_elsewhere(self.endpoint, self._info, "in mid-run")

    def stop(self) -> None:
        """Leave the engine to its owner."""

    def info(self) -> Info:
        """Pass on what the owner told."""
        return self._info


def check_owned_elsewhere(endpoint: Endpoint, info: Info, when: str) -> None:
    """Raise EngineDied when an engine that another process owns is gone, or the error of a query that fails."""
    try:
        check_oceanbase(endpoint)
    except EngineError:
        home = Home(Path(info["home"]))
        if not is_engine(int(info["pid"]), home.base):
            raise EngineDied(when, None, last_lines(home)) from None
        raise


def _begin(executable: Path, home: Home, port: int) -> OwnedProcess:
    command = [
        *(str(executable), "--nodaemon", "--port", str(port), "--base-dir", str(home.base), "--log-level", "WARN"),
        *(part for parameter in _PARAMETERS for part in ("--parameter", parameter)),
    ]
    environment = {**os.environ, "TELEMETRY_ENABLED": "false"}
    try:
        return OwnedProcess(command, output=home.output, environment=environment)
    except OSError as error:
        raise EngineDied("before it began", None, [str(error)]) from None


def last_lines(home: Home) -> list[str]:
    """Return the last lines of an engine's log, else of its output, each cut to a screen's length."""
    for path in (home.base / "log" / "seekdb.log", home.output):
        with suppress(OSError), path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
            if lines := log.read().decode("utf-8", "replace").splitlines():
                return [line[:_LOG_LINE_CHARACTERS] for line in lines[-_LOG_LINES:]]
    return []
