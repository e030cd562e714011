"""What a step's expectations become: the values that it names and that are others now, or all where it names none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from harness.check.delivered import Delivered, DeliveredItem, Malformed, read_delivered
from harness.check.naming import Names, UnknownName, name_and_version
from harness.check.parts import TITLES
from harness.check.request import Asked
from harness.explain.walk import Moment
from harness.explore.writing import Plain
from harness.run.result import StepResult
from harness.scenario.model import AnyOrder, Expect, Item, ItemSpec, Scenario
from harness.scenario.operations import scope_ids
from harness.target.base import Answer

_OF_ERRORS = ("http", "error")
_OF_TEXTS = ("status", "sections", "ranks", "truncated", "bytes", "content")
_FILLED = ("status", "bytes", "sections", "truncated")
"""What is put into a step that says nothing of the text."""


def expectations(scenario: Scenario, moment: Moment, result: StepResult) -> Plain:
    """Return what changes in a step's `expect`: new values by key, None for a key that no longer applies."""
    wrong = {failure.kind for failure in result.failures}
    expect = moment.step.expect
    named = expect.model_fields_set
    if moment.step.verb in ("write", "grant", "revoke"):
        return _refused(result) if "write" in wrong else {}
    if result.body is None or result.status is None:
        return {}
    answer = Answer(result.status, (), result.body)
    if result.status >= 400:
        return _error(answer, named) if wrong or not named & set(_OF_ERRORS) else {}
    gone: Plain = {key: None for key in _OF_ERRORS if key in named and {"http", "error"} & wrong}
    if moment.step.verb == "read":
        return gone | _read(moment, answer, wrong)
    keys = [key for key in _OF_TEXTS if key in named and key in wrong]
    if not named & set(_OF_TEXTS) - {"status"} and not named & {"contains", "same_as", "not_same_as"}:
        keys = list(dict.fromkeys((*keys, *_FILLED)))
    told = _Told(scenario, moment, answer)
    found = {key: told.value(key) for key in keys}
    # Nothing is told of an empty text but that it is one, unless the author asks for more.
    if answer.content is None:
        found = {key: value for key, value in found.items() if key in named or key == "status"}
    new = {key: value for key, value in found.items() if key not in named and value not in (None, [])}
    return gone | {key: value for key, value in found.items() if key in named and key in wrong} | new


