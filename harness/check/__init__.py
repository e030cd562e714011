"""Judging answers: a second, plain reading of SPEC.md that shares no code with `runtime` but its value types."""
