"""One scenario on one target: clear, seed, steps, verdicts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from backends.operations import Operation
from harness.check.context import Prepared
from harness.check.delivered import Delivered
from harness.check.errors import check_error, check_request_id
from harness.check.expect import Surroundings, judge, judge_write
from harness.check.failure import Failure, differs
from harness.check.oracle import Prediction
from harness.check.reads import check_read
from harness.check.world import World
from harness.explore.canaries import with_canaries
from harness.explore.variants import Variant
from harness.run.as_written import AsWritten
from harness.run.near_ids import ask_by_near_ids
from harness.run.prepares import Asking, Prepares
from harness.run.presumed import citations_by_family, presuming
from harness.run.result import WRITES, Candidates, Outcome, StepResult, Times
from harness.run.round_trip import ROUND_TRIP, move_heads
from harness.scenario.items import entry_and_version
from harness.scenario.loader import Loaded
from harness.scenario.model import HexBody, Read, Step, Token, TwinKind
from harness.scenario.operations import (
    NOBODY,
    principal_id,
    principals,
    scope_id,
    scope_ids,
    seed_operations,
    seeded,
    write_operations,
)
from harness.target.base import Answer, Applied, Refused, Target
from harness.target.ids import Ids
from runtime.artifacts import Citation


def run(loaded: Loaded, target: Target, *, variant: Variant | None = None, near: Sequence[TwinKind] = ()) -> Outcome:
    """Run a scenario's steps in order and judge each; one that fails does not hide the rest.

    A variant seeds the scenario otherwise, with what must change nothing. `near` says by which near misses of ids each
    prepare that is answered is asked again. An exception of the target's passes through:
    the caller knows the engine.
    """
    return _Run(loaded, target, variant, near).outcome()


@dataclass(frozen=True, slots=True)
class _Judged:
    """A prepare that was judged; see StepResult."""

    answer: Answer
    failures: list[Failure]
    checks: int
    candidates: Candidates | None
    presumed: tuple[str, ...]
    request: bytes
    prediction: Prediction | None


class _Run:
    """The state of one scenario while it runs."""

    def __init__(self, loaded: Loaded, target: Target, variant: Variant | None, near: Sequence[TwinKind]) -> None:
        self._loaded = loaded
        self._scenario = loaded.scenario
        self._target = target
        self._variant = variant
        self._near = near
        self._times = Times()
        self._world = World(snippet_windows=target.traits.snippet_windows)
        self._as_written = AsWritten(loaded.scenario.runtime, scope_ids(loaded.scenario))
        self._prepares = Prepares(loaded.scenario, target, self._world, self._times)
        self._writing = seeded(loaded.scenario)
        self._bodies: dict[str, bytes] = {}
        self._last: Prepared | None = None
        self._cited: dict[Citation, str | None] = {}
        """Everything that was cited, with the token of the last one who was given it."""
        names = principals(loaded.scenario)
        self._tokens = {
            name: target.token(principal_id(loaded.scenario, name), administrator=caller.administrator)
            for name, caller in names.items()
        }

    def outcome(self) -> Outcome:
        """Run it."""
        lacking = self._target.lacking(self._scenario)
        if lacking is not None:
            return self._outcome("not run", reason=lacking)
        seed = self._seed()
        if seed.failures:
            return self._outcome("failed", seed=seed)
        digests = self._digests()
        steps = tuple(self._step(index, step) for index, step in enumerate(self._scenario.steps))
        if any(step.verb in WRITES for step in steps):
            digests += self._digests()
        if self._cited:
            steps = (*steps, self._round_trip())
        failed = any(step.failures for step in steps)
        return self._outcome("failed" if failed else "passed", seed=seed, steps=steps, digests=tuple(digests))

    def _outcome(self, verdict: Any, **fields: Any) -> Outcome:
        return Outcome(
            path=str(self._loaded.path),
            scenario=self._scenario.scenario,
            target=self._target.name,
            backend=self._target.backend,
            verdict=verdict,
            times=self._times,
            **fields,
        )

    def _seed(self) -> StepResult:
        with self._times.timed("clear"):
            self._target.reset(self._scenario.runtime)
        with self._times.timed("seed"):
            operations = self._marked(seed_operations(self._scenario, self._tokens), "seed")
            if self._variant is not None:
                operations = self._variant.seed(operations)
            outcome = self._target.apply(operations)
        line = self._loaded.line("scopes")
        if isinstance(outcome, Applied):
            self._world.apply(outcome.operations)
            self._as_written.apply(operations)
            return StepResult(-1, "the seed", "seed", line)
        # The scenario cannot be what its author means, so that no step is tried.
        failure = differs(
            "seed", "seed", "a seed", expected="accepted", got=f"refused: {outcome.code} {outcome.at}".rstrip()
        )
        return StepResult(-1, "the seed", "seed", line, failures=(failure,), checks=1)

    def _digests(self) -> list[str]:
        if not self._target.traits.digests:
            return []
        with self._times.timed("seed"):
            return [self._target.digest()]

    def _step(self, index: int, step: Step) -> StepResult:
        name = step.step or f"step {index + 1}"
        line = self._loaded.line("steps", index)
        answer: Answer | None = None
        request: bytes | None = None
        prediction: Prediction | None = None
        candidates: Candidates | None = None
        presumed: tuple[str, ...] = ()
        failures: list[Failure]
        match step.verb:
            case "prepare" | "body":
                judged = self._prepare(step, name)
                failures, checks = judged.failures, judged.checks
                candidates, presumed = judged.candidates, judged.presumed
                answer, request, prediction = judged.answer, judged.request, judged.prediction
            case "read" if step.read == "everything cited":
                failures, checks = self._read_everything_cited(step)
            case "read":
                answer, request, failures, checks = self._read(step)
            case "write" | "grant" | "revoke":
                failures, checks = self._write(step, index), 1
            case "fault":
                self._declare(step)
                failures, checks = [], 0
            case _:
                self._target.restart()
                failures, checks = [], 0
        if answer is not None:
            self._bodies[name] = answer.body
        return StepResult(
            index,
            name,
            step.verb,
            line,
            status=None if answer is None else answer.status,
            body=None if answer is None else self._target.ids.comparable(answer.body),
            failures=self._told(failures),
            checks=checks,
            candidates=candidates,
            presumed=presumed,
            request=request,
            seconds=None if answer is None else answer.seconds,
            prediction=prediction,
        )

    def _told(self, failures: Iterable[Failure]) -> tuple[Failure, ...]:
        """Return failures by the scenario's own ids, without those that this target does not promise."""
        traits, ids = self._target.traits, self._target.ids
        return tuple(one.renamed(ids.named) for one in failures if traits.request_ids or one.kind != "request-id")

    def _prepare(self, step: Step, name: str) -> _Judged:
        caller, token = self._caller(step)
        asking = Asking(self._request_body(step, self._target.ids), caller, token, step.headers)
        prepared = self._prepares.ask(asking)
        with self._times.timed("check"):
            current = prepared.asked.scope_id if prepared.asked else None
            # What was written comes first: it says what the scenario is about.
            written = judge(step.expect, prepared.answer, surroundings=self._surroundings(current))
            always = self._prepares.judge(prepared)
            if not self._target.traits.request_ids:
                always = [failure for failure in always if failure.kind != "request-id"]
            own = self._prepares.order(prepared)
            wrong: Collection[str] = ()
            if own is not None:
                wrong = self._as_written.wrong(name, step.expect, self._request_body(step, Ids()), caller=caller)
            presumed = presuming(
                written,
                always,
                prepared,
                own,
                wrong=wrong,
                runtime=self._scenario.runtime,
                style=self._target.traits.style,
            )
            failures = [*(one for one in written if one.kind not in presumed), *always]
        self._last = prepared
        self._cited |= dict.fromkeys(prepared.reads, token)
        checks = 2 + len(step.expect.model_fields_set) + len(prepared.reads)
        for found_near in ask_by_near_ids(prepared, asking, self._prepares, self._target, self._near):
            failures += [] if found_near is None else [found_near]
            checks += 1
        if self._scenario.sweep == "budget":
            found, asked = self._prepares.sweep(asking)
            failures += found
            checks += asked
        candidates = None if own is None else citations_by_family(own, self._target.ids)
        return _Judged(
            prepared.answer,
            failures,
            checks,
            candidates,
            tuple(presumed.values()),
            asking.sent,
            self._prepares.prediction(prepared) if failures else None,
        )

    def _round_trip(self) -> StepResult:
        failures = self._told(move_heads(self._target, self._world, self._cited, self._times))
        index = len(self._scenario.steps)
        line = self._loaded.line("steps", index - 1)
        return StepResult(index, ROUND_TRIP, "read", line, failures=failures, checks=len(self._cited))

    def _read(self, step: Step) -> tuple[Answer, bytes | None, list[Failure], int]:
        assert isinstance(step.read, Read)
        caller, token = self._caller(step)
        scope = self._scope(step.read.scope)
        with self._times.timed("request"):
            answer, request = self._read_exactly(step.read, scope, token)
        with self._times.timed("check"):
            failures = list(check_request_id(answer)) if answer.status == 200 else check_error(answer)
            failures += judge(step.expect, answer, surroundings=self._surroundings(scope))
        del caller
        return answer, request, failures, 1 + len(step.expect.model_fields_set)

    def _read_exactly(self, read: Read, scope: str, token: str | None) -> tuple[Answer, bytes | None]:
        """Return the answer, and the body that went out where one did."""
        ids = self._target.ids
        if read.entry is None:
            real = ids.artifact(scope, read.id or "")
            revision = str(read.revision)
            return self._target.read_revision(scope, read.family or "", real, revision, token=token), None
        name, version_name = entry_and_version(read.entry, read.version)
        entry, version = ids.entry(scope, name), ids.version(scope, name, version_name)
        memory = {"family": "memory", "artifact_id": "memory", "revision": read.revision}
        citation = {"memory_ref": memory, "entry_id": entry, "entry_version_id": version}
        body = json.dumps({"scope_id": scope, "citation": citation}, ensure_ascii=False).encode()
        return self._target.read_entry(body, token=token), body

    def _read_everything_cited(self, step: Step) -> tuple[list[Failure], int]:
        """Read again what the nearest prepare before this step cited, after whatever was written since."""
        _, token = self._caller(step)
        failures: list[Failure] = []
        delivered = self._last.delivered if self._last is not None else None
        items = delivered.items if isinstance(delivered, Delivered) else ()
        for item in items:
            with self._times.timed("request"):
                answer = self._target.read(item.citation, token=token)
            with self._times.timed("check"):
                failures += judge(step.expect, answer, surroundings=self._surroundings(item.scope_id))
                if (step.expect.http or HTTPStatus.OK) < HTTPStatus.BAD_REQUEST:
                    failures += check_read(item.citation, answer, self._world)
        if not items:
            failures.append(Failure("read", "response", "something cited", "nothing", "there is nothing to read"))
        return failures, len(items)

    def _write(self, step: Step, index: int) -> list[Failure]:
        operations = self._marked(write_operations(self._scenario, self._writing, step), f"step {index}")
        with self._times.timed("seed"):
            outcome = self._target.apply(operations)
        if isinstance(outcome, Applied) and step.expect.refused is None:
            # One that was to be refused is no legal write: there may be no world that holds it.
            self._world.apply(outcome.operations)
            self._as_written.apply(operations)
        return judge_write(step.expect, outcome if isinstance(outcome, Refused) else None)

    def _declare(self, step: Step) -> None:
        """Let a family's recall fail from here on, on the backends that the step names."""
        assert step.fault is not None
        if step.fault.backend in ("any", self._target.backend):
            self._target.fault(step.fault.family, step.fault.kind)
            self._prepares.faults[step.fault.family] = step.fault.kind

    def _marked(self, operations: list[Operation], place: str) -> list[Operation]:
        """Put canaries into a scenario that asks for them, unless a step says which bytes its texts have."""
        fixed = ("content", "bytes", "text", "artifact")
        if not self._scenario.canary or any(
            getattr(step.expect, name) is not None for step in self._scenario.steps for name in fixed
        ):
            return operations
        return with_canaries(operations, place=place)

    def _request_body(self, step: Step, ids: Ids) -> bytes:
        if isinstance(step.body, HexBody):
            return ids.in_request(bytes.fromhex(step.body.hex))
        if step.body is not None:
            return ids.in_request(step.body.encode())
        assert step.prepare is not None
        request = dict(step.prepare)
        named = request.get("scope_id")
        if isinstance(named, str):
            request["scope_id"] = ids.scope(scope_id(self._scenario, named))
        return json.dumps(request, ensure_ascii=False).encode()

    def _caller(self, step: Step) -> tuple[str | None, str | None]:
        """Return the caller's principal id and the token that he shows, None for either that there is not."""
        match step.as_:
            case None:
                name = next(iter(self._tokens), None)
            case Token(token=token):
                known = {shown: name for name, shown in self._tokens.items()}
                return known.get(token), token
            case "nobody" if NOBODY not in self._tokens:
                name = None
            case named:
                name = named
        return (None, None) if name is None else (principal_id(self._scenario, name), self._tokens[name])

    def _surroundings(self, current: str | None) -> Surroundings:
        ids = self._target.ids
        scopes = {name: ids.scope(known) for name, known in scope_ids(self._scenario).items()}
        return Surroundings(self._world, scopes, current, self._bodies, ids)

    def _scope(self, name: str) -> str:
        """Return the real id of the Scope of a name, or of an id that is as it is."""
        return self._target.ids.scope(scope_id(self._scenario, name))
