"""Readers over HTTP: each answer is judged at once, and what it cites is read again."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from http.client import HTTPException
from urllib.parse import quote

from counts import CALLERS, Soak, token_of
from history import LEFT, RIGHT, experience_of, profile_of, topic_of
from judging import Caller, Observed, Shown, judge

from bench.serving import Connection
from harness.check.delivered import Malformed, read_delivered
from runtime.artifacts import Citation, EntryAddress

_EVERYTHING = [("memory", 8), ("experience", 2), ("profile", 2), ("topic-memory", 1)]
FORMS: tuple[tuple[list[tuple[str, int]] | None, frozenset[str], bool], ...] = (
    (_EVERYTHING, frozenset(family for family, _ in _EVERYTHING), True),
    ([("profile", 2), ("memory", 8)], frozenset({"profile", "memory"}), True),
    ([("experience", 2), ("profile", 2)], frozenset({"experience", "profile"}), True),
    # The older output holds 8 items at most.
    (None, frozenset({"memory", "experience", "topic-memory"}), False),
)
"""Sections, the families that are read, and whether there is room for everything."""


def read(connect: Callable[[], Connection], soak: Soak, stop: threading.Event, number: int) -> None:
    """Ask until the stop, as any caller in any form; the first fault stops all."""
    source = random.Random(f"{soak.seed} reader {number}")
    connection = connect()
    try:
        while not stop.is_set():
            caller = source.choice(CALLERS)
            scope_id = source.choice([LEFT, LEFT, RIGHT])
            sections, families, complete = source.choice(FORMS)
            seen = ask(connection, caller, scope_id, sections, families, complete=complete)
            problem = judge(soak.history, seen)
            with soak.lock:
                soak.answers += 1
                soak.refusals += seen.status == 403
            if problem:
                soak.fault(f"{caller} on {scope_id}, {sorted(families)}: {problem}")
                stop.set()
            elif seen.items:
                item = source.choice(seen.items)
                soak.cited[item.citation] = item.body
                if source.random() < 0.2:
                    _read_exactly(connection, soak, item.citation)
    finally:
        connection.close()


def ask(
    connection: Connection,
    caller: Caller,
    scope_id: str,
    sections: list[tuple[str, int]] | None,
    families: frozenset[str],
    *,
    complete: bool,
) -> Observed:
    """Prepare once, and take the answer apart."""
    request: dict[str, object] = {"scope_id": scope_id, "query": "soak", "max_bytes": 32_768}
    if sections is not None:
        request["assembly"] = {"sections": [{"family": family, "limit": limit} for family, limit in sections]}
    start = time.monotonic()
    status, body = connection.prepare(token_of(caller), json.dumps(request).encode())
    end = time.monotonic()
    content = json.loads(body).get("content") if status == 200 else None
    items: tuple[Shown, ...] = ()
    if content is not None:
        try:
            delivered = read_delivered(content, scope_id=scope_id).items
        except Malformed as malformed:
            raise AssertionError(f"a malformed answer: {malformed}") from None
        items = tuple(Shown(item.citation, item.body_text, item.truncated) for item in delivered)
    return Observed(caller, scope_id, families, start, end, status, items, complete)


def _read_exactly(connection: Connection, soak: Soak, citation: Citation) -> None:
    """Read what was cited again, as who may always read."""
    try:
        found = _content_of(connection, citation)
    except (OSError, HTTPException) as error:
        found = type(error).__name__
    with soak.lock:
        soak.exact_reads += 1
    if found not in _stored(citation, soak.cited[citation]):
        soak.fault(f"no longer exactly readable: {citation}: {found[:200]}")


def _content_of(connection: Connection, citation: Citation) -> str:
    if isinstance(citation, EntryAddress):
        memory = citation.memory
        reference = {"family": memory.family, "artifact_id": memory.artifact_id, "revision": memory.revision}
        cited = {
            "memory_ref": reference,
            "entry_id": citation.entry_id,
            "entry_version_id": citation.entry_version_id,
        }
        status, body = connection.read_entry(token_of("keeper"), {"scope_id": memory.scope_id, "citation": cited})
        return str(json.loads(body)["text"]) if status == 200 else f"status {status}"
    scope_id = quote(citation.scope_id, safe="")
    path = f"/v1/scopes/{scope_id}/artifacts/{citation.family}/{citation.artifact_id}/revisions/{citation.revision}"
    status, body = connection.get(path, token_of("keeper"))
    return "\n".join(json.loads(body)["content"].values()) if status == 200 else f"status {status}"


def _stored(citation: Citation, body: str) -> set[str]:
    """Return the stored fields that belong to a body that was shown."""
    if isinstance(citation, EntryAddress):
        return {body}
    tags = {word.rstrip('"},').split('"')[0] for word in body.split() if word.startswith("tag-")}
    found: set[str] = set()
    for tag in tags:
        experience, topic = experience_of(tag), topic_of(tag)
        found.add("\n".join((experience.situation, experience.action, experience.outcome, experience.lesson)))
        found.add("\n".join((topic.title, topic.summary, topic.detail)))
        found.add(profile_of(tag).content)
    return found


def read_again(connect: Callable[[], Connection], soak: Soak) -> None:
    """Read some of what was cited at any time, the oldest among it."""
    cited = list(soak.cited)
    some = cited[:50] + random.Random(soak.seed).sample(cited, min(100, len(cited)))
    connection = connect()
    for citation in some:
        _read_exactly(connection, soak, citation)
    connection.close()
