"""How a host that cannot be installed is told: skipped where the machine lacks something, failed where we are wrong."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import host_environments
import pytest
from host_environments import pi_command, python_with_pydantic_ai

from backends.provision.homes import STATE_VARIABLE

pytestmark = pytest.mark.host

NOBODY = "http://127.0.0.1:1/"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))


@pytest.fixture
def no_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith(("PIP_", "NPM_CONFIG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", NOBODY)
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("npm_config_registry", NOBODY)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))


def test_a_registry_that_cannot_be_reached_is_a_reason_to_skip_pydantic_ai(no_registry: None) -> None:
    with pytest.raises(pytest.skip.Exception, match="pydantic-ai cannot be installed: its registry cannot be reached"):
        python_with_pydantic_ai()


def test_a_registry_that_cannot_be_reached_is_a_reason_to_skip_pi(no_registry: None) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"pi cannot be installed: .*(registry|node)"):
        pi_command()


def test_a_machine_without_node_is_a_reason_to_skip_pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="node or npm is not on this machine"):
        pi_command()


def test_a_node_that_is_too_old_is_a_reason_to_skip_pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v18.20.4\n", encoding="utf-8")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"node is v18\.20\.4, and 20\.6 or newer is needed"):
        pi_command()


def test_a_lock_that_is_wrong_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.lock").write_text(f"idna==3.20 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    monkeypatch.setattr(host_environments, "PYDANTIC_AI", tmp_path)
    # Without an index there is another reason, and it is told.
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception), match=r"HASHES|registry cannot be reached"):
        python_with_pydantic_ai()


def test_a_lock_of_what_the_registry_does_not_have_is_a_failure(
    no_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    (tmp_path / "requirements.lock").write_text(f"idna==3.20 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    monkeypatch.setattr(host_environments, "PYDANTIC_AI", tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as registry:
        serving = threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{registry.server_port}/")
        try:
            with pytest.raises(pytest.fail.Exception, match="No matching distribution found"):
                python_with_pydantic_ai()
        finally:
            registry.shutdown()
            serving.join()


def test_an_installation_that_failed_is_not_taken_for_a_host(no_registry: None) -> None:
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception):
            python_with_pydantic_ai()
    assert not list(host_environments.hosts_directory().glob("*/complete"))
