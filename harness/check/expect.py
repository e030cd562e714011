"""Judges an answer by what a scenario's step expects of it (DESIGN.md, the expectation table)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.check.context import strings
from harness.check.delivered import Delivered, Malformed, read_delivered
from harness.check.failure import Failure, differs
from harness.check.naming import Names, UnknownName, Wanted, same_items
from harness.check.regions import first_difference
from harness.check.world import World
from harness.scenario.check_steps import ERROR_STATUS
from harness.scenario.model import AnyOrder, Expect
from harness.target.base import Answer, Refused
from harness.target.ids import Ids

_REASON_CHARACTERS = 160


@dataclass(frozen=True)
class Surroundings:
    """What a step's expectations are read with.

    `scopes` gives a Scope's id for its name, `scope_id` is the step's current Scope, and `earlier` holds the body's
    bytes of each earlier step that has a name.
    """

    world: World
    scopes: Mapping[str, str] = field(default_factory=dict)
    scope_id: str | None = None
    earlier: Mapping[str, bytes] = field(default_factory=dict)
    ids: Ids = field(default_factory=Ids)

    @property
    def names(self) -> Names:
        """How items are named here."""
        return Names(world=self.world, scopes=self.scopes, current=self.scope_id, ids=self.ids)


def judge(expect: Expect, answer: Answer, *, surroundings: Surroundings) -> list[Failure]:
    """Return what an answer of a prepare or a read does not keep of its expectations, all of it.

    Without `http` the status is 200, or the one that SPEC.md 2 gives the expected `error`.
    """
    failures: list[Failure] = []
    for check in _CHECKS:
        failures += check(expect, answer, surroundings)
    return failures


def judge_write(expect: Expect, outcome: Refused | None) -> list[Failure]:
    """Return what a write's outcome does not keep: without `refused` it must have been accepted."""
    got = "accepted" if outcome is None else f"refused: {outcome.code}"
    expected = "accepted" if expect.refused is None else f"refused: {expect.refused}"
    return [] if got == expected else [differs("write", "write", "the write", expected=expected, got=got)]


def _http(expect: Expect, answer: Answer, _: Surroundings) -> Iterator[Failure]:
    expected = expect.http
    if expected is None:
        expected = ERROR_STATUS.get(expect.error, 0) if expect.error is not None else 200
    code = _field(_field(answer.json, "error"), "code")
    if expected and answer.status != expected:
        got = (f"{answer.status} {code}" if code is not None else str(answer.status)) + _reason(answer)
        yield differs("http", "status", "status", expected=expected, got=got)
    if expect.error is not None and code != expect.error:
        yield differs("error", "response", "error", expected=expect.error, got=code)


def _status(expect: Expect, answer: Answer, _: Surroundings) -> Iterator[Failure]:
    got = _field(answer.json, "status")
    if expect.status is not None and got != expect.status:
        yield differs("status", "response", "status", expected=expect.status, got=got or f"HTTP {answer.status}")


