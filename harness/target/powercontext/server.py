"""One server process of a released PowerContext on one database, and how other processes reach it.

The life of a server, and what each step raises: making it EngineError; `start` EngineError when its database does not
answer, HarnessError when the release cannot use it; `await_ready` HarnessError with the code server_ended or
server_slow; `restart` any of these.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import hmac
import http.client
import os
import secrets
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from backends.base import Backend
from backends.errors import EngineError
from backends.provision.process import OwnedProcess
from harness.errors import HarnessError, NotRun
from harness.target.powercontext.database import Way, choose_way
from harness.target.powercontext.releases import Release

Info = dict[str, str]
"""What another process needs to reach a server; holds a key, so never print it."""

ADMINISTRATOR = "harness-administrator"
"""The principal that the launcher makes an administrator."""
LAUNCHER = Path(__file__).with_name("launcher.py")
READY_SECONDS = 90.0

_SLOW_SECONDS = 3.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
_STOP_SECONDS = 5.0
_LOG_LINES = 12
_LOG_LINE_CHARACTERS = 240
_LOG_BYTES = 16_384
_PREFIX = "POWERCONTEXT_SERVER_"
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_SETTINGS = {
    "MCP_ENABLED": "false",
    "METRICS_ENABLED": "false",
    "TRACING_ENABLED": "false",
    "LOGGING_ACCESS": "false",
}


class RunningServer:
    """A server as one of its users sees it, in whichever process."""

    def __init__(self, info: Info) -> None:
        self._info = info

    @property
    def version(self) -> str:
        """The release's version."""
        return self._info["version"]

    @property
    def backend(self) -> str:
        """The name of the backend that its database is on."""
        return self._info["backend"]

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._info["url"]

    @property
    def way(self) -> str:
        """How it gets at its database, in a few words for reports."""
        return self._info["way"]

    @property
    def log_path(self) -> Path:
        """The file that it writes its log to, all starts to the same."""
        return Path(self._info["log"])

    def token(self, principal_id: str) -> str:
        """Return the bearer token by which the server knows a principal."""
        identifier = base64.urlsafe_b64encode(principal_id.encode()).decode().rstrip("=")
        signature = hmac.new(self._info["key"].encode(), identifier.encode(), hashlib.sha256).hexdigest()
        return f"{identifier}.{signature}"

    def info(self) -> Info:
        """Describe it for attach() in another process; holds the key of its tokens."""
        return dict(self._info)

    def restart(self) -> None:
        """Say that only its owner can do that: raises NotRun."""
        raise NotRun("needs a server of its own, since it is restarted")

    def check(self) -> None:
        """Leave it to its owner."""

    def ask_to_stop(self) -> None:
        """Leave it to its owner."""

    def stop(self) -> None:
        """Leave it to its owner."""

    def is_ready(self) -> bool:
        """Ask it once whether it is ready; False too when nobody answers."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=_ANSWER_SECONDS)
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class ReleasedServer(RunningServer):
    """A server process that belongs to this one and dies with it; always at the same URL."""

    def __init__(
        self,
        release: Release,
        engine: Backend,
        directory: Path,
        *,
        access: Literal["enforced", "disabled"] = "enforced",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Make its database on a started engine, and keep a port for it.

        Below `directory` it gets a home of its own. `settings` are more of the product's own, without their prefix.
        """
        name = secrets.token_hex(4)
        self._release = release
        self._database_url = engine.database_url(f"pch_released_{name}")
        self._home = directory.absolute() / f"powercontext-{release.version}-{engine.name}-{name}"
        self._settings = {**_SETTINGS, "ACCESS_MODE": access, **(settings or {})}
        self._owner_pid = os.getpid()
        self._way: Way | None = None
        self._child: OwnedProcess | None = None
        # Bound and never listening: it keeps the port for this server, also while no process serves it.
        self._port = socket.socket()
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._port.bind(("127.0.0.1", 0))
        super().__init__(
            {
                "version": release.version,
                "backend": engine.name,
                "url": f"http://127.0.0.1:{self._port.getsockname()[1]}",
                "key": secrets.token_hex(32),
                "way": "",
                "log": str(self._home / "log.txt"),
            }
        )

    @staticmethod
    def attach(info: Info) -> RunningServer:
        """Reach a server that another process started, whose life stays that process's affair."""
        return RunningServer(dict(info))

    @property
    def pid(self) -> int | None:
        """The process's number, None before the start."""
        return None if self._child is None else self._child.pid

    def start(self) -> None:
        """Begin to start it without waiting; again is nothing. Raises EngineError and HarnessError, see choose_way."""
        if self._child is not None:
            return
        self._home.mkdir(parents=True, exist_ok=True)
        if self._way is None:
            self._way = choose_way(self._release, self.backend, self._database_url)
            self._info["way"] = self._way.sentence
            atexit.register(self.stop)
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(self._port.getsockname())
            # The process itself will listen, so that until then whoever asks is refused at once.
            self._child = OwnedProcess(
                [str(self._release.python), "-I", str(LAUNCHER)],
                output=self.log_path,
                environment=self._environment(self._way, listener.fileno()),
                descriptors=[listener.fileno()],
            )

    def await_ready(self, deadline: float | None = None) -> None:
        """Wait until it answers that it is ready, at most until a reading of the monotonic clock.

        Raises HarnessError: server_ended with the last lines of its log, server_slow. Its process is ended then.
        """
        child = self._child
        assert child is not None, "a server is started before it is awaited"
        began, told = time.monotonic(), False
        if deadline is None:
            deadline = began + READY_SECONDS
        while not self.is_ready():
            now = time.monotonic()
            if child.exit_code is None and now <= deadline:
                if not told and now - began > _SLOW_SECONDS:
                    told = True
                    print(f"waiting up to {deadline - now:.0f} s for {self._who} to be ready", file=sys.stderr)
                child.ended_within(_POLL_SECONDS)
                continue
            error = self._slow() if child.exit_code is None else self._ended("while starting", child.exit_code)
            self._end_child()
            raise error

    def check(self) -> None:
        """Raise HarnessError with the code server_ended when its process has ended."""
        if self._child is not None and (code := self._child.exit_code) is not None:
            raise self._ended("in mid-run", code)

    def restart(self) -> None:
        """Stop it and start it again, on the same database at the same URL, and wait until it is ready."""
        self._end_child()
        self.start()
        self.await_ready()

    def ask_to_stop(self) -> None:
        """Ask it to end, and do not wait; stop() does."""
        if self._child is not None and os.getpid() == self._owner_pid:
            self._child.ask_to_end()

    def stop(self) -> None:
        """End it for good, by its pid; again is nothing, and so it is in a process that was forked from the owner."""
        if os.getpid() != self._owner_pid:
            return
        atexit.unregister(self.stop)
        self._end_child()
        way, self._way = self._way, None
        if way is not None and way.proxy is not None:
            way.proxy.stop()
        self._port.close()

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end(_STOP_SECONDS)

    def _environment(self, way: Way, listener: int) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        settings = {f"{_PREFIX}{name}": value for name, value in self._settings.items()}
        return {
            **kept,
            **settings,
            **way.environment,
            f"{_PREFIX}WORKSPACE": str(self._home),
            "HOME": str(self._home),
            "POWERCONTEXT_HOME": str(self._home),
            "HARNESS_SOCKET": str(listener),
            "HARNESS_TOKEN_KEY": self._info["key"],
            "HARNESS_SCHEDULER": str(self._home / "scheduler"),
        }

    @property
    def _who(self) -> str:
        return f"PowerContext {self.version} on {self.backend}"

    def _ended(self, when: str, code: int) -> HarnessError:
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return HarnessError(
            "server_ended",
            f"{self._who} ended {when}",
            cause="\n".join([how, *_last_lines(self.log_path)]),
        )

    def _slow(self) -> HarnessError:
        return HarnessError(
            "server_slow",
            f"{self._who} was not ready in time",
            cause="\n".join(_last_lines(self.log_path)) or None,
            hint="a machine under load needs longer",
        )


Failure = HarnessError | EngineError


def start_servers(servers: Mapping[str, ReleasedServer]) -> dict[str, Failure]:
    """Begin to start all, then wait for all at once; returns why, for each that could not be had and is stopped."""
    failures: dict[str, Failure] = {}
    deadline = time.monotonic() + READY_SECONDS
    try:
        for name, server in servers.items():
            try:
                server.start()
            except (EngineError, HarnessError) as error:
                server.stop()
                failures[name] = error
        for name, server in servers.items():
            if name not in failures:
                try:
                    server.await_ready(deadline)
                except HarnessError as error:
                    server.stop()
                    failures[name] = error
    except BaseException:
        for server in servers.values():
            server.stop()
        raise
    return failures


def _last_lines(path: Path) -> list[str]:
    with suppress(OSError), path.open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_BYTES))
        lines = log.read().decode("utf-8", "replace").splitlines()
        # A traceback underlines each of its lines.
        return [line[:_LOG_LINE_CHARACTERS] for line in lines if line.strip(" ^~")][-_LOG_LINES:]
    return []
