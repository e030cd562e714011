"""Requests to released servers, as data."""

from __future__ import annotations

import json

import pytest

from harness.target.powercontext import requests
from harness.target.powercontext.requests import release_of
from runtime.artifacts import Experience, Profile, Topic

EXPERIENCE = Experience("met", "did", "got", "learned")


@pytest.mark.parametrize(("version", "release"), [("1.0.0", (1, 0, 0)), ("1.4.1", (1, 4, 1)), ("1.4.1rc2", (1, 4, 1))])
def test_a_release_is_compared_by_its_numbers(version: str, release: tuple[int, ...]) -> None:
    assert release_of(version) == release
    assert (release >= requests.ATOMIC_MEMORIES_SINCE) == version.startswith("1.4")


def test_each_scope_and_each_grant_has_a_key_of_its_own() -> None:
    for make in (requests.create_scope, lambda: requests.grant("alice", "scp_a")):
        first, second = (request.body for request in (make(), make()))
        assert first is not None
        assert second is not None
        assert first["idempotency_key"] != second["idempotency_key"]
        assert dict(first) | {"idempotency_key": ""} == dict(second) | {"idempotency_key": ""}


@pytest.mark.parametrize("content", [EXPERIENCE, Profile("text"), Topic("title", "summary", "detail")])
def test_the_next_revision_names_the_present_one(content: Experience | Profile | Topic) -> None:
    created = requests.create_document("scp_a", content)
    replaced = requests.replace_document("scp_a", "art/1", 7, content)
    assert created.body is not None
    assert replaced.body is not None
    assert created.body["content"] == replaced.body["content"]
    assert replaced.path == f"/v1/scopes/scp_a/artifacts/{created.body['family']}/art%2F1"
    assert replaced.headers == {"if-match": '"revision:7"'}


@pytest.mark.parametrize(("release", "path"), [((1, 3, 0), "artifact-candidates"), ((1, 4, 0), "candidates")])
def test_a_proposal_is_rejected_where_the_release_has_it(release: tuple[int, ...], path: str) -> None:
    assert requests.reject(release, "scp_a", "cand_a", 1).path == f"/v1/{path}/reject"


def test_a_proposal_cites_its_source_or_its_target() -> None:
    new = requests.propose_new("scp_a", EXPERIENCE, "src_a").body
    following = requests.propose_next("scp_a", EXPERIENCE, "art_a", 3).body
    assert new is not None
    assert following is not None
    assert (new["source_refs"], new["artifact_refs"]) == ([{"name": "content", "source_id": "src_a"}], [])
    assert following["artifact_refs"] == [following["target"]]


def test_every_body_is_json_even_with_a_lone_surrogate() -> None:
    request = requests.remember("scp_a", "fact", "a\ud800b")
    assert json.loads(json.dumps(request.body).encode("ascii"))["text"] == "a\ud800b"
