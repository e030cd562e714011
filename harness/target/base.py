"""What answers prepare: the roles that the runner talks to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

from backends.operations import Operation
from harness.scenario.model import RuntimeSpec, Scenario
from harness.target.ids import Ids
from runtime.artifacts import Citation, Family

Style = Literal["in-tree", "1.0-1.2", "1.3-1.4"]
"""Whose output it is (SPEC.md 7): in-tree, or that of a range of releases."""


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
class Applied:
    """Writes that a target accepted, as it stored them: with its own ids, texts as it keeps them, its own revisions."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that the target refused, with the code of SPEC.md 1."""

    code: str
    at: str = ""
    """Which of the operations it was, where the target knows."""


class TargetLost(Exception):
    """A target that could not be asked or written to: its engine, its server or its database does not answer."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How a target departs from this repository's runtime where the contract leaves it free (SPEC.md 7 and 10)."""

    style: Style = "in-tree"
    makes_ids: bool = False
    """Whether it makes its own ids, so that a text's length differs from what a scenario counts."""
    own_search: bool = False
    """Whether it ranks by a search of its own, so that its order is asked for by probes."""
    digests: bool = True
    """Whether the rows that it stored can be read back beside its public interface."""
    request_ids: bool = True
    """Whether each answer carries `X-Request-Id`."""
    snippet_windows: bool = False
    """Whether a topic's snippet is a window of its whole detail instead of a line."""
    other_families: frozenset[str] = frozenset()
    raw_line_characters: bool = False


class Target(Protocol):
    """A system under test on one backend: seeded by operations, asked over HTTP. Each method may raise TargetLost.

    Operations and what a scenario says have the scenario's own ids, `ids` what they are called here. All that is asked
    and answered, and the operations that `apply` returns, have the real ones.
    """

    name: str
    backend: str
    traits: Traits
    ids: Ids

    def token(self, principal_id: str, *, administrator: bool) -> str:
        """Return the bearer token that a principal will show, before the operation that creates it."""

    def lacking(self, scenario: Scenario) -> str | None:
        """Return why a scenario cannot be run here, beginning with "needs", or None."""

    def reset(self, runtime: RuntimeSpec) -> None:
        """Empty the database and set the system up as the scenario asks."""

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        """Write the operations in one transaction, as far as the target has any; a refusal leaves nothing of them."""

    def digest(self) -> str:
        """Return the digest of the logical rows, read back from the engine; only of a target whose traits say so."""

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
