"""Cut bodies: only the longest legal cut passes, in the text and in the older output."""

from __future__ import annotations

import json

import pytest
from judged import answer_of, text_of, world_of

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    WriteMemory,
)
from harness.check.context import Prepared
from harness.check.invariants import check_prepare
from runtime.artifacts import EntryWrite

HEAD = text_of("right.txt")[: text_of("right.txt").index("## Experience")]
FRAME_OF_ONE = (
    HEAD
    + "## Memory\n\n### Memory 1\n\n"
    + '    Scope: "demo"\n    Artifact: family="memory", id="memory", revision=1\n'
    + '    Entry: id="e", version="v"\n    Truncated: {truncated}\n\n{body}\n\nEND_POWERCONTEXT_PREPARED_TEXT_V1'
)


def seed_of_one(stored: str) -> tuple[Operation, ...]:
    write = WriteMemory("demo", (EntryWrite("e", "v", stored),))
    return (CreateScope("demo"), write, CreatePrincipal("p", "tok"), Grant("p", "demo"))


def one_memory(stored: str, shown: str, *, truncated: bool, max_bytes: int) -> list[tuple[str, str]]:
    """Judge a text of one Memory, `shown` without line prefixes."""
    body = "\n".join(">     " + line for line in shown.split("\n"))
    text = FRAME_OF_ONE.format(truncated="yes" if truncated else "no", body=body)
    world = world_of(*seed_of_one(stored))
    request = {
        "scope_id": "demo",
        "query": "x",
        "max_bytes": max_bytes,
        "assembly": {"sections": [{"family": "memory", "limit": 1}]},
    }
    answer = answer_of(text)
    prepared = Prepared(request=request, answer=answer, world=world, repeated=answer, principal_id="p")
    return [(failure.kind, failure.message) for failure in check_prepare(prepared)]


FRAME_BYTES = len(FRAME_OF_ONE.format(truncated="yes", body="").encode())


def test_a_body_of_2000_bytes_is_whole_and_one_of_2001_is_cut() -> None:
    assert one_memory("x" * 2000, "x" * 2000, truncated=False, max_bytes=8000) == []
    assert one_memory("x" * 2001, "x" * 1997 + "…", truncated=True, max_bytes=8000) == []
    assert [kind for kind, _ in one_memory("x" * 2001, "x" * 2001, truncated=False, max_bytes=8000)] == ["body-size"]
    assert [kind for kind, _ in one_memory("x" * 2000, "x" * 1997 + "…", truncated=True, max_bytes=8000)] == ["cut"]


@pytest.mark.parametrize(
    ("stored", "kept", "legal"),
    [
        ("y" * 3000, "y" * 1997, True),
        ("y" * 3000, "y" * 1996, False),
        # 1998 bytes of three-byte characters and an ellipsis are 2001 bytes.
        ("界" * 700, "界" * 665, True),
        ("界" * 700, "界" * 664, False),
        # An escape of six bytes that no longer fits is left out whole.
        ("y" * 1992 + "\t" + "z" * 100, "y" * 1992, True),
        ("y" * 1991 + "\t" + "z" * 100, "y" * 1991 + "\\u0009", True),
        ("y" * 1992 + "\t" + "z" * 100, "y" * 1992 + "\\u000", False),
        ("y" * 1991 + "\U000e0001" + "z" * 100, "y" * 1991, True),
        ("y" * 1991 + "\U000e0001" + "z" * 100, "y" * 1991 + "\\U000e", False),
        # CRLF is one line break of one byte.
        ("y" * 1996 + "\r\n" + "z" * 100, "y" * 1996 + "\n", True),
        ("y" * 1996 + "\r\n" + "z" * 100, "y" * 1996, False),
        ("y" * 3000, "z" * 1997, False),
    ],
)
def test_only_the_longest_legal_cut_passes(stored: str, kept: str, legal: bool) -> None:
    found = one_memory(stored, kept + "…", truncated=True, max_bytes=8000)
    assert (found == []) is legal, found


