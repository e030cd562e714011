"""A generated scenario while it grows: what is stored at each moment, and what a step must be answered with."""

from __future__ import annotations

import json
from typing import Any

from harness.check.delivered import Delivered, read_delivered
from harness.check.oracle import Prediction, predict
from harness.check.request import Asked, Illegal, read_request
from harness.check.world import World
from harness.explore.worlds import Plain
from harness.scenario.model import Read, Scenario, Step
from harness.scenario.operations import (
    principal_id,
    principals,
    scope_id,
    seed_operations,
    seeded,
    write_operations,
)
from runtime.artifacts import FAMILIES, MEMORY, MEMORY_ID, Address, EntryAddress, Memory

LARGEST = 32768


class Moment:
    """The world after the steps so far; `take` adds one with its expectation."""

    def __init__(self, head: Plain) -> None:
        self.plain: Plain = {**head, "steps": []}
        self._scenario = Scenario.model_validate(self.plain, by_alias=True, by_name=False)
        self._writing = seeded(self._scenario)
        self.world = World()
        self.world.apply(seed_operations(self._scenario, dict.fromkeys(principals(self._scenario), "")))
        self._cited: Prediction | None = None

    def take(self, step: Plain) -> None:
        """Add a step, and what it must be answered with where that is no plain success."""
        model = Step.model_validate(step, by_alias=True, by_name=False)
        expect = step.get("expect") or self._expected(model)
        self.plain["steps"].append({**step, **({"expect": expect} if expect else {})})
        if model.verb in ("write", "grant", "revoke") and "refused" not in expect:
            self.world.apply(write_operations(self._scenario, self._writing, model))

    def full(self, step: Plain) -> Delivered | None:
        """Return what a prepare would deliver with the largest budget, or None for nothing."""
        request = {**step["prepare"], "max_bytes": LARGEST}
        prediction = self._predicted(Step.model_validate({**step, "prepare": request}, by_alias=True, by_name=False))
        if prediction is None or prediction.content is None:
            return None
        found = read_delivered(prediction.content.decode(), scope_id=scope_id(self._scenario, request["scope_id"]))
        return found if isinstance(found, Delivered) else None

    @property
    def names(self) -> list[str]:
        """The names of the Scopes that exist."""
        return list(self._writing.scopes)

    @property
    def is_cited(self) -> bool:
        """Whether the nearest prepare before now cites something."""
        return self._cited is not None and bool(self._cited.origins)

    def may_read_cited(self, caller: str) -> bool | None:
        """Say whether a caller may now read all that was cited (False: none of it), None for a part of it."""
        assert self._cited is not None
        scopes = {
            (origin.memory if isinstance(origin, EntryAddress) else origin).scope_id for origin in self._cited.origins
        }
        readable = {self._may_read(principal_id(self._scenario, caller), scope) for scope in scopes}
        return readable.pop() if len(readable) == 1 else None

    def addresses(self) -> list[Address]:
        """Return every revision that is stored."""
        return [
            Address(scope, family, artifact, revision)
            for (scope, family, artifact), revisions in self.world.revisions.items()
            for revision in range(1, len(revisions) + 1)
        ]

    def name_of(self, scope: str) -> str:
        """Return a Scope's name for its id."""
        return next(name for name, known in self._writing.scopes.items() if known == scope)

    def _may_read(self, caller: str | None, scope: str) -> bool:
        if self._scenario.runtime.access == "disabled":
            return self.world.exists(scope)
        return self.world.readable(caller, scope)

    def _caller(self, step: Step) -> str | None:
        if step.as_ is None:
            return principal_id(self._scenario, next(iter(principals(self._scenario))))
        known = isinstance(step.as_, str) and step.as_ in principals(self._scenario)
        return principal_id(self._scenario, str(step.as_)) if known else None

    def _expected(self, step: Step) -> Plain:
        if step.verb in ("prepare", "body"):
            self._cited = self._predicted(step)
            if self._cited is None or self._cited.status == 200:
                return {}
            return {"http": self._cited.status, "error": self._cited.code}
        if isinstance(step.read, Read):
            return self._read(step.read, self._caller(step))
        return {}

    def _predicted(self, step: Step) -> Prediction | None:
        """Return what a prepare must be answered with, or None where the oracle cannot know."""
        found = predict(self.world, self._asked(step), caller=self._caller(step), runtime=self._scenario.runtime)
        return found if isinstance(found, Prediction) else None

    def _asked(self, step: Step) -> Asked | None:
        try:
            request: Any = json.loads(step.body) if isinstance(step.body, str) else dict(step.prepare or {})
            if step.prepare is not None and isinstance(request.get("scope_id"), str):
                request["scope_id"] = scope_id(self._scenario, request["scope_id"])
            return read_request(request)
        except (ValueError, Illegal):
            return None

    def _read(self, read: Read, caller: str | None) -> Plain:
        scope = scope_id(self._scenario, read.scope)
        enforced = self._scenario.runtime.access == "enforced"
        if enforced and caller is None:
            return {"http": 401, "error": "unauthorized"}
        if not self._may_read(caller, scope):
            administrator = caller is not None and self.world.principals[caller].administrator
            if (administrator or not enforced) and not self.world.exists(scope):
                return {"http": 404, "error": "scope_not_found"}
            return {"http": 403, "error": "forbidden"}
        revision = int(read.revision)
        if read.entry is not None:
            memory = Address(scope, MEMORY, MEMORY_ID, revision)
            entry = self.world.entry(EntryAddress(memory, read.entry, read.version or ""))
            return {"http": 404, "error": "memory_not_found"} if entry is None else {"text": entry.text}
        assert read.id is not None
        family = next((known for known in FAMILIES if known == read.family), None)
        if family is None:
            return {"http": 422, "error": "invalid_request"}
        content = self.world.content(Address(scope, family, read.id, revision))
        if content is None:
            return {"http": 404, "error": "artifact_not_found"}
        if isinstance(content, Memory):
            return {"artifact": {"entries": [_plain(entry) for entry in content.entries]}}
        return {"artifact": _plain(content)}


def _plain(value: Any) -> Plain:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
