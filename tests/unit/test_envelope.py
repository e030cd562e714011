"""The older output, against every cut of every body built out in full."""

from __future__ import annotations

import json
from typing import Any

import pytest
import slow_reference
from bodies import CALM, bodies, candidates, citation, long_bodies
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.artifacts import EXPERIENCE, MEMORY, TOPIC_MEMORY, Family
from runtime.builder import Candidate, Prepared
from runtime.envelope import FAMILIES, build
from runtime.text import MAX_SOURCE_BYTES

worlds = st.fixed_dictionaries({family: candidates(family) for family in FAMILIES})
budgets = st.integers(512, 1400) | st.integers(512, 9000)


def items(prepared: Prepared) -> list[dict[str, Any]]:
    line = (prepared.content or "").split("\n")[-2]
    found: list[dict[str, Any]] = json.loads(line)["items"]
    return found


def many(family: Family, number: int, body: str = "text") -> list[Candidate]:
    return [Candidate.of(citation(family, "demo", f"{family}-{n}", 1), body) for n in range(1, number + 1)]


@settings(CALM, max_examples=60)
@given(worlds, budgets)
def test_the_older_output_is_what_trying_every_cut_gives(world: dict[Any, list[Candidate]], max_bytes: int) -> None:
    content, origins = slow_reference.prepare_older(world, scope_id="demo", max_bytes=max_bytes)
    assert build(world, scope_id="demo", max_bytes=max_bytes) == Prepared(content, tuple(origins))


@settings(CALM, max_examples=100)
@given(st.lists(bodies, min_size=1, max_size=3), st.integers(-70, 4))
def test_the_older_output_is_right_around_its_full_size(texts: list[str], difference: int) -> None:
    found = {MEMORY: [Candidate.of(citation(MEMORY, "demo", f"m{n}", 1), body) for n, body in enumerate(texts)]}
    full = build(found, scope_id="demo", max_bytes=32768).content or ""
    max_bytes = len(full.encode()) + difference
    content, origins = slow_reference.prepare_older(found, scope_id="demo", max_bytes=max_bytes)
    assert build(found, scope_id="demo", max_bytes=max_bytes) == Prepared(content, tuple(origins))


@settings(CALM, max_examples=60)
@given(long_bodies, budgets)
def test_a_body_read_only_in_part_gives_the_same_output(body: str, max_bytes: int) -> None:
    whole = Candidate.of(citation(MEMORY, "demo", "m1", 1), body)
    encoded = body.encode()
    part = Candidate(
        whole.citation,
        encoded[:MAX_SOURCE_BYTES].decode("utf-8", "ignore"),
        len(encoded),
        whole=len(encoded) <= MAX_SOURCE_BYTES,
    )
    assert build({MEMORY: [part]}, scope_id="demo", max_bytes=max_bytes) == build(
        {MEMORY: [whole]}, scope_id="demo", max_bytes=max_bytes
    )


def test_families_alternate_and_eight_items_are_the_most() -> None:
    found = {MEMORY: many(MEMORY, 9), TOPIC_MEMORY: many(TOPIC_MEMORY, 2), EXPERIENCE: many(EXPERIENCE, 4)}
    prepared = build(found, scope_id="demo", max_bytes=32768)
    kinds = [item.get("kind", "memory") for item in items(prepared)]
    assert kinds == ["memory", "topic-memory", "experience"] * 2 + ["memory"] * 2
    assert len(prepared.origins) == 8


def test_an_experience_that_is_dropped_is_not_replaced() -> None:
    found = {EXPERIENCE: [*many(EXPERIENCE, 2, "x" * 1900), *many(EXPERIENCE, 3, "short")[2:]]}
    # The first takes nearly all; the second no longer fits, and the third was cut off before.
    prepared = build(found, scope_id="demo", max_bytes=2600)
    assert len(items(prepared)) == 1


@pytest.mark.parametrize(
    ("family", "scope_id", "expected"),
    [
        (
            MEMORY,
            "demo",
            {
                "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 3},
                "entry_id": "e",
                "entry_version_id": "e-v1",
            },
        ),
        (
            MEMORY,
            "other",
            {
                "memory": {
                    "scope_id": "other",
                    "artifact": {"family": "memory", "artifact_id": "memory", "revision": 3},
                },
                "entry_id": "e",
                "entry_version_id": "e-v1",
            },
        ),
        (EXPERIENCE, "demo", {"artifact_ref": {"family": "experience", "artifact_id": "e", "revision": 3}}),
        (
            EXPERIENCE,
            "other",
            {
                "artifact": {
                    "scope_id": "other",
                    "artifact": {"family": "experience", "artifact_id": "e", "revision": 3},
                }
            },
        ),
    ],
)
def test_a_citation_has_the_form_of_its_family_and_scope(
    family: Family, scope_id: str, expected: dict[str, Any]
) -> None:
    found = {family: [Candidate.of(citation(family, scope_id, "e", 3), "body")]}
    (item,) = items(build(found, scope_id="demo", max_bytes=8000))
    assert item["citation"] == expected
    assert list(item) == ["citation", "content", "truncated", *(["kind"] if family == EXPERIENCE else [])]


def test_only_the_three_line_characters_are_escaped_beyond_json() -> None:
    found = {MEMORY: [Candidate.of(citation(MEMORY, "demo", "m", 1), "a\x85\u2028\u2029\u200b\n界")]}
    content = build(found, scope_id="demo", max_bytes=8000).content or ""
    assert '"content":"a\\u0085\\u2028\\u2029\u200b\\n界"' in content


@pytest.mark.parametrize("difference", range(-12, 3))
def test_a_cut_is_shorter_than_what_is_stored(difference: int) -> None:
    # The last character takes 3 bytes as the ellipsis does, and 6 in JSON.
    found = {MEMORY: [Candidate.of(citation(MEMORY, "demo", "m", 1), "x" * 100 + "\u2028")]}
    full = build(found, scope_id="demo", max_bytes=8000).content or ""
    max_bytes = len(full.encode()) + difference
    content, origins = slow_reference.prepare_older(found, scope_id="demo", max_bytes=max_bytes)
    assert build(found, scope_id="demo", max_bytes=max_bytes) == Prepared(content, tuple(origins))


def test_nothing_found_gives_no_output() -> None:
    assert build({}, scope_id="demo", max_bytes=8000) == Prepared(None)
