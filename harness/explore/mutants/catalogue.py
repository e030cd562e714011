"""All wrong implementations, room by room."""

from __future__ import annotations

from harness.explore.mutants import access, budget, older, one_engine, reads, search, selection, text, validation
from harness.explore.mutants.model import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *selection.MUTANTS,
    *search.MUTANTS,
    *text.MUTANTS,
    *budget.MUTANTS,
    *older.MUTANTS,
    *access.MUTANTS,
    *validation.MUTANTS,
    *reads.MUTANTS,
    *one_engine.ON_SQLITE,
    *one_engine.ON_OCEANBASE,
)
