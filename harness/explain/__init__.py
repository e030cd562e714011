"""Why an answer is what it is, from the oracle alone: the world, the recall, the turns, the budget, the text."""

from __future__ import annotations

from harness.explain.budget import Cost
from harness.explain.story import FamilyRecall, Hit, Prepared, ScopeRecall, Told, explain
from harness.explain.telling import lines_of

__all__ = ["Cost", "FamilyRecall", "Hit", "Prepared", "ScopeRecall", "Told", "explain", "lines_of"]
