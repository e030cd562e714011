"""A scenario's world and its writing steps as the operations that make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
from harness.scenario.model import MemoryChange, PrincipalSpec, Scenario, ScopeContent, Step
from runtime.artifacts import (
    PROFILE_ID,
    CandidateState,
    Document,
    EntryChange,
    EntryRetire,
    EntryWrite,
    Experience,
    Profile,
    Topic,
)

DEFAULT_PRINCIPAL = "reader"
NOBODY = "nobody"


@dataclass
class State:
    """How far a scenario has been written: its Scopes' ids by name, and the texts of each Entry so far."""

    scopes: dict[str, str] = field(default_factory=dict)
    texts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By Scope id and entry id."""


def scope_ids(scenario: Scenario) -> dict[str, str]:
    """Return the id of every Scope by its name, those that a later step makes included."""
    ids = {name: scope.id or name for name, scope in scenario.scopes.items()}
    for step in scenario.steps:
        for name, content in (step.write or {}).items():
            ids.setdefault(name, content.id or name)
    return ids


def scope_id(scenario: Scenario, name: str) -> str:
    """Return the id of the Scope of this name, or the name itself where no Scope has it."""
    known = scenario.scopes.get(name)
    return (known.id or name) if known is not None else scope_ids(scenario).get(name, name)


def principals(scenario: Scenario) -> Mapping[str, PrincipalSpec]:
    """Return who may call, by name, the first one being the default; without `principals` a reader of all Scopes."""
    if scenario.principals is not None:
        return scenario.principals
    return {DEFAULT_PRINCIPAL: PrincipalSpec(reads=tuple(scenario.scopes))}


def principal_id(scenario: Scenario, name: str) -> str:
    """Return the id of the principal of this name, or the name itself where nobody has it."""
    known = principals(scenario).get(name)
    return name if known is None or known.id is None else known.id


def seed_operations(scenario: Scenario, tokens: Mapping[str, str]) -> list[Operation]:
    """Return the writes that make a scenario's world; `tokens` holds one bearer token per principal's name.

    Scopes, then their Artifacts in the file's order, then references, principals and grants.
    """
    callers = principals(scenario)
    operations = _contents(State(), scenario.scopes)
    operations += [
        CreatePrincipal(principal_id(scenario, name), tokens[name], caller.administrator)
        for name, caller in callers.items()
    ]
    operations += [
        Grant(principal_id(scenario, name), scope_id(scenario, scope))
        for name, caller in callers.items()
        for scope in caller.reads
    ]
    return operations


def seeded(scenario: Scenario) -> State:
    """Return the state after the seed, for the first call of `write_operations`."""
    state = State()
    _contents(state, scenario.scopes)
    return state


def write_operations(scenario: Scenario, state: State, step: Step) -> list[Operation]:
    """Return the writes of a `write`, `grant` or `revoke` step, and carry the state forward.

    A `write` that is expected to be refused leaves the state as it was. Other steps write nothing.
    """
    if step.write is not None:
        if step.expect.refused is not None:
            state = State(dict(state.scopes), Counter(state.texts))
        return _contents(state, step.write)
    return [
        make(principal_id(scenario, name), state.scopes.get(scope, scope))
        for make, changes in ((Grant, step.grant), (Revoke, step.revoke))
        for name, scopes in (changes or {}).items()
        for scope in scopes
    ]


def _contents(state: State, contents: Mapping[str, ScopeContent]) -> list[Operation]:
    operations: list[Operation] = []
    for name, content in contents.items():
        if name not in state.scopes:
            state.scopes[name] = getattr(content, "id", None) or name
            operations.append(CreateScope(state.scopes[name]))
    for name, content in contents.items():
        operations += _artifacts(state, state.scopes[name], content)
    for name, content in contents.items():
        if content.references is not None:
            references = tuple(state.scopes.get(reference, reference) for reference in content.references)
            operations.append(SetReferences(state.scopes[name], references))
    return operations


def _artifacts(state: State, scope: str, content: ScopeContent) -> Iterable[Operation]:
    for changes in content.memory:
        yield WriteMemory(scope, tuple(_change(state, scope, change) for change in changes))
    for experience in content.experience:
        body = Experience(experience.situation, experience.action, experience.outcome, experience.lesson)
        yield _document(scope, experience.id, body, experience.state, experience.vector)
    for profile in content.profile:
        yield _document(scope, PROFILE_ID, Profile(profile.content), profile.state, None)
    for topic in content.topics:
        yield _document(scope, topic.id, Topic(topic.title, topic.summary, topic.detail), topic.state, topic.vector)


def _change(state: State, scope: str, change: MemoryChange) -> EntryChange:
    if change.retire is not None:
        return EntryRetire(change.retire)
    assert change.entry is not None
    assert change.text is not None
    state.texts[scope, change.entry] += 1
    version = change.version or f"{change.entry}-v{state.texts[scope, change.entry]}"
    return EntryWrite(change.entry, version, change.text, change.kind, change.vector)


def _document(
    scope: str, artifact: str, body: Document, state: CandidateState | None, vector: tuple[float, ...] | None
) -> Operation:
    if state is not None:
        return Propose(scope, artifact, body, state)
    return WriteDocument(scope, artifact, body, vector)
