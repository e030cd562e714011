"""Whatever comes over HTTP: no 5xx, no traceback, every answer in SPEC.md 2's shape and with its X-Request-Id."""

from __future__ import annotations

import json
import logging
from collections import Counter

import pytest
from fuzzing import fuzz
from requests_of_any_kind import MARKER, Sent, check_answer, connections
from talking import TOKEN, Answered, Guarded, fill, guarded

from runtime.artifacts import EntryWrite
from runtime.builder import Candidate
from runtime.http.protocol import HttpLimits
from runtime.recall import RecallRequest
from runtime.storage import Reader, Storage

SECONDS = 5.0
LIMITS = HttpLimits(head_seconds=0.2, body_seconds=0.2, idle_seconds=1)


def speak(server: Guarded, sent: Sent, seen: Counter[int]) -> None:
    """Send all of it, and judge each answer until the connection ends."""
    server.log.lines.clear()
    with server.line(seconds=20) as line:
        line.send(sent.data)
        headless = sent.head_first
        answers = 0
        while (answer := line.answer(to="HEAD" if headless else "POST")) is not None:
            check_answer(answer, headless=headless)
            seen[answer.status] += 1
            answers += 1
            if headless and answer.status in (400, 408, 431):
                # Whoever does not get as far as the method answers with a body.
                break
            headless = False
        assert answers, sent
    assert "Traceback" not in server.log.text
    assert TOKEN not in server.log.text
    assert MARKER not in server.log.text


def test_every_answer_is_one_of_the_contract(database: str, storage: Storage, engine_name: str) -> None:
    fill(storage)
    with storage.writing() as writer:
        writer.write_memory("unseen", [EntryWrite("entry-2", "v", f"contract tests {MARKER}")])
    seen: Counter[int] = Counter()
    with guarded(database, limits=LIMITS) as server:
        judged = fuzz(
            connections(), lambda sent: speak(server, sent, seen), seconds=SECONDS, name=f"http {engine_name}"
        )
    print(f"answers by status: {dict(sorted(seen.items()))}")
    assert judged >= 20
    # A fuzz that is refused at the door every time shows nothing.
    assert {200, 400, 401, 404, 422} <= set(seen)


class Broken:
    """A recall that always fails."""

    def recall(self, reader: Reader, request: RecallRequest) -> list[Candidate]:
        raise RuntimeError("planted")


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_planted_fault_is_found(database: str, storage: Storage) -> None:
    fill(storage)
    with (
        guarded(database, limits=LIMITS, sources={"memory": Broken()}) as server,
        pytest.raises(AssertionError, match="status=503") as caught,
    ):
        fuzz(connections(), lambda sent: speak(server, sent, Counter()), seconds=60, name="planted")
    assert any("FUZZ_SEED=" in note for note in caught.value.__notes__)


def test_what_is_wrong_with_an_answer_is_seen() -> None:
    right = {"content-type": "application/json", "x-request-id": "x"}

    def error(code: str, details: object = None, **more: object) -> bytes:
        return json.dumps({"error": {"code": code, "message": "m", "details": details, **more}}).encode()

    check_answer(Answered(404, right, error("not_found")))
    for wrong in (
        Answered(500, right, error("internal_error")),
        Answered(404, right, error("internal_error")),
        Answered(404, {"content-type": "application/json"}, error("not_found")),
        Answered(404, right | {"content-type": "text/plain"}, error("not_found")),
        Answered(404, right, error("not_found", {})),
        Answered(404, right, error("not_found", hint="x")),
        Answered(404, right, b'{"detail":"Not Found"}'),
        Answered(404, right, error("not_found", message="Traceback (most recent call last)")),
        Answered(422, right, error("invalid_request", {"errors": [{"type": "t", "loc": [], "msg": "m", "input": 1}]})),
        Answered(200, right, json.dumps({"content": MARKER}).encode()),
    ):
        with pytest.raises((AssertionError, KeyError)):
            check_answer(wrong)


def test_the_log_is_listened_to(database: str, storage: Storage) -> None:
    fill(storage)
    with guarded(database) as server:
        logging.getLogger("runtime.http").info("heard")
        assert "heard" in server.log.text
