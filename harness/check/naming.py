"""The short names of items in a scenario: `entry-1@v2`, `experience-1#2`, `shared/entry-1` (DESIGN.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.check.bodies import family_of
from harness.check.delivered import DeliveredItem, Section
from harness.check.parts import TITLES
from harness.check.world import ATOMIC_MEMORY, World
from harness.scenario.model import ItemSpec
from harness.target.ids import Ids
from runtime.artifacts import FAMILIES, MEMORY, MEMORY_ID, EntryAddress, Family, Memory

_RESERVED = "@#/"


class UnknownName(Exception):
    """A name in an expectation that fits nothing stored, or more than one thing; says which."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an expected item must be; a part that is None may be anything. `written` is how the scenario says it."""

    written: str
    families: tuple[str, ...]
    scope_id: str
    identifier: str
    version: str | None
    revision: int | None
    world: World = field(repr=False)
    names_scope: bool = False
    """Whether the scenario says the Scope."""

    def means(self, item: DeliveredItem) -> bool:
        """Say whether a delivered item is the one that is meant, in whatever version."""
        name, _ = name_and_version(item, self.world)
        return (item.scope_id, name) == (self.scope_id, self.identifier) and item.address.family in self.families

    def matches(self, item: DeliveredItem) -> bool:
        """Say whether a delivered item is the one that is meant."""
        _, version = name_and_version(item, self.world)
        return self.means(item) and self.version in (None, version) and self.revision in (None, item.address.revision)


