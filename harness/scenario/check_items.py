"""Whether the items that a step expects can be told apart, and can be there at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.errors import did_you_mean
from harness.scenario.items import NotAnItem, short_form
from harness.scenario.model import AnyOrder, Expect, ItemSpec
from harness.scenario.world import TITLES, World
from runtime.artifacts import FAMILIES, MEMORY, PROFILE, PROFILE_ID, TOPIC_MEMORY, Family

Location = tuple[str | int, ...]
Complaint = tuple[Location, str, str | None]
"""Where (a location that ends in VALUE is the value's place, any other the key's), what is wrong, and a hint."""
VALUE = "(value)"


def check_items(expect: Expect, world: World, current: str | None, names: Mapping[str, str]) -> Iterator[Complaint]:
    """Give what is wrong with the items of an expectation.

    `current` is the id of the Scope that the request names, None where the request does not tell; `names` holds the
    Scopes' ids by name.
    """
    titles: list[str] = []
    for index, section in enumerate(expect.sections or ()):
        if len(section) != 1:
            yield ("sections", index), "a section is one title with its items", "begin each section with a dash"
        for title, items in section.items():
            if title in titles:
                yield ("sections", index, title), f'section "{title}" twice', None
            titles.append(title)
            location: Location = ("sections", index, title)
            listed: Sequence[str | ItemSpec]
            if isinstance(items, AnyOrder):
                listed, location = items.any_order, (*location, "any_order")
            else:
                listed = items
            for position, item in enumerate(listed):
                yield from _item(item, (*location, position), [TITLES[title]], world, current, names)
    for position, item in enumerate(expect.truncated or ()):
        yield from _item(item, ("truncated", position), FAMILIES, world, current, names)
    for item in expect.ranks or {}:
        yield from _item(item, ("ranks", item), FAMILIES, world, current, names)


def _item(
    item: str | ItemSpec,
    location: Location,
    families: Sequence[Family],
    world: World,
    current: str | None,
    names: Mapping[str, str],
) -> Iterator[Complaint]:
    seen = world.seen_from(current)
    if current is not None and list(families) == [TOPIC_MEMORY]:
        seen = seen[:1]
    known = list(dict.fromkeys(world.names(families, seen)))
    try:
        parts = _parts(item, families, known)
    except NotAnItem as problem:
        yield location, problem.message, problem.hint
        return
    scope = parts[0].scope
    if scope is not None:
        if scope not in names:
            yield location, f'unknown Scope "{scope}"', did_you_mean(scope, names)
            return
        if names[scope] not in seen:
            inside = [name for name, scope_id in names.items() if scope_id in seen]
            yield location, f'the request does not read Scope "{scope}"', f"it reads: {', '.join(inside) or 'none'}"
            return
        seen = [names[scope]]
    places = [
        (place, family)
        for part in parts
        for place, family in world.places(part, families, seen)
        if family != TOPIC_MEMORY or current in (None, place)
    ]
    shown = item if isinstance(item, str) else (item.entry or item.id or "")
    if not places:
        head = parts[0].entry or parts[0].id or ""
        part = parts[0]
        if current is not None and current not in world.scopes:
            message = f'no item "{shown}": the request\'s Scope "{current}" is none of the scenario'
            yield location, message, did_you_mean(current, names)
        elif head in known and (part.version or part.revision):
            yield location, f'"{shown}" is never written', _versions(part, families, world, seen)
        else:
            yield location, f'no item "{shown}" in {_titles(families)} of the Scopes read', did_you_mean(head, known)
    elif len({place[0] for place in places}) > 1:
        one = next((name for name, scope_id in names.items() if scope_id == places[0][0]), places[0][0])
        yield location, f'"{shown}" is ambiguous: it is in {len(places)} Scopes', f"write {one}/{shown}"
    elif len(places) > 1:
        both = " and ".join(family for _, family in places)
        yield location, f'"{shown}" is ambiguous: it is in {both}', "write {entry: ...} or {id: ...}"


def _parts(item: str | ItemSpec, families: Sequence[Family], known: Sequence[str]) -> list[ItemSpec]:
    """Return the readings of an item: in `truncated` and `ranks` an id may be an Entry's or an Artifact's."""
    if isinstance(item, ItemSpec):
        if item.entry is None and list(families) == [MEMORY]:
            raise NotAnItem("an item of Memory takes `entry`", "write {entry: ..., version: ...}")
        if item.entry is not None and MEMORY not in families:
            raise NotAnItem("only an item of Memory takes `entry`", "write {id: ..., revision: ...}")
        if list(families) == [PROFILE] and item.id != PROFILE_ID:
            raise NotAnItem(f'a Profile\'s id is "{PROFILE_ID}"', f"write {PROFILE_ID}")
        return [item]
    if item in known and any(sign in item for sign in "@#/"):
        raise NotAnItem(f'"{item}" holds @, # or /', "write it as {scope: ..., entry: ...} or {scope: ..., id: ...}")
    if len(families) == 1:
        return [short_form(item, memory=families[0] == MEMORY)]
    readings: list[ItemSpec] = []
    for memory in (True, False):
        try:
            readings.append(short_form(item, memory=memory))
        except NotAnItem as problem:
            refused = problem
    if not readings:
        raise refused
    return readings


def _titles(families: Sequence[Family]) -> str:
    if len(families) > 1:
        return "any part"
    return next(title for title, family in TITLES.items() if family == families[0])


def _versions(part: ItemSpec, families: Sequence[Family], world: World, scopes: Sequence[str]) -> str | None:
    if part.entry is not None:
        written = [version for scope in scopes for version in sorted(world.scopes[scope].entries.get(part.entry, ()))]
        return did_you_mean(part.version or "", written)
    states = [world.scopes[scope] for scope in scopes]
    latest = max(state.artifacts.get(family, {}).get(part.id or "", 0) for state in states for family in families)
    return f"its latest revision is {latest}"
