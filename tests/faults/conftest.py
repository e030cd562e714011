"""One engine for each process that injects faults, and the summary of what was injected."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from records import Fault, Measured, Results, rewrite
from systems import System, make_schema

from backends.faults import Proxy
from backends.provision.databases import make_database
from backends.provision.embedded import EmbeddedEngine

RUN = "0123456789abcdef"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-table", metavar="FILE", help="write what was measured into this document")


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield
    results = Results()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in getattr(report, "user_properties", ()):
            if name == "fault" and report.when == "call":
                results.add(value["promised"], value["measured"])
    if results.rows:
        terminalreporter.section("faults")
        for line in results.lines():
            terminalreporter.line(line)
        terminalreporter.line(results.total())
    if file := terminalreporter.config.getoption("--faults-table", None):
        rewrite(Path(file), results)


@pytest.fixture(scope="session")
def engine() -> Iterator[EmbeddedEngine]:
    """An OceanBase of our own, which is whole again after each fault."""
    state = Path(tempfile.mkdtemp(prefix="h-", dir="/tmp"))
    started = EmbeddedEngine(state=state)
    started.start()
    yield started
    started.stop()
    shutil.rmtree(state)


@pytest.fixture
def proxy(engine: EmbeddedEngine) -> Iterator[Proxy]:
    """The way to the engine over TCP, which can be broken."""
    proxy = Proxy(engine.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture(scope="session")
def database(engine: EmbeddedEngine) -> str:
    """The name of a database on the engine, which each system empties first."""
    make_database(engine.endpoint, "pch_faults", RUN)
    make_schema(engine.endpoint.url("pch_faults"))
    return "pch_faults"


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Fault:
    """The row that the test is about."""
    marker = request.node.get_closest_marker("fault")
    assert marker is not None
    (row,) = marker.args
    assert isinstance(row, Fault)
    return row


@pytest.fixture
def measured(row: Fault, request: pytest.FixtureRequest) -> Measured:
    """What the test measures, told with its report."""
    measured = Measured()
    properties: list[tuple[str, object]] = request.node.user_properties
    values: dict[str, object] = {"promised": row.promised}
    properties.append(("fault", values))
    request.node.stash[_MEASURED] = (values, measured)
    return measured


_MEASURED = pytest.StashKey[tuple[dict[str, object], Measured]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    finally:
        if _MEASURED in item.stash:
            values, measured = item.stash[_MEASURED]
            values["measured"] = asdict(measured)


@pytest.fixture
def by_proxy(proxy: Proxy, database: str, row: Fault, measured: Measured) -> Iterator[System]:
    """A server that reaches its database through the proxy."""
    system = System(proxy.endpoint.url(database), row, measured)
    yield system
    proxy.set("none")
    system.close()


@pytest.fixture
def direct(engine: EmbeddedEngine, database: str, row: Fault, measured: Measured) -> Iterator[System]:
    """A server that reaches its database without anybody between."""
    system = System(engine.endpoint.url(database), row, measured)
    yield system
    system.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test's SQLite database lies."""
    return tmp_path / "powercontext.db"


@pytest.fixture
def on_file(file: Path, row: Fault, measured: Measured) -> Iterator[System]:
    """A server on a SQLite file."""
    system = System(f"sqlite:///{file}", row, measured)
    yield system
    system.close()
