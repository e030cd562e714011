"""Nothing that only an unreadable Scope or an unselected family holds appears anywhere (DESIGN.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from harness.check.context import Prepared, strings
from harness.check.delivered import Delivered
from harness.check.display import display
from harness.check.errors import PUBLIC_TEXT
from harness.check.failure import Failure
from harness.check.parts import BEGIN, END, HEAD, OLDER_BEGIN, OLDER_END
from harness.check.world import StoredText
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, TOPIC_MEMORY

WINDOW = 12
"""How many characters in a row count as a part of a body."""
SHORTEST = 6
"""The fewest characters of a whole body that count."""

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_FRAME = "\n".join(
    (
        HEAD.decode("ascii"),
        *(marker.decode("ascii") for marker in (BEGIN, END, OLDER_BEGIN, OLDER_END)),
        "Artifact: family= Scope: Entry: id= , version= Confidence: unknown (not assessed) Recall rank: Truncated: no",
        '{"trust":"untrusted_history","items":[{"citation":{"memory_ref":{"family":"memory","artifact_id":"memory",',
        '"revision":"entry_id":"entry_version_id":"artifact_ref":"content":"truncated":false,"kind":"experience"}]}',
        "Situation: Action: Outcome: Lesson: Title: Summary: Snippet: ## ### Memory Experience Profile Topic Memory 1",
    )
)


def check_leaks(prepared: Prepared) -> Iterator[Failure]:
    """Look for parts of every stored text that this answer, its headers or the log must not hold.

    It may hold texts of the Scopes read, of the selected families, that recall may see: no others, and in an error
    none. A part counts when no text that may be shown, no id, no word of the contract and not the request holds it.
    """
    places = [("response", _said(prepared)), ("headers", "\n".join(v for _, v in prepared.answer.headers))]
    if prepared.log:
        places.append(("log", prepared.log))
    for region, said in places:
        windows = {said[start : start + WINDOW] for start in range(len(said) - WINDOW + 1)}
        for text in prepared.world.texts():
            if may_be_shown(prepared, text, region=region):
                continue
            short, parts = parts_of(text.text)
            if short:
                found = {text.text} if text.text in said else set()
            else:
                found = set() if parts.isdisjoint(windows) else windows & parts
            if found and (part := _unexplained(prepared, found, region=region)):
                message = f"{part!r} is held only by {text}"
                yield Failure("leak", region, "nothing of it", repr(part), message)
        for principal in prepared.world.principals.values():
            if len(principal.token) >= SHORTEST and principal.token in said:
                message = f"the token of principal {principal.principal_id!r} is in it"
                yield Failure("leak", region, "no token", "a token", message)


@lru_cache(maxsize=8192)
def parts_of(text: str) -> tuple[bool, frozenset[str]]:
    """Return whether a text is so short that only the whole of it counts, and else the parts of it that are looked for.

    The parts are 12 characters long, lie within one line, and cover the text side by side.
    """
    if len(text) < WINDOW:
        return len(text) >= SHORTEST and text.strip() == text, frozenset()
    parts: set[str] = set()
    for line in _BREAKS.split(text):
        if len(line) >= WINDOW:
            parts.update(line[start : start + WINDOW] for start in range(0, len(line) - WINDOW + 1, WINDOW))
            parts.add(line[-WINDOW:])
    return False, frozenset(part for part in parts if part.strip())


def may_be_shown(prepared: Prepared, text: StoredText, *, region: str = "response") -> bool:
    """Say whether this answer may hold a stored text; the log may also hold what an error must not."""
    if prepared.asked is None or (prepared.answer.status != 200 and region != "log"):
        return False
    if text.state != "head" or text.family not in prepared.asked.families:
        return False
    if text.family == TOPIC_MEMORY:
        return text.scope_id == prepared.asked.scope_id
    return text.scope_id in prepared.scopes_read and prepared.may_read(text.scope_id)


def _said(prepared: Prepared) -> str:
    """Return what the answer says beside its fixed frame: all strings, decoded, of a prepared text the bodies.

    A text that can be taken apart holds nothing else but the frame and its citations, which are judged elsewhere; a
    stored text that imitates the frame is no leak.
    """
    value = prepared.answer.json
    if value is None:
        return prepared.answer.body.decode("utf-8", errors="replace")
    if not isinstance(prepared.delivered, Delivered) or not isinstance(value, dict):
        return "\n".join(strings(value))
    around = {name: part for name, part in value.items() if name != "content"}
    return "\n".join([*strings(around), *(item.body_text for item in prepared.delivered.items)])


def _unexplained(prepared: Prepared, parts: set[str], *, region: str) -> str | None:
    """Return a part that has no innocent source; seldom asked, so it may be slow."""
    innocent = [_FRAME, PUBLIC_TEXT, prepared.sent_text, *prepared.world.ids]
    for text in prepared.world.texts():
        if may_be_shown(prepared, text, region=region):
            innocent += [text.text, display(text.text)]
    if prepared.asked is not None and prepared.answer.status == 200:
        # Labels stand between the fields of a body and can make a part look like another text's.
        for family in prepared.asked.families - {MEMORY, PROFILE}:
            for scope_id in prepared.scopes_read if family == EXPERIENCE else (prepared.asked.scope_id,):
                for address in prepared.world.heads(scope_id, family):
                    innocent.append(display(prepared.world.body(address) or ""))
    return next((part for part in sorted(parts) if not any(part in source for source in innocent)), None)
