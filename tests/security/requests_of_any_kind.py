"""Requests as bytes, from right ones to what is hardly HTTP: a strategy, and what holds of each answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from talking import BODY, PREPARE, REVISION, TOKEN, Answered

MARKER = "zanzibar"
"""A word that only the unreadable Scope holds."""

CODES = {
    400: {"bad_request"},
    401: {"unauthorized"},
    403: {"forbidden"},
    404: {"not_found", "artifact_not_found", "memory_not_found"},
    405: {"method_not_allowed"},
    408: {"request_timeout"},
    413: {"payload_too_large"},
    415: {"unsupported_media_type"},
    422: {"invalid_request"},
    431: {"headers_too_large"},
}
"""Every refusal that a healthy server may give; a 5xx is none."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes over one connection; `head_first` says that the first request was a HEAD."""

    data: bytes
    head_first: bool


_text = st.text(st.characters(exclude_categories=()), max_size=12)
_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_scopes = st.sampled_from(["demo", "unseen", "absent", "demo ", "Demo", "", "x" * 257]) | _text
_sections = st.lists(
    st.fixed_dictionaries(
        {
            "family": st.sampled_from(["memory", "experience", "profile", "topic-memory", "skill"]),
            "limit": st.integers(0, 9),
        }
    )
    | _json,
    max_size=5,
)
_assemblies = (
    st.fixed_dictionaries(
        {},
        optional={
            "format": st.sampled_from(["markdown", "html"]),
            "sections": _sections,
            "show": st.lists(st.sampled_from(["confidence", "recall_rank", "x"]), max_size=3),
        },
    )
    | _json
)
_prepares = st.fixed_dictionaries(
    {"scope_id": _scopes, "query": st.sampled_from(["contract tests", MARKER, "界" * 8193]) | _text},
    optional={"max_bytes": st.integers(500, 40_000) | _json, "assembly": _assemblies, "extra": _json},
)
_references = st.fixed_dictionaries(
    {"family": st.sampled_from(["memory", "profile", "x"]), "artifact_id": _text, "revision": st.integers(-1, 2**64)}
)
_entry_reads = st.fixed_dictionaries(
    {
        "scope_id": _scopes,
        "citation": st.fixed_dictionaries({"memory_ref": _references, "entry_id": _text, "entry_version_id": _text})
        | _json,
    }
)


def _as_bytes(value: Any) -> bytes:
    # ensure_ascii keeps what is no Unicode as an escape, which is JSON all the same.
    return json.dumps(value).encode()


_bodies = st.one_of(
    st.just(BODY),
    _prepares.map(_as_bytes),
    _entry_reads.map(_as_bytes),
    _json.map(_as_bytes),
    _prepares.map(lambda value: _as_bytes(value).replace(b'"', b'"\xff', 3)),
    _prepares.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")),
    st.binary(max_size=60),
    st.sampled_from([b"", b"[" * 20_000, b'{"a":' * 5_000, b"9" * 5_000, BODY[:-1], BODY * 2, b"\xef\xbb\xbf" + BODY]),
)
_segments = st.sampled_from(
    ["demo", "unseen", "memory", "profile", "1", "..", "%", "%zz", "%ff", "%00", "%2e%2e", "01"]
) | (st.text(max_size=6).map(lambda text: quote(text, safe="")))
_targets = st.one_of(
    st.sampled_from([PREPARE, "/v1/memory/entries/get", REVISION, "/health/live", "/health/ready", "/v1/capabilities"]),
    st.sampled_from(["/", "*", "//", "", "http://x/v1/capabilities", "http://x", "/%", PREPARE + "?a=%ff#b", "?", "x"]),
    st.tuples(_segments, _segments, _segments, _segments).map(
        lambda parts: "/v1/scopes/{}/artifacts/{}/{}/revisions/{}".format(*parts)
    ),
    st.lists(_segments, max_size=6).map(lambda parts: "/" + "/".join(parts)),
)
_methods = st.sampled_from(
    ["POST"] * 6
    + ["GET"] * 6
    + ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "M-SEARCH", "get", "X", "", "P OST"]
)
_tokens = st.sampled_from(
    [f"Bearer {TOKEN}"] * 6
    + [TOKEN, "Bearer", "Bearer  ", "Basic eDp5", "Bearer \u00e9", f"bearer {TOKEN} ", "Bearer x y"]
)
_headers = st.lists(
    st.sampled_from(
        [
            b"content-type: application/json",
            b"content-type: text/plain",
            b"content-type: application/json; charset=utf-16",
            b"content-type:",
            b"authorization: Bearer " + TOKEN.encode(),
            b"expect: 100-continue",
            b"connection: close",
            b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x",
            b"connection: upgrade\r\nupgrade: h2c",
            b"content-encoding: gzip",
            b"transfer-encoding: gzip",
            b"transfer-encoding: identity",
            b"content-length: 5",
            b"content-length: +5",
            b"content-length: 99999999999999999999999",
            b"host: a\r\nhost: b",
            b"x-request-id: mine",
            b"x-forwarded-for: 1.2.3.4\r\nx-forwarded-proto: https",
            b" folded: x",
            b"x: \xff\xfe",
            b"x\0: y",
            b"no colon",
            b": no name",
        ]
    )
    | st.binary(max_size=20),
    max_size=3,
)


