"""An agent of pydantic-ai, run for real on the server and on servers that do wrong."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from host_environments import ROOT, python_with_pydantic_ai
from host_worlds import (
    ASSEMBLY,
    DOCUMENT,
    MAX_BYTES,
    PROMPT,
    SCOPE,
    TOKEN,
    assert_nothing_private,
    faults,
    keep,
    relayed,
    shortened,
    world,
)
from host_worlds import answer as answer_of
from host_worlds import settings as settings_of
from model_server import ANSWER, ModelServer
from relay import Relay

from runtime.storage import Storage

pytestmark = pytest.mark.host

AGENT = Path(__file__).with_name("pydantic_ai_agent.py")


@pytest.fixture(scope="module")
def python() -> Path:
    return python_with_pydantic_ai()


def run(
    python: Path, model: ModelServer, directory: Path, settings: dict[str, str], *parts: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the agent on one prompt; its environment has the kit's dependencies, and the kit lies in this repository."""
    own = {"PATH": os.environ["PATH"], "HOME": str(directory), "PYTHONPATH": str(ROOT), "MODEL_URL": model.url}
    return subprocess.run(
        [str(python), "-P", str(AGENT), PROMPT, *parts],
        cwd=directory,
        env=own | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )


def test_the_text_of_the_configured_assembly_stands_in_the_models_context(
    python: Path, storage: Storage, database: str, engine_name: str, tmp_path: Path
) -> None:
    with world(storage, database) as relay, ModelServer(tool="look_up") as model:
        done = run(python, model, tmp_path, settings_of(relay.url))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ANSWER}\n".encode(), b"")
    # The run begins to ask before its first model request, and each of its two requests has the answer to that.
    (exchange,) = relay.exchanges
    assert json.loads(exchange.body) == {
        "scope_id": SCOPE,
        "query": PROMPT,
        "max_bytes": MAX_BYTES,
        "assembly": ASSEMBLY,
    }
    assert exchange.headers["authorization"] == f"Bearer {TOKEN}"
    text = json.loads(exchange.answer)["content"]
    assert 0 < text.index("\n## Experience\n") < text.index("\n## Memory\n") < text.index("\n### Memory 3\n")
    assert len(model.requests) == 2
    assert model.texts(0) == ["You are a tester.", text, PROMPT]
    assert model.texts(1) == ["You are a tester.", text, PROMPT, "looked up"]
    assert text.encode("utf-8") == model.texts(0)[1].encode("utf-8")
    keep(f"pydantic-ai-{engine_name}", model.requests[0])
    assert shortened(model.requests[0], text) in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", faults())
def test_the_main_task_completes_whatever_the_server_does(name: str, python: Path, tmp_path: Path) -> None:
    fault = faults()[name]
    with relayed(fault) as url, ModelServer(tool="look_up") as model:
        done = run(python, model, tmp_path, settings_of(url, TIMEOUT_SECONDS=fault.patience_seconds))
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n".encode())
    # One line for the turn, not one for each of its requests.
    (line,) = done.stderr.decode().strip().split("\n")
    assert json.loads(line) == fault.diagnostic
    assert_nothing_private(line)
    assert model.texts(0) == ["You are a tester.", PROMPT]


def test_all_words_of_a_prompt_in_parts_are_the_query(python: Path, tmp_path: Path) -> None:
    with Relay(instead=(200, answer_of())) as relay, ModelServer(tool="look_up") as model:
        done = run(python, model, tmp_path, settings_of(relay.url), "And then?")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ANSWER}\n".encode(), b"")
    (exchange,) = relay.exchanges
    assert json.loads(exchange.body)["query"] == f"{PROMPT}\nAnd then?"
    assert model.texts(0) == ["You are a tester.", "text", PROMPT, "And then?"]


def test_without_a_server_that_is_named_nothing_is_asked_and_that_is_told_once(python: Path, tmp_path: Path) -> None:
    with ModelServer(tool="look_up") as model:
        done = run(python, model, tmp_path, {})
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n".encode())
    assert len(model.requests) == 2
    assert json.loads(done.stderr)["reason"] == "not_configured"
