"""Generated worlds: Scopes with artifacts of the four families, references, principals, as a scenario's plain values.

Draws are intentions that do not depend on each other ("retire the third Entry"), made legal afterwards, so that
Hypothesis can leave any of them out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from hypothesis import strategies as st

from harness.explore.texts import ids, texts

Plain = dict[str, Any]
ENTRIES = ("entry-1", "entry-2", "entry-3", "entry-4")
DOCUMENTS = ("doc-1", "doc-2", "doc-3")
_FIELDS = {"experience": ("situation", "action", "outcome", "lesson"), "topics": ("title", "summary", "detail")}
_KINDS = ("preference", "Fact", "日 記")
_RUNTIMES: tuple[Plain, ...] = (
    {"max_entries": 26},
    {"max_entries": 4},
    {"access": "disabled"},
    {"reranker": {"order": ["entry-3", "alpha", "entry-2"]}},
    {"sources": ["memory", "profile"]},
)
"""Few, since a target keeps a server for each."""


class Names:
    """What has to be unique in one world: the words that begin its bodies, and the versions of its Entries."""

    def __init__(self) -> None:
        self._canaries = count(1)
        self._versions = count(1)
        self.entries: dict[str, list[str]] = {}
        """The active Entries of each Scope, by its name."""

    def marked(self, text: str) -> str:
        """Return a text behind a word that no other text holds."""
        word = f"canary{next(self._canaries):06d}"
        return f"{word} {text}" if text else word

    def version(self, start: str) -> str:
        """Return a version's id that no other Entry has."""
        return f"{start[:200]}-{next(self._versions)}"


Maker = Callable[[Names, str], Any]
"""Makes one item of a Scope's lists; gets the Scope's name, and gives None where the intention has no object."""


_VERSIONS = st.one_of(st.none(), st.none(), ids("v", "Version "))


@st.composite
def _change(draw: st.DrawFn) -> Maker:
    entry = draw(ids(*ENTRIES))
    if draw(st.sampled_from((False, False, False, False, True))):
        return lambda names, scope: _retire(names, scope, len(entry))
    text = draw(texts(most=4))
    extra: Plain = {}
    if draw(st.sampled_from((False, False, False, True))):
        extra["kind"] = draw(st.sampled_from(_KINDS))
    version = draw(_VERSIONS)
    return lambda names, scope: _written(names, scope, entry, version, {"text": names.marked(text), **extra})


def _retire(names: Names, scope: str, number: int) -> Plain | None:
    active = names.entries.setdefault(scope, [])
    return {"retire": active.pop(number % len(active))} if active else None


def _written(names: Names, scope: str, entry: str, version: str | None, rest: Plain) -> Plain:
    active = names.entries.setdefault(scope, [])
    if entry not in active:
        active.append(entry)
    # The version's default is made of the entry's id, and may become too long.
    chosen = {} if version is None and len(entry) < 200 else {"version": names.version(version or "long")}
    return {"entry": entry, **chosen, **rest}


_CHANGES = st.one_of(_change().map(lambda one: [one]), st.lists(_change(), min_size=1, max_size=3))


@st.composite
def _revision(draw: st.DrawFn) -> Maker:
    changes = draw(_CHANGES)

    def make(names: Names, scope: str) -> list[Plain] | Plain | None:
        made: dict[str, Plain] = {}
        for change in changes:
            found = change(names, scope)
            if found is not None:
                # An Entry is changed once in a revision; the last intention counts, but never a retirement's.
                made.setdefault(found.get("retire") or found["entry"], found)
        found_all = list(made.values())
        names.entries[scope] = _active(names.entries.get(scope, []), found_all)
        return found_all[0] if len(found_all) == 1 else found_all or None

    return make


def _active(entries: list[str], changes: list[Plain]) -> list[str]:
    """Return what is active after the changes that were really made."""
    written = [change["entry"] for change in changes if "entry" in change]
    retired = [change["retire"] for change in changes if "retire" in change]
    return [entry for entry in dict.fromkeys([*entries, *written]) if entry not in retired]


