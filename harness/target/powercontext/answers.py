"""What a released server's answers and stored texts are in the terms of SPEC.md 1 and 6.

Its exact reads say more than SPEC.md 6 asks. They are reduced, so that what is left can be compared with what is
stored; answers of other statuses stay as they are.

| left out or renamed | why |
| --- | --- |
| `sources`, `artifacts`, `memory_citations` | evidence, which the contract leaves out |
| `content_digest`, `created_at`, `created_by` | of the revision's making, different in each run |
| `restored_from_revision`, `reason` | of rollbacks, which nobody does here |
| `failure` of an Experience, where it is null | a field of later releases that no scenario writes |
| `schema`, `media_type`, `generation` of a Profile | of its making, likewise |
| `schema`, `kind`, `creation` of an atomic memory | the World keeps a memory's text by revision |
| `version`, `source_refs`, `artifact_refs` of an Entry | a count and evidence |
| `state` of an Entry: `inactive` is `retired` | another word for the same |
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.target.base import Answer
from harness.target.powercontext.requests import ATOMIC_MEMORIES_SINCE, ATOMIC_MEMORY, Release
from runtime.artifacts import Document, EntryWrite, Profile

REVISION_FIELDS = ("scope_id", "family", "artifact_id", "revision")
ENTRY_STATES = {"active": "active", "inactive": "retired"}


def stored_entry(change: EntryWrite, release: Release) -> EntryWrite:
    """Return an Entry as a release keeps it: its text in NFC and trimmed, before 1.3 its kind too."""
    kind = change.kind if release >= ATOMIC_MEMORIES_SINCE else _trimmed(change.kind)
    return replace(change, text=_trimmed(change.text), kind=kind)


def stored_document(content: Document) -> Document:
    """Return a document as every release keeps it: a Profile in NFC, with LF alone, and with one LF at its end."""
    if not isinstance(content, Profile):
        return content
    text = unicodedata.normalize("NFC", content.content.removeprefix("\ufeff"))
    return Profile(text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n")


def reduced_revision(answer: Answer) -> Answer:
    """Return the exact read of an Artifact revision in the shape of SPEC.md 6."""
    return _reduced(answer, _revision)


def reduced_entry(answer: Answer) -> Answer:
    """Return the exact read of an Entry version in the shape of SPEC.md 6."""
    return _reduced(answer, _entry)


def entry_of_atomic_memory(answer: Answer, citation: Mapping[str, Any]) -> Answer:
    """Return the exact read of an atomic memory as that of the Entry version which stands for it.

    Its `state` is left out: there is one of a memory, none of a revision.
    """

    def entry(value: Mapping[str, Any]) -> dict[str, Any]:
        content = value["content"]
        return {"citation": citation, "kind": content["kind"], "text": content["text"]}

    return _reduced(answer, entry)


def error_code(answer: Answer) -> str:
    """Return the code of an error, or its status where it has none."""
    error = answer.json.get("error") if isinstance(answer.json, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else f"http_{answer.status}"


def _trimmed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _reduced(answer: Answer, reduce: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Answer:
    if answer.status != 200:
        return answer
    try:
        body = json.dumps(reduce(answer.json), ensure_ascii=False).encode()
    except (TypeError, KeyError, AttributeError, UnicodeEncodeError):
        # An answer of an unknown shape is judged as it came.
        return answer
    return replace(answer, body=body)


def _revision(value: Mapping[str, Any]) -> dict[str, Any]:
    content = dict(value["content"])
    match value["family"]:
        case "profile":
            content = {"content": content["content"]}
        case "experience" if content.get("failure", ...) is None:
            del content["failure"]
        case family if family == ATOMIC_MEMORY:
            content = {"text": content["text"]}
    return {**{name: value[name] for name in REVISION_FIELDS}, "content": content}


def _entry(value: Mapping[str, Any]) -> dict[str, Any]:
    state = ENTRY_STATES.get(value["state"], value["state"])
    return {"citation": value["citation"], "kind": value["kind"], "text": value["text"], "state": state}
