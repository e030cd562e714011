"""What a released server cannot do, as its request models and trials have shown: such scenarios are not run on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.operations import Operation, Propose, WriteDocument, WriteMemory
from harness.scenario.model import Read, Scenario, Step
from harness.scenario.needs import TEXT_LENGTH, needs
from harness.scenario.operations import principals, seed_operations, seeded, write_operations
from harness.target.powercontext.answers import stored_document, stored_entry
from harness.target.powercontext.requests import ATOMIC_MEMORIES_SINCE, TOPICS_SINCE, Release, document_fields
from runtime.artifacts import EntryRetire, EntryWrite, Experience, Profile, Topic, family_of

MAX_KIND_CHARACTERS = 128
MAX_MEMORY_BYTES = 8192
MAX_PROFILE_BYTES = 262_144
MAX_CHARACTERS = {
    "situation": 8000,
    "action": 8000,
    "outcome": 8000,
    "lesson": 8000,
    "title": 512,
    "summary": 8000,
    "detail": 125_000,
}
"""Of a field of an Experience or a topic, in code points."""

REFUSALS = frozenset(("unknown_scope", "invalid_reference", "revision_conflict", "entry_unknown"))
"""Codes of SPEC.md 1 that a release has a counterpart of; what it refuses of ids and texts follows other limits."""

NO_REASON = (TEXT_LENGTH, "candidates", "several changes in one revision", "restarts", "access disabled")
"""Needs that are looked at more closely below, or that the runner leaves to the oracle."""

STATES = frozenset(("active", "retired"))

_HAS_LETTER = re.compile(r"\S")


OTHER_FIELDS = frozenset(("include_code",))
OTHER_FAMILIES = frozenset(("skill", "handoff", "prompt"))
"""What releases know beside the contract (SPEC.md 7)."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server can be asked for."""

    release: Release
    can_restart: bool
    only_one: bool
    """Whether nobody but the administrator can call."""
    can_open: bool = False
    """Whether there is a server with access control off."""

    @property
    def atomic(self) -> bool:
        """Whether each memory is an Artifact of its own."""
        return self.release >= ATOMIC_MEMORIES_SINCE


def lacking(scenario: Scenario, abilities: Abilities) -> str | None:
    """Return why a scenario cannot be run, "needs ..." with each reason once, or None."""
    reasons = dict.fromkeys(_reasons(scenario, abilities))
    return f"needs {', '.join(reasons)}" if reasons else None


def _reasons(scenario: Scenario, abilities: Abilities) -> Iterator[str]:
    needed = needs(scenario)
    yield from (phrase for phrase in needed if phrase not in NO_REASON)
    if "restarts" in needed and not abilities.can_restart:
        yield "restarts"
    if "access disabled" in needed and not abilities.can_open:
        yield "access disabled"
    if abilities.only_one and not _administrator_will_do(scenario):
        yield "principals other than the administrator"
    operations = [operation for step_operations in _operations(scenario) for operation in step_operations]
    for operation in operations:
        yield from _of_operation(operation, abilities)
    yield from _of_entries(operations, abilities)
    yield from _of_ids(operations)
    if any(_is_known_to_releases(step) for step in scenario.steps):
        yield "a contract without what only releases have"
    if any(_refuses_an_administrator(scenario, step) for step in scenario.steps):
        yield "an administrator who does not read every Scope"
    several = "several changes in one revision" in needed
    for step in scenario.steps:
        yield from _of_read(step, abilities, several=several)
    for step, written in zip(scenario.steps, _operations(scenario, steps_only=True), strict=True):
        yield from _of_refusal(step, written)


def _is_known_to_releases(step: Step) -> bool:
    """Say whether a step relies on a field or a family being unknown that releases know."""
    refused = step.expect.http == 422 or step.expect.error == "invalid_request"
    asks = step.prepare is not None and OTHER_FIELDS.intersection(step.prepare)
    reads = isinstance(step.read, Read) and step.read.family in OTHER_FAMILIES
    return refused and bool(asks or reads)


def _refuses_an_administrator(scenario: Scenario, step: Step) -> bool:
    """Say whether a step expects that an administrator may not read a Scope: on releases he reads every one."""
    callers = principals(scenario)
    name = step.as_ if isinstance(step.as_, str) else next(iter(callers), "")
    caller = callers.get(name)
    return caller is not None and caller.administrator and (step.expect.http == 403 or step.expect.error == "forbidden")


def _operations(scenario: Scenario, *, steps_only: bool = False) -> Iterator[Sequence[Operation]]:
    """Yield the seed, then what each step writes; what is to be refused is not written."""
    tokens = dict.fromkeys(principals(scenario), "")
    if not steps_only:
        yield seed_operations(scenario, tokens)
    state = seeded(scenario)
    for step in scenario.steps:
        written = write_operations(scenario, state, step)
        yield written if steps_only or step.expect.refused is None else ()


