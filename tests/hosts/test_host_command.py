"""`python -m runtime.hosts prepare` as a host starts it, and the diagnostics of each kind of failure."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from host_worlds import ASSEMBLY, DOCUMENT, PROMPT, answer, assert_nothing_private, faults, relayed, world
from host_worlds import settings as settings_of
from relay import Relay

from runtime.hosts import Outcome, tell
from runtime.hosts.outcomes import of_error
from runtime.http.client.errors import Conflict, Forbidden, Misuse, NotFound, RequestRefused, ServerFailed, Unauthorized
from runtime.storage import Storage

TEXT = "  first\r\n\u2028>     \u00e9 \u4e2d \U0001f600 \ufeff\x00 last  "


def run(
    settings: dict[str, str], query: bytes = PROMPT.encode(), *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POWERCONTEXT_HOST_")}
    return subprocess.run(
        [sys.executable, "-m", "runtime.hosts", *(arguments or ("prepare",))],
        env=kept | settings,
        input=query,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_the_text_comes_out_byte_for_byte_and_nothing_else() -> None:
    raw = answer(content=TEXT, content_bytes=len(TEXT.encode("utf-8")))
    with Relay(instead=(200, raw)) as relay:
        done = run(settings_of(relay.url))
    assert (done.returncode, done.stdout, done.stderr) == (0, TEXT.encode("utf-8"), b"")
    assert json.loads(relay.exchanges[0].body)["query"] == PROMPT


def test_the_servers_own_text_comes_out_byte_for_byte(storage: Storage, database: str) -> None:
    with world(storage, database) as relay:
        done = run(settings_of(relay.url))
    (exchange,) = relay.exchanges
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == json.loads(exchange.answer)["content"].encode("utf-8")
    assert json.loads(exchange.body)["assembly"] == ASSEMBLY
    # The document shows this very text.
    assert f"```text\n{done.stdout.decode('utf-8')}\n```\n" in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", faults())
def test_each_failure_has_its_line_and_the_exit_code_of_success(name: str) -> None:
    fault = faults()[name]
    with relayed(fault) as url:
        done = run(settings_of(url, TIMEOUT_SECONDS=fault.patience_seconds))
    assert (done.returncode, done.stdout) == (0, b"")
    (line,) = done.stderr.decode().rstrip("\n").split("\n")
    assert json.loads(line) == fault.diagnostic
    assert_nothing_private(line)


def test_an_assembly_that_is_not_set_is_not_sent() -> None:
    with Relay(instead=(200, answer())) as relay:
        settings = settings_of(relay.url)
        del settings["POWERCONTEXT_HOST_ASSEMBLY"]
        assert run(settings).stdout == b"text"
    assert set(json.loads(relay.exchanges[0].body)) == {"scope_id", "query", "max_bytes"}


def test_a_refused_request_is_sent_once_and_as_it_is() -> None:
    with Relay(instead=(422, b"{}")) as relay:
        run(settings_of(relay.url))
    assert len(relay.exchanges) == 1


@pytest.mark.parametrize(
    ("settings", "query", "reason"),
    [
        ({}, b"query", "not_configured"),
        (settings_of("http://127.0.0.1:1", ASSEMBLY="null"), b"query", "configuration POWERCONTEXT_HOST_ASSEMBLY"),
        (settings_of("no url"), b"query", "configuration"),
        (settings_of("http://127.0.0.1:1", TOKEN="two\nlines"), b"query", "configuration"),
        (settings_of("http://127.0.0.1:1"), b" \n", "query"),
        (settings_of("http://127.0.0.1:1"), b"\xff", "query"),
        (settings_of("http://127.0.0.1:1", ENABLED="0"), b"query", "disabled"),
    ],
)
def test_what_cannot_be_asked_is_skipped(settings: dict[str, str], query: bytes, reason: str) -> None:
    done = run(settings, query)
    assert (done.returncode, done.stdout) == (0, b"")
    assert json.loads(done.stderr) == {"event": "powercontext_prepare", "outcome": "skipped", "reason": reason}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_host_that_closes_a_stream_gets_no_traceback(closed: str) -> None:
    with Relay(instead=(200, answer())) as relay:
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" -m runtime.hosts prepare {closed}', sys.executable],
            env={"PATH": os.environ["PATH"], **settings_of(relay.url)},
            input=PROMPT.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
    skipped = json.dumps({"event": "powercontext_prepare", "outcome": "skipped", "reason": "query"}).encode() + b"\n"
    assert (done.returncode, done.stderr) == (0, skipped if closed == "<&-" else b"")
    assert done.stdout == (b"text" if closed == "2>&-" else b"")


def test_a_command_line_that_is_none_is_misuse() -> None:
    done = run({}, b"", "inject")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "sent", "outcome"),
    [
        (RequestRefused(400, "invalid_request"), True, Outcome("version_mismatch", None, "request_refused", 400)),
        # Without an assembly there is nothing that an older server would not know.
        (RequestRefused(422, "invalid_request"), False, Outcome("invalid_response", None, "refused", 422)),
        (RequestRefused(413, "payload_too_large"), True, Outcome("invalid_response", None, "refused", 413)),
        (NotFound(404, "not_found"), False, Outcome("version_mismatch", None, "operation_unknown", 404)),
        (NotFound(404, "scope_not_found"), True, Outcome("invalid_response", None, "refused", 404)),
        (Unauthorized(401, "unauthorized"), True, Outcome("invalid_response", None, "refused", 401)),
        (Forbidden(403, "forbidden"), True, Outcome("invalid_response", None, "refused", 403)),
        (Conflict(409, "conflict"), True, Outcome("invalid_response", None, "refused", 409)),
        (ServerFailed(500, "internal_error"), True, Outcome("server_unavailable", None, "status", 500)),
        (Misuse("url_malformed", "The URL http://secret"), True, Outcome("skipped", None, "configuration")),
        (RuntimeError("secret"), True, Outcome("skipped", None, "internal RuntimeError")),
    ],
)
def test_each_error_has_its_outcome(error: Exception, sent: bool, outcome: Outcome) -> None:
    assert of_error(error, assembly_sent=sent) == outcome
    assert "secret" not in outcome.line


def test_a_stderr_that_is_closed_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stderr in (closed, None):
        monkeypatch.setattr(sys, "stderr", stderr)
        tell(Outcome("empty"))


def test_a_text_that_came_needs_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell(Outcome("ready", "text"))
    assert capsys.readouterr().err == ""
    assert "text" not in repr(Outcome("ready", "text"))
