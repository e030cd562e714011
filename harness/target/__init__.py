"""What answers prepare, by the name that users give it."""

from __future__ import annotations

from harness.target.base import Target, TargetMaker
from harness.target.reference import ReferenceTarget

TARGETS: dict[str, TargetMaker] = {ReferenceTarget.name: ReferenceTarget}

__all__ = ["TARGETS", "ReferenceTarget", "Target", "TargetMaker"]