def _administrator_will_do(scenario: Scenario) -> bool:
    """Say whether every principal reads every Scope and nobody is refused, so that the administrator can stand in."""
    every = set(scenario.scopes) | {name for step in scenario.steps for name in step.write or {}}
    reads_all = all(who.administrator or every <= set(who.reads) for who in principals(scenario).values())
    changes = any(step.grant is not None or step.revoke is not None for step in scenario.steps)
    return reads_all and not changes and all(step.expect.http != 403 for step in scenario.steps)


def _of_operation(operation: Operation, abilities: Abilities) -> Iterator[str]:
    match operation:
        case WriteMemory(_, changes):
            for change in changes:
                if isinstance(change, EntryWrite):
                    yield from _of_entry(change, abilities)
        case Propose(content=content) if not isinstance(content, Experience):
            yield f"candidates of family {family_of(content)}"
        case Propose(content=content) | WriteDocument(content=content):
            if isinstance(content, Topic) and abilities.release < TOPICS_SINCE:
                yield "topics"
            if isinstance(content, Profile):
                yield from _of_profile(content)
                return
            for name, text in document_fields(content).items():
                if len(text) > MAX_CHARACTERS[name]:
                    yield f"a {name} of more than {MAX_CHARACTERS[name]} characters"
                elif _is_blank(text):
                    yield f"a blank {name}"


def _of_entry(change: EntryWrite, abilities: Abilities) -> Iterator[str]:
    stored = stored_entry(change, abilities.release)
    if not stored.text or not stored.kind.strip():
        yield "a blank memory"
    elif (stored.text, stored.kind) != (change.text, change.kind):
        yield "texts kept as they are"
    if len(stored.text.encode()) > MAX_MEMORY_BYTES:
        yield f"memories of more than {MAX_MEMORY_BYTES} bytes"
    if len(change.kind) > MAX_KIND_CHARACTERS:
        yield f"a kind of more than {MAX_KIND_CHARACTERS} characters"


def _of_profile(content: Profile) -> Iterator[str]:
    stored = stored_document(content)
    assert isinstance(stored, Profile)
    if not stored.content.strip():
        yield "a blank Profile"
    # A line feed is always put at the end: the World has it, no scenario must leave it out.
    elif stored.content not in (content.content, content.content + "\n"):
        yield "texts kept as they are"
    if len(stored.content.encode()) > MAX_PROFILE_BYTES:
        yield f"a Profile of more than {MAX_PROFILE_BYTES} bytes"


def _is_blank(text: str) -> bool:
    return not text.strip() or _HAS_LETTER.search(text) is None


def _of_entries(operations: Sequence[Operation], abilities: Abilities) -> Iterator[str]:
    """Follow the Entries: before 1.3 equal texts are one, and no release writes to a retired one what is recalled."""
    present: dict[tuple[str, str], tuple[str, str] | None] = {}
    for operation in operations:
        for change in operation.changes if isinstance(operation, WriteMemory) else ():
            assert isinstance(operation, WriteMemory)
            place = (operation.scope_id, change.entry_id)
            if isinstance(change, EntryRetire):
                present[place] = None
                continue
            if place in present and present[place] is None:
                yield "a retired memory written again"
            stored = stored_entry(change, abilities.release)
            same = (stored.kind, stored.text)
            known = {one for (scope, _), one in present.items() if scope == operation.scope_id}
            if not abilities.atomic and (present[place] == same if place in present else same in known):
                yield "equal texts in one Memory"
            present[place] = same


def _of_ids(operations: Sequence[Operation]) -> Iterator[str]:
    """Find ids that name several Artifacts of a Scope: what a real id stands for is known by Scope and id alone."""
    families: dict[tuple[str, str], str] = {}
    for operation in operations:
        if isinstance(operation, WriteDocument | Propose):
            place = (operation.scope_id, operation.artifact_id)
            family = family_of(operation.content)
            if families.setdefault(place, family) != family:
                yield "one id in two families"


def _of_read(step: Step, abilities: Abilities, *, several: bool) -> Iterator[str]:
    if not isinstance(step.read, Read):
        return
    status, error = step.expect.http or 200, step.expect.error
    if step.read.entry is not None:
        # Before 1.3 each change makes a revision, from 1.3 on a memory's revisions count its own versions.
        if abilities.atomic and status == 404 and error != "scope_not_found":
            yield "revisions of the Memory as a whole"
        elif abilities.atomic and (step.expect.artifact is not None or STATES.intersection(step.expect.contains)):
            yield "the state of a memory in a revision"
        elif not abilities.atomic and several and status in (200, 404):
            yield "several changes in one revision"
    elif step.read.family == "memory" and (status == 200 or (abilities.atomic and status != 403)):
        yield "revisions of the Memory as a whole"
    elif step.read.family == "profile" and (step.expect.artifact is not None or step.expect.text is not None):
        yield "texts kept as they are"


def _of_refusal(step: Step, written: Sequence[Operation]) -> Iterator[str]:
    if step.expect.refused is None:
        return
    if step.expect.refused not in REFUSALS:
        yield f"the refusal {step.expect.refused}"
    changes = sum(len(one.changes) if isinstance(one, WriteMemory) else 1 for one in written)
    if changes > 1:
        yield "several writes in one transaction"
