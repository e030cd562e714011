"""Near-identical twins of Scopes, Artifacts, Entries and principals, which must change nothing.

A twin differs from its original in what engines are known to fold: case, accents, trailing blanks, width, normal form,
characters without width. Twins hold canaries of their own, and nobody who calls may read a twin Scope.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.explore.canaries import canary
from harness.scenario.model import TwinKind
from runtime.artifacts import MAX_ID_CHARACTERS, Document, EntryChange, EntryWrite, Profile

_ACCENTED = dict(zip("aceginosuyzACEGINOSUYZ", "áçéğíñóšúýžÁÇÉĞÍÑÓŠÚÝŽ", strict=True))


def _accented(identity: str) -> str:
    at = next((at for at, letter in enumerate(identity) if letter in _ACCENTED), None)
    return identity if at is None else identity[:at] + _ACCENTED[identity[at]] + identity[at + 1 :]


def _widened(identity: str) -> str:
    at = next((at for at, letter in enumerate(identity) if "!" <= letter <= "~"), None)
    return identity if at is None else identity[:at] + chr(ord(identity[at]) + 0xFEE0) + identity[at + 1 :]


def _other_normal_form(identity: str) -> str:
    forms = (unicodedata.normalize(form, identity) for form in ("NFD", "NFC"))
    return next((form for form in forms if form != identity), identity)


KINDS: dict[TwinKind, Callable[[str], str]] = {
    "case": str.swapcase,
    "accent": _accented,
    "trailing_blank": lambda identity: identity + " ",
    "width": _widened,
    "normal_form": _other_normal_form,
    "zero_width": lambda identity: identity + "\u200b",
}


MOST_CHARACTERS = 2000
"""How much of an original's text its twin repeats."""


class Twins:
    """The twins of one kind of everything that a list of writes makes.

    `taken` holds every id that means something already, spelled out in the scenario or made by another kind; nothing
    becomes its twin. `entries` says whether Entries get twins beside them, which lengthens the manifest.
    """

    def __init__(self, kind: TwinKind, *, taken: Collection[str], entries: bool) -> None:
        self._kind = kind
        self._taken = taken
        self._entries = entries

    def identity(self, identity: str) -> str | None:
        """Return an id's twin, or None where it has none of this kind, or none that is free and legal."""
        twin = KINDS[self._kind](identity)
        if twin == identity or twin in self._taken or len(twin) > MAX_ID_CHARACTERS:
            return None
        return twin

    def beside(self, operation: Operation, *, original: Operation) -> Operation:
        """Return a write of Entries with the twins of the original's behind them, in the same revision."""
        if not (isinstance(operation, WriteMemory) and isinstance(original, WriteMemory) and self._entries):
            return operation
        twins = [twin for change in original.changes for twin in self._entry_twins(original.scope_id, change)]
        return replace(operation, changes=(*operation.changes, *twins))

    def of(self, operations: Sequence[Operation]) -> Iterator[Operation]:
        """Yield the writes that make the twins of Scopes, Artifacts and principals."""
        scopes = {
            write.scope_id: self.identity(write.scope_id) for write in operations if isinstance(write, CreateScope)
        }
        callers = [write.principal_id for write in operations if isinstance(write, CreatePrincipal)]
        principals = {caller: self.identity(caller) for caller in callers}
        for operation in operations:
            yield from self._in_place(operation)
        for kind in (CreateScope, WriteMemory, WriteDocument, Propose, SetReferences, CreatePrincipal, Grant, Revoke):
            for operation in operations:
                if isinstance(operation, kind):
                    yield from self._elsewhere(operation, scopes, principals)

    def _in_place(self, operation: Operation) -> Iterator[Operation]:
        """Yield an Artifact's twin beside it: nothing but canaries, so that no query finds it."""
        if isinstance(operation, WriteDocument) and not isinstance(operation.content, Profile):
            twin = self.identity(operation.artifact_id)
            if twin is not None:
                content = _only_canaries(operation.content, self._kind, operation.scope_id, twin)
                yield WriteDocument(operation.scope_id, twin, content)

    def _elsewhere(
        self, operation: Operation, scopes: dict[str, str | None], principals: dict[str, str | None]
    ) -> Iterator[Operation]:
        """Yield the same write in the twin Scope, or of the twin principal."""
        if isinstance(operation, CreatePrincipal):
            twin_principal = principals[operation.principal_id]
            if twin_principal is not None:
                token = canary("token", self._kind, operation.principal_id)
                yield CreatePrincipal(twin_principal, token, operation.administrator)
            return
        scope = scopes.get(operation.scope_id)
        if scope is None:
            return
        match operation:
            case Grant(principal_id) | Revoke(principal_id):
                twin_principal = principals.get(principal_id)
                if twin_principal is not None:
                    yield replace(operation, principal_id=twin_principal, scope_id=scope)
            case SetReferences(references=references):
                named = (scopes.get(reference) or reference for reference in references)
                yield SetReferences(scope, tuple(dict.fromkeys(name for name in named if name != scope)))
            case WriteMemory(changes=changes):
                marked = tuple(_marked_change(change, self._kind, scope) for change in changes)
                yield WriteMemory(scope, marked)
            case WriteDocument() | Propose():
                content = _marked_document(operation.content, self._kind, scope, operation.artifact_id)
                yield replace(operation, scope_id=scope, content=content)
            case CreateScope():
                yield CreateScope(scope)

    def _entry_twins(self, scope_id: str, change: EntryChange) -> Iterator[EntryWrite]:
        twin = self.identity(change.entry_id)
        if isinstance(change, EntryWrite) and twin is not None:
            text = canary(self._kind, scope_id, twin, change.entry_version_id)
            yield EntryWrite(twin, change.entry_version_id, text, change.kind)


def with_twins(
    operations: Sequence[Operation], kinds: Iterable[TwinKind], *, spelled: Collection[str], entries: bool
) -> list[Operation]:
    """Return the writes and those of the twins of every kind; `spelled` are the strings of the scenario's steps."""
    taken = {*spelled, *_identities(operations)}
    made = list(operations)
    extra: list[Operation] = []
    for kind in kinds:
        twins = Twins(kind, taken=frozenset(taken), entries=entries)
        extra += twins.of(operations)
        made = [twins.beside(new, original=old) for new, old in zip(made, operations, strict=True)]
        taken.update(_identities([*made, *extra]))
    return [*made, *extra]


def _marked_change(change: EntryChange, *place: str) -> EntryChange:
    if not isinstance(change, EntryWrite):
        return change
    text = _behind(canary(*place, change.entry_id, change.entry_version_id), change.text)
    return replace(change, text=text)


def _marked_document(document: Document, *place: str) -> Document:
    names = [field.name for field in fields(document)]
    return type(document)(*(_behind(canary(*place, name), getattr(document, name)) for name in names))


def _behind(mark: str, text: str) -> str:
    # On a line of its own, so that the original's lines are the same; a beginning will do to be mistaken for it.
    return f"{mark}\n{text[:MOST_CHARACTERS]}"


def _only_canaries(document: Document, *place: str) -> Document:
    names = [field.name for field in fields(document)]
    return type(document)(*(canary(*place, name) for name in names))


def _identities(operations: Iterable[Operation]) -> Iterator[str]:
    for operation in operations:
        match operation:
            case CreateScope(scope_id):
                yield scope_id
            case CreatePrincipal(principal_id):
                yield principal_id
            case WriteDocument(_, artifact_id) | Propose(_, artifact_id):
                yield artifact_id
            case WriteMemory(_, changes):
                yield from (change.entry_id for change in changes)
