"""The oracle: predicts answers by a second, plain reading of SPEC.md 2-5, 7 and 10; shares no code with `runtime/`.

predict(world, asked, caller="alice")              what the in-tree runtime must answer
judge_prediction(prediction, answer)               where an answer differs from that
candidate_order(world, asked)                      each family's candidates by SPEC.md 10
probe_requests(asked), candidate_order_from_probe  the same for a target whose search is not known
"""

from __future__ import annotations

from harness.check.oracle.order import Candidates, CannotKnow, Offer, Order, Undetermined
from harness.check.oracle.predict import Prediction, is_judged, judge_prediction, judge_prepared, predict, verdict
from harness.check.oracle.probe import candidate_order_from_probe, probe_requests
from harness.check.oracle.recall import candidate_order
from harness.target.base import Style

__all__ = [
    "Candidates",
    "CannotKnow",
    "Offer",
    "Order",
    "Prediction",
    "Style",
    "Undetermined",
    "candidate_order",
    "candidate_order_from_probe",
    "is_judged",
    "judge_prediction",
    "judge_prepared",
    "predict",
    "probe_requests",
    "verdict",
]
