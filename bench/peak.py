"""A pytest plugin: writes down the most memory that each process which ran scenarios ever held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

OPTION = "--peak-file"

_KEY = "bench_peak"
_PEAKS = pytest.StashKey[list[int]]()


def resident_peak() -> int:
    """Return this process's largest resident set so far, in kilobytes; the one before its exec does not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file to write."""
    parser.addoption(OPTION, metavar="PATH", help="where to write each worker's peak memory, in kilobytes")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nobody's."""
    config.stash[_PEAKS] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's peak to the controller."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_KEY] = resident_peak()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take a worker's peak."""
    peak = getattr(node, "workeroutput", {}).get(_KEY)
    if peak is not None:
        node.config.stash[_PEAKS].append(peak)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the file; a run without workers is one process."""
    path = config.getoption("peak_file")
    if path and not hasattr(config, "workerinput"):
        Path(path).write_text(json.dumps(config.stash[_PEAKS] or [resident_peak()]))
