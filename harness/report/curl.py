"""A scenario up to one of its steps as a bash script that asks a released server by curl.

The harness's own way of seeding a server is used, on a stand-in that accepts everything: what it sends is written down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from harness.explore.twins import KINDS
from harness.report.shell import ONCE, SHOW, Command, curl, in_order, json_body, placeholders
from harness.report.stand_in import StandIn
from harness.run.ledger import SEED
from harness.scenario.items import entry_and_version
from harness.scenario.model import HexBody, Read, Scenario, Step, Token, TwinKind
from harness.scenario.operations import (
    NOBODY,
    principal_id,
    principals,
    scope_id,
    seed_operations,
    seeded,
    write_operations,
)
from harness.target.base import Answer
from harness.target.ids import Ids
from harness.target.powercontext.memories import AtomicMemories
from harness.target.powercontext.requests import ATOMIC_MEMORY, Release, Request, entry_citation, segment
from harness.target.powercontext.seeding import Seeding

ADMIN = "ADMIN"
"""The shell variable of the administrator's token."""
_TAKEN = re.compile(
    "BASE|ADMIN|ANSWER|IDS|PATH|HOME|IFS|E?UID|PPID|RANDOM|SECONDS|(OLD)?PWD|SHELL|USER|LANG|TMPDIR|GROUPS|HOSTNAME|"
    r"LINENO|OPTARG|OPTIND|PS\d|COLUMNS|LINES|DIRSTACK|REPLY|TERM|MAIL|ENV|CDPATH|FUNCNAME|.*OPTS|.*_PROXY|BASH.*|LC_.*|"
    "CURL_.*|PIPESTATUS|EPOCH.*"
)
"""Variables that mean something to the script, to bash or to curl."""
_ASKING = ("prepare", "body", "read")


def script(scenario: Scenario, until: str, release: Release, *, near: Collection[TwinKind] = ()) -> str:
    """Return a script that reproduces a step on a release that can run the scenario.

    `until` is the step's name or "the seed"; by any other name the whole scenario is meant. Steps before it that only
    ask are left out. `near` names the near misses of the Scope's id by which the step is asked again.
    """
    return "\n".join(_Script(scenario, release).lines(until, near)) + "\n"


