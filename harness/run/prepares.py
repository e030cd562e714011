"""One prepare as the runner asks it: twice, with all citations read back, and at every budget that matters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.check.context import Prepared
from harness.check.delivered import Delivered
from harness.check.failure import Failure
from harness.check.invariants import check_prepare
from harness.check.oracle import (
    Order,
    Prediction,
    candidate_order_from_probe,
    is_judged,
    judge_prepared,
    predict,
    probe_requests,
)
from harness.check.request import Asked
from harness.check.turns import check_turns
from harness.check.world import World
from harness.explore.sweep import LARGEST, interesting_budgets
from harness.run.result import Times
from harness.scenario.model import Scenario
from harness.target.base import Answer, Target
from runtime.artifacts import Citation, Family


@dataclass(frozen=True)
class Asking:
    """A prepare as it goes out, and who sends it."""

    sent: bytes
    caller: str | None
    token: str | None
    headers: Mapping[str, str]

    def with_budget(self, request: dict[str, Any], max_bytes: int) -> Asking:
        """Return the same request with another budget."""
        return replace(self, sent=json.dumps(request | {"max_bytes": max_bytes}, ensure_ascii=False).encode())


class Prepares:
    """Asks a target on behalf of one scenario, and judges by what always holds and by the oracle's prediction."""

    def __init__(self, scenario: Scenario, target: Target, world: World, times: Times) -> None:
        self._scenario = scenario
        self._target = target
        self._world = world
        self._times = times
        self._probes: dict[tuple[int, str | None, bytes], Answer] = {}
        self.faults: dict[Family, str] = {}
        """What was declared of each family's recall on this backend."""

    def ask(self, asking: Asking, *, only_once: bool = False) -> Prepared:
        """Ask twice, and read back what was cited, or just once."""
        with self._times.timed("request"):
            self._target.log()
            answer = self._target.prepare(asking.sent, token=asking.token, headers=asking.headers)
            repeated = None
            if not only_once:
                repeated = self._target.prepare(asking.sent, token=asking.token, headers=asking.headers)
            log = self._target.log()
        reads: dict[Citation, Answer] = {}
        traits = self._target.traits
        prepared = Prepared(
            request=parsed(asking.sent),
            sent=asking.sent,
            answer=answer,
            repeated=repeated,
            reads=reads,
            world=self._world,
            principal_id=asking.caller,
            administrator=asking.caller is not None and self._world.principals[asking.caller].administrator,
            access=self._scenario.runtime.access,
            token=asking.token,
            max_entries=self._scenario.runtime.max_entries or 8,
            log=log,
            media_type=_declares_json(asking.headers),
            other_families=traits.other_families,
            raw_line_characters=traits.raw_line_characters,
        )
        if traits.own_search and answer.status == 200 and prepared.asked is not None:
            prepared = replace(prepared, probes=self._probe(prepared.asked, asking.token))
        with self._times.timed("check"):
            delivered = prepared.delivered
        if isinstance(delivered, Delivered) and not only_once:
            with self._times.timed("request"):
                for item in delivered.items:
                    reads[item.citation] = self._target.read(item.citation, token=asking.token)
        return prepared

    @property
    def _failing(self) -> list[Family]:
        return [family for family, kind in self.faults.items() if kind in ("error", "hang")]

    def judge(self, prepared: Prepared) -> list[Failure]:
        """Return what an answer does not keep of what always holds, and of its prediction."""
        order = self.order(prepared)
        predicted = judge_prepared(
            prepared,
            runtime=self._scenario.runtime,
            order=order,
            style=self._target.traits.style,
            failing=self._failing,
        )
        turns = [] if order is None else check_turns(prepared, order)
        return [*check_prepare(prepared), *predicted, *turns]

    def prediction(self, prepared: Prepared) -> Prediction | None:
        """Return what the oracle predicts of an answer, None where it cannot know, or headers or size decide."""
        if not is_judged(prepared):
            return None
        predicted = predict(
            prepared.world,
            prepared.asked,
            self.order(prepared),
            caller=prepared.principal_id,
            runtime=self._scenario.runtime,
            style=self._target.traits.style,
            failing=self._failing,
        )
        return predicted if isinstance(predicted, Prediction) else None

    def order(self, prepared: Prepared) -> Order | None:
        """Return the candidates in the target's own order, as far as probes show them; None where it has no other."""
        if prepared.probes is None or prepared.asked is None:
            return None
        return candidate_order_from_probe(
            self._world, prepared.asked, prepared.probes, max_entries=prepared.max_entries
        )

    def _probe(self, asked: Asked, token: str | None) -> dict[Family, Answer]:
        """Ask for each selected family alone; what was asked before of the same world is not asked again."""
        answers = {}
        for family, request in probe_requests(asked, max_entries=self._scenario.runtime.max_entries or 8).items():
            sent = json.dumps(request, ensure_ascii=False).encode()
            key = (self._world.version, token, sent)
            if key not in self._probes:
                with self._times.timed("request"):
                    self._probes[key] = self._target.prepare(sent, token=token)
            answers[family] = self._probes[key]
        return answers

    def sweep(self, asking: Asking) -> tuple[list[Failure], int]:
        """Ask again at every budget where the answer can change; returns what was wrong, and how many were asked."""
        request = parsed(asking.sent)
        if not isinstance(request, dict):
            return [], 0
        whole = self.ask(asking.with_budget(request, LARGEST), only_once=True)
        if not isinstance(whole.delivered, Delivered):
            return [], 0
        budgets = interesting_budgets(whole.delivered, seed=self._scenario.scenario)
        failures = []
        for budget in budgets:
            prepared = self.ask(asking.with_budget(request, budget), only_once=True)
            with self._times.timed("check"):
                found = self.judge(prepared)
            failures += [replace(failure, message=f"max_bytes {budget}: {failure.message}") for failure in found]
        return failures, len(budgets)


def parsed(sent: bytes) -> Any:
    """Return a request body read as JSON, or None where it is none."""
    try:
        return json.loads(sent.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _declares_json(headers: Mapping[str, str]) -> bool:
    declared = {name.lower(): value for name, value in headers.items()}.get("content-type", "application/json")
    return declared.split(";")[0].strip().lower() == "application/json"
