"""Written expectations pass right answers and name what is wrong with others, in the scenario's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backends.operations import CreateScope, Operation, SetReferences, WriteDocument, WriteMemory
from harness.check.expect import Surroundings, judge, judge_write
from harness.check.world import World
from harness.scenario.model import Expect
from harness.target.base import Answer, Refused
from runtime.artifacts import EntryWrite, Experience, Profile, Topic

MINIATURES = Path(__file__).parent / "miniatures"
TEXT = (MINIATURES / "right.txt").read_bytes().decode()
OLDER = (MINIATURES / "older.txt").read_bytes().decode()
DEMO, SHARED = "project:demo", "café"
SEED: tuple[Operation, ...] = (
    CreateScope(DEMO),
    CreateScope(SHARED),
    CreateScope("far"),
    SetReferences(DEMO, (SHARED, "far")),
    WriteMemory(DEMO, (EntryWrite("entry-1", "entry-1-v1", "x"), EntryWrite("a/b", "v", "x"))),
    WriteMemory(SHARED, (EntryWrite("entry-9", "entry-9-v1", "x"), EntryWrite("entry-1", "w", "x"))),
    WriteMemory("far", (EntryWrite("twice", "v", "x"),)),
    WriteMemory(SHARED, (EntryWrite("twice", "v", "x"),)),
    WriteDocument(DEMO, "experience-1", Experience("s", "a", "o", "l")),
    WriteDocument(DEMO, "experience-2", Experience("s", "a", "o", "l")),
    WriteDocument(DEMO, "profile", Profile("p")),
    WriteDocument(DEMO, "topic-1", Topic("t", "s", "d")),
)


def surroundings(**earlier: bytes) -> Surroundings:
    world = World()
    world.apply(SEED)
    scopes = {"demo": DEMO, "shared": SHARED, "far": "far"}
    return Surroundings(world=world, scopes=scopes, scope_id=DEMO, earlier=earlier)


def ready(text: str = TEXT) -> Answer:
    value = {"schema": "s", "status": "ready", "content": text, "content_bytes": len(text.encode())}
    return Answer(200, (("X-Request-Id", "r-77"),), json.dumps(value).encode())


EMPTY = Answer(200, (), b'{"schema": "s", "status": "empty", "content": null, "content_bytes": 0}')
FORBIDDEN = Answer(403, (), b'{"error": {"code": "forbidden", "message": "No \\u2028.", "details": null}}')
INVALID = b'{"error": {"code": "invalid_request", "message": "No.", "details": {"errors": [%s]}}}'
NO_LIMIT = b'{"type": "missing", "loc": ["body", "assembly", "sections", 1, "limit"], "msg": "Field required"}'
ENTRY = Answer(200, (), '{"citation": {}, "kind": "fact", "text": "Prüfe", "state": "active"}'.encode())
PROFILE = Answer(200, (), b'{"family": "profile", "content": {"content": "Short."}}')
ALL_SECTIONS = [
    {"Experience": ["experience-1", "experience-2"]},
    {"Memory": ["entry-1", "entry-9"]},
    {"Topic Memory": ["topic-1"]},
]


def messages(answer: Answer, /, **expect: Any) -> list[str]:
    return [str(failure) for failure in judge(Expect.model_validate(expect), answer, surroundings=surroundings())]


@pytest.mark.parametrize(
    ("answer", "expect"),
    [
        (ready(), {}),
        (ready(), {"status": "ready", "sections": ALL_SECTIONS}),
        (
            ready(),
            {
                "sections": [
                    {"Experience": {"any_order": ["experience-2", "experience-1#1"]}},
                    {"Memory": ["demo/entry-1@entry-1-v2", {"scope": "shared", "entry": "entry-9", "revision": 1}]},
                    {"Topic Memory": ["topic-1#1"]},
                ]
            },
        ),
        (ready(), {"ranks": {"entry-1": 1, "experience-2": 3, "shared/entry-9": 2}}),
        (ready(), {"truncated": [], "bytes": len(TEXT.encode()), "content": TEXT}),
        (ready(), {"bytes": {"at_least": 100, "at_most": 5000}}),
        (ready(), {"contains": ["Regenerate the client.\n\nThen\\u0009run", '"caf\\u00e9"'], "absent": ["marmalade"]}),
        (
            ready(OLDER),
            {
                "sections": [
                    {"Memory": ["entry-1", "entry-9"]},
                    {"Topic Memory": ["topic-1"]},
                    {"Experience": ["experience-1"]},
                ]
            },
        ),
        (ready(OLDER), {"contains": ["client.\r\n\r\nThen\trun", "café"]}),
        (EMPTY, {"status": "empty", "sections": [], "truncated": [], "bytes": 0}),
        (FORBIDDEN, {"http": 403, "error": "forbidden"}),
        (FORBIDDEN, {"error": "forbidden", "contains": "No \u2028"}),
        (ENTRY, {"text": "Prüfe"}),
        (PROFILE, {"text": "Short.", "artifact": {"content": "Short."}}),
    ],
)
def test_right_answers_pass(answer: Answer, expect: dict[str, Any]) -> None:
    assert messages(answer, **expect) == []


@pytest.mark.parametrize(
    ("answer", "expect", "message"),
    [
        (FORBIDDEN, {}, "http in status: expected status 200, got 403 forbidden"),
        (
            Answer(422, (), INVALID % NO_LIMIT),
            {},
            "http in status: expected status 200, got 422 invalid_request: body.assembly.sections.1.limit: "
            "Field required",
        ),
        (Answer(422, (), INVALID % b""), {}, "http in status: expected status 200, got 422 invalid_request"),
        (Answer(422, (), INVALID % b"7"), {}, "http in status: expected status 200, got 422 invalid_request"),
        (
            Answer(422, (), INVALID % (b'{"loc": [], "msg": "%s"}' % (b"x" * 200))),
            {},
            f"http in status: expected status 200, got 422 invalid_request: : {'x' * 156}...",
        ),
        (ready(), {"http": 422}, "http in status: expected status 422, got 200"),
        (
            FORBIDDEN,
            {"http": 403, "error": "unauthorized"},
            "error in response: expected error unauthorized, got forbidden",
        ),
        (EMPTY, {"status": "ready"}, "status in response: expected status ready, got empty"),
        (
            ready(),
            {"sections": [{"Experience": ["experience-2", "experience-1"]}, *ALL_SECTIONS[1:]]},
            "sections in section Experience: expected Experience: [experience-2, experience-1], "
            "Memory: [entry-1, entry-9], Topic Memory: [topic-1], got Experience: [experience-1, experience-2], "
            "Memory: [entry-1, entry-9], Topic Memory: [topic-1]",
        ),
        (
            EMPTY,
            {"sections": [{"Memory": ["entry-1", "entry-9"]}]},
            "sections in response: expected Memory: [entry-1, entry-9], got no section",
        ),
        (
            ready(OLDER),
            {
                "sections": [
                    {"Memory": ["entry-1@entry-1-v1", "entry-9"]},
                    {"Topic Memory": ["topic-1"]},
                    {"Experience": {"any_order": ["experience-1"]}},
                ]
            },
            "sections in section Memory: expected Memory: [entry-1@entry-1-v1, entry-9], Topic Memory: [topic-1], "
            "Experience: [experience-1] in any order, got Memory: [entry-1@entry-1-v2, entry-9@entry-9-v1], "
            "Topic Memory: [topic-1#1], Experience: [experience-1#1]",
        ),
        (
            ready(),
            {"sections": [{"Memory": ["shared/entry-1"]}]},
            "sections in section Memory: expected Memory: [shared/entry-1], got Experience: [experience-1, "
            "experience-2], Memory: [entry-1, entry-9], Topic Memory: [topic-1]",
        ),
        (
            ready(),
            {"sections": [{"Memory": ["nothing"]}]},
            "scenario in expectation: `nothing` names nothing stored, "
            "or something in several Scopes: say `scope/nothing`",
        ),
        (
            ready(),
            {"sections": [{"Memory": ["twice"]}]},
            "scenario in expectation: `twice` names nothing stored, or something in several Scopes: say `scope/twice`",
        ),
        (
            ready(),
            {"sections": [{"Memory": ["nowhere/entry-1"]}]},
            "scenario in expectation: there is no Scope `nowhere`",
        ),
        (
            # What the expectation says with its Scope is told with it, so that both sides differ in what differs.
            ready(),
            {"sections": [{"Experience": ["demo/experience-2", "experience-1"]}, *ALL_SECTIONS[1:]]},
            "sections in section Experience: expected Experience: [demo/experience-2, experience-1], "
            "Memory: [entry-1, entry-9], Topic Memory: [topic-1], got Experience: [experience-1, demo/experience-2], "
            "Memory: [entry-1, entry-9], Topic Memory: [topic-1]",
        ),
        (ready(), {"ranks": {"experience-2": 2}}, "ranks in response: expected rank of experience-2 2, got 3"),
        (ready(), {"ranks": {"profile": 1}}, "ranks in response: expected rank of profile 1, got not delivered"),
        (ready(OLDER), {"ranks": {"entry-1": 1}}, "ranks in response: expected rank of entry-1 1, got not shown"),
        (ready(), {"truncated": ["entry-1"]}, "truncated in response: expected truncated [entry-1], got []"),
        (ready(), {"bytes": 7}, f"bytes in response: expected bytes 7, got {len(TEXT.encode())}"),
        (EMPTY, {"bytes": {"at_least": 1}}, "bytes in response: expected bytes at least 1, got 0"),
        (EMPTY, {"content": "x"}, "content in response: expected a prepared text as written, got no section"),
        (
            ready(),
            {"contains": "marmalade"},
            "contains in response: expected the response to contain 'marmalade', got none of it",
        ),
        (ready(), {"absent": "r-77"}, "absent in headers: expected 'r-77' to be absent, got 'r-77'"),
        (
            ENTRY,
            {"text": "Prufe"},
            "text in text: the text differs first at byte 2, text: expected `Prufe`, got `Prüfe`",
        ),
        (
            PROFILE,
            {"artifact": {"content": "Long."}},
            "artifact in response: expected content {'content': 'Long.'}, got {'content': 'Short.'}",
        ),
        (ready(), {"same_as": "before"}, "scenario in expectation: there is no earlier step named `before`"),
    ],
)
def test_a_wrong_answer_is_named(answer: Answer, expect: dict[str, Any], message: str) -> None:
    assert messages(answer, **expect) == [message]


def test_content_differs_at_a_byte_of_a_region() -> None:
    failures = judge(Expect(content=TEXT.replace("nightly", "daily")), ready(), surroundings=surroundings())
    assert [(failure.kind, failure.region) for failure in failures] == [("content", 'body of "Topic Memory 1"')]
    assert "Contract tests run nightly"[10:24] in failures[0].got


def test_a_malformed_text_has_no_sections() -> None:
    found = messages(ready(TEXT + "\n"), sections=[{"Memory": ["entry-1"]}])
    assert len(found) == 1
    assert "a malformed text (end marker, byte" in found[0]


def test_a_name_with_reserved_signs_is_printed_by_its_parts() -> None:
    text = TEXT.replace('id="entry-1", version="entry-1-v2"', 'id="a/b", version="v"')
    found = messages(ready(text), sections=[{"Memory": [{"entry": "a/b"}]}])
    assert "expected Memory: [{entry: a/b}], got" in found[0]
    assert "Memory: [{entry: a/b}, entry-9]" in found[0]


def test_steps_are_compared_by_their_bytes() -> None:
    around = surroundings(before=ready().body, other=ready(TEXT.replace("nightly", "daily")).body)
    assert judge(Expect(same_as="before", not_same_as="other"), ready(), surroundings=around) == []
    failures = judge(Expect(same_as="other", not_same_as="before"), ready(), surroundings=around)
    assert [(failure.kind, failure.region) for failure in failures] == [
        ("same-as", 'body of "Topic Memory 1"'),
        ("not-same-as", "response"),
    ]


def test_writes_are_accepted_unless_a_refusal_is_expected() -> None:
    assert judge_write(Expect(), None) == []
    assert judge_write(Expect(refused="invalid_id"), Refused("invalid_id")) == []
    assert [str(one) for one in judge_write(Expect(), Refused("invalid_id"))] == [
        "write in write: expected the write accepted, got refused: invalid_id"
    ]
    assert len(judge_write(Expect(refused="invalid_id"), Refused("unknown_scope"))) == 1
    assert len(judge_write(Expect(refused="invalid_id"), None)) == 1
