"""The short forms by which a scenario names items and entries."""

from __future__ import annotations

from harness.scenario.model import ItemSpec

_LONG = "write {scope: ..., entry: ..., version: ...} or {scope: ..., id: ..., revision: ...}"


class NotAnItem(ValueError):
    """A text that is no short form; `hint` says what to write."""

    def __init__(self, message: str, hint: str = _LONG) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def short_form(text: str, *, memory: bool) -> ItemSpec:
    """Return the parts of `id`, `entry@version`, `id#revision`, each perhaps behind `scope/`.

    In a Memory section (`memory`) the id is an Entry's, elsewhere an Artifact's; raises NotAnItem.
    """
    if text.count("/") > 1:
        raise NotAnItem(f'"{text}" has more than one /')
    scope, _, rest = text.rpartition("/")
    head, mark, tail = rest.partition("@" if memory else "#")
    if not head or (mark and not tail) or ("/" in text and not scope):
        raise NotAnItem(f'"{text}" is no item', "write entry-1, entry-1@version, experience-1#2 or scope/entry-1")
    if any(sign in part for sign in "@#" for part in (head, tail)):
        raise NotAnItem(f'"{text}" holds an @ or # that has no meaning there')
    if memory:
        return ItemSpec(scope=scope or None, entry=head, version=tail or None)
    if tail and not (tail.isascii() and tail.isdecimal() and not tail.startswith("0")):
        raise NotAnItem(f'"{text}": a revision is a number from 1')
    return ItemSpec(scope=scope or None, id=head, revision=int(tail) if tail else None)


def entry_and_version(entry: str, version: str | None) -> tuple[str, str]:
    """Return the two ids of a read's `entry: id@version`, or of `entry` beside `version`; raises NotAnItem."""
    if version is not None:
        return entry, version
    head, mark, tail = entry.partition("@")
    if not mark:
        raise NotAnItem(f'"{entry}" names no version', "write entry@version, or `version` beside `entry`")
    if not head or not tail or "@" in tail:
        raise NotAnItem(f'"{entry}" is no entry@version', "write `version` beside `entry`")
    return head, tail
