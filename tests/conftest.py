"""What tests of both engines share: one database per worker and engine, cleared for each test."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from backends import Backend
from backends.seeding import clear
from harness.plugin import RUN, Run
from harness.scenario.model import RuntimeSpec
from harness.target.reference import ReferenceTarget
from runtime.storage import Storage, open_storage

ENGINES = ("sqlite", "oceanbase")

# What a shell starts with `&` or nohup ignores these signals, and so would every command that a test
# starts and then interrupts: programs keep an ignored signal ignored, and so does the harness.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


class Secret(str):
    """A text whose password a failing test must not print."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(re.sub(r"(?<=:)[^:@/]*(?=@)", "***", self))


class Databases:
    """This worker's databases on the engines of the run, each made at first use."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._prefix = f"pch_{run.name}_{run.worker}"
        self._numbers = count(1)
        self._shared: dict[str, tuple[str, Storage]] = {}
        self._targets: dict[str, ReferenceTarget] = {}

    def engine(self, name: str) -> Backend:
        """Return the started engine, or end the test that needs it."""
        if name not in self._run.engines:
            if name in self._run.missing:
                pytest.fail(f"{name} is missing: {self._run.missing[name]}", pytrace=False)
            pytest.skip(f"{name} was not asked for")
        engine = self._run.engines[name]
        engine.start()
        return engine

    def shared(self, name: str) -> tuple[str, Storage]:
        """Return the URL and the storage of the database that all tests of this worker use in turn."""
        if name not in self._shared:
            url = Secret(self.engine(name).database_url(f"{self._prefix}_tests"))
            storage = open_storage(url)
            storage.prepare()
            self._shared[name] = (url, storage)
        return self._shared[name]

    def target(self, name: str) -> ReferenceTarget:
        """Return the target on the shared database."""
        if name not in self._targets:
            self._targets[name] = ReferenceTarget(name, self.shared(name)[0])
        return self._targets[name]

    def fresh(self, name: str) -> tuple[str, Callable[[], None]]:
        """Make an empty database; returns its URL and how to drop it."""
        database = f"{self._prefix}_fresh{next(self._numbers)}"
        engine = self.engine(name)
        return Secret(engine.database_url(database)), lambda: engine.drop(database)

    def close(self) -> None:
        """Let go of everything that is shared."""
        for target in self._targets.values():
            target.close()
        for name, (_, storage) in self._shared.items():
            storage.close()
            self._run.engines[name].drop(f"{self._prefix}_tests")


@pytest.fixture(scope="session")
def databases(pytestconfig: pytest.Config) -> Iterator[Databases]:
    made = Databases(pytestconfig.stash[RUN])
    yield made
    made.close()


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """The engine on which the test runs."""
    return str(request.param)


@pytest.fixture
def storage(engine_name: str, databases: Databases) -> Storage:
    """The storage on a cleared database."""
    _, storage = databases.shared(engine_name)
    clear(storage)
    return storage


@pytest.fixture
def storages(databases: Databases) -> tuple[Storage, Storage]:
    """The storages on cleared databases of both engines."""
    both = tuple(databases.shared(name)[1] for name in ENGINES)
    for storage in both:
        clear(storage)
    return both[0], both[1]


@pytest.fixture
def database(engine_name: str, databases: Databases, storage: Storage) -> str:
    """The URL of a cleared database."""
    return databases.shared(engine_name)[0]


@pytest.fixture
def vector_storage(database: str) -> Iterator[Storage]:
    """A storage with vectors of two numbers on a cleared database."""
    storage = open_storage(database, dimension=2)
    storage.prepare()
    clear(storage)
    yield storage
    storage.close()


@pytest.fixture
def fresh_database(engine_name: str, databases: Databases) -> Iterator[str]:
    """The URL of a database without any table."""
    url, drop = databases.fresh(engine_name)
    yield url
    drop()


@pytest.fixture
def fresh(fresh_database: str) -> Iterator[Storage]:
    """The storage of a database that nothing has prepared yet."""
    storage = open_storage(fresh_database)
    yield storage
    storage.close()


@pytest.fixture
def target(engine_name: str, databases: Databases) -> ReferenceTarget:
    """The runtime behind HTTP, on a cleared database."""
    target = databases.target(engine_name)
    target.reset(RuntimeSpec())
    return target


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser: beside other tests its pages are late."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
