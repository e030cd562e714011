"""Servers that somebody else runs, and servers that end: what a run says of them."""

from __future__ import annotations

import http.server
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_servers import READY, stand_in

from backends import create
from harness.errors import HarnessError
from harness.run.session import Session
from harness.scenario.loader import parse
from harness.target.powercontext import system
from harness.target.powercontext.system import ELSEWHERE, ReleasedSystem, RemoteSystem

ME = {"principal": {"id": "root"}}
SCENARIO = """\
scenario: one memory
scopes:
  demo: {memory: [{entry: one, text: tea}]}
steps:
  - {step: asked, prepare: {scope_id: demo, query: tea, assembly: {}}, expect: {status: ready}}
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request by the server's own words."""

    def do_GET(self) -> None:
        body = self.server.words  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def somebody() -> Iterator[http.server.HTTPServer]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (b"<html>", "no_server"),
        (b"[]", "no_server"),
        (json.dumps({"info": {"title": "Another API", "version": "1.4.1"}, **ME}).encode(), "no_server"),
        (json.dumps({"info": {"version": "1.4.1"}, **ME}).encode(), "no_server"),
        (json.dumps({"info": {"title": "PowerContext API", "version": "0.2.0"}, **ME}).encode(), "release_too_old"),
        (json.dumps({"info": {"title": "PowerContext API", "version": 3}, **ME}).encode(), ""),
        (json.dumps({"info": {"title": "PowerContext API", "version": "new"}, **ME}).encode(), "release_too_old"),
    ],
)
def test_a_server_that_is_no_release_is_missing_with_the_reason(
    words: bytes, told: str, somebody: http.server.HTTPServer
) -> None:
    somebody.words = words  # type: ignore[attr-defined]
    remote = RemoteSystem(f"http://127.0.0.1:{somebody.server_port}/", "token")
    missing = remote.start({})
    if told:
        assert missing[ELSEWHERE].startswith(told)
        # What did not answer says nothing of itself.
        assert remote.ways() == {}
    else:
        assert missing == {}
        assert remote.ways() == {ELSEWHERE: "powercontext 3 of somebody else's, as root"}


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://127.0.0.1:0",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:port",
        "http://[::1",
        "http://a b:1",
        "http://127.0.0.1:8000/api",
        "https://127.0.0.1?x=y",
        "http://user:secret@127.0.0.1/api",
    ],
)
def test_a_url_that_is_not_asked_as_it_is_written_is_a_mistake(url: str) -> None:
    with pytest.raises(HarnessError) as caught:
        RemoteSystem(url, "token")
    assert caught.value.code == "bad_url"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "https://example.org", "http://[::1]:8000"])
def test_a_slash_behind_a_server_is_no_other_server(url: str) -> None:
    assert RemoteSystem(url, "token").name == RemoteSystem(f"{url}/", "token").name == url


def test_a_server_that_was_killed_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "named_release", lambda _: stand_in(tmp_path / "release", READY))
    engine = create("sqlite", oceanbase_url=None, run_directory=tmp_path / "engines")
    engine.start()
    released = ReleasedSystem("powercontext==1.4.1", tmp_path)
    session = Session({"sqlite": engine}, names=["sqlite"], target=released, database="pch_killed")
    try:
        assert released.start({"sqlite": engine}) == {}
        released.check("sqlite")
        child = released._servers["sqlite"]._child  # type: ignore[attr-defined]
        os.kill(child.pid, signal.SIGKILL)
        assert child.ended_within(20)
        # The second one is not tried any more.
        for name in ("first.yaml", "second.yaml"):
            outcome = session.outcome(parse(SCENARIO.encode(), Path("scenarios", name)), "sqlite")
            assert outcome.verdict == "engine fault"
            assert outcome.reason.startswith("server_ended: PowerContext 1.4.1 on sqlite ended in mid-run")
            assert "I am ready" in outcome.reason
    finally:
        session.close()
        released.stop()
        engine.stop()