@dataclass(frozen=True, slots=True)
class Names:
    """How a scenario names things: Scope names to ids, the step's current Scope, and what is stored."""

    world: World
    scopes: Mapping[str, str]
    current: str | None
    ids: Ids = field(default_factory=Ids)

    def wanted(self, item: str | ItemSpec, *, title: str | None = None) -> Wanted:
        """Return what an expected item must be, in one section or, without a title, in any.

        A name without Scope means the current Scope where that holds it, else the only Scope that does. Raises
        UnknownName where nothing stored fits, or several Scopes beside the current one.
        """
        scope, identifier, version, revision = self._parts(item)
        families = [family for family in FAMILIES if title is None or TITLES[family] == title]
        if isinstance(item, ItemSpec):
            families = [family for family in families if (family == MEMORY) == (item.entry is not None)]
        elif version is not None:
            families = [family for family in families if family == MEMORY]
        written = item if isinstance(item, str) else spelled(item)
        found = self.scope_of(identifier, families) if scope is None else self._scope_id(scope)
        if found is None:
            raise UnknownName(
                f"`{written}` names nothing stored, or something in several Scopes: say `scope/{written}`"
            )
        identifier = self._real(found, identifier)
        if version is not None:
            version = self.ids.version(found, self.ids.name(identifier), version)
        fitting: tuple[str, ...] = tuple(family for family in families if self._holds(found, family, identifier))
        if not fitting:
            raise UnknownName(f"`{written}` names nothing that is stored{f' for section {title}' if title else ''}")
        if MEMORY in fitting:
            # Releases since 1.3 deliver memories under another family's name (SPEC.md 7).
            fitting = (*fitting, ATOMIC_MEMORY)
        return Wanted(written, fitting, found, identifier, version, revision, self.world, names_scope=scope is not None)

    def scope_of(self, identifier: str, families: Iterable[Family]) -> str | None:
        """Return the Scope that a name without one means, of those that the request may read."""
        kinds = tuple(families)
        known = self.world.references
        read = list(known) if self.current not in known else [self.current, *known[self.current]]
        holders = [
            scope_id
            for scope_id in read
            if any(self._holds(scope_id, family, self._real(scope_id, identifier)) for family in kinds)
        ]
        if self.current in holders:
            return self.current
        return holders[0] if len(holders) == 1 else None

    def name_of(self, item: DeliveredItem, *, detailed: bool, with_scope: bool = False) -> str:
        """Return a delivered item in the scenario's short language; `detailed` adds version or revision.

        The Scope is said where it is needed, or asked for.
        """
        real, version = name_and_version(item, self.world)
        name = self.ids.name(real)
        version = None if version is None else self.ids.name(version)
        title = TITLES.get(item.address.family)
        families = [family for family in FAMILIES if TITLES[family] == title]
        scope = next((key for key, scope_id in self.scopes.items() if scope_id == item.scope_id), item.scope_id)
        needs_scope = with_scope or self.scope_of(name, families) != item.scope_id
        parts = (name, version or "", scope if needs_scope else "")
        if any(character in part for part in parts for character in _RESERVED):
            shown = [f"scope: {scope}"] if needs_scope else []
            shown.append(f"{'entry' if version else 'id'}: {name}")
            if detailed:
                shown.append(f"version: {version}" if version else f"revision: {item.address.revision}")
            return "{" + ", ".join(shown) + "}"
        tail = (f"@{version}" if version else f"#{item.address.revision}") if detailed else ""
        return (f"{scope}/" if needs_scope else "") + name + tail

    def listing(self, items: Sequence[DeliveredItem], wanted: Iterable[Wanted]) -> str:
        """Return delivered items as `[entry-1, entry-2]`, as far as possible in the words of the expectation.

        Versions only where it speaks of any, a Scope where it says that item's.
        """
        known = tuple(wanted)
        detailed = any(one.version is not None or one.revision is not None for one in known)
        told = (
            self.name_of(item, detailed=detailed, with_scope=any(one.names_scope and one.means(item) for one in known))
            for item in items
        )
        return f"[{', '.join(told)}]"

    def sections(self, sections: Iterable[Section], wanted: Iterable[Wanted]) -> str:
        """Return delivered sections as `Memory: [entry-1], Experience: [experience-1]`."""
        known = tuple(wanted)
        return ", ".join(f"{one.title}: {self.listing(one.items, known)}" for one in sections) or "no section"

    def _parts(self, item: str | ItemSpec) -> tuple[str | None, str, str | None, int | None]:
        if isinstance(item, ItemSpec):
            identifier = item.entry if item.entry is not None else item.id
            if identifier is None:
                raise UnknownName(f"`{spelled(item)}` needs `entry` or `id`")
            return item.scope, identifier, item.version, item.revision
        scope, slash, rest = item.partition("/")
        if not slash:
            scope, rest = "", item
        name, at, version = rest.partition("@")
        name, hashed, revision = name.partition("#")
        if hashed and not (revision.isascii() and revision.isdecimal()):
            raise UnknownName(f"`{item}`: what follows `#` is no revision")
        return scope if slash else None, name, version if at else None, int(revision) if hashed else None

    def _real(self, scope_id: str, identifier: str) -> str:
        """Return what an Entry or Artifact of the scenario is called in a Scope of the target's."""
        return self.ids.artifact(scope_id, self.ids.entry(scope_id, identifier))

    def _scope_id(self, name: str) -> str:
        if name in self.scopes:
            return self.scopes[name]
        if self.world.exists(name):
            return name
        raise UnknownName(f"there is no Scope `{name}`")

    def _holds(self, scope_id: str, family: Family, identifier: str) -> bool:
        if family != MEMORY:
            return (scope_id, family, identifier) in self.world.revisions or any(
                (one.scope_id, family_of(one.content), one.artifact_id) == (scope_id, family, identifier)
                for one in self.world.candidates
            )
        revisions = self.world.revisions.get((scope_id, MEMORY, MEMORY_ID), [])
        head = revisions[-1] if revisions else None
        return isinstance(head, Memory) and any(entry.entry_id == identifier for entry in head.entries)


def name_and_version(item: DeliveredItem, world: World) -> tuple[str, str | None]:
    """Return an item's entry id and version, or its artifact id and None; an atomic memory is an Entry."""
    if isinstance(item.citation, EntryAddress):
        return item.citation.entry_id, item.citation.entry_version_id
    address = item.citation
    if address.family != ATOMIC_MEMORY:
        return address.artifact_id, None
    versions = world.entry_versions(address.scope_id, address.artifact_id)
    known = 1 <= address.revision <= len(versions)
    return address.artifact_id, versions[address.revision - 1] if known else None


def spelled(item: ItemSpec) -> str:
    """Return an item's long form as the scenario writes it."""
    parts = item.model_dump(exclude_none=True)
    return "{" + ", ".join(f"{key}: {value}" for key, value in parts.items()) + "}"


def same_items(delivered: Sequence[DeliveredItem], wanted: Sequence[Wanted], *, any_order: bool) -> bool:
    """Say whether the delivered items are exactly the wanted ones, in their order or in any."""
    if len(delivered) != len(wanted):
        return False
    if not any_order:
        return all(one.matches(item) for one, item in zip(wanted, delivered, strict=True))
    if not wanted:
        return True
    return any(
        wanted[0].matches(item) and same_items([*delivered[:at], *delivered[at + 1 :]], wanted[1:], any_order=True)
        for at, item in enumerate(delivered)
    )
