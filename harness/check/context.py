"""All that is known of one prepare: what was sent, by whom, what came, and what is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from harness.check.delivered import Delivered, Malformed, read_delivered
from harness.check.request import DEFAULT_TOTAL, Asked, Illegal, read_request
from harness.check.world import World
from harness.target.base import Answer
from runtime.artifacts import Citation, Family


@dataclass(frozen=True)
class Prepared:
    """One prepare as it went.

    `request` is the body parsed as JSON with the last one of duplicate keys, None where it is no legal JSON;
    `sent` its bytes. `repeated` is the answer to the same request sent again. `reads` holds the exact read of what was
    cited, as far as it was done. `log` is what the server logged for this request. `media_type` is False where the
    request's headers alone call for a refusal. `other_families` and `raw_line_characters` say how a released target
    departs (SPEC.md 7); `probes` are its answers to the oracle's probes, None of a target whose search is known.
    """

    request: Any
    answer: Answer
    world: World
    sent: bytes = b""
    repeated: Answer | None = None
    reads: Mapping[Citation, Answer] = field(default_factory=dict)
    principal_id: str | None = None
    administrator: bool = False
    access: Literal["enforced", "disabled"] = "enforced"
    token: str | None = None
    max_entries: int = DEFAULT_TOTAL
    log: str = ""
    media_type: bool = True
    other_families: frozenset[str] = frozenset()
    raw_line_characters: bool = False
    probes: Mapping[Family, Answer] | None = None

    @cached_property
    def asked(self) -> Asked | None:
        """What the request asks for, or None where it is no legal one."""
        try:
            return read_request(self.request)
        except Illegal:
            return None

    @cached_property
    def delivered(self) -> Delivered | Malformed | None:
        """The prepared text taken apart, how it is malformed, or None where there is none."""
        content = self.answer.content
        if content is None:
            return None
        try:
            return read_delivered(content, scope_id=self.asked.scope_id if self.asked else "")
        except Malformed as malformed:
            return malformed

    @cached_property
    def sent_text(self) -> str:
        """All strings of the request, as one text in which a value of the caller's can be looked for."""
        raw = self.sent.decode("utf-8", errors="replace")
        return "\n".join([raw, *strings(self.request)])

    def may_read(self, scope_id: str) -> bool:
        """Say whether the caller may read a Scope that exists."""
        if self.access == "disabled":
            return self.world.exists(scope_id)
        return self.world.readable(self.principal_id, scope_id)

    @cached_property
    def scopes_read(self) -> tuple[str, ...]:
        """The Scopes that the request reads: the current one, then its direct references where they are read."""
        if self.asked is None:
            return ()
        references = self.world.references.get(self.asked.scope_id, ())
        return (self.asked.scope_id, *(references if self.asked.reads_references else ()))


def strings(value: Any) -> list[str]:
    """Return every string in a JSON value, keys too, and numbers as they are written."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, part in value.items() for text in (key, *strings(part))]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [json.dumps(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []
