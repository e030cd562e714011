"""The ledger as a report, and its scripts: valid bash that sends what the harness sends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from targets.processes import a_place

from harness.report.curl import script
from harness.report.findings import findings
from harness.report.stand_in import StandIn
from harness.run.ledger_file import load_ledger
from harness.scenario.loader import Loaded, load, parse
from harness.target.powercontext.limits import Abilities, lacking
from harness.target.powercontext.requests import Release, Request

OLD, NEW = (1, 2, 0), (1, 4, 1)
CORPUS = sorted(path for path in Path("scenarios").rglob("*.yaml") if path.name != "ledger.yaml")
NASTY = 'It\'s "green" $HOME `id` \\ 100 % é 茶 \u200b\x7f'
SCENARIO = f"""# yaml-language-server: $schema=../../harness/scenario/scenario.schema.json
scenario: an id with a trailing blank is no Scope
tags: [grouping]
scopes:
  path:
    references: [zoo, attic]
    memory: [{{entry: m-1, text: {json.dumps(NASTY)}}}, {{entry: m-1, text: Later tea.}}]
    experience:
      - {{id: x-1, situation: tea, action: a, outcome: o, lesson: l}}
      - {{id: x-1, situation: tea again, action: a, outcome: o, lesson: l}}
      - {{id: x-2, state: rejected, situation: tea, action: a, outcome: o, lesson: l}}
    profile: [Likes tea., Likes coffee.]
    topics: [{{id: t-1, title: tea, summary: s, detail: d}}]
  zoo: {{}}
  attic: {{}}
principals:
  root: {{administrator: true, reads: [path]}}
  alice: {{reads: [path, zoo, attic]}}
steps:
  - step: before
    prepare: {{scope_id: zoo, query: tea, assembly: {{}}}}
    as: alice
  - revoke: {{alice: [zoo]}}
  - step: version
    read: {{scope: path, entry: m-1@m-1-v2, revision: 2}}
  - step: bytes
    body: {{hex: 7bff2d2527225c}}
    as: nobody
    expect: {{http: 401}}
  - step: blank
    prepare: {{scope_id: "path ", query: {json.dumps(NASTY)}}}
    as: {{token: "it's mine"}}
    headers: {{x-nothing: ""}}
    expect: {{http: 401}}
"""
LEDGER = """
- scenario: one.yaml
  step: blank
  target: powercontext
  since: 1.3.0
  backend: oceanbase
  region: any
  text: [expected status 401, another trailing blank]
  issue: issue 12
  title: A trailing blank is dropped
  breaks: "SPEC.md 1: compared exactly"
  expected: |
    401
    and nothing else
  owner: ann
  review: "2027-01-31"
- {scenario: one.yaml, step: bytes, target: powercontext, until: 1.2.0, backend: any, region: any, text: got no answer,
   issue: issue 9, title: Bytes, breaks: SPEC.md 2, owner: ann, review: "2027-01-31"}
- {scenario: one.yaml, step: version, target: runtime, backend: sqlite, region: any, text: got no answer,
   issue: issue 12}
"""

needs_curl = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")


@pytest.fixture
def loaded() -> Loaded:
    return parse(SCENARIO.encode(), Path("one.yaml"))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text(SCENARIO, encoding="utf-8")
    path = tmp_path / "ledger.yaml"
    path.write_text(LEDGER, encoding="utf-8")
    return path


def report(path: Path, target: str | None = None) -> str:
    return findings(load_ledger(path, today=date(2026, 1, 1)), target=target)


def syntax_errors(text: str) -> str:
    return subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).stderr


def test_an_issue_is_told_with_all_that_is_known_of_it(ledger: Path) -> None:
    text = report(ledger)
    assert text == report(ledger)
    assert text.startswith("# Known divergences\n\n2 issues.\n\n## issue 9: Bytes\n")
    told = text[text.index("## issue 12") :]
    assert told.startswith(
        "## issue 12: A trailing blank is dropped\n\n"
        "- Versions: powercontext from 1.3.0 on; runtime\n"
        "- Backends: oceanbase, sqlite\n"
        "- Breaks: SPEC.md 1: compared exactly\n"
        "- Expected: 401\n  and nothing else\n"
        "- Got: expected status 401; another trailing blank\n"
        '- Seen too: one.yaml, "version" (runtime, sqlite)\n\n'
        'It shows in step "blank" of one.yaml:\n\n'
        "```yaml\nscenario: an id with a trailing blank is no Scope\ntags: [grouping]\n"
    )
    assert f"Run by the harness: `harness run {ledger.parent}/one.yaml --target powercontext==1.4.1`\n" in told
    assert "By curl on a server 1.4.1:\n\n```bash\n#!/usr/bin/env bash\n" in told
    assert told.endswith("| show\n```\n")


@pytest.mark.parametrize(
    ("target", "issues"),
    [
        ("powercontext", ["issue 9", "issue 12"]),
        ("powercontext==1.2.0", ["issue 9"]),
        ("powercontext==1.3.0", ["issue 12"]),
        ("runtime", ["issue 12"]),
        ("http://127.0.0.1:8000", []),
    ],
)
def test_a_target_has_its_own_issues(ledger: Path, target: str, issues: list[str]) -> None:
    text = report(ledger, target)
    assert [line[3:].partition(":")[0] for line in text.splitlines() if line.startswith("## ")] == issues
    assert text.startswith(f"# Known divergences of {target}\n")


def test_a_script_is_for_the_release_that_is_asked_for(ledger: Path) -> None:
    assert "By curl on a server 1.2.0:" in report(ledger)
    assert "/v1/memory/remember" in report(ledger, "powercontext==1.2.0")
    assert "By curl on a server 1.3.0:" in report(ledger, "powercontext==1.3.0")
    # Writes of our own runtime have no HTTP.
    assert "curl" not in report(ledger, "runtime")


def test_what_a_release_cannot_do_has_no_script(ledger: Path) -> None:
    (ledger.parent / "one.yaml").write_text(SCENARIO + "runtime: {max_entries: 4}\n", encoding="utf-8")
    assert "By curl it cannot be shown on 1.4.1: the scenario needs " in report(ledger)


def test_the_fences_of_a_scenario_stay_inside(ledger: Path) -> None:
    (ledger.parent / "one.yaml").write_text(SCENARIO + "# ````\n", encoding="utf-8")
    assert "\n`````yaml\nscenario: an id" in report(ledger)


@pytest.mark.parametrize("release", [OLD, NEW], ids=["1.2.0", "1.4.1"])
def test_scripts_of_all_scenarios_are_valid(release: Release) -> None:
    abilities = Abilities(release, can_restart=True, only_one=False)
    scripts = []
    for path in CORPUS:
        scenario = load(path).scenario
        if lacking(scenario, abilities) is None:
            steps = {step.step or f"step {index + 1}" for index, step in enumerate(scenario.steps)}
            for until in ("the seed", sorted(steps)[-1]):
                scripts.append(f"check() {{\n{script(scenario, until, release)}\n}}\n")
    assert len(scripts) > 100
    assert syntax_errors("".join(scripts)) == ""


def test_steps_that_only_ask_are_left_out(loaded: Loaded) -> None:
    text = script(loaded.scenario, "blank", NEW)
    comments = [line for line in text.splitlines() if line.startswith("# ")]
    assert comments[2:] == [
        "# the world",
        "# Their ids rise: the server keeps references in the order of ids.",
        "# step 2",
        "# blank",
    ]
    assert text.count("/v1/context/prepare") == 1


def test_the_variables_of_a_script_are_nobody_elses(loaded: Loaded) -> None:
    text = script(loaded.scenario, "before", NEW)
    assert "read -r PATH_ID; read -r ZOO; read -r ATTIC;" in text
    assert ': "${BASE:?}" "${ADMIN:?}" "${ALICE:?}"\n' in text


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


class Server(ThreadingHTTPServer):
    """A server on which everything is accepted, and that remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.stand_in = StandIn()
        self.received: list[Received] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(self.command, self.path, body, headers))
        parsed = json.loads(body) if body and b"\xff" not in body else None
        answer, _ = self.server.stand_in.answer(Request(self.command, self.path, parsed, headers))
        self.send_response(200)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_POST = do_PUT = do_GET  # noqa: N815 (likewise)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def a_server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def sent_by(text: str) -> tuple[list[Received], str]:
    """Run a script; returns what it sent, and what it printed."""
    with a_server() as server:
        tokens = {"BASE": f"http://127.0.0.1:{server.server_port}", "ADMIN": "a", "ALICE": "b"}
        ended = subprocess.run(
            ["bash"], input=text, text=True, capture_output=True, check=False, env={**os.environ, **tokens}
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        return server.received, ended.stdout


@needs_curl
def test_a_script_sends_what_the_scenario_says(loaded: Loaded) -> None:
    received, printed = sent_by(script(loaded.scenario, "blank", NEW, near=["case", "zero_width", "accent"]))
    assert printed == "{}\nHTTP 200\n" * 3
    path, zoo, attic = "~~v0000~~", "~~v0001~~", "~~v0002~~"
    writes = [(one.method, one.path, json.loads(one.body)) for one in received[:-3]]
    assert [where for _, where, _ in writes[:3]] == ["/v1/scopes"] * 3
    assert len({body["idempotency_key"] for _, where, body in writes if where == "/v1/scopes"}) == 3
    contents = [body["content"] for _, where, body in writes if where.startswith(f"/v1/scopes/{path}/artifacts")]
    assert contents[0] == {"kind": "fact", "text": NASTY}
    references = [body["context_references"] for _, where, body in writes if where == f"/v1/scopes/{path}"]
    assert references == [[zoo, attic]]
    asked = [(json.loads(one.body), one.headers) for one in received[-3:]]
    # That an accent is another id's is not shown: no variable holds such an id.
    assert [body["scope_id"] for body, _ in asked] == [f"{path} ", f"{path.upper()} ", f"{path} \u200b"]
    assert {body["query"] for body, _ in asked} == {NASTY}
    assert {(headers["authorization"], headers["x-nothing"]) for _, headers in asked} == {("Bearer it's mine", "")}


@needs_curl
@pytest.mark.parametrize("release", [OLD, NEW], ids=["1.2.0", "1.4.1"])
def test_a_script_sends_bytes_and_reads_exactly(loaded: Loaded, release: Release) -> None:
    (*_, last), _ = sent_by(script(loaded.scenario, "bytes", release))
    assert last.body == bytes.fromhex("7bff2d2527225c")
    assert "authorization" not in last.headers
    (*_, last), _ = sent_by(script(loaded.scenario, "version", release))
    assert last.headers["authorization"] == "Bearer a"
    if release == NEW:
        assert (last.method, last.body) == ("GET", b"")
        assert last.path.startswith("/v1/scopes/~~v0000~~/artifacts/atomic-memory/~~v")
        assert last.path.endswith("/revisions/2")
    else:
        citation = json.loads(last.body)["citation"]
        assert (last.path, citation["memory_ref"]["revision"]) == ("/v1/memory/entries/get", 2)
        assert citation["entry_id"] < citation["entry_version_id"]


def test_the_command_prints_or_writes_the_report(tmp_path: Path) -> None:
    with a_place(tmp_path) as place:
        place.write("one.yaml", SCENARIO)
        place.write("ledger.yaml", LEDGER)
        printed = place.harness("findings", "--target", "powercontext==1.4.1")
        assert (printed.code, printed.output.splitlines()[0]) == (0, "# Known divergences of powercontext==1.4.1")
        assert place.harness("findings", "--output", "report.md").output == "report.md\n"
        assert (place.folder / "report.md").read_text("utf-8").startswith("# Known divergences\n\n2 issues.\n")
        unknown = place.harness("findings", "--target", "powercontex")
        assert (unknown.code, unknown.output.splitlines()[0]) == (2, 'unknown_target: unknown target "powercontex"')
