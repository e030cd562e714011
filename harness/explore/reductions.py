"""What can be left out of a scenario's plain values or made shorter, coarse things first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from harness.explore.writing import Plain

Path = tuple[str | int, ...]
Item = TypeVar("Item")
_KEPT = {"scenario", "steps"}
_TOLD = {"why", "tags", "report"}
"""Top keys that say what the scenario is about; they change no verdict."""
_SHORTEST = 12
"""Characters of a text that are not worth shortening."""
_SIMPLE = re.compile(r"[a-z][a-z0-9-]{0,11}")
_CONTENT = ("memory", "experience", "profile", "topics")
_SINGLE = {"contains", "absent"}
"""Expectations that are lists of claims, each of which stands alone."""


def _without_steps(plain: Plain) -> Iterator[Plain]:
    yield from ({**plain, "steps": steps} for steps in fewer(plain["steps"]) if steps)


def _without_scopes(plain: Plain) -> Iterator[Plain]:
    names = list(plain.get("scopes", {}))
    for kept in fewer(names):
        gone = set(names) - set(kept)
        scopes = {name: _unmentioned(plain["scopes"][name], gone) for name in kept}
        steps = [_unmentioned(step, gone) for step in plain["steps"] if not _is_about(step, gone)]
        if steps:
            rest = {key: _unmentioned(part, gone) for key, part in plain.items() if key not in ("scopes", "steps")}
            yield _in_order(plain, {**rest, "scopes": scopes, "steps": steps})


def _without_principals(plain: Plain) -> Iterator[Plain]:
    names = list(plain.get("principals", {}))
    for kept in [[], *fewer(names)]:
        gone = set(names) - set(kept)
        if not gone:
            continue
        steps = [step for step in plain["steps"] if not _calls(step, gone)]
        principals = {name: plain["principals"][name] for name in kept}
        if steps:
            yield _in_order(
                plain, {**plain, "principals": principals, "steps": steps} if kept else _alone(plain, steps)
            )


def _alone(plain: Plain, steps: list[Plain]) -> Plain:
    """Return the scenario with the reader of everything that the format has by default."""
    return {**{key: part for key, part in plain.items() if key != "principals"}, "steps": steps}


def _without_items(plain: Plain) -> Iterator[Plain]:
    """Yield the scenario with fewer items in one of its lists, wherever it is."""
    for path, value in _walk(plain):
        if isinstance(value, list) and path[0] not in _TOLD and path != ("steps",) and not _is_claimed(path):
            yield from (_put(plain, path, items) for items in fewer(value))
            if len(value) == 1 and len(path) > 2 and path[-2] == "memory":
                yield _put(plain, path, value[0])


def _without_members(plain: Plain) -> Iterator[Plain]:
    """Yield the scenario without one key of one of its mappings, wherever it is."""
    for path, value in _walk(plain):
        if isinstance(value, dict) and not _is_claimed(path):
            for key in value:
                if not (path == () and key in _KEPT | _TOLD) and path not in (("scopes",), ("principals",)):
                    yield _put(plain, path, {name: part for name, part in value.items() if name != key})


def _shorter_texts(plain: Plain) -> Iterator[Plain]:
    for path, value in _walk(plain):
        if isinstance(value, str) and path[0] not in {"scenario", *_TOLD} and not _is_claimed(path):
            yield from (_put(plain, path, " ".join(words)) for words in fewer(value.split(" ")) if words)
            if len(value) <= _SHORTEST:
                continue
            for size in _halves(len(value)):
                for start in range(0, len(value), size):
                    yield _put(plain, path, value[:start] + value[start + size :])


def _simpler_ids(plain: Plain) -> Iterator[Plain]:
    """Yield the scenario with one id spelled plainly everywhere."""
    found: dict[str, None] = {}
    for path, value in _walk(plain):
        if isinstance(value, str) and path[-1] in ("id", "entry", "version", "retire") and not _SIMPLE.fullmatch(value):
            found[value] = None
    for number, name in enumerate(found, start=1):
        yield _renamed(plain, name, f"id-{number}")
        for size in _halves(len(name)):
            for start in range(0, len(name), size):
                shorter = name[:start] + name[start + size :]
                if shorter.strip() and shorter not in found:
                    yield _renamed(plain, name, shorter)


def fewer(items: list[Item]) -> Iterator[list[Item]]:
    """Yield a list without a part of it: all, halves, quarters, at last each single item."""
    for size in [len(items), *_halves(len(items))] if items else []:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]


def _halves(size: int) -> Iterator[int]:
    while size > 1:
        size = (size + 1) // 2
        yield size


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in members:
        yield from _walk(part, (*path, key))


def _put(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {name: _put(part, tuple(rest), new) if name == key else part for name, part in value.items()}
    return [_put(part, tuple(rest), new) if place == key else part for place, part in enumerate(value)]


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _changed(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_changed(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def _renamed(plain: Plain, old: str, new: str) -> Plain:
    changed: Plain = _changed(plain, lambda text: new if text == old else text)
    return changed


def _unmentioned(value: Any, gone: set[str]) -> Any:
    """Return a value without the Scopes' names in its lists: references, what is read, what is granted."""
    if isinstance(value, dict):
        return {key: part if key in _CONTENT else _unmentioned(part, gone) for key, part in value.items()}
    return (
        [part for part in value if not (isinstance(part, str) and part in gone)] if isinstance(value, list) else value
    )


def _is_claimed(path: Path) -> bool:
    """Say whether a value is a part of one thing that a step expects: with another value it would be another claim."""
    match path:
        case ("steps", _, "expect", key, *rest):
            return bool(rest) or key not in _SINGLE
        case _:
            return False


def _is_about(step: Plain, gone: set[str]) -> bool:
    """Say whether a step asks for, reads or writes one of the Scopes."""
    asked = step.get("prepare", {}).get("scope_id")
    read = step["read"].get("scope") if isinstance(step.get("read"), dict) else None
    return asked in gone or read in gone or bool(gone & step.get("write", {}).keys())


def _calls(step: Plain, gone: set[str]) -> bool:
    named = [step.get("as"), *step.get("grant", {}), *step.get("revoke", {})]
    return any(isinstance(name, str) and name in gone for name in named)


def _in_order(like: Plain, plain: Plain) -> Plain:
    return {key: plain[key] for key in like if key in plain}


REDUCTIONS: tuple[Callable[[Plain], Iterator[Plain]], ...] = (
    _without_steps,
    _without_scopes,
    _without_principals,
    _without_items,
    _without_members,
    _shorter_texts,
    _simpler_ids,
)
"""Each yields smaller scenarios, each by one reduction; many are no legal scenarios any more."""