def _error(answer: Answer, named: set[str]) -> Plain:
    error = answer.json.get("error") if isinstance(answer.json, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    gone: Plain = {key: None for key in (*_OF_TEXTS, "text", "artifact") if key in named}
    return {**gone, "http": answer.status, "error": code}


def _refused(result: StepResult) -> Plain:
    got = next(failure.got for failure in result.failures if failure.kind == "write")
    return {"refused": None if got == "accepted" else got.removeprefix("refused: ")}


def _read(moment: Moment, answer: Answer, wrong: set[str]) -> Plain:
    if not isinstance(answer.json, dict):
        return {}
    named = moment.step.expect.model_fields_set
    text, content = answer.json.get("text"), answer.json.get("content")
    if text is None and isinstance(content, dict) and set(content) == {"content"} and "artifact" not in named:
        text = content["content"]
    key, value = ("text", text) if text is not None else ("artifact", content)
    is_told = key in named or named & {"text", "artifact", "contains", "same_as"}
    if (is_told and key not in wrong and not {"text", "artifact"} & wrong) or value is None:
        return {}
    other = "artifact" if key == "text" else "text"
    return {key: value} | ({other: None} if other in named else {})


class _Told:
    """One prepared answer in the words of its scenario."""

    def __init__(self, scenario: Scenario, moment: Moment, answer: Answer) -> None:
        current = moment.asked.scope_id if isinstance(moment.asked, Asked) else None
        self._expect: Expect = moment.step.expect
        self._answer = answer
        self._names = Names(world=moment.world, scopes=scope_ids(scenario), current=current)
        self._delivered: Delivered | None = None
        if answer.content is not None:
            try:
                self._delivered = read_delivered(answer.content, scope_id=current or "")
            except Malformed:
                self._delivered = None

    def value(self, key: str) -> Any:
        """Return the value of an expectation; None where there is none."""
        fields = self._answer.json if isinstance(self._answer.json, dict) else {}
        items = self._delivered.items if self._delivered is not None else ()
        match key:
            case "status":
                return fields.get("status")
            case "bytes":
                return fields.get("content_bytes")
            case "content":
                return self._answer.content
            case "sections":
                return self._sections()
            case "truncated":
                cut = [item for item in items if item.truncated]
                return [self._spelled(item, self._expect.truncated or (), None) for item in cut]
            case _:
                return self._ranks(items)

    def _sections(self) -> list[Plain]:
        old: dict[str, Sequence[Item]] = {}
        in_any_order: set[str] = set()
        for section in self._expect.sections or ():
            for name, items in section.items():
                old[name] = items.any_order if isinstance(items, AnyOrder) else items
                if isinstance(items, AnyOrder):
                    in_any_order.add(name)
        made: list[Plain] = []
        for delivered in self._delivered.sections if self._delivered is not None else ():
            title = delivered.title
            spelled = [self._spelled(item, old.get(title, ()), title) for item in delivered.items]
            made.append({title: {"any_order": spelled} if title in in_any_order else spelled})
        return made

    def _ranks(self, items: Sequence[DeliveredItem]) -> dict[str, int] | None:
        ranks = {}
        for name in self._expect.ranks or {}:
            try:
                wanted = self._names.wanted(name)
            except UnknownName:
                continue
            found = next((item for item in items if wanted.matches(item)), None)
            if found is not None and found.recall_rank is not None:
                ranks[name] = found.recall_rank
        return ranks or None

    def _spelled(self, item: DeliveredItem, old: Sequence[Item], title: str | None) -> Any:
        """Return an item as the author spelled it where he did, else in the shortest form that is clear."""
        for one in old:
            try:
                fits = self._names.wanted(one, title=title).matches(item)
            except UnknownName:
                continue
            if fits:
                return one if isinstance(one, str) else one.model_dump(exclude_none=True)
        detailed = any(
            bool({"@", "#"} & set(one)) if isinstance(one, str) else bool(one.version or one.revision) for one in old
        )
        name = self._names.name_of(item, detailed=detailed)
        if name.startswith("{"):
            return self._parts(item, detailed=detailed)
        return f"{self._scope(item)}/{name}" if "/" not in name and self._is_in_several(item) else name

    def _scope(self, item: DeliveredItem) -> str:
        scopes = {scope_id: key for key, scope_id in self._names.scopes.items()}
        return scopes.get(item.scope_id, item.scope_id)

    def _is_in_several(self, item: DeliveredItem) -> bool:
        """Say whether several Scopes that are read hold something of this name; the format wants them told apart."""
        name, version = name_and_version(item, self._names.world)
        references = self._names.world.references
        current = self._names.current or ""
        held = 0
        for scope_id in (current, *references.get(current, ())):
            spec = ItemSpec(scope=scope_id, entry=name) if version is not None else ItemSpec(scope=scope_id, id=name)
            with suppress(UnknownName):
                self._names.wanted(spec, title=TITLES.get(item.address.family))
                held += 1
        return held > 1

    def _parts(self, item: DeliveredItem, *, detailed: bool) -> Plain:
        name, version = name_and_version(item, self._names.world)
        needs_scope = item.scope_id != self._names.current or self._is_in_several(item)
        spec = ItemSpec(
            scope=self._scope(item) if needs_scope else None,
            entry=name if version is not None else None,
            id=name if version is None else None,
            version=version if detailed else None,
            revision=item.address.revision if detailed and version is None else None,
        )
        return spec.model_dump(exclude_none=True)
