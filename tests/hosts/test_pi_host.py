"""The pi coding agent, run for real on the server and on servers that do wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from host_environments import PI, pi_command
from host_worlds import (
    ASSEMBLY,
    DOCUMENT,
    MAX_BYTES,
    PROMPT,
    SCOPE,
    TOKEN,
    answer,
    assert_nothing_private,
    faults,
    keep,
    relayed,
    shortened,
    world,
)
from host_worlds import settings as settings_of
from model_server import ANSWER, MODEL, ModelServer
from relay import Relay

from runtime.storage import Storage

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def pi() -> list[str]:
    return pi_command()


class Project:
    """An empty project, and a pi that is set up for the fake model and the extension alone."""

    def __init__(self, pi: list[str], model: ModelServer, directory: Path, settings: dict[str, str]) -> None:
        agent, self.directory = directory / "agent", directory / "project"
        agent.mkdir()
        self.directory.mkdir(exist_ok=True)
        provider = {"baseUrl": model.url, "api": "openai-completions", "apiKey": "none", "models": [{"id": MODEL}]}
        (agent / "models.json").write_text(json.dumps({"providers": {"fake": provider}}), encoding="utf-8")
        bare = ["--no-session", "--no-extensions", "--no-skills", "--no-context-files", "--offline"]
        extension = ["--extension", str(PI / "powercontext.js")]
        self.command = [*pi, *bare, *extension, "--provider", "fake", "--model", MODEL]
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "PI_CODING_AGENT_DIR": str(agent),
            "POWERCONTEXT_HOST_PYTHON": sys.executable,
            **settings,
        }


def run(
    pi: list[str], model: ModelServer, directory: Path, settings: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run pi on one prompt."""
    project = Project(pi, model, directory, settings)
    return subprocess.run(
        [*project.command, "--print", PROMPT],
        cwd=project.directory,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )


def converse(
    pi: list[str], model: ModelServer, directory: Path, settings: dict[str, str], *prompts: str
) -> list[dict[str, Any]]:
    """Have prompts answered one after the other in one session, as pi's own screen does; returns pi's events."""
    project = Project(pi, model, directory, settings)
    events: list[dict[str, Any]] = []
    with subprocess.Popen(
        [*project.command, "--mode", "rpc"],
        cwd=project.directory,
        env=project.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for prompt in prompts:
                process.stdin.write(json.dumps({"type": "prompt", "message": prompt}).encode() + b"\n")
                process.stdin.flush()
                for line in process.stdout:
                    events.append(json.loads(line))
                    if events[-1]["type"] == "agent_end":
                        break
            process.stdin.close()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()
    return events


def test_the_text_of_the_configured_assembly_stands_in_the_models_context(
    pi: list[str], storage: Storage, database: str, engine_name: str, tmp_path: Path
) -> None:
    with world(storage, database) as relay, ModelServer() as model:
        done = run(pi, model, tmp_path, settings_of(relay.url))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ANSWER}\n".encode(), b"")
    (exchange,) = relay.exchanges
    assert json.loads(exchange.body) == {
        "scope_id": SCOPE,
        "query": PROMPT,
        "max_bytes": MAX_BYTES,
        "assembly": ASSEMBLY,
    }
    assert exchange.headers["authorization"] == f"Bearer {TOKEN}"
    text = json.loads(exchange.answer)["content"]
    # What was asked for: experience first, and three memories behind it.
    assert 0 < text.index("\n## Experience\n") < text.index("\n## Memory\n") < text.index("\n### Memory 3\n")
    (request,) = model.requests
    assert model.texts(0)[1:] == [PROMPT, text]
    assert text.encode("utf-8") == model.texts(0)[2].encode("utf-8")
    keep(f"pi-{engine_name}", request)
    assert shortened(request, text) in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", faults())
def test_the_main_task_completes_whatever_the_server_does(name: str, pi: list[str], tmp_path: Path) -> None:
    fault = faults()[name]
    with relayed(fault) as url, ModelServer() as model:
        done = run(pi, model, tmp_path, settings_of(url, TIMEOUT_SECONDS=fault.patience_seconds))
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n".encode())
    (line,) = done.stderr.decode().strip().split("\n")
    assert json.loads(line) == fault.diagnostic
    assert_nothing_private(line)
    assert model.texts(0)[1:] == [PROMPT]


def test_without_a_server_that_is_named_nothing_is_asked(pi: list[str], tmp_path: Path) -> None:
    with ModelServer() as model:
        done = run(pi, model, tmp_path, {})
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n".encode())
    assert json.loads(done.stderr)["reason"] == "not_configured"


SCRIPTS = {
    "is not there": None,
    "ends without a word": "exit 3",
    "hangs": "exec sleep 600",
    "writes no UTF-8": "printf '\\377'",
    "writes more than any text": "exec head -c 40000 /dev/zero",
}


@pytest.mark.parametrize("kit", SCRIPTS)
def test_a_kit_that_does_not_work_is_told_and_the_main_task_completes(kit: str, pi: list[str], tmp_path: Path) -> None:
    command = tmp_path / "python"
    if (script := SCRIPTS[kit]) is not None:
        command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        command.chmod(0o700)
    settings = {"POWERCONTEXT_HOST_PYTHON": str(command), "POWERCONTEXT_HOST_TIMEOUT_SECONDS": "0.1"}
    with ModelServer() as model:
        done = run(pi, model, tmp_path, settings)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n".encode())
    assert json.loads(done.stderr) == {"event": "powercontext_prepare", "outcome": "skipped", "reason": "command"}
    assert model.texts(0)[1:] == [PROMPT]


def test_code_in_the_users_project_is_not_taken_for_the_kit(pi: list[str], tmp_path: Path) -> None:
    planted = tmp_path / "project" / "runtime"
    with ModelServer() as model, relayed(faults()["empty"]) as url:
        planted.mkdir(parents=True)
        (planted / "__init__.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
        done = run(pi, model, tmp_path, settings_of(url))
    assert json.loads(done.stderr) == faults()["empty"].diagnostic


def test_pi_ends_as_soon_as_its_task_is_done(pi: list[str], tmp_path: Path) -> None:
    begun = time.monotonic()
    with relayed(faults()["empty"]) as url, ModelServer() as model:
        done = run(pi, model, tmp_path, settings_of(url, TIMEOUT_SECONDS="60"))
    assert done.returncode == 0
    # It takes a few seconds; a time-out that nobody needs any more would keep it for 70.
    assert time.monotonic() - begun < 60


def test_each_prompt_of_a_session_has_its_own_context(pi: list[str], tmp_path: Path) -> None:
    with Relay(instead=(200, answer())) as relay, ModelServer() as model:
        converse(pi, model, tmp_path, settings_of(relay.url), PROMPT, "And then?")
    assert [json.loads(exchange.body)["query"] for exchange in relay.exchanges] == [PROMPT, "And then?"]
    assert model.texts(0)[1:] == [PROMPT, "text"]
    assert model.texts(1)[1:] == [PROMPT, "text", ANSWER, "And then?", "text"]


def test_the_diagnostic_is_a_notice_where_pi_has_a_screen(pi: list[str], tmp_path: Path) -> None:
    with relayed(faults()["down"]) as url, ModelServer() as model:
        events = converse(pi, model, tmp_path, settings_of(url), PROMPT)
    (notice,) = [event for event in events if event["type"] == "extension_ui_request"]
    assert (notice["method"], notice["notifyType"]) == ("notify", "warning")
    assert json.loads(notice["message"]) == faults()["down"].diagnostic
    assert model.texts(0)[1:] == [PROMPT]
