"""Servers of the runtime for one test, and what is told by their answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from harness.target.reference import Server
from runtime.application import ContextApplication
from runtime.builder import Candidate
from runtime.http.server import ContextServer
from runtime.recall import RecallRequest, default_sources
from runtime.storage import Reader, open_storage

TOKEN = "the reader's token"
ADMINISTRATOR = "the administrator's token"


class Served:
    """One server, its application, and a client of it."""

    def __init__(self, url: str, application: ContextApplication) -> None:
        self.application = application
        self.http = httpx.Client(base_url=url, timeout=30, trust_env=False)

    def send(
        self, method: str, path: str, *, token: str | None = TOKEN, content: bytes | None = None, **headers: str
    ) -> httpx.Response:
        """Send these bytes to this raw path."""
        sent = {} if token is None else {"authorization": f"Bearer {token}"}
        if content is not None:
            sent["content-type"] = "application/json"
        return self.http.request(method, path, content=content, headers=sent | headers)

    def prepare(self, *, token: str | None = TOKEN, **fields: Any) -> httpx.Response:
        """Ask for a context of the Scope demo."""
        body = {"scope_id": "demo", "query": "contract tests"} | fields
        return self.send("POST", "/v1/context/prepare", token=token, content=json.dumps(body).encode())


@contextmanager
def serving(url: str, *, sources: Mapping[Any, Any] | None = None, **options: Any) -> Iterator[Served]:
    """Serve a database; `sources` take the place of the default ones of their families."""
    application = ContextApplication(open_storage(url), sources={**default_sources(), **(sources or {})}, **options)
    server = Server(ContextServer(application).app)
    served = Served(server.url, application)
    try:
        yield served
    finally:
        served.http.close()
        server.stop()
        application.close()


def code(answer: httpx.Response) -> tuple[int, str]:
    """Return status and code of an error, having looked at its shape."""
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"]
    value = answer.json()
    assert list(value) == ["error"]
    assert set(value["error"]) == {"code", "message", "details"}
    assert isinstance(value["error"]["message"], str)
    if value["error"]["code"] != "invalid_request":
        assert value["error"]["details"] is None
    return answer.status_code, value["error"]["code"]


def sections(*selected: str) -> dict[str, Any]:
    """Return an assembly of one item of each family."""
    return {"sections": [{"family": family, "limit": 1} for family in selected]}


class Fixed:
    """A source that always finds the same."""

    def __init__(self, found: Sequence[Candidate]) -> None:
        self._found = found

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        return self._found


class Failing:
    """A source that raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        raise self._error


class Hanging:
    """A source that reads, waits until it is released, and reads again."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self._all_done = threading.Semaphore(0)

    def recall(self, reader: Reader, request: RecallRequest) -> Sequence[Candidate]:
        try:
            reader.ping()
            assert self.released.wait(60)
            reader.ping()
        finally:
            self._all_done.release()
        return ()

    def release(self, calls: int) -> None:
        """Let all go on, and wait until so many are through."""
        self.released.set()
        for _ in range(calls):
            assert self._all_done.acquire(timeout=60)
