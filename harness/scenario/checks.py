"""What the models cannot see: whether the parts of a scenario fit each other."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.errors import ScenarioError, did_you_mean
from harness.scenario.check_items import VALUE, Complaint, Location, check_items
from harness.scenario.check_steps import check_step, verbs
from harness.scenario.marks import Mark
from harness.scenario.model import Scenario, ScopeContent, ScopeSpec, Step, Vector
from harness.scenario.operations import NOBODY, principal_id, principals, seed_operations, seeded, write_operations
from harness.scenario.world import World
from runtime.artifacts import MAX_REFERENCES

_PYTEST_MARKS = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xdist_group", "xfail"}
MAX_COMPONENT = 1000
"""The largest number in a vector, so that its squared distances are exact on every engine (SPEC.md 10)."""
_SMALL = f"whole numbers from -{MAX_COMPONENT} to {MAX_COMPONENT}"


def check(scenario: Scenario, mark: Mark, path: Path) -> list[ScenarioError]:
    """Return all mistakes in how a scenario's parts fit each other."""
    complaints = [*_head(scenario), *_people(scenario), *_vectors(scenario), *_scopes(scenario)]
    complaints += _Steps(scenario).run()
    return [ScenarioError(path, *_place(mark, location), message, hint) for location, message, hint in complaints]


def _place(mark: Mark, location: Location) -> tuple[int, int]:
    return mark.at(*location) if location and location[-1] == VALUE else mark.key_at(*location)


def _head(scenario: Scenario) -> Iterator[Complaint]:
    for key, text in (("scenario", scenario.scenario), ("why", scenario.why)):
        if "\n" in text or "\r" in text:
            yield (key,), f'"{key}" is one line', 'use ">-" to fold a long one'
    if not scenario.scenario.strip():
        yield ("scenario",), "a scenario needs a sentence that names it", None
    if not scenario.steps:
        yield ("steps",), "a scenario needs a step", None
    for index, tag in enumerate(scenario.tags):
        if not tag.isidentifier() or keyword.iskeyword(tag):
            yield ("tags", index), f'"{tag}" is no tag', "letters, digits and _, so that -m can name it"
        elif tag in _PYTEST_MARKS:
            yield ("tags", index), f'"{tag}" belongs to pytest', "choose another word"
        elif tag in scenario.tags[:index]:
            yield ("tags", index), f'tag "{tag}" twice', None


def _people(scenario: Scenario) -> Iterator[Complaint]:
    by_id: dict[str, str] = {}
    for name, principal in (scenario.principals or {}).items():
        where: Location = ("principals", name)
        if name == NOBODY:
            yield where, f'"{NOBODY}" is who shows no token', "choose another name"
        if (other := by_id.setdefault(principal_id(scenario, name), name)) != name:
            yield where, f'principals "{other}" and "{name}" have the same id', None
        for index, scope in enumerate(principal.reads):
            yield from _known((*where, "reads", index), scope, scenario.scopes, "Scope")


def _scopes(scenario: Scenario) -> Iterator[Complaint]:
    by_id: dict[str, str] = {}
    for name, scope in scenario.scopes.items():
        if (other := by_id.setdefault(scope.id or name, name)) != name:
            yield ("scopes", name), f'Scopes "{other}" and "{name}" have the same id', None
        yield from _references(("scopes", name), name, scope, scenario.scopes)


def _references(where: Location, name: str, content: ScopeContent, known: Iterable[str]) -> Iterator[Complaint]:
    references = content.references or ()
    for index, reference in enumerate(references):
        location = (*where, "references", index)
        yield from _known(location, reference, known, "Scope")
        if reference == name:
            yield location, f'Scope "{name}" refers to itself', None
        elif reference in references[:index]:
            yield location, f'reference "{reference}" twice', None
    if len(references) > MAX_REFERENCES:
        yield (*where, "references"), f"{len(references)} references, at most {MAX_REFERENCES}", None


def _known(location: Location, name: str, known: Iterable[str], kind: str) -> Iterator[Complaint]:
    choices = list(known)
    if name not in choices:
        yield location, f'unknown {kind} "{name}"', did_you_mean(name, choices)


def _vectors(scenario: Scenario) -> Iterator[Complaint]:
    embedder = scenario.runtime.embedder
    places: list[tuple[Location, Vector]] = []
    if embedder is not None:
        places += [(("runtime", "embedder", "vectors", query), vector) for query, vector in embedder.vectors.items()]
    contents = [(("scopes", name), scope) for name, scope in scenario.scopes.items()]
    contents += [
        (("steps", index, "write", name), scope)  # type: ignore[misc]
        for index, step in enumerate(scenario.steps)
        for name, scope in (step.write or {}).items()
    ]
    for where, scope in contents:
        places += _item_vectors(where, scope)
    for location, vector in places:
        if embedder is None:
            yield location, "a vector needs `runtime: {embedder: ...}`", None
        elif len(vector) != embedder.dimension:
            yield location, f"a vector of length {len(vector)} where the dimension is {embedder.dimension}", None
        for index, number in enumerate(vector):
            if number != int(number) or abs(number) > MAX_COMPONENT:
                yield (*location, index, VALUE), f"{number:g} in a vector: exact only for small whole numbers", _SMALL
    if embedder is None:
        return
    for index, step in enumerate(scenario.steps):
        query = (step.prepare or {}).get("query")
        refused = step.expect.http is not None and step.expect.http >= 400
        if isinstance(query, str) and query not in embedder.vectors and not refused:
            location = ("steps", index, "prepare", "query", VALUE)
            yield location, "the embedder has no vector for this query", did_you_mean(query, embedder.vectors)


