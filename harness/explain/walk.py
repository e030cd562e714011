"""A scenario's steps with the world at each of them, without a target: what is written is taken as accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from backends.operations import Operation
from harness.check.request import Asked, Illegal, read_request
from harness.check.world import World
from harness.explore.canaries import with_canaries
from harness.run.prepares import parsed
from harness.scenario.loader import Loaded
from harness.scenario.model import HexBody, Scenario, Step, Token
from harness.scenario.operations import (
    NOBODY,
    principal_id,
    principals,
    scope_id,
    seed_operations,
    seeded,
    write_operations,
)
from runtime.artifacts import Family

_FIXED = ("content", "bytes", "text", "artifact")


@dataclass
class Moment:
    """One step, and the world in which it happens; the world is the walk's own and moves on with it.

    `written` is what the step itself writes, already in the world; `caller` is a principal's id, None for nobody.
    `asked` is what a prepare asks for, or the sentence that says why it is no legal request.
    """

    index: int
    step: Step
    world: World
    caller: str | None
    caller_name: str
    failing: tuple[Family, ...] = ()
    request: Any = None
    asked: Asked | str | None = None
    written: list[Operation] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The step's name as a verdict tells it."""
        return self.step.step or f"step {self.index + 1}"


def walk(loaded: Loaded, *, backend: str | None = None) -> Iterator[Moment]:
    """Yield each step in order; `backend` is the one whose declared faults count, None for those of any alone."""
    scenario = loaded.scenario
    tokens = {name: f"token of {name}" for name in principals(scenario)}
    world, writing = World(), seeded(scenario)
    world.apply(_marked(scenario, seed_operations(scenario, tokens), "seed"))
    faults: dict[Family, str] = {}
    for index, step in enumerate(scenario.steps):
        caller, name = _caller(scenario, step)
        moment = Moment(index, step, world, caller, name)
        match step.verb:
            case "write" | "grant" | "revoke":
                moment.written = _marked(scenario, write_operations(scenario, writing, step), f"step {index}")
                if step.expect.refused is None:
                    world.apply(moment.written)
            case "fault":
                assert step.fault is not None
                if step.fault.backend in ("any", backend):
                    faults[step.fault.family] = step.fault.kind
            case "prepare" | "body":
                moment.request = parsed(request_body(scenario, step))
                moment.asked = _asked(moment.request)
        moment.failing = tuple(family for family, kind in faults.items() if kind in ("error", "hang"))
        yield moment


def request_body(scenario: Scenario, step: Step) -> bytes:
    """Return the bytes of a prepare as they go out to a target that takes our ids."""
    if isinstance(step.body, HexBody):
        return bytes.fromhex(step.body.hex)
    if step.body is not None:
        return step.body.encode()
    assert step.prepare is not None
    request = dict(step.prepare)
    named = request.get("scope_id")
    if isinstance(named, str):
        request["scope_id"] = scope_id(scenario, named)
    return json.dumps(request, ensure_ascii=False).encode()


def _asked(request: Any) -> Asked | str:
    try:
        return read_request(request)
    except Illegal as illegal:
        return str(illegal)


def _caller(scenario: Scenario, step: Step) -> tuple[str | None, str]:
    """Return the caller's principal id, and how he is told."""
    known = list(principals(scenario))
    match step.as_:
        case None:
            name = known[0] if known else None
        case Token():
            return None, "somebody with an unknown token"
        case "nobody" if NOBODY not in known:
            name = None
        case named:
            name = named
    return (None, "nobody") if name is None else (principal_id(scenario, name), name)


def _marked(scenario: Scenario, operations: list[Operation], place: str) -> list[Operation]:
    """Put canaries where the runner does."""
    fixed = any(getattr(step.expect, name) is not None for step in scenario.steps for name in _FIXED)
    return operations if not scenario.canary or fixed else with_canaries(operations, place=place)
