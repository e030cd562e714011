"""What every error answer must be: its shape, its code, and nothing of the caller's in it (SPEC.md 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from harness.check.context import Prepared, strings
from harness.check.failure import Failure, differs
from harness.check.request import FIELDS, SHOWABLE
from harness.scenario.check_steps import ERROR_STATUS
from harness.target.base import Answer
from runtime.artifacts import FAMILIES

_CODES_WITHOUT_DETAILS = frozenset(("unauthorized", "forbidden", "scope_not_found"))

PUBLIC_TEXT = " ".join(
    (
        *FIELDS,
        *SHOWABLE,
        *FAMILIES,
        *ERROR_STATUS,
        "powercontext.prepared-context.v1 markdown schema status ready empty content content_bytes error code message",
        "details errors type loc msg body json application/json utf-8 x-request-id true false null",
        "512 8000 8192 32768 integer string array object boolean value input valid field request extra missing",
    )
)
"""The contract's own words: an error may use them although the caller used them too."""

_INNER_WORKINGS = re.compile(
    r"(?i)\b(sqlite3?|sqlalchemy|pymysql|pysqlite3?|pyobvector|oceanbase|seekdb|traceback|insert into)\b"
    r"|\bselect\b.{1,200}\bfrom\b|/(home|usr|tmp|var|root|opt)/|\w\.(py|db)\b"
)
_PART_CHARACTERS = 20
_WORD_CHARACTERS = 8


def check_error(
    answer: Answer,
    *,
    values: Iterable[str] = (),
    code_known: bool = True,
) -> list[Failure]:
    """Judge an answer that is no success; `values` are the caller's: texts, ids, unknown keys.

    Values of 3 characters or less, and the contract's own words, are not looked for.
    """
    failures = list(_shape(answer, code_known=code_known))
    said = "\n".join(strings(answer.json)) if answer.json is not None else answer.body.decode("utf-8", "replace")
    headers = "\n".join(value for _, value in answer.headers)
    for region, text in (("response", said), ("headers", headers)):
        for value in dict.fromkeys(values):
            if echoed := _echo(value, text):
                message = f"the error holds the caller's value {echoed!r}"
                failures.append(Failure("echo", region, "nothing of the caller's", repr(echoed), message))
    if found := _INNER_WORKINGS.search(said):
        message = f"the error speaks of inner workings: {found[0]!r}"
        failures.append(Failure("inner-workings", "response", "no driver, SQL or path", repr(found[0]), message))
    return failures


def check_request_id(answer: Answer) -> Iterator[Failure]:
    """Every answer carries `X-Request-Id`."""
    if not any(name.lower() == "x-request-id" and value for name, value in answer.headers):
        yield Failure("request-id", "headers", "X-Request-Id", "none", "the header X-Request-Id is missing")


def check_verdict(prepared: Prepared) -> Iterator[Failure]:
    """The first check of SPEC.md 2's order that does not pass decides the status and the code.

    A service that fails (500, 503) is no verdict on the request and is not judged here.
    """
    if prepared.answer.status in (500, 503) or not prepared.media_type:
        return
    expected = right_verdict(prepared)
    error = prepared.answer.json.get("error") if isinstance(prepared.answer.json, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    got = f"{prepared.answer.status} {code}" if code is not None else str(prepared.answer.status)
    if got != expected:
        yield differs("verdict", "status", "the verdict", expected=expected, got=got)


def right_verdict(prepared: Prepared) -> str:
    """Return the status, and of an error the code, that SPEC.md 2 calls for, as `403 forbidden`."""
    asked, enforced = prepared.asked, prepared.access == "enforced"
    if enforced and prepared.principal_id is None:
        return "401 unauthorized"
    if len(prepared.sent) > 2**20:
        return "413 payload_too_large"
    if asked is None:
        return "422 invalid_request"
    if not prepared.may_read(asked.scope_id):
        may_know = prepared.administrator or not enforced
        absent = not prepared.world.exists(asked.scope_id)
        return "404 scope_not_found" if may_know and absent else "403 forbidden"
    if asked.total > prepared.max_entries:
        return "422 invalid_request"
    if asked.sections != () and not all(prepared.may_read(scope_id) for scope_id in prepared.scopes_read):
        return "403 forbidden"
    return "200"


def caller_values(prepared: Prepared) -> list[str]:
    """Return what must not come back in an error: the request's strings, unknown keys, numbers, and the token."""
    values = strings(prepared.request) if prepared.request is not None else []
    if prepared.request is None:
        values = re.findall(r"[\w:-]{6,}", prepared.sent.decode("utf-8", errors="replace"))
    return [*values, *([prepared.token] if prepared.token else [])]


def _shape(answer: Answer, *, code_known: bool) -> Iterator[Failure]:
    error = answer.json.get("error") if isinstance(answer.json, dict) else None
    if not isinstance(error, dict) or set(answer.json) != {"error"} or set(error) != {"code", "message", "details"}:
        expected = '{"error": {code, message, details}}'
        got = answer.body[:80].decode("utf-8", errors="backslashreplace")
        yield differs("error-shape", "response", "an error of the shape", expected=expected, got=got)
        return
    code, details = error["code"], error["details"]
    if not isinstance(error["message"], str) or not error["message"].strip():
        yield differs("error-shape", "response", "a message", expected="in words", got=repr(error["message"]))
    if code_known and ERROR_STATUS.get(code if isinstance(code, str) else "") != answer.status:
        yield differs("error-code", "response", "a code that fits the status", expected=answer.status, got=f"{code!r}")
    if code in _CODES_WITHOUT_DETAILS and details is not None:
        yield differs("error-details", "response", f"the details of {code}", expected="null", got=str(details)[:80])
    if code == "invalid_request" and details is not None:
        errors = details.get("errors") if isinstance(details, dict) else None
        if not isinstance(errors, list) or not all(
            isinstance(one, dict) and {"type", "loc", "msg"} <= set(one) for one in errors
        ):
            expected = "errors[] with type, loc, msg"
            yield differs("error-details", "response", "details of", expected=expected, got=str(details)[:80])


def _echo(value: str, text: str) -> str | None:
    """Return what of a value stands in a text: all of it, or of a long one its beginning or its end."""
    if len(value) <= 3 or value in PUBLIC_TEXT or not value.strip():
        return None
    if len(value) <= _WORD_CHARACTERS:
        # A short value counts as a word of its own: `demo` is no part of "demonstration".
        return value if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) else None
    for part in (value, value[:_PART_CHARACTERS], value[-_PART_CHARACTERS:]):
        if part.strip() and part not in PUBLIC_TEXT and part in text:
            return part
    return None