def _item_vectors(where: Location, scope: ScopeContent) -> Iterator[tuple[Location, Vector]]:
    for index, changes in enumerate(scope.memory):
        for inner, change in enumerate(changes):
            if change.vector is not None:
                # The index of a change inside a list exists in the file only where a list was written.
                yield (*where, "memory", index, inner, "vector"), change.vector
    vectors = {
        "experience": [item.vector for item in scope.experience],
        "topics": [item.vector for item in scope.topics],
    }
    for key, found in vectors.items():
        for index, vector in enumerate(found):
            if vector is not None:
                yield (*where, key, index, "vector"), vector


class _Steps:
    """The steps in their order, each judged by what the ones before it have made."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.state = seeded(scenario)
        self.world = World()
        self.world.apply(seed_operations(scenario, dict.fromkeys(principals(scenario), "")))
        self.named: dict[str, str] = {}
        self.prepared = False

    def run(self) -> Iterator[Complaint]:
        for index, step in enumerate(self.scenario.steps):
            for location, message, hint in self._step(step):
                yield ("steps", index, *location), message, hint

    def _step(self, step: Step) -> Iterator[Complaint]:
        yield from check_step(step)
        if len(verbs(step)) != 1:
            return
        yield from self._caller(step)
        yield from self._names(step)
        if step.read == "everything cited" and not self.prepared:
            yield ("read",), "nothing is cited yet", "a prepare must come before it"
        if step.write is not None:
            yield from self._write(step, step.write)
        self.world.apply(write_operations(self.scenario, self.state, step) if step.expect.refused is None else ())
        yield from self._grants(step)
        if step.verb in ("prepare", "body"):
            self.prepared = True
            for location, message, hint in check_items(step.expect, self.world, self._current(step), self.state.scopes):
                yield ("expect", *location), message, hint

    def _current(self, step: Step) -> str | None:
        if step.prepare is not None:
            scope = step.prepare.get("scope_id")
            return self.state.scopes.get(scope, scope) if isinstance(scope, str) else None
        try:
            request = json.loads(step.body) if isinstance(step.body, str) else None
        except (ValueError, RecursionError):
            return None
        scope = request.get("scope_id") if isinstance(request, dict) else None
        return scope if isinstance(scope, str) else None

    def _caller(self, step: Step) -> Iterator[Complaint]:
        if isinstance(step.as_, str) and step.as_ != NOBODY:
            yield from _known(("as", VALUE), step.as_, [*principals(self.scenario), NOBODY], "principal")

    def _names(self, step: Step) -> Iterator[Complaint]:
        for key, other in (("same_as", step.expect.same_as), ("not_same_as", step.expect.not_same_as)):
            if other is None:
                continue
            if other not in self.named:
                hint = did_you_mean(other, self.named) or "no step before it has a name"
                yield ("expect", key, VALUE), f'no earlier step "{other}"', hint
            elif self.named[other] not in ("prepare", "body", "read"):
                yield ("expect", key, VALUE), f'step "{other}" has no answer to compare', None
        if step.step is not None:
            if step.step in self.named:
                yield ("step", VALUE), f'a second step "{step.step}"', "give it another name"
            answers = step.verb if step.read != "everything cited" else "everything cited"
            self.named.setdefault(step.step, answers)

    def _write(self, step: Step, contents: Mapping[str, ScopeSpec]) -> Iterator[Complaint]:
        known = [*self.state.scopes, *contents]
        ids = {scope_id: name for name, scope_id in self.state.scopes.items()}
        for name, content in contents.items():
            where: Location = ("write", name)
            if name in self.state.scopes:
                if content.id is not None and content.id != self.state.scopes[name]:
                    yield (*where, "id"), f'Scope "{name}" has its id already', "leave `id` out"
            elif (other := ids.setdefault(content.id or name, name)) != name and step.expect.refused is None:
                yield where, f'Scopes "{other}" and "{name}" have the same id', None
            if step.expect.refused is None:
                yield from _references(where, name, content, known)

    def _grants(self, step: Step) -> Iterator[Complaint]:
        for verb, changes in (("grant", step.grant), ("revoke", step.revoke)):
            for name, scopes in (changes or {}).items():
                yield from _known((verb, name), name, principals(self.scenario), "principal")
                for index, scope in enumerate(scopes):
                    yield from _known((verb, name, index), scope, self.state.scopes, "Scope")
