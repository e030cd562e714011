"""Which expectation fits which kind of step, and which words may stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backends import BACKENDS
from harness.errors import did_you_mean
from harness.scenario.check_items import VALUE, Complaint
from harness.scenario.items import NotAnItem, entry_and_version
from harness.scenario.model import VERBS, Bounds, Expect, Read, Step, Token

_HEADER_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"([^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?)?")
_CARRIED = "no control characters, no blank at its ends"
_ANY_BACKEND = "any"
_ANY_ANSWER = {"http", "error", "contains", "absent"}
_ONE_ANSWER = _ANY_ANSWER | {"same_as", "not_same_as"}
_PREPARED = {"status", "sections", "ranks", "truncated", "bytes", "content"}
_FITTING: dict[str, set[str]] = {
    "prepare": _ONE_ANSWER | _PREPARED,
    "body": _ONE_ANSWER | _PREPARED,
    "read": _ONE_ANSWER | {"text", "artifact"},
    "everything cited": _ANY_ANSWER,
    "write": {"refused"},
    "grant": {"refused"},
    "revoke": {"refused"},
    "fault": set(),
    "restart": set(),
}
ERROR_STATUS = {
    "unauthorized": 401,
    "invalid_request": 422,
    "forbidden": 403,
    "scope_not_found": 404,
    "artifact_not_found": 404,
    "memory_not_found": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "unsupported_media_type": 415,
    "payload_too_large": 413,
    "service_unavailable": 503,
    "runtime_not_ready": 503,
    "internal_error": 500,
}
"""The status of each error code (SPEC.md 2 and 6)."""
REFUSALS = (
    "invalid_id",
    "body_too_long",
    "invalid_unicode",
    "unknown_scope",
    "invalid_reference",
    "revision_conflict",
    "entry_unknown",
    "token_conflict",
)
"""The codes of refused writes (SPEC.md 1)."""


def verbs(step: Step) -> list[str]:
    """Return the verbs that a step has; a good step has one."""
    return [verb for verb in VERBS if getattr(step, verb) is not None]


def check_step(step: Step) -> Iterator[Complaint]:
    """Give what is wrong with a step by itself; the locations begin at the step."""
    found = verbs(step)
    if not found:
        yield (), "a step needs one verb", f"one of {', '.join(VERBS)}"
        return
    if len(found) > 1:
        yield (found[1],), f"a step has one verb, not {' and '.join(found)}", "write two steps"
        return
    verb = found[0]
    if step.headers and verb not in ("prepare", "body"):
        yield ("headers",), f"headers do not fit a {verb}", "they go with prepare or body"
    if step.as_ is not None and verb not in ("prepare", "body", "read"):
        yield ("as",), f"nobody calls in a {verb}", "`as` goes with prepare, body or read"
    yield from _header_texts(step)
    for name, words in (("write", step.write), ("grant", step.grant), ("revoke", step.revoke)):
        if words == {}:
            yield (name,), f"an empty {name} does nothing", None
    if isinstance(step.read, Read) and step.read.entry is not None:
        try:
            entry_and_version(step.read.entry, step.read.version)
        except NotAnItem as problem:
            yield ("read", "entry", VALUE), problem.message, problem.hint
    if step.fault is not None and step.fault.backend not in (_ANY_BACKEND, *BACKENDS):
        hint = did_you_mean(step.fault.backend, [_ANY_BACKEND, *BACKENDS])
        yield ("fault", "backend", VALUE), f'unknown backend "{step.fault.backend}"', hint
    yield from _judges_nothing(step.expect)
    yield from _expectations(step, "everything cited" if step.read == "everything cited" else verb)


def _header_texts(step: Step) -> Iterator[Complaint]:
    # HTTP cannot carry these, and a client's own error would look like the target's.
    for name, value in step.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            yield ("headers", name), f'"{name}" is no name of a header', None
        if not _HEADER_VALUE.fullmatch(value):
            yield ("headers", name), f'no header can carry the value of "{name}"', _CARRIED
    if isinstance(step.as_, Token) and not (step.as_.token and _HEADER_VALUE.fullmatch(step.as_.token)):
        yield ("as", "token"), "no header can carry this token", f"not empty, {_CARRIED}"


def _judges_nothing(expect: Expect) -> Iterator[Complaint]:
    # An expectation that every answer meets looks like a judgement in the file and is none.
    if isinstance(expect.bytes, Bounds) and expect.bytes.at_most is None and expect.bytes.at_least is None:
        yield ("expect", "bytes"), '"bytes" has no bound', "write {at_most: n}, {at_least: n}, or the number"
    if expect.ranks == {}:
        yield ("expect", "ranks"), '"ranks" names no item', "leave it out"
    for key, strings in (("contains", expect.contains), ("absent", expect.absent)):
        if not strings and key in expect.model_fields_set:
            yield ("expect", key), f'"{key}" names no string', "leave it out"
        for index, string in enumerate(strings):
            if not string:
                yield ("expect", key, index, VALUE), f'"{key}" looks for an empty string', "every answer holds it"


def _expectations(step: Step, verb: str) -> Iterator[Complaint]:
    expect = step.expect
    for key in sorted(expect.model_fields_set - _FITTING[verb]):
        fitting = [kind for kind, keys in _FITTING.items() if key in keys]
        yield ("expect", key), f'"{key}" does not fit a {verb}', f"it goes with {', '.join(fitting)}"
    if expect.refused is not None and expect.refused not in REFUSALS:
        yield ("expect", "refused", VALUE), f'unknown code "{expect.refused}"', did_you_mean(expect.refused, REFUSALS)
    if expect.error is not None:
        if expect.error not in ERROR_STATUS:
            hint = did_you_mean(expect.error, ERROR_STATUS)
            yield ("expect", "error", VALUE), f'unknown error code "{expect.error}"', hint
        elif expect.http is None:
            hint = f"write http: {ERROR_STATUS[expect.error]}"
            yield ("expect", "error"), "an error needs its status: without `http` 200 is expected", hint
    failing = expect.http is not None and expect.http >= 400
    if expect.error is not None and expect.http is not None and not failing:
        yield ("expect", "http"), f"status {expect.http} is no error's", None
    if failing:
        for key in sorted(expect.model_fields_set & (_PREPARED | {"text", "artifact"})):
            yield ("expect", key), f'"{key}" does not fit an answer with status {expect.http}', None
    if expect.status == "empty":
        for key in sorted(expect.model_fields_set & {"ranks", "truncated", "content"}):
            yield ("expect", key), f'"{key}" does not fit an empty answer', None
        if expect.sections:
            yield ("expect", "sections"), '"sections" with items do not fit an empty answer', None
