"""What a report counts of each outcome, as plain values that travel from worker to controller."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from harness.run.result import Outcome

PHASES = ("start", "clear", "seed", "request", "check")


def entry(outcome: Outcome, *, start_seconds: float, worker: str) -> dict[str, Any]:
    """Return an outcome's figures; `start_seconds` is what this worker spent until its backend was ready."""
    return {
        "chapter": PurePath(outcome.path).parent.name,
        "path": outcome.path,
        "backend": outcome.backend,
        "target": outcome.target,
        "verdict": outcome.verdict,
        "checks": outcome.checks,
        "presumed": [kind for step in outcome.steps for kind in step.presumed],
        "reordered": [step.reordered for step in outcome.steps if step.reordered is not None],
        "reason": outcome.reason,
        "known": list(outcome.known),
        "faults": [[fault.target, fault.backend, fault.verdict, fault.reason] for fault in outcome.faults],
        "worker": worker,
        "times": {"start": start_seconds, **asdict(outcome.times)},
    }


def faults(entries: list[dict[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Return the cause for each target, backend and verdict of what failed where a scenario needed it."""
    found: dict[tuple[str, str, str], str] = {}
    for counted in entries:
        for target, backend, verdict, cause in counted["faults"]:
            found.setdefault((target, backend, verdict), cause)
    return found


def phases(entries: list[dict[str, Any]], column: tuple[str, str]) -> dict[str, float]:
    """Return the seconds of each phase on a target and backend, over all workers; a worker's start counts once."""
    ours = [entry for entry in entries if (entry["target"], entry["backend"]) == column]
    starts = {entry["worker"]: entry["times"]["start"] for entry in ours}
    spent = {phase: sum(entry["times"][phase] for entry in ours) for phase in PHASES if phase != "start"}
    return {"start": sum(starts.values()), **spent}
