"""What was written and when: every state of every Scope, with the time in which it can have been the current one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from runtime.artifacts import Address, Citation, EntryAddress, Experience, Family, Profile, Topic

LEFT, RIGHT = "soak:left", "soak:right"
"""The first Scope refers to the second."""
REFERENCES: Mapping[str, tuple[str, ...]] = {LEFT: (LEFT, RIGHT), RIGHT: (RIGHT,)}

Slot = Literal["entry-1", "entry-2", "extra-1", "extra-2", "experience-1", "profile", "topic-1"]
ENTRIES: tuple[Slot, ...] = ("entry-1", "entry-2", "extra-1", "extra-2")
DOCUMENTS: Mapping[Slot, Family] = {"experience-1": "experience", "profile": "profile", "topic-1": "topic-memory"}


def text_of(slot: str, tag: str) -> str:
    """Return the text that a write with this tag puts there; its tag stands at both ends."""
    return f"{tag} soak {slot} " + "of the same moment " * 6 + tag


def experience_of(tag: str) -> Experience:
    """Return an Experience all of whose fields have the tag."""
    return Experience(*(text_of(part, tag) for part in ("situation", "action", "outcome", "lesson")))


def topic_of(tag: str) -> Topic:
    """Return a topic all of whose fields have the tag."""
    return Topic(f"soak title {tag}", f"summary {tag}", f"soak detail {tag}")


def profile_of(tag: str) -> Profile:
    """Return a Profile with the tag."""
    return Profile(text_of("profile", tag))


def bodies_of(slot: Slot, tag: str) -> frozenset[str]:
    """Return what an item may show of this write: its body, and a topic's in the older output."""
    if slot == "experience-1":
        made = experience_of(tag)
        lines = [f"Situation: {made.situation}", f"Action: {made.action}", f"Outcome: {made.outcome}"]
        return frozenset({"\n".join([*lines, f"Lesson: {made.lesson}"])})
    if slot == "topic-1":
        topic = topic_of(tag)
        older = f'{{"title":"{topic.title}","summary":"{topic.summary}","snippet":"{topic.detail}"}}'
        return frozenset({f"Title: {topic.title}\n\nSummary: {topic.summary}\n\nSnippet: {topic.detail}", older})
    return frozenset({text_of(slot, tag)})


@dataclass(frozen=True, slots=True)
class Held:
    """Who wrote last what stands in a place, and the revision of its Artifact; of an Entry that of its Memory."""

    tag: str
    revision: int


@dataclass(slots=True)
class State:
    """A Scope behind one commit; the number is that of its Memory's revision, which every commit moves.

    It can have been the current one from `begun`, just before its commit, until the next one's `acknowledged`.
    """

    number: int
    slots: Mapping[Slot, Held]
    guest: bool
    """Whether the guest may read the Scope."""
    begun: float = 0.0
    acknowledged: float = inf
    superseded: float = inf

    def items(self, scope_id: str, families: frozenset[str]) -> dict[Citation, Slot]:
        """Return what an answer of this moment shows of the Scope, by its citation."""
        memory = Address(scope_id, "memory", "memory", self.number)
        found: dict[Citation, Slot] = {}
        for slot, held in self.slots.items():
            if slot not in DOCUMENTS:
                if "memory" in families:
                    found[EntryAddress(memory, slot, f"v-{held.tag}")] = slot
            elif DOCUMENTS[slot] in families:
                found[Address(scope_id, DOCUMENTS[slot], slot, held.revision)] = slot
        return found


@dataclass(slots=True)
class Grant:
    """A stretch of time in which a principal may have held his view of a Scope, or may have lacked it."""

    held: bool
    begun: float
    superseded: float = inf


@dataclass
class History:
    """All states of the two Scopes by number, and the visitor's grants, which are written without anything else."""

    states: dict[str, dict[int, State]] = field(default_factory=lambda: {LEFT: {}, RIGHT: {}})
    visits: list[Grant] = field(default_factory=list)
    acknowledged: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def newest(self, scope_id: str) -> tuple[int, Mapping[Slot, Held], bool]:
        """Return the newest state's number, what it holds, and whether the guest is in."""
        with self._lock:
            states = self.states[scope_id]
            number = max(states, default=0)
            return (number, states[number].slots, states[number].guest) if number else (0, {}, True)

    def begin(self, scope_id: str, state: State) -> None:
        """Know a commit before anybody can see it."""
        with self._lock:
            self.states[scope_id][state.number] = state

    def acknowledge(self, scope_id: str, state: State, now: float) -> None:
        """Know that a commit is there for good, and the one before it over."""
        with self._lock:
            state.acknowledged = now
            self.acknowledged += 1
            if earlier := self.states[scope_id].get(state.number - 1):
                earlier.superseded = now

    def forget(self, scope_id: str, state: State) -> None:
        """Know that a commit did not happen."""
        with self._lock:
            if self.states[scope_id].get(state.number) is state:
                del self.states[scope_id][state.number]

    def visit(self, grant: Grant) -> None:
        """Know of a grant or a revocation before anybody can see it."""
        with self._lock:
            self.visits.append(grant)

    def visit_acknowledged(self, now: float) -> None:
        """Know that it is there for good, and what was before it over."""
        with self._lock:
            self.acknowledged += 1
            if len(self.visits) > 1:
                self.visits[-2].superseded = now

    def during(self, scope_id: str, start: float, end: float) -> list[State]:
        """Return the states that can have been current at some time between start and end, the newest first."""
        with self._lock:
            return list(self._overlapping(scope_id, start, end))

    def visits_during(self, start: float, end: float) -> list[Grant]:
        """Return the stretches of the visitor's grants that touch this time."""
        with self._lock:
            recent = self.visits[-200:]
        return [grant for grant in recent if grant.begun <= end and grant.superseded >= start]

    def _overlapping(self, scope_id: str, start: float, end: float) -> Iterator[State]:
        states = self.states[scope_id]
        number = max(states, default=0)
        while number in states and states[number].superseded >= start:
            if states[number].begun <= end:
                yield states[number]
            number -= 1