@st.composite
def _document(draw: st.DrawFn, *, key: str) -> Maker:
    bodies = draw(_bodies(key))
    head: Plain = {"id": draw(ids(*DOCUMENTS)), **draw(_states())}
    return lambda names, _: {**head, **{field: names.marked(text) for field, text in bodies.items()}}


@st.composite
def _profile(draw: st.DrawFn) -> Maker:
    text, state = draw(texts()), draw(_states())

    def make(names: Names, _: str) -> Any:
        return {**state, "content": names.marked(text)} if state else names.marked(text)

    return make


@cache
def _bodies(key: str) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({field: texts(most=2) for field in _FIELDS[key]})


@cache
def _states() -> st.SearchStrategy[Plain]:
    return st.sampled_from(({}, {}, {}, {}, {"state": "pending"}, {"state": "rejected"}))


@cache
def _makers(most: int) -> st.SearchStrategy[dict[str, list[Maker]]]:
    documents = {key: st.lists(_document(key=key), max_size=most) for key in _FIELDS}
    memory = st.lists(_revision(), max_size=most + 1)
    return st.fixed_dictionaries({"memory": memory, **documents, "profile": st.lists(_profile(), max_size=2)})


@st.composite
def contents(draw: st.DrawFn, *, most: int = 3) -> Callable[[Names, str], Plain]:
    """Draw what is written into one Scope; the result makes it, given the Scope's name."""
    intended = draw(_makers(most))

    def make(names: Names, scope: str) -> Plain:
        made = {key: [maker(names, scope) for maker in makers] for key, makers in intended.items()}
        kept = {key: [item for item in items if item is not None] for key, items in made.items()}
        return {key: items for key, items in kept.items() if items}

    return make


_CONTENTS = st.lists(contents(), min_size=1, max_size=4)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Plain, Names]:
    """Draw a scenario without steps, and what is taken in it."""
    names = Names()
    scopes: dict[str, Plain] = {}
    for number, content in enumerate(draw(_CONTENTS), start=1):
        name = f"s{number}"
        taken = [scope.get("id", other) for other, scope in scopes.items()]
        scope_id = draw(st.one_of(st.none(), ids(name)))
        chosen = {} if scope_id in (None, name, *taken) else {"id": scope_id}
        scopes[name] = {**chosen, **content(names, name)}
    own = list(scopes)
    if draw(st.integers(0, 9)) == 9:
        for number in range(1, draw(st.integers(1, 32)) + 1):
            scopes[f"many-{number}"] = {"memory": [{"entry": "entry-1", "text": names.marked("tea")}]}
    for name in own:
        others = [other for other in scopes if other != name]
        references = draw(st.lists(st.sampled_from(others), unique=True, max_size=3)) if others else []
        if name == "s1" and len(scopes) > len(own):
            references = (references + [other for other in others if other not in references])[:32]
        if references:
            scopes[name]["references"] = references
    made: Plain = {"scopes": {name: _ordered(scope) for name, scope in scopes.items()}}
    made["principals"] = draw(_principals(list(scopes)))
    if draw(st.integers(0, 4)) == 4:
        made["runtime"] = draw(st.sampled_from(_RUNTIMES))
    return made, names


def _ordered(scope: Plain) -> Plain:
    keys = ("id", "references", "memory", "experience", "profile", "topics")
    return {key: scope[key] for key in keys if key in scope}


@st.composite
def _principals(draw: st.DrawFn, scopes: list[str]) -> Plain:
    """Draw a reader of everything, and perhaps one of a part, an administrator, and one without grants."""
    made: Plain = {"reader": {"reads": scopes}}
    if draw(st.booleans()):
        made["some"] = {"reads": draw(st.lists(st.sampled_from(scopes), unique=True, max_size=3))}
        made["root"] = {"administrator": True, "reads": draw(st.sampled_from(([], [], scopes[:1])))}
        made["none"] = {"id": draw(ids("Reader", "reader "))}
    return made
