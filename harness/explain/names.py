"""Citations and Scopes by the scenario's own names, each told with its version or revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.check.world import World
from harness.scenario.model import Scenario
from harness.scenario.operations import scope_ids
from runtime.artifacts import Citation, EntryAddress, Memory


class Named:
    """How one scenario calls what is stored when a request reads some Scopes."""

    def __init__(self, scenario: Scenario, world: World, read: tuple[str, ...] = ()) -> None:
        self._names = {scope_id: name for name, scope_id in scope_ids(scenario).items()}
        counted = Counter(name for scope_id in dict.fromkeys(read) for name in set(_names_in(world, scope_id)))
        self._shared = {name for name, count in counted.items() if count > 1}
        """What several of the Scopes read have: an expectation must say of which it speaks."""

    def scope(self, scope_id: str) -> str:
        """Return a Scope's name, or its id where the scenario has none for it."""
        return self._names.get(scope_id, scope_id)

    def item(self, citation: Citation, *, current: str | None = None) -> str:
        """Return an item, e.g. `entry-1@entry-1-v2`.

        With `current` behind its Scope where that is another one, or has not alone what is called so.
        """
        if isinstance(citation, EntryAddress):
            address, identifier = citation.memory, citation.entry_id
            name = f"{citation.entry_id}@{citation.entry_version_id}"
        else:
            address, identifier = citation, citation.artifact_id
            name = f"{citation.artifact_id}#{citation.revision}"
        is_plain = address.scope_id == current and (address.family, identifier) not in self._shared
        return name if current is None or is_plain else f"{self.scope(address.scope_id)}/{name}"


def _names_in(world: World, scope_id: str) -> Iterator[tuple[str, str]]:
    """Yield family and id of what a Scope has or had; of a Memory the Entries' ids."""
    for (holder, family, artifact_id), revisions in world.revisions.items():
        if holder != scope_id:
            continue
        for content in revisions:
            if isinstance(content, Memory):
                yield from ((family, entry.entry_id) for entry in content.entries)
            else:
                yield family, artifact_id
