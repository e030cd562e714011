"""The runtime as users start it: `python -m runtime serve` in a process of its own, and a small client of it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any, Self

from bench.context import ROOT
from bench.figures import BenchFailed

START_SECONDS = 60.0
STOP_SECONDS = 60.0
_READY = "running on http://"
_KEPT_LINES = 200


class RuntimeProcess:
    """A server of a database; stopped by its pid, whatever happens meanwhile."""

    def __init__(self, database_url: str, **settings: str) -> None:
        self.port = _free_port()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("POWERCONTEXT_SERVER_")}
        own = {"DATABASE_URL": database_url, "PORT": str(self.port), **settings}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "runtime", "serve"],
            cwd=ROOT,
            env=kept | {f"POWERCONTEXT_SERVER_{name}": value for name, value in own.items()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        """The end of what it logged."""
        self.warnings = 0
        """How many lines of its log were warnings or worse."""
        self._told = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._told.wait(START_SECONDS)
        if not any(_READY in line for line in self.last_lines):
            self.stop()
            raise BenchFailed(f"the server did not start: {' '.join(self.last_lines)[-300:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    @property
    def resident_megabytes(self) -> float:
        """What it holds in memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def cpu_seconds(self) -> float:
        """What it has computed so far."""
        return cpu_seconds(self.pid)

    def connection(self) -> Connection:
        """Return a new connection to it."""
        return Connection(self.port)

    def ask_to_stop(self) -> None:
        """Send it SIGTERM: it answers what was begun."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait for its end, and return its exit code; raises subprocess.TimeoutExpired."""
        code = self._process.wait(timeout=STOP_SECONDS)
        self._listener.join(timeout=STOP_SECONDS)
        return code

    def stop(self) -> None:
        """End it, by force where it must be."""
        self.ask_to_stop()
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self._process.kill()
            self.wait()

    def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with stream:
            for line in stream:
                self.last_lines.append(line.rstrip("\n"))
                if " INFO " not in line:
                    self.warnings += 1
                if _READY in line:
                    self._told.set()
        self._told.set()


class Connection:
    """One connection that is kept open, as an agent's would be."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def prepare(self, token: str, body: bytes) -> tuple[int, bytes]:
        """Post a prepare; returns status and body. Raises OSError, HTTPException."""
        return self._post("/v1/context/prepare", token, body)

    def read_entry(self, token: str, request: Any) -> tuple[int, bytes]:
        """Read an Entry version exactly."""
        return self._post("/v1/memory/entries/get", token, json.dumps(request).encode())

    def get(self, path: str, token: str) -> tuple[int, bytes]:
        """Get a path."""
        return self._send("GET", path, None, {"authorization": f"Bearer {token}"})

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _post(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        return self._send("POST", path, body, {"authorization": f"Bearer {token}", "content-type": "application/json"})

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            self._http.request(method, path, body=body, headers=headers)
            answer = self._http.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            # A request that broke off half sent would stand in the way of every later one.
            self._http.close()
            raise


def cpu_seconds(pid: int) -> float:
    """Return what a process has computed so far, in steps of the kernel's clock (0.01 s as a rule)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