def test_a_cut_by_the_budget_counts_everything() -> None:
    room = 100
    budget = FRAME_BYTES + len(">     ") + room
    assert one_memory("y" * 300, "y" * 97 + "…", truncated=True, max_bytes=budget) == []
    assert one_memory("y" * 300, "y" * 96 + "…", truncated=True, max_bytes=budget)[0][0] == "cut"
    assert one_memory("y" * 300, "y" * 98 + "…", truncated=True, max_bytes=budget)[0][0] == "budget"
    # A second line costs its prefix too: 50 + LF + 6 + 40 + ellipsis = 100.
    assert (
        one_memory("y" * 50 + "\n" + "z" * 200, "y" * 50 + "\n" + "z" * 40 + "…", truncated=True, max_bytes=budget)
        == []
    )
    assert (
        one_memory("y" * 50 + "\n" + "z" * 200, "y" * 50 + "\n" + "z" * 39 + "…", truncated=True, max_bytes=budget)
        != []
    )


def test_a_cut_body_has_64_bytes() -> None:
    budget = FRAME_BYTES + len(">     ") + 64
    assert one_memory("y" * 300, "y" * 61 + "…", truncated=True, max_bytes=budget) == []
    short = one_memory("y" * 300, "y" * 60 + "…", truncated=True, max_bytes=budget - 1)
    assert short == [("cut", "a truncated body of less than 64 bytes")]
    assert one_memory("short", "short", truncated=False, max_bytes=8000) == []


def test_a_whole_body_that_fits_must_not_be_cut() -> None:
    budget = FRAME_BYTES - 1 + len(">     ") + 100
    found = one_memory("y" * 100, "y" * 96 + "…", truncated=True, max_bytes=budget)
    assert ("cut", "cut although the whole body fits") in found


def test_a_blank_body_is_never_delivered() -> None:
    assert [kind for kind, _ in one_memory("\u0085 ", "\\u0085 ", truncated=False, max_bytes=8000)] == ["body"]


def test_the_older_output_is_cut_at_the_stored_length() -> None:
    head = text_of("older.txt")
    head = head[: head.index('{"trust"')] + (
        '{"trust":"untrusted_history","items":[{"citation":{"memory_ref":'
        '{"family":"memory","artifact_id":"memory","revision":1},"entry_id":"e","entry_version_id":"v"},"content":'
    )
    tail = "}]}\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1"

    def judge(stored: str, shown: str, *, truncated: bool, max_bytes: int = 8000) -> list[str]:
        content = json.dumps(shown, ensure_ascii=False)
        answer = answer_of(f'{head}{content},"truncated":{str(truncated).lower()}{tail}')
        world = world_of(*seed_of_one(stored))
        request = {"scope_id": "demo", "query": "x", "max_bytes": max_bytes}
        prepared = Prepared(request=request, answer=answer, world=world, principal_id="p")
        return [failure.kind for failure in check_prepare(prepared)]

    assert judge("x" * 2000, "x" * 2000, truncated=False) == []
    assert judge("x" * 2001, "x" * 1997 + "…", truncated=True) == []
    assert judge("x" * 2001, "x" * 1996 + "…", truncated=True) == ["cut"]
    frame = len((head + '"","truncated":true' + tail).encode())
    # Of 300 stored bytes at most 299 come, the ellipsis included; a quotation mark costs two bytes in JSON.
    assert judge("y" * 300, "y" * 296 + "…", truncated=True, max_bytes=frame + 300) == []
    assert judge("y" * 300, "y" * 297 + "…", truncated=True, max_bytes=frame + 300) == ["body-size"]
    assert judge('"' * 300, '"' * 98 + "…", truncated=True, max_bytes=frame + 200) == []
    assert judge('"' * 300, '"' * 97 + "…", truncated=True, max_bytes=frame + 200) == ["cut"]