_FRAMINGS = st.sampled_from(["length"] * 8 + ["chunked"] * 4 + ["short", "long", "none", "broken chunk"])
_entry_target = st.just("/v1/memory/entries/get")
_revision_targets = st.tuples(
    st.sampled_from(["demo", "unseen", "absent"]) | _segments,
    st.sampled_from(["memory", "experience", "profile"]) | _segments,
    st.sampled_from(["memory", "experience-1", "profile"]) | _segments,
    st.sampled_from(["1", "2", "0", "9" * 30]) | _segments,
).map(lambda parts: "/v1/scopes/{}/artifacts/{}/{}/revisions/{}".format(*parts))
_sensible = st.one_of(
    st.tuples(st.just("POST"), st.just(PREPARE), _prepares.map(_as_bytes) | _bodies),
    st.tuples(st.just("POST"), _entry_target, _entry_reads.map(_as_bytes) | _bodies),
    st.tuples(st.just("GET"), _revision_targets, st.just(b"")),
)
"""Method, target and body that fit each other."""
_wild = st.tuples(_methods, _targets, _bodies)
_first_lines = st.sampled_from([b"GET / HTTP/1.0", b"GET / HTTP/2.0", b"GET /", b"", b"\xff\xfe /x HTTP/1.1"])


def _one_in(count: int) -> st.SearchStrategy[bool]:
    return st.sampled_from([True, *[False] * (count - 1)])


@st.composite
def _requests(draw: st.DrawFn) -> bytes:
    method, target, body = draw(_wild if draw(_one_in(4)) else _sensible)
    lines = [draw(_first_lines) if draw(_one_in(20)) else f"{method} {target} HTTP/1.1".encode()]
    lines += [b"host: 127.0.0.1"]
    if not draw(_one_in(8)):
        lines.append(b"authorization: " + draw(_tokens).encode())
    if draw(_one_in(3)):
        lines += draw(_headers)
    if not draw(_one_in(8)):
        lines.append(b"content-type: application/json")
    framing = draw(_FRAMINGS)
    if framing in ("length", "short", "long"):
        difference = {"length": 0, "short": -1, "long": 1}[framing]
        lines.append(b"content-length: %d" % max(0, len(body) + difference))
    elif framing in ("chunked", "broken chunk"):
        lines.append(b"transfer-encoding: chunked")
        size = draw(st.integers(1, 40_000))
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        body = chunked if framing == "chunked" else chunked.replace(b"\r\n", b"\n\r", 1)
    return b"\r\n".join([*lines, b"", body])


@st.composite
def connections(draw: st.DrawFn) -> Sent:
    """Give what one client sends over one connection, a plain request at its end."""
    head_first = draw(_one_in(20))
    if head_first:
        lines = [f"HEAD {draw(_revision_targets | _targets)} HTTP/1.1".encode(), b"host: x", *draw(_headers)]
        sent = b"\r\n".join([*lines, b"", b""])
    else:
        sent = b"".join(draw(_requests()) for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))))
        if draw(_one_in(10)):
            place = draw(st.integers(0, len(sent)))
            sent = sent[:place] + draw(st.binary(min_size=1, max_size=3)) + sent[place + 1 :]
    return Sent(sent + b"GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", head_first)


def check_answer(answer: Answered, *, headless: bool = False) -> None:
    """Hold one answer against SPEC.md 2; raises AssertionError."""
    assert answer.headers.get("x-request-id"), answer
    assert answer.headers["content-type"] == "application/json", answer
    assert TOKEN.encode() not in answer.body, answer
    assert b"Traceback" not in answer.body, answer
    assert MARKER.encode() not in answer.body, answer
    if answer.status == 200:
        assert headless or isinstance(json.loads(answer.body), dict)
        return
    assert answer.status in CODES, answer
    if headless and not answer.body:
        return
    assert answer.code in CODES[answer.status], answer
    if answer.status == 422:
        for problem in answer.error["details"]["errors"]:
            assert set(problem) == {"type", "loc", "msg"}, answer
    else:
        assert answer.error["details"] is None, answer
