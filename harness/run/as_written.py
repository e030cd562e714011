"""A scenario as its author counts: its own ids, SPEC.md 10's search and the in-tree output, as the oracle predicts it.

An expectation that this does not keep is wrong on every target, so that none may leave it to the oracle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from backends.operations import Operation
from harness.check.expect import Surroundings, judge
from harness.check.oracle import Prediction, predict
from harness.check.request import Illegal, read_request
from harness.check.world import World
from harness.run.prepares import parsed
from harness.scenario.model import Expect, RuntimeSpec
from harness.target.base import Answer

SCHEMA = "powercontext.prepared-context.v1"


class AsWritten:
    """The world of a scenario by its own ids, and what the oracle predicts of each prepare in it."""

    def __init__(self, runtime: RuntimeSpec, scopes: Mapping[str, str]) -> None:
        self._runtime = runtime
        self._scopes = scopes
        self._world = World()
        self._bodies: dict[str, bytes] = {}

    def apply(self, operations: Iterable[Operation]) -> None:
        """Take over writes that were accepted, as the scenario says them."""
        self._world.apply(operations)

    def wrong(self, name: str, expect: Expect, sent: bytes, *, caller: str | None) -> frozenset[str]:
        """Return the kinds of a prepare's expectations that its prediction does not keep, and remember that by `name`.

        None where there is no prediction of a 200.
        """
        try:
            asked = read_request(parsed(sent))
        except Illegal:
            return frozenset()
        predicted = predict(self._world, asked, caller=caller, runtime=self._runtime)
        if not isinstance(predicted, Prediction) or predicted.status != 200:
            return frozenset()
        answer = Answer(200, (), _body(predicted.content))
        around = Surroundings(self._world, self._scopes, asked.scope_id, dict(self._bodies))
        self._bodies[name] = answer.body
        return frozenset(failure.kind for failure in judge(expect, answer, surroundings=around))


def _body(content: bytes | None) -> bytes:
    """Return the body of a prepare's answer (SPEC.md 2)."""
    answer = {
        "schema": SCHEMA,
        "status": "empty" if content is None else "ready",
        "content": None if content is None else content.decode("utf-8"),
        "content_bytes": len(content or b""),
    }
    return json.dumps(answer, ensure_ascii=False).encode()
