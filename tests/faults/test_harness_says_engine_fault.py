"""While an engine is broken the harness says "engine fault", which is no verdict on the contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from records import Fault, Measured, fault

from backends import Backend
from backends.faults import Proxy, end_at_once, hung
from backends.oceanbase import OceanBase
from backends.provision.embedded import EmbeddedEngine
from backends.provision.server import ServerEngine
from backends.sqlite import SQLite
from harness.run.result import Outcome
from harness.run.session import Session
from harness.scenario.loader import parse
from harness.target.reference import ReferenceTarget

SCENARIO = """
scenario: asked twice, and written to between
scopes:
  demo:
    memory: [{entry: e-1, text: Tea.}]
steps:
  - {prepare: &tea {scope_id: demo, query: tea, assembly: {}}, expect: {sections: [{Memory: [e-1]}]}}
  - {prepare: *tea, expect: {sections: [{Memory: [e-1]}]}}
"""
VERDICT = "the verdict of the run is engine fault"
TOLD = "in the next run"


class Broken:
    """Scenarios that run on one backend, which something happens to before the second request."""

    def __init__(self, backend: Backend, row: Fault, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
        self._row, self._measured = row, measured
        self._session = Session({backend.name: backend}, names=[backend.name], target="runtime", database="pch_broken")
        self._backend = backend
        self._asked = 0
        self._act: Callable[[], object] = lambda: None
        prepare = ReferenceTarget.prepare

        def asked(target: ReferenceTarget, *arguments: Any, **options: Any) -> Any:
            self._asked += 1
            # Each request is asked twice: the second time to see that it is answered alike.
            if self._asked == 3:
                self._act()
            return prepare(target, *arguments, **options)

        monkeypatch.setattr(ReferenceTarget, "prepare", asked)

    def run(self, act: Callable[[], object] = lambda: None) -> Outcome:
        """Run a scenario, in the midst of which something is done."""
        self._asked, self._act = 0, act
        started = time.perf_counter()
        outcome = self._session.outcome(parse(SCENARIO.encode(), Path("scenarios/asked.yaml")), self._backend.name)
        seconds = time.perf_counter() - started
        self._measured.slowest = max(self._measured.slowest, seconds)
        assert seconds <= self._row.bound
        return outcome

    def close(self) -> None:
        """Let go."""
        self._session.close()


@pytest.fixture
def broken(row: Fault, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Backend], Broken]]:
    made = ExitStack()

    def make(backend: Backend) -> Broken:
        one = Broken(backend, row, measured, monkeypatch)
        made.callback(one.close)
        assert one.run().verdict == "passed"
        return one

    with made:
        yield make


@fault("harness run: engine killed", engine="OceanBase", answer=VERDICT, bound=30.0, recovers=TOLD, slow=True)
def test_an_engine_that_is_killed(
    broken: Callable[[Backend], Broken], engine: EmbeddedEngine, measured: Measured
) -> None:
    run = broken(OceanBase(engine, run="0123456789abcdef", owner=False))
    outcome = run.run(lambda: end_at_once(engine.pid))
    measured.injected += 1
    assert (outcome.verdict, outcome.reason.partition(":")[0]) == ("engine fault", "engine_died")
    assert run.run().verdict == "engine fault"
    engine.start_again()


@fault("harness run: engine hung", engine="OceanBase", answer=VERDICT, bound=120.0, recovers=TOLD, slow=True)
def test_an_engine_that_hangs(broken: Callable[[Backend], Broken], engine: EmbeddedEngine, measured: Measured) -> None:
    run = broken(OceanBase(engine, run="0123456789abcdef", owner=False))
    with ExitStack() as fault:
        outcome = run.run(lambda: fault.enter_context(hung(engine.pid)))
        measured.injected += 1
    assert (outcome.verdict, outcome.reason.partition(":")[0]) == ("engine fault", "unreachable")


@pytest.mark.parametrize("kind", ["reset", "black hole", "half-close"])
@fault(
    "harness run: the way to a server broken (reset, half-closed, swallowed)",
    engine="OceanBase",
    answer=VERDICT,
    bound=120.0,
    recovers=TOLD,
    slow=True,
)
def test_a_server_that_is_out_of_reach(
    broken: Callable[[Backend], Broken], proxy: Proxy, measured: Measured, kind: Any
) -> None:
    run = broken(OceanBase(ServerEngine(proxy.endpoint), run="0123456789abcdef", owner=False))
    outcome = run.run(lambda: proxy.set(kind))
    measured.injected += 1
    proxy.set("none")
    assert (outcome.verdict, outcome.reason.partition(":")[0]) == ("engine fault", "unreachable")


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SQLite]:
    backend = SQLite.create(oceanbase_url=None, run_directory=tmp_path)
    backend.start()
    yield backend
    backend.stop()


def cut(file: Path) -> None:
    """Put what is no database in a file's place; a journal would have all pages still."""
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink()
    other = file.with_name("other")
    other.write_bytes(b"no database " * 1000)
    other.rename(file)


@pytest.mark.parametrize(
    ("act", "cause"),
    [(lambda file: file.unlink(), "unable to open"), (cut, "not a database")],
    ids=["removed", "damaged"],
)
@fault("harness run: file removed or damaged", engine="SQLite", answer=VERDICT, bound=30.0, recovers=TOLD)
def test_a_file_that_is_lost(
    broken: Callable[[Backend], Broken],
    sqlite: SQLite,
    tmp_path: Path,
    measured: Measured,
    act: Callable[[Path], None],
    cause: str,
) -> None:
    run = broken(sqlite)
    (file,) = tmp_path.glob("sqlite-*/pch_broken-*.db")
    outcome = run.run(lambda: act(file))
    measured.injected += 1
    assert (outcome.verdict, outcome.reason.partition(":")[0]) == ("engine fault", "query_failed")
    assert cause in outcome.reason