class _Script:
    """The commands of one script while they are gathered, with comments between them."""

    def __init__(self, scenario: Scenario, release: Release) -> None:
        self._scenario = scenario
        self._ids = Ids()
        self._parts: list[Command | str] = []
        self._server = StandIn()
        self._is_open = scenario.runtime.access == "disabled"
        # Where access control is off, nobody has to be granted anything.
        self._seeding = Seeding(self._send, release, self._ids, administrators_only=self._is_open)
        self._writing = seeded(scenario)
        self._is_shown = False
        """Whether what is sent now is what the script is about."""

    def lines(self, until: str, near: Collection[TwinKind]) -> Iterator[str]:
        """Yield the script."""
        names = [step.step or f"step {index + 1}" for index, step in enumerate(self._scenario.steps)]
        last = names.index(until) if until in names else len(names) - 1
        self._is_shown = until == SEED
        self._say("the world")
        self._seeding.apply(seed_operations(self._scenario, dict.fromkeys(principals(self._scenario), "")))
        if until != SEED:
            asked = _asked(self._scenario.steps[: last + 1], names) if until in names else range(last + 1)
            for index, step in enumerate(self._scenario.steps[: last + 1]):
                self._is_shown = index == last
                if step.verb not in _ASKING or index in asked:
                    self._step(step, names[index], near if index == last else ())
        yield from self._rendered()

    def _step(self, step: Step, name: str, near: Collection[TwinKind]) -> None:
        if step.expect.refused is not None and not self._is_shown:
            # It leaves nothing.
            return
        self._say(name)
        match step.verb:
            case "prepare" | "body":
                for body in self._bodies(step, near):
                    self._ask(step, Command("POST", "/v1/context/prepare", body, step.headers))
            case "read" if isinstance(step.read, Read):
                self._ask(step, self._read(step.read))
            case "read":
                self._parts.append("# Read here each revision that the answer above cites.")
            case "restart":
                self._parts.append("# Stop the server here, and start it again on the same database.")
            case _:
                self._seeding.apply(write_operations(self._scenario, self._writing, step))

    def _say(self, words: str) -> None:
        self._parts += ["", f"# {' '.join(words.split())}"]

    def _bodies(self, step: Step, near: Collection[TwinKind]) -> Iterator[bytes]:
        if isinstance(step.body, HexBody):
            yield self._ids.in_request(bytes.fromhex(step.body.hex))
        elif step.body is not None:
            yield self._ids.in_request(step.body.encode())
        else:
            request = dict(step.prepare or {})
            named = request.get("scope_id")
            if isinstance(named, str):
                request["scope_id"] = self._scope(named)
            yield json_body(request)
            for kind in near if isinstance(named, str) else ():
                twin = KINDS[kind](request["scope_id"])
                # Bash knows an id's upper case and what stands beside it, not how to change a letter of it.
                if twin != request["scope_id"] and placeholders(twin):
                    yield json_body(request | {"scope_id": twin})

    def _read(self, read: Read) -> Command:
        scope, revision = self._scope(read.scope), str(read.revision)
        family, artifact = read.family or "", self._ids.artifact(scope, read.id or "")
        if read.entry is not None:
            name, version = entry_and_version(read.entry, read.version)
            entry, version = self._ids.entry(scope, name), self._ids.version(scope, name, version)
            memories = self._seeding.memories
            if not isinstance(memories, AtomicMemories):
                citation = entry_citation(int(revision), entry, version)
                return Command("POST", "/v1/memory/entries/get", json_body({"scope_id": scope, "citation": citation}))
            family, artifact = ATOMIC_MEMORY, entry
            revision = str(memories.revision_of(scope, entry, version) or 1)
        parts = [scope, "artifacts", family, artifact, "revisions", revision]
        return Command("GET", f"/v1/scopes/{'/'.join(map(segment, parts))}")

    def _ask(self, step: Step, command: Command) -> None:
        known = principals(self._scenario)
        principal = token = None
        if isinstance(step.as_, Token):
            token = step.as_.token
        else:
            name = next(iter(known), NOBODY) if step.as_ is None else step.as_
            if name in known:
                principal = ADMIN if known[name].administrator else f"user {principal_id(self._scenario, name)}"
        self._parts.append(replace(command, variable=principal, token=token, is_shown=True))

    def _scope(self, name: str) -> str:
        return self._ids.scope(scope_id(self._scenario, name))

    def _send(self, request: Request) -> Answer:
        answer, makes = self._server.answer(request)
        body = dict(request.body or {})
        if "idempotency_key" in body:
            body["idempotency_key"] = ONCE
        headers = {name.title(): value for name, value in request.headers.items()}
        self._parts.append(
            Command(request.method, request.path, json_body(body), headers, ADMIN, None, makes, self._is_shown)
        )
        return answer

    def _rendered(self) -> Iterator[str]:
        commands = [part for part in self._parts if isinstance(part, Command)]
        names = _Names()
        callers = dict.fromkeys(command.variable for command in commands if command.variable not in (None, ADMIN))
        tokens = {caller: names.new(caller.removeprefix("user ")) for caller in callers if caller is not None}
        used = {key for command in commands for key in command.uses}
        variables = {key: names.new(name) for key, name in self._called().items() if key in used}
        told = "".join(
            f"; {variable}: the token of user {json.dumps(caller.removeprefix('user '))}"
            for caller, variable in tokens.items()
        )
        yield "#!/usr/bin/env bash"
        off = ", its access control off (tokens may be anything)" if self._is_open else ""
        yield f"# BASE: the server's URL{off}; {ADMIN}: the administrator's token{told}."
        yield "set -euo pipefail"
        yield " ".join((":", *(f'"${{{name}:?}}"' for name in ("BASE", ADMIN, *tokens.values()))))
        yield from SHOW.split("\n")
        order_matters = any(_has_several_references(command) for command in commands)
        scopes = [command for command in commands if _makes_a_scope(command)]
        for is_scope, group in groupby(self._parts, key=_makes_a_scope):
            parts = list(group)
            if is_scope and order_matters and len(parts) > 1:
                made = [key for command in parts if isinstance(command, Command) for key in command.makes]
                yield "# Their ids rise: the server keeps references in the order of ids."
                yield from in_order(scopes[0], [variables.get(key, "_") for key in made])
                continue
            for part in parts:
                if isinstance(part, str):
                    yield part
                else:
                    variable = tokens.get(part.variable or "", part.variable)
                    yield from curl(replace(part, variable=variable), lambda key: variables.get(key, ""))

    def _called(self) -> Mapping[str, str]:
        """Return what the scenario calls what each placeholder stands for, in the order of their making."""
        called = dict(self._server.made)
        called |= {real: name for name, real in self._ids.scopes.items()}
        for known in (self._ids.artifacts, self._ids.entries, self._ids.versions):
            called |= {real: names[-1] for names, real in known.items()}
        return called


class _Names:
    """Names of shell variables, each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, words: str) -> str:
        """Return a variable's name after some words."""
        name = re.sub(r"[^A-Z0-9]+", "_", words.upper()).strip("_")
        if not name or name[0].isdigit():
            name = f"ID_{name}".rstrip("_")
        name = f"{name}_ID" if _TAKEN.fullmatch(name) else name
        number, free = 1, name
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free


def _asked(steps: tuple[Step, ...], names: list[str]) -> set[int]:
    """Return which of the steps are asked again for the sake of the last: itself, and those that it looks back at."""
    last = steps[-1]
    found = {names.index(name) for name in (last.expect.same_as, last.expect.not_same_as) if name in names}
    if last.read == "everything cited":
        found |= {max(index for index, step in enumerate(steps) if step.verb in ("prepare", "body"))}
    return found | {len(steps) - 1}


def _makes_a_scope(part: Command | str) -> bool:
    return isinstance(part, Command) and part.path == "/v1/scopes"


def _has_several_references(command: Command) -> bool:
    body = json.loads(command.body or b"{}") if command.method == "PUT" else {}
    return len(body.get("context_references", ())) > 1