def _sections(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    if expect.sections is None:
        return
    names = around.names
    wanted: list[tuple[str, list[Wanted], bool]] = []
    try:
        for section in expect.sections:
            for title, items in section.items():
                members = items.any_order if isinstance(items, AnyOrder) else items
                resolved = [names.wanted(item, title=title) for item in members]
                wanted.append((title, resolved, isinstance(items, AnyOrder)))
    except UnknownName as unknown:
        yield Failure("scenario", "expectation", "a name of something stored", str(unknown), str(unknown))
        return
    expected = ", ".join(_written(title, items, any_order) for title, items, any_order in wanted) or "no section"
    delivered = _delivered(answer, around)
    if delivered is None or isinstance(delivered, Malformed):
        if delivered is not None or wanted or answer.status != 200:
            got = _undelivered(answer, delivered)
            yield Failure("sections", "response", expected, got, f"expected {expected}, got {got}")
        return
    every = [item for _, items, _ in wanted for item in items]
    right = [title for title, _, _ in wanted] == [section.title for section in delivered.sections] and all(
        same_items(section.items, items, any_order=any_order)
        for section, (_, items, any_order) in zip(delivered.sections, wanted, strict=True)
    )
    if not right:
        got = names.sections(delivered.sections, every)
        region = "response"
        for (name, some, any_order), got_section in zip(wanted, delivered.sections, strict=False):
            if name != got_section.title or not same_items(got_section.items, some, any_order=any_order):
                region = f"section {name}"
                break
        yield Failure("sections", region, expected, got, f"expected {expected}, got {got}")


def _ranks(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    delivered = _delivered(answer, around)
    items = delivered.items if isinstance(delivered, Delivered) else ()
    for name, rank in (expect.ranks or {}).items():
        try:
            wanted = around.names.wanted(name)
        except UnknownName as unknown:
            yield Failure("scenario", "expectation", "a name of something stored", str(unknown), str(unknown))
            continue
        item = next((item for item in items if wanted.matches(item)), None)
        got = "not delivered" if item is None else item.recall_rank if item.recall_rank is not None else "not shown"
        if got != rank:
            yield differs("ranks", "response", f"rank of {name}", expected=rank, got=got)


def _truncated(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    if expect.truncated is None:
        return
    try:
        wanted = [around.names.wanted(item) for item in expect.truncated]
    except UnknownName as unknown:
        yield Failure("scenario", "expectation", "a name of something stored", str(unknown), str(unknown))
        return
    delivered = _delivered(answer, around)
    expected = "[" + ", ".join(item.written for item in wanted) + "]"
    if not isinstance(delivered, Delivered):
        if wanted or delivered is not None or answer.status != 200:
            got = _undelivered(answer, delivered)
            yield differs("truncated", "response", "truncated", expected=expected, got=got)
        return
    cut = [item for item in delivered.items if item.truncated]
    if not same_items(cut, wanted, any_order=True):
        got = around.names.listing(cut, wanted)
        yield differs("truncated", "response", "truncated", expected=expected, got=got)


def _bytes(expect: Expect, answer: Answer, _: Surroundings) -> Iterator[Failure]:
    if expect.bytes is None:
        return
    got = _field(answer.json, "content_bytes")
    if isinstance(expect.bytes, int):
        right, expected = got == expect.bytes, str(expect.bytes)
    else:
        least, most = expect.bytes.at_least, expect.bytes.at_most
        right = isinstance(got, int) and (least is None or got >= least) and (most is None or got <= most)
        expected = " and ".join(
            f"{word} {bound}" for word, bound in (("at least", least), ("at most", most)) if bound is not None
        )
    if not right:
        yield differs("bytes", "response", "bytes", expected=expected, got=got)


def _content(expect: Expect, answer: Answer, _: Surroundings) -> Iterator[Failure]:
    if expect.content is None or answer.content == expect.content:
        return
    if answer.content is None:
        got = _undelivered(answer, None)
        yield differs("content", "response", "a prepared text", expected="as written", got=got)
        return
    yield from _first("content", "the content", _bytes_of(expect.content), _bytes_of(answer.content))


def _contains(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    said = _said(answer) if expect.contains or expect.absent else []
    shown = [*said, *_bodies(answer, around)] if expect.contains else []
    for text in expect.contains:
        if not any(text in part for part in shown):
            yield differs("contains", "response", "the response to contain", expected=repr(text), got="none of it")
    places = [("response", part) for part in said]
    # A header's name is the server's own word.
    places += [("headers", value) for _, value in answer.headers]
    for text in expect.absent:
        for region, place in places:
            if text in place:
                around_it = place[max(0, place.index(text) - 20) : place.index(text) + len(text) + 20]
                message = f"expected {text!r} to be absent, got {around_it!r}"
                yield Failure("absent", region, f"no {text!r}", repr(around_it), message)


def _read(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    content = around.ids.named_value(_field(answer.json, "content"))
    if expect.text is not None:
        got = _field(answer.json, "text")
        if got is None:
            got = _field(content, "content")
        if not isinstance(got, str):
            yield differs("text", "response", "a text", expected="as written", got=f"HTTP {answer.status} without one")
        elif got != expect.text:
            yield from _first("text", "the text", _bytes_of(expect.text), _bytes_of(got))
    if expect.artifact is not None and content != expect.artifact:
        yield differs("artifact", "response", "content", expected=expect.artifact, got=content)


def _same(expect: Expect, answer: Answer, around: Surroundings) -> Iterator[Failure]:
    for name in (expect.same_as, expect.not_same_as):
        if name is not None and name not in around.earlier:
            message = f"there is no earlier step named `{name}`"
            yield Failure("scenario", "expectation", "the name of an earlier step", name, message)
    before = around.earlier.get(expect.same_as) if expect.same_as is not None else None
    if before is not None and before != answer.body:
        earlier = Answer(status=200, headers=(), body=before)
        if earlier.content is not None and answer.content is not None and earlier.content != answer.content:
            one, other = _bytes_of(earlier.content), _bytes_of(answer.content)
        else:
            one, other = before, answer.body
        yield from _first("same-as", f"the bytes of step `{expect.same_as}`", one, other)
    if expect.not_same_as is not None and around.earlier.get(expect.not_same_as) == answer.body:
        expected = f"other than those of step `{expect.not_same_as}`"
        yield differs("not-same-as", "response", "bytes", expected=expected, got="equal ones")


_Check = Callable[[Expect, Answer, Surroundings], Iterator[Failure]]
_CHECKS: tuple[_Check, ...] = (
    _http,
    _status,
    _sections,
    _ranks,
    _truncated,
    _bytes,
    _content,
    _contains,
    _read,
    _same,
)


def _first(kind: str, what: str, expected: bytes, got: bytes) -> Iterator[Failure]:
    difference = first_difference(expected, got)
    if difference is not None:
        message = f"{what} differs first at {difference}"
        yield Failure(kind, difference.region, difference.expected, difference.got, message)


def _written(title: str, items: list[Wanted], any_order: bool) -> str:
    inner = "[" + ", ".join(item.written for item in items) + "]"
    return f"{title}: {inner}" + (" in any order" if any_order else "")


def _delivered(answer: Answer, around: Surroundings) -> Delivered | Malformed | None:
    if answer.content is None:
        return None
    try:
        return read_delivered(answer.content, scope_id=around.scope_id or "")
    except Malformed as malformed:
        return malformed


def _undelivered(answer: Answer, delivered: Malformed | Delivered | None) -> str:
    if isinstance(delivered, Malformed):
        return f"a malformed text ({delivered})"
    code = _field(_field(answer.json, "error"), "code")
    return f"HTTP {answer.status}" + (f" {code}" if code else "") if answer.status != 200 else "no section"


def _said(answer: Answer) -> list[str]:
    """Return the whole response as decoded texts: the raw body, and every JSON string."""
    return [answer.body.decode("utf-8", errors="backslashreplace"), *strings(answer.json)]


def _bodies(answer: Answer, around: Surroundings) -> list[str]:
    """Return the delivered bodies without their line prefixes, in which a text of several lines can be found."""
    delivered = _delivered(answer, around)
    return [item.body_text for item in delivered.items] if isinstance(delivered, Delivered) else []


def _reason(answer: Answer) -> str:
    """Return what the first of an error's `details.errors` says, behind a colon, if there is one (SPEC.md 2)."""
    errors = _field(_field(_field(answer.json, "error"), "details"), "errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    place, why = _field(first, "loc"), _field(first, "msg")
    if not isinstance(place, list) or not isinstance(why, str):
        return ""
    said = f": {'.'.join(map(str, place))}: {why}"
    return said if len(said) <= _REASON_CHARACTERS else f"{said[:_REASON_CHARACTERS]}..."


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")
