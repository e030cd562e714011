"""Expected values from a real run: who dissents, what changes, and the file with it."""

from __future__ import annotations

from harness.accept.accepting import Accepted, accept
from harness.accept.dissent import dissents

__all__ = ["Accepted", "accept", "dissents"]
