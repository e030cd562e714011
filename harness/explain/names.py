"""Citations and Scopes by the scenario's own names, each told with its version or revision."""

from __future__ import annotations

from harness.scenario.model import Scenario
from harness.scenario.operations import scope_ids
from runtime.artifacts import Citation, EntryAddress


class Named:
    """How one scenario calls what is stored."""

    def __init__(self, scenario: Scenario) -> None:
        self._names = {scope_id: name for name, scope_id in scope_ids(scenario).items()}

    def scope(self, scope_id: str) -> str:
        """Return a Scope's name, or its id where the scenario has none for it."""
        return self._names.get(scope_id, scope_id)

    def item(self, citation: Citation, *, current: str | None = None) -> str:
        """Return an item, e.g. `entry-1@entry-1-v2`; behind its Scope where `current` is another one."""
        if isinstance(citation, EntryAddress):
            scope_id, name = citation.memory.scope_id, f"{citation.entry_id}@{citation.entry_version_id}"
        else:
            scope_id, name = citation.scope_id, f"{citation.artifact_id}#{citation.revision}"
        return name if current in (None, scope_id) else f"{self.scope(scope_id)}/{name}"
