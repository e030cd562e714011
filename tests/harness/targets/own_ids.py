"""The runtime behind ids of its own making, as released products have them: what a scenario calls things is mapped."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from backends.operations import (
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.scenario.model import RuntimeSpec, Scenario
from harness.scenario.needs import needs
from harness.target.base import Applied, Refused, Traits
from harness.target.ids import Ids
from harness.target.reference import ReferenceTarget
from runtime.artifacts import EntryChange, EntryWrite, Profile


class MakesIds(ReferenceTarget):
    name = "makes-ids"
    traits = Traits(makes_ids=True, own_search=True, digests=False)

    def lacking(self, scenario: Scenario) -> str | None:
        missing = {"chosen ids", "a reranker"}.intersection(needs(scenario))
        return f"needs {', '.join(sorted(missing))}" if missing else None

    def reset(self, runtime: RuntimeSpec) -> None:
        self.ids = Ids()
        super().reset(runtime)

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        return super().apply([self._real(operation) for operation in operations])

    def _real(self, operation: Operation) -> Operation:
        match operation:
            case CreateScope(scope_id):
                if scope_id not in self.ids.scopes:
                    self.ids.learn_scope(scope_id, f"scp_{secrets.token_hex(13)}")
                return CreateScope(self.ids.scope(scope_id))
            case SetReferences(scope_id, references):
                return SetReferences(self.ids.scope(scope_id), tuple(map(self.ids.scope, references)))
            case WriteMemory(scope_id, changes):
                return WriteMemory(self.ids.scope(scope_id), tuple(self._change(scope_id, one) for one in changes))
            case WriteDocument(scope_id, artifact_id, content) | Propose(scope_id, artifact_id, content):
                if (scope_id, artifact_id) not in self.ids.artifacts and not isinstance(content, Profile):
                    self.ids.learn_artifact(scope_id, artifact_id, f"art_{secrets.token_hex(16)}")
                real = self.ids.artifact(scope_id, artifact_id)
                return replace(operation, scope_id=self.ids.scope(scope_id), artifact_id=real)
            case Grant(_, scope_id) | Revoke(_, scope_id):
                return replace(operation, scope_id=self.ids.scope(scope_id))
            case _:
                return operation

    def _change(self, scope_id: str, change: EntryChange) -> EntryChange:
        if (scope_id, change.entry_id) not in self.ids.entries:
            self.ids.learn_entry(scope_id, change.entry_id, f"mem_ent_{secrets.token_hex(16)}")
        real = self.ids.entry(scope_id, change.entry_id)
        if not isinstance(change, EntryWrite):
            return replace(change, entry_id=real)
        version = change.entry_version_id
        if (scope_id, change.entry_id, version) not in self.ids.versions:
            self.ids.learn_version(scope_id, change.entry_id, version, f"mem_ver_{secrets.token_hex(16)}")
        return replace(change, entry_id=real, entry_version_id=self.ids.version(scope_id, change.entry_id, version))
