"""What answers prepare: the roles that the runner talks to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from backends.operations import Operation
from harness.scenario.model import RuntimeSpec, Scenario
from runtime.artifacts import Citation, Family


@dataclass(frozen=True)
class Answer:
    """One HTTP answer as it came: status, headers in their order, the body's bytes."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float = 0.0

    @cached_property
    def json(self) -> Any:
        """The body read as JSON, or None where it is none."""
        try:
            return json.loads(self.body.decode("utf-8"))
        except ValueError:
            return None

    @property
    def content(self) -> str | None:
        """The prepared text, where there is one."""
        value = self.json.get("content") if isinstance(self.json, dict) else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that the target refused, with the code of SPEC.md 1."""

    code: str
    at: str = ""
    """Which of the operations it was, where the target knows."""


class TargetLost(Exception):
    """A target that could not be asked or written to: its engine, its server or its database does not answer."""


class Target(Protocol):
    """A system under test on one backend: seeded by operations, asked over HTTP. Each method may raise TargetLost."""

    name: str
    backend: str

    def lacking(self, scenario: Scenario) -> str | None:
        """Return why a scenario cannot be run here, beginning with "needs", or None."""

    def reset(self, runtime: RuntimeSpec) -> None:
        """Empty the database and set the system up as the scenario asks."""

    def apply(self, operations: Sequence[Operation]) -> Refused | None:
        """Write the operations in one transaction; a refusal leaves nothing of them."""

    def digest(self) -> str:
        """Return the digest of the logical rows, read back from the engine."""

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Post these bytes to the prepare operation."""

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        """Read exactly what a citation names, by the operation that serves its family."""

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        """Read one Artifact revision by its raw parts, legal or not."""

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        """Post these bytes to the exact read of an Entry version."""

    def fault(self, family: Family, kind: str) -> None:
        """Let the recall of a family fail from now on: `error`, `hang`, `slow`, or `none` again."""

    def restart(self) -> None:
        """Stop the server and start it again on the same database."""

    def log(self) -> str:
        """Return what the server has logged since it was last asked, or since the last reset."""

    def close(self) -> None:
        """Stop what this target started."""


class TargetMaker(Protocol):
    """How a target is made: `ReferenceTarget("sqlite", url)`."""

    def __call__(self, backend: str, database_url: str, /) -> Target:
        """Set the system up on a database of a backend's."""
