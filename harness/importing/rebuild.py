"""Exchanges as a scenario: the world that the citations and bodies tell of, who asks, and the requests as steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.check.parts import TITLES
from harness.check.request import DEFAULT_TOTAL
from harness.importing.asking import Asking, came, skipped, take_apart
from harness.importing.bodies import UNREPORTED
from harness.importing.exchange import Exchange, private
from harness.importing.faults import faults, is_judged
from harness.importing.history import History, Write
from harness.importing.items import ATOMIC_MEMORY, Found
from harness.importing.names import scope_names
from harness.importing.requests import as_step, asked_of, expected
from harness.scenario.check_steps import ERROR_STATUS
from harness.scenario.operations import DEFAULT_PRINCIPAL, NOBODY
from runtime.artifacts import MAX_ID_CHARACTERS, MAX_REFERENCES

Location = tuple[str | int, ...]

_WHY = "judged by what always holds and by the contract's prediction (SPEC.md 2 to 7), not by the report"
_WHY_RIGHT = "expects what was reported, beside what always holds and the contract's prediction (SPEC.md 2 to 7)"


@dataclass
class Rebuilt:
    """A scenario as plain values, with what is to be said at its top and above its parts.

    `broken` says how the reported answers break the contract, as far as no guess is part of it, and `is_judged` whether
    there was any answer that could. Ids in notes stand
    between U+0002 and U+0003, what the report says in its own words between U+0004 and U+0005.
    """

    plain: dict[str, Any]
    head: list[str] = field(default_factory=list)
    notes: dict[Location, list[str]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    is_judged: bool = False

    def located(self, called: Callable[[str], str]) -> dict[Location, list[str]]:
        """Return the notes by where they belong once ids are called otherwise: Scopes stand below their names."""
        return {
            tuple(
                called(part) if isinstance(part, str) and before in ("scopes", "write") else part
                for before, part in zip(("", *location), location, strict=False)
            ): remarks
            for location, remarks in self.notes.items()
        }


def rebuild(exchanges: Sequence[Exchange], *, report: str, is_right: bool = False) -> Rebuilt:
    """Return the scenario that a report's exchanges make; `is_right` says that what came is what should come."""
    return _Rebuilding(exchanges, is_right).scenario(report)


