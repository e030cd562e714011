"""What the checks find wrong, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that is wrong with an answer.

    `kind` is a short fixed word ("budget", "leak", "sections"), `region` the place in the answer (`body of "Memory 2"`,
    "response"). Equal kind and region mean the same verdict, whatever the values are.
    """

    kind: str
    region: str
    expected: str
    got: str
    message: str

    def renamed(self, named: Callable[[str], str]) -> Failure:
        """Return it with what it tells put into other words, ids for instance."""
        region, expected, got = named(self.region), named(self.expected), named(self.got)
        return Failure(self.kind, region, expected, got, named(self.message))

    def __str__(self) -> str:
        return f"{self.kind} in {self.region}: {self.message}"


def differs(kind: str, region: str, what: str, *, expected: object, got: object) -> Failure:
    """Return the failure that `what` was to be one thing and is another."""
    return Failure(
        kind=kind,
        region=region,
        expected=str(expected),
        got=str(got),
        message=f"expected {what} {expected}, got {got}",
    )
