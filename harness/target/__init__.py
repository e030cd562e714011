"""What answers prepare, by the name that users give it."""

from __future__ import annotations

from harness.target.base import Target
from harness.target.reference import ReferenceTarget

TARGETS = {ReferenceTarget.name: ReferenceTarget}

__all__ = ["TARGETS", "ReferenceTarget", "Target"]