class _Rebuilding:
    def __init__(self, exchanges: Sequence[Exchange], is_right: bool) -> None:
        self._history = History()
        self._askings = [take_apart(exchange, is_right or exchange.is_right) for exchange in exchanges]
        self._references: dict[str, list[str]] = {}
        for step, asking in enumerate(self._askings):
            if asking.scope_id is not None:
                self._references.setdefault(asking.scope_id, [])
            self._take(step, asking)
        for scope_id in [one for others in self._references.values() for one in others]:
            self._references.setdefault(scope_id, [])
        self._names = scope_names(list(self._references))

    def scenario(self, report: str) -> Rebuilt:
        writes = self._history.writes()
        made: Rebuilt = Rebuilt({})
        made.is_judged = any(map(is_judged, self._askings))
        sentence = " ".join(report.split())
        is_right = any(asking.is_right for asking in self._askings)
        made.plain = {
            "scenario": f"what was {'reported' if is_right else 'asked'} in {sentence}",
            "why": _WHY_RIGHT if is_right else _WHY,
            "tags": ["bugs"],
            "report": [sentence],
        }
        if total := self._total():
            made.plain["runtime"] = {"max_entries": total}
            made.notes["runtime",] = ["guess: the answer came although the limits make more than 8"]
        self._scopes(made, writes.get(None, []))
        made.plain["principals"] = dict(self._principals())
        steps: list[dict[str, Any]] = []
        for number, asking in enumerate(self._askings):
            if before := writes.get(number):
                location = ("steps", len(steps), "write")
                content = _content(made, before, self._names, location)
                made.notes["steps", len(steps)] = [f"guess: written before {asking.exchange.source}, which cites it"]
                steps.append({"write": content})
            broken = list(self._broken(asking))
            made.broken += broken
            made.notes["steps", len(steps)] = [*self._remarks(asking), *broken]
            steps.append(self._step(asking, number))
        made.plain["steps"] = steps
        made.head = list(dict.fromkeys((*self._head(), *self._history.notes)))
        return made

    def _take(self, step: int, asking: Asking) -> None:
        current = asking.scope_id
        for found in asking.items:
            ids = (found.scope_id, found.artifact_id, *(found.entry or ()))
            if not all(one.strip() and len(one) <= MAX_ID_CHARACTERS for one in ids):
                self._history.notes.append("guess: an item with an id that no Artifact can have is left out")
                continue
            self._history.add(step, found)
            if current is None:
                self._references.setdefault(found.scope_id, [])
            if current is not None and found.scope_id not in (current, *self._references[current]):
                self._references[current].append(found.scope_id)
        for found in list(skipped(asking, self._history)):
            self._history.add(step, found)

    def _total(self) -> int | None:
        totals = [
            asked.total
            for asking in self._askings
            if (asked := asked_of(asking.value)) is not None and asking.told.status == 200
        ]
        largest = max(totals, default=0)
        return largest if largest > DEFAULT_TOTAL else None

    def _scopes(self, made: Rebuilt, seed: Sequence[Write]) -> None:
        content = _content(made, seed, self._names, ("scopes",))
        scopes: dict[str, Any] = {}
        for scope_id, references in self._references.items():
            name = self._names[scope_id]
            scope: dict[str, Any] = {} if name == scope_id else {"id": scope_id}
            if references:
                if len(references) > MAX_REFERENCES:
                    self._history.notes.append(
                        f"guess: {len(references)} Scopes are cited, more than can be referred to"
                    )
                scope["references"] = [self._names[one] for one in references[:MAX_REFERENCES]]
                many = "this order of references is that of the answer" if len(references) > 1 else "a reference"
                made.notes["scopes", name, "references"] = [f"guess: {many}, since it is cited"]
            scopes[name] = scope | content.get(name, {})
        for asking in self._askings:
            self._stand_in(made, asking, scopes)
        made.plain["scopes"] = scopes

    def _stand_in(self, made: Rebuilt, asking: Asking, scopes: dict[str, Any]) -> None:
        """Put something into a Scope of which nothing is told, so that there is something to find."""
        if asking.scope_id is None or (asking.is_right and asking.told.verdict == "empty"):
            return
        name = self._names[asking.scope_id]
        if scopes[name].keys() - {"id", "references"} or asking.items:
            return
        text = asking.query[:200].strip() or UNREPORTED
        if any("\ud800" <= character <= "\udfff" for character in text):
            return
        scopes[name]["memory"] = [{"entry": "entry-1", "text": text}]
        made.notes["scopes", name, "memory", 0] = ["guess: nothing is reported of what is stored; the query finds this"]

    def _principals(self) -> Iterator[tuple[str, dict[str, Any]]]:
        callers = list(dict.fromkeys(asking.exchange.caller for asking in self._askings if not asking.is_nobody))
        for caller in callers or [None]:
            asked = [asking for asking in self._askings if asking.exchange.caller == caller and asking.scope_id]
            refused = {asking.scope_id for asking in asked if asking.told.status == 403 and asking.is_right}
            reads: dict[str, None] = {}
            for asking in asked:
                current = asking.scope_id or ""
                if current not in refused or asking.told.status == 200:
                    reads |= dict.fromkeys((current, *self._references[current]))
            yield self._principal(caller), {"reads": [self._names[scope_id] for scope_id in reads]}

    def _principal(self, caller: str | None) -> str:
        known = {asking.exchange.caller for asking in self._askings if not asking.is_nobody}
        return DEFAULT_PRINCIPAL if len(known) <= 1 or caller is None else caller

    def _step(self, asking: Asking, number: int) -> dict[str, Any]:
        step: dict[str, Any] = {"step": asking.exchange.source if len(self._askings) > 1 else "the request"}
        if sum(one.exchange.source == asking.exchange.source for one in self._askings) > 1:
            step["step"] = f"{asking.exchange.source}, number {number + 1}"
        step |= as_step(asking.body, self._names)
        if asking.exchange.headers.get("content-type", "application/json") != "application/json":
            step["headers"] = {"Content-Type": asking.exchange.headers["content-type"]}
        if asking.is_nobody:
            step["as"] = NOBODY
        elif self._principal(asking.exchange.caller) != DEFAULT_PRINCIPAL:
            step["as"] = self._principal(asking.exchange.caller)
        contract = expected(asking.exchange, asking.told, asked_of(asking.value))
        expect = contract or (self._as_it_came(asking) if asking.is_right else {})
        return step | ({"expect": expect} if expect else {})

    def _as_it_came(self, asking: Asking) -> dict[str, Any]:
        told_ = asking.told
        if told_.status is not None and told_.status >= 400:
            if asking.is_placeholder and told_.status not in (401, 403):
                return {}
            known = {"error": told_.code} if told_.code in ERROR_STATUS else {}
            return {"http": told_.status, **known}
        expect: dict[str, Any] = {} if told_.verdict is None else {"status": told_.verdict}
        if told_.verdict == "ready" and told_.is_whole and asking.broken is None and asking.items:
            sections: dict[str, list[Any]] = {}
            for found in asking.items:
                if found.family in TITLES:
                    sections.setdefault(TITLES[found.family], []).append(self._item(found, asking))
            expect["sections"] = [{title: items} for title, items in sections.items()]
            expect["truncated"] = [self._item(found, asking) for found in asking.items if found.is_cut]
        return expect

    def _item(self, found: Found, asking: Asking) -> Any:
        """Return an item in the short form where its ids allow it, else by its parts."""
        parts: dict[str, Any] = {}
        if found.scope_id != asking.scope_id or self._history.is_elsewhere(found):
            parts["scope"] = self._names[found.scope_id]
        if found.entry is not None:
            parts |= {"entry": found.entry[0], "version": found.entry[1]}
        elif found.family == ATOMIC_MEMORY:
            parts["entry"] = found.artifact_id
        else:
            parts |= {"id": found.artifact_id, "revision": found.revision}
        if any(sign in str(part) for part in parts.values() for sign in "@#/"):
            return parts
        scope = f"{parts['scope']}/" if "scope" in parts else ""
        if "entry" in parts:
            return scope + parts["entry"] + (f"@{parts['version']}" if "version" in parts else "")
        return f"{scope}{parts['id']}#{parts['revision']}"

    def _broken(self, asking: Asking) -> Iterator[str]:
        which = f" of {asking.exchange.source}" if len(self._askings) > 1 else ""
        for failure in faults(asking):
            said = private(f": {failure.message}")
            yield f"the reported answer{which} breaks the contract: {failure.kind} in {failure.region}{said}"

    def _remarks(self, asking: Asking) -> Iterator[str]:
        yield f"came: {came(asking)}"
        if asking.broken is not None:
            yield f"guess: the text breaks the fixed frame{private(f' ({asking.broken})')}; its items as far as they go"
        if not asking.told.is_whole:
            yield "guess: the answer in the report breaks off; what stood behind is not rebuilt"
        if asking.told.status == 403 and not asking.is_right:
            yield "guess: what the caller may read is not known; here it is all (--right: not this Scope)"
        if asking.exchange.caller is None and not asking.is_nobody:
            yield "guess: the report shows no token; the caller reads all that was cited"
        yield from asking.exchange.notes

    def _head(self) -> Iterator[str]:
        yield "Imported from a report; what is marked `guess:` could not be had from it. Nothing of the answer is"
        yield "expected, unless it says so below: what always holds and the prediction judge every answer."
        if any("\n" in text for scope_id in self._references for text in self._history.texts(scope_id)):
            yield "guess: line breaks were LF; CR, CRLF, U+2028 and U+2029 are shown alike."


def _content(made: Rebuilt, writes: Sequence[Write], names: Mapping[str, str], location: Location) -> dict[str, Any]:
    """Return writes as the content of Scopes by name, and note what is to be said of them."""
    content: dict[str, Any] = {}
    for write in writes:
        name = names[write.scope_id]
        items = content.setdefault(name, {}).setdefault(write.key, [])
        if write.notes:
            made.notes[(*location, name, write.key, len(items))] = list(write.notes)
        items.append(write.item)
    return content
