"""The oracle and the in-tree runtime, written apart, answer alike: on generated worlds and on every scenario.

A failing world is made again by `ORACLE_SEED=... ORACLE_FIRST=...`, which the message names.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_oracle_worlds import make_request, make_world, token_of

from backends.operations import CreateScope, Operation, WriteDocument, WriteMemory
from backends.sqlite import SQLite
from harness.check.failure import Failure, differs
from harness.check.oracle import (
    Prediction,
    Undetermined,
    candidate_order,
    candidate_order_from_probe,
    judge_prediction,
    predict,
    probe_requests,
)
from harness.check.request import Asked, Illegal, read_request
from harness.check.world import World
from harness.run.runner import run
from harness.scenario.loader import load
from harness.scenario.model import Embedder, RuntimeSpec, Scenario
from harness.target.base import Answer, Applied, Refused
from harness.target.reference import ReferenceTarget
from runtime.artifacts import Citation, Document, EntryWrite, Experience, Family, Profile, Topic, family_of

SEED = os.environ.get("ORACLE_SEED", "1")
FIRST = int(os.environ.get("ORACLE_FIRST", "0"))
WORLDS = int(os.environ.get("ORACLE_WORLDS", "300"))
REQUESTS = 5
SECONDS = 60
SCENARIOS = sorted(path for path in Path("scenarios").rglob("*.yaml") if path.name != "ledger.yaml")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReferenceTarget]:
    backend = SQLite.create(oceanbase_url=None, run_directory=tmp_path_factory.mktemp("oracle"))
    backend.start()
    target = ReferenceTarget("sqlite", backend.database_url("pch_oracle"))
    yield target
    target.close()
    backend.stop()


class Watched:
    """A target whose every prepare answer is compared with the oracle's prediction, and with the probes' too."""

    name = "runtime"
    backend = "sqlite"
    traits = ReferenceTarget.traits

    def __init__(self, target: ReferenceTarget) -> None:
        self._target = target
        self.ids = target.ids
        self._runtime = RuntimeSpec()
        self._faults: dict[Family, str] = {}
        self.world = World()
        self.failures: list[Failure] = []
        self.counted: Counter[str] = Counter()
        self.probing = True
        self.seconds = 0.0

    def reset(self, runtime: RuntimeSpec) -> None:
        self._runtime = runtime
        self._faults.clear()
        self.world = World()
        self._target.reset(runtime)

    def token(self, principal_id: str, *, administrator: bool) -> str:
        return self._target.token(principal_id, administrator=administrator)

    def apply(self, operations: Sequence[Operation]) -> Applied | Refused:
        outcome = self._target.apply(operations)
        if isinstance(outcome, Applied):
            self.world.apply(outcome.operations)
        return outcome

    def lacking(self, scenario: Scenario) -> str | None:
        return self._target.lacking(scenario)

    def fault(self, family: Family, kind: str) -> None:
        self._target.fault(family, kind)
        self._faults[family] = kind

    def restart(self) -> None:
        self._target.restart()

    def digest(self) -> str:
        return self._target.digest()

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        answer = self._target.prepare(body, token=token, headers=headers)
        # What is refused by a header or by its size alone is none of the oracle's.
        if not headers and len(body) <= 2**20:
            self._judge(asked_of(body), token, answer)
        return answer

    def _judge(self, asked: Asked | None, token: str | None, answer: Answer) -> None:
        caller = next((who.principal_id for who in self.world.principals.values() if who.token == token), None)
        started = time.perf_counter()
        failing = [family for family, kind in self._faults.items() if kind in ("error", "hang")]
        prediction = predict(self.world, asked, caller=caller, runtime=self._runtime, failing=failing)
        self.seconds += time.perf_counter() - started
        self.counted[said(prediction)] += 1
        self.failures += judge_prediction(prediction, answer)
        # A probe asks for families one by one, a failing one too.
        if (
            self.probing
            and not self._faults
            and asked is not None
            and isinstance(prediction, Prediction)
            and prediction.status == 200
        ):
            self._judge_probes(asked, token, caller, answer)

    def _judge_probes(self, asked: Asked, token: str | None, caller: str | None, answer: Answer) -> None:
        most = self._runtime.max_entries or 8
        answers = {
            family: self._target.prepare(json.dumps(request).encode(), token=token)
            for family, request in probe_requests(asked, max_entries=most).items()
        }
        probed = candidate_order_from_probe(self.world, asked, answers, max_entries=most)
        known = candidate_order(self.world, asked, runtime=self._runtime)
        for family, candidates in probed.items():
            right = known[family].citations
            for place, citation in enumerate(candidates.citations):
                if citation not in (None, right[place]):
                    self.failures.append(
                        differs("probe", family, f"rank {place + 1}", expected=right[place], got=citation)
                    )
            if candidates.more is None and len(candidates.offers) != len(right):
                got = len(candidates.offers)
                self.failures.append(differs("probe", family, "candidates", expected=len(right), got=got))
        prediction = predict(self.world, asked, probed, caller=caller, runtime=self._runtime)
        self.counted[f"probed: {said(prediction)}"] += 1
        self.failures += judge_prediction(prediction, answer)

    def report(self, what: str, seconds: float) -> None:
        each = 1000 * self.seconds / max(1, sum(n for said, n in self.counted.items() if not said.startswith("probed")))
        print(f"\n{what} in {seconds:.1f} s, {each:.2f} ms per prediction")
        print(", ".join(f"{said}: {times}" for said, times in sorted(self.counted.items())))

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        return self._target.read(citation, token=token)

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        return self._target.read_revision(scope_id, family, artifact_id, revision, token=token)

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        return self._target.read_entry(body, token=token)

    def log(self) -> str:
        return self._target.log()

    def close(self) -> None:
        self._target.close()


def asked_of(body: bytes) -> Asked | None:
    try:
        return read_request(json.loads(body.decode("utf-8")))
    except (ValueError, RecursionError, Illegal):
        return None


def said(prediction: Prediction | Undetermined) -> str:
    if isinstance(prediction, Undetermined):
        return "undetermined"
    return f"{prediction.status} {prediction.code or ('ready' if prediction.content else 'empty')}"


def test_generated_worlds_are_answered_as_predicted(reference: ReferenceTarget) -> None:
    started = time.perf_counter()
    watched = Watched(reference)
    for number in range(FIRST, FIRST + WORLDS):
        made = make_world(f"{SEED}-{number}")
        told = f"ORACLE_SEED={SEED} ORACLE_FIRST={number}"
        watched.reset(made.runtime)
        assert isinstance(watched.apply(made.operations), Applied), told
        watched.probing = number % 4 == 0
        for _ in range(REQUESTS):
            request = make_request(made)
            caller = made.random.choice(("reader",) * 8 + ("root", "some", None))
            token = None if caller is None else token_of(caller)
            watched.prepare(json.dumps(request, ensure_ascii=False).encode(), token=token)
            assert not watched.failures, f"{told}: {request} as {caller}\n" + "\n".join(map(str, watched.failures))
    seconds = time.perf_counter() - started
    watched.report(f"{WORLDS} worlds", seconds)
    assert seconds < SECONDS
    assert watched.counted["200 ready"] > WORLDS
    assert watched.counted["probed: 200 ready"] > WORLDS / 8


@pytest.mark.parametrize(
    "document",
    [Profile(""), Experience("tea", "", "", ""), Topic("", "tea", "tea"), Topic("tea", "", "")],
    ids=["profile", "experience", "topic title", "topic summary and detail"],
)
def test_an_empty_text_is_a_text_like_any_other(document: Document, reference: ReferenceTarget) -> None:
    family = family_of(document)
    watched = Watched(reference)
    watched.reset(RuntimeSpec(access="disabled"))
    watched.apply([CreateScope("s"), WriteDocument("s", "profile", document)])
    request: dict[str, Any] = {"scope_id": "s", "query": "tea"}
    for assembly in ({}, {"assembly": {"sections": [{"family": family, "limit": 1}]}}):
        watched.prepare(json.dumps(request | assembly).encode(), token=None)
    assert not watched.failures, "\n".join(map(str, watched.failures))


def test_an_entry_found_by_its_vector_may_be_empty(reference: ReferenceTarget) -> None:
    watched = Watched(reference)
    watched.reset(RuntimeSpec(access="disabled", embedder=Embedder(dimension=3, vectors={"tea": (0, 0, 0)})))
    entries = (EntryWrite("empty", "v", "", vector=(0, 0, 0)), EntryWrite("milk", "v", "Milk.", vector=(1, 0, 0)))
    watched.apply([CreateScope("s"), WriteMemory("s", entries)])
    request: dict[str, Any] = {"scope_id": "s", "query": "tea"}
    for sent in (request, request | {"max_bytes": 600}):
        watched.prepare(json.dumps(sent).encode(), token=None)
        watched.prepare(json.dumps({**sent, "assembly": {}}).encode(), token=None)
    assert not watched.failures, "\n".join(map(str, watched.failures))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_is_answered_as_predicted(path: Path, reference: ReferenceTarget) -> None:
    watched = Watched(reference)
    run(load(path), watched)
    assert not watched.failures, "\n".join(map(str, watched.failures))
