"""A pytest plugin beside the harness's: a second backend that is quick, wrong targets, and faults of the machine.

Under xdist each worker loads it too, as it loads every plugin that is named by `-p`.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from backends import BACKENDS
from backends.errors import WheelMissing
from backends.provision.embedded import EmbeddedEngine
from backends.sqlite import SQLite
from harness.target import TARGETS
from targets import wrong
from targets.processes import engines_below

KILL_AFTER = "TEST_KILL_AFTER"
"""The environment variable that says after how many items the run's engine is killed."""
ASK_AFTER = "TEST_ASK_AFTER"
"""The environment variable that says after how many items the run is asked to end, in the middle of the counting."""
HANG = "TEST_HANG"
"""The environment variable that makes each item never end; it names a pipe that is told so."""
NO_WHEEL = "TEST_NO_WHEEL"


class Second(SQLite):
    """SQLite by another name."""

    NAME: ClassVar[str] = "second"


def pytest_addoption() -> None:
    # Where this is a plugin, and not where a test takes a name from here; before the harness reads what was asked for.
    BACKENDS[Second.NAME] = Second
    TARGETS["cannot-fail"] = wrong.CannotFail
    TARGETS["miscounts-on-second"] = wrong.only_on(Second.NAME, wrong.Miscounts)
    TARGETS["swaps-on-second"] = wrong.only_on(Second.NAME, wrong.SwapsItems)
    TARGETS["stores-other-rows-on-second"] = wrong.only_on(Second.NAME, wrong.StoresOtherRows)


class Killer:
    def __init__(self, items: int) -> None:
        self._left = items

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._left -= report.when == "call"
        if not self._left:
            self._left = -1
            for pid in engines_below(os.environ["POWERCONTEXT_HARNESS_STATE"]):
                os.kill(pid, signal.SIGKILL)


class Asker:
    def __init__(self, items: int) -> None:
        self._left = items

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._left -= report.when == "call"
        if not self._left:
            self._left = -1
            os.kill(os.getpid(), signal.SIGINT)
            # What an exception at this place would leave out.
            print("counted to the end", flush=True)


class Hanging:
    def pytest_runtest_call(self) -> None:
        Path(os.environ[HANG]).write_bytes(b"hangs")
        threading.Event().wait()


def pytest_configure(config: pytest.Config) -> None:
    if KILL_AFTER in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Killer(int(os.environ[KILL_AFTER])))
    if ASK_AFTER in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Asker(int(os.environ[ASK_AFTER])))
    if HANG in os.environ:
        config.pluginmanager.register(Hanging())
    if NO_WHEEL in os.environ:
        EmbeddedEngine.start = _without_its_wheel  # type: ignore[method-assign, assignment]


def _without_its_wheel(engine: EmbeddedEngine) -> None:
    raise WheelMissing("No module named 'pylibseekdb'")
