"""Where a backend's real answers differ from the explanation."""

from __future__ import annotations

from harness.check.oracle import judge_prediction
from harness.explain.story import explain
from harness.run.result import Outcome
from harness.scenario.loader import Loaded
from harness.target.base import Answer


def differences(loaded: Loaded, outcome: Outcome, *, step: int | None = None) -> list[str]:
    """Return a line for each prepare that an outcome's backend answered otherwise, or why nothing was compared."""
    if outcome.seed is not None and outcome.seed.failures:
        return [f"{outcome.backend}: {outcome.seed.failures[0]}"]
    answers = {result.index: result for result in outcome.steps}
    found = []
    for told in explain(loaded, step=step, backend=outcome.backend):
        result = answers.get(told.index)
        if told.prepared is None or result is None or result.status is None or result.body is None:
            continue
        answer = Answer(result.status, (), result.body)
        failures = judge_prediction(told.prepared.prediction, answer)
        found += [f"{loaded.path}:{told.line} {told.name!r} on {outcome.backend}: {one.message}" for one in failures]
    return found
