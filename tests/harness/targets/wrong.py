"""The runtime of this repository with one fault each, and one that is wrong on a single backend only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from backends.operations import CreateScope, Operation, WriteMemory
from harness.scenario.model import Scenario
from harness.target.base import Answer, Applied, Refused
from harness.target.reference import ReferenceTarget
from runtime.artifacts import Citation, EntryAddress, EntryWrite

SECRET = "The vault opens with marmalade-77."
"""What stands in the Scope that nobody may read."""


def with_content(answer: Answer, change: Callable[[str], str]) -> Answer:
    """Change the prepared text, and count its bytes anew, so that nothing else is wrong."""
    if answer.content is None:
        return answer
    content = change(answer.content)
    return with_fields(answer, content=content, content_bytes=len(content.encode()))


def with_fields(answer: Answer, **fields: Any) -> Answer:
    return replace(answer, body=json.dumps({**answer.json, **fields}, ensure_ascii=False).encode())


class Wrong(ReferenceTarget):
    """Answers like the real one until a subclass says otherwise."""

    def __init__(self, backend: str, database_url: str) -> None:
        super().__init__(backend, database_url)
        self.asked = 0

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        self.asked += 1
        return self.answer(super().prepare(body, token=token, headers=headers))

    def answer(self, answer: Answer) -> Answer:
        return answer


class SwapsItems(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_content(answer, _swapped)


class ShowsAnotherScope(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_content(answer, lambda text: text.replace("Contract tests run nightly.", SECRET))


class TellsInAnError(Wrong):
    def answer(self, answer: Answer) -> Answer:
        if answer.status != 403:
            return answer
        error = {**answer.json["error"], "message": f"You may not read: {SECRET}"}
        return with_fields(answer, error=error)


class TellsInAHeader(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return replace(answer, headers=(*answer.headers, ("X-Debug", f"dropped: {SECRET}")))


class TellsInTheLog(Wrong):
    def log(self) -> str:
        return f"{super().log()}\nDEBUG candidate {SECRET!r} dropped"


class CutsTooEarly(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_content(answer, lambda text: text.replace("x…", "…"))


class ShowsAll(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_content(
            answer, lambda text: text.replace("…", "x" * 103).replace("Truncated: yes", "Truncated: no")
        )


class Miscounts(Wrong):
    def answer(self, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return with_fields(answer, content_bytes=answer.json["content_bytes"] + 1)


class AddsAField(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_fields(answer, origins=[])


class ChangesItsMind(Wrong):
    def answer(self, answer: Answer) -> Answer:
        return with_content(answer, _swapped) if self.asked % 2 == 0 else answer


class ReadsTheHead(Wrong):
    """Reads the newest version of an Entry whatever revision is cited."""

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        answer = super().read_entry(body, token=token)
        return with_fields(answer, text="Regenerate the client, then run the contract tests.")

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        answer = super().read(citation, token=token)
        return with_fields(answer, text="Moved.") if self._moved and isinstance(citation, EntryAddress) else answer

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        self._moved = not any(isinstance(operation, CreateScope) for operation in operations)
        return super().apply(operations)


class RefusesTheSeed(Wrong):
    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        return Refused("invalid_id")


class AcceptsAnything(Wrong):
    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        super().apply(operations)
        return Applied(tuple(operations))


class Forgets(Wrong):
    """Says that a later write is done, and does not do it."""

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        if any(isinstance(operation, CreateScope) for operation in operations):
            return super().apply(operations)
        return Applied(tuple(operations))


class StoresOtherRows(Wrong):
    """Trims what it stores."""

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        return super().apply([_trimmed(operation) for operation in operations])


class AnswersFromBefore(Wrong):
    """Has written everything, and answers from a snapshot that is older."""

    def __init__(self, backend: str, database_url: str) -> None:
        super().__init__(backend, database_url)
        self._first: dict[bytes, Answer] = {}

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        answer = super().prepare(body, token=token, headers=headers)
        return self._first.setdefault(body, answer)


class CannotFail(Wrong):
    def lacking(self, scenario: Scenario) -> str | None:
        return "needs faults" if any(step.fault for step in scenario.steps) else None


def only_on(backend: str, wrong: type[Wrong]) -> Callable[[str, str], ReferenceTarget]:
    """Return the maker of a target that is wrong on one backend and right on the others."""
    return lambda name, url: wrong(name, url) if name == backend else ReferenceTarget(name, url)


def answering(change: Callable[[Answer], Answer]) -> type[Wrong]:
    """Return a target that changes each answer in one way."""

    class Changed(Wrong):
        def answer(self, answer: Answer) -> Answer:
            return change(answer)

    return Changed


def _swapped(text: str) -> str:
    """Exchange the citations and bodies of the first two Memory items."""
    head, one, two, rest = text.replace("## Experience", "### Memory 3").split("### Memory ", 3)
    return f"{head}### Memory 1{two[1:]}### Memory 2{one[1:]}" + "### Memory ".join(["", rest]).replace(
        "### Memory 3", "## Experience"
    )


def _trimmed(operation: Operation) -> Operation:
    if not isinstance(operation, WriteMemory):
        return operation
    changes = [
        replace(change, text=change.text.rstrip(".")) if isinstance(change, EntryWrite) else change
        for change in operation.changes
    ]
    return replace(operation, changes=tuple(changes))
