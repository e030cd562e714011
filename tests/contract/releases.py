"""Released servers for tests, each with one Scope and one memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx

from backends import create
from harness.target.powercontext.releases import older_release
from harness.target.powercontext.server import ADMINISTRATOR, ReleasedServer

TEXT = "Run the contract tests."
OLD = "0.2.0"
"""A release from before RFC 1489: it prepares contexts, and knows no assembly."""
NEW = "1.4.1"


@dataclass(frozen=True, slots=True)
class Remembering:
    """A released server and what it was told to remember: the Scope's id, and the answer to the memory."""

    url: str
    token: str
    stranger: str
    scope_id: str
    remembered: dict[str, Any]


@contextmanager
def remembering(
    version: str, directory: Path, *, access: Literal["enforced", "disabled"] = "enforced"
) -> Iterator[Remembering]:
    """Start a release on SQLite and write through its public interface."""
    engine = create("sqlite", oceanbase_url=None, run_directory=directory)
    engine.start()
    server = ReleasedServer(older_release(version), engine, directory / "server", access=access)
    try:
        server.start()
        server.await_ready()
        token = server.token(ADMINISTRATOR)
        with httpx.Client(
            base_url=server.url, trust_env=False, timeout=60, headers={"authorization": f"Bearer {token}"}
        ) as client:
            scope = {"title": "demo", "summary": "demo", "context_references": [], "idempotency_key": "demo"}
            scope_id = told(client.post("/v1/scopes", json=scope), 201)["scope_id"]
            memory = {"scope_id": scope_id, "kind": "fact", "text": TEXT}
            remembered = told(client.post("/v1/memory/remember", json=memory), 200)
        yield Remembering(server.url, token, server.token("stranger"), scope_id, remembered)
    finally:
        server.stop()
        engine.stop()


def told(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Return the body of an answer of a status."""
    assert answer.status_code == status, answer.text
    value: dict[str, Any] = answer.json()
    return value
