"""The real hosts, each installed once from its lock into a directory of the user's cache, and reused afterwards."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from backends.provision.homes import STATE_VARIABLE, state_directory

ROOT = Path(__file__).resolve().parents[2]
PI = ROOT / "runtime" / "hosts" / "pi"
PYDANTIC_AI = ROOT / "runtime" / "hosts" / "pydantic_ai"
_INSTALL_SECONDS = 900
_OLDEST_NODE = (20, 6)
_COMPLETE = "complete"
_NO_REGISTRY = re.compile(
    # npm, which names the error of the connection
    r"ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED"
    # pip, of its first attempt; that it then knows no version is as true of a package that there is not
    r"|connection broken by '\w+"
)


def python_with_pydantic_ai() -> Path:
    """Return the Python of pydantic-ai's environment, or skip with the reason."""

    def build(home: Path) -> None:
        _run("pydantic-ai", [sys.executable, "-I", "-m", "venv", str(home)], home.parent)
        pip = [str(home / "bin" / "python"), "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        _run("pydantic-ai", [*pip, "--require-hashes", "-r", str(PYDANTIC_AI / "requirements.lock")], home)

    version = ".".join(map(str, sys.version_info[:3]))
    return _home("pydantic-ai", [PYDANTIC_AI / "requirements.lock"], version, build) / "bin" / "python"


def pi_command() -> list[str]:
    """Return how the pi coding agent is started, or skip with the reason."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("pi cannot be installed: node or npm is not on this machine")
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(map(int, told.removeprefix("v").split(".")[:2])) < _OLDEST_NODE:
        pytest.skip(f"pi cannot be installed: node is {told}, and 20.6 or newer is needed")

    def build(home: Path) -> None:
        home.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PI / name, home / name)
        # No script of a package is run.
        _run("pi", [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)

    home = _home("pi", [PI / "package.json", PI / "package-lock.json"], told, build)
    return [node, str(home / "node_modules" / "@mariozechner" / "pi-coding-agent" / "dist" / "cli.js")]


def hosts_directory() -> Path:
    """Return where hosts are installed: outside of any project, beside the engines' directories."""
    engines = state_directory()
    return engines / "hosts" if os.environ.get(STATE_VARIABLE) else engines.with_name("hosts")


def _home(name: str, locks: Sequence[Path], made_for: str, build: Callable[[Path], None]) -> Path:
    """Return the directory of a host as these locks say, built where it is not there yet."""
    known = hashlib.sha256(b"\0".join([made_for.encode(), *(lock.read_bytes() for lock in locks)])).hexdigest()
    home = hosts_directory() / f"{name}-{known[:16]}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(home.with_name(f"{home.name}.lock"), timeout=_INSTALL_SECONDS):
        if not (home / _COMPLETE).exists():
            print(f"installing {name} into {home}, once", file=sys.stderr, flush=True)
            # What an installation that was cut off has left.
            shutil.rmtree(home, ignore_errors=True)
            build(home)
            (home / _COMPLETE).touch()
    return home


def _run(name: str, command: Sequence[str], directory: Path) -> None:
    """Run one step; a registry that cannot be reached is a reason to skip, anything else is a failure."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode == 0:
        return
    told = (done.stdout + done.stderr).strip()
    if (found := _NO_REGISTRY.search(told)) is not None:
        pytest.skip(f"{name} cannot be installed: its registry cannot be reached ({found.group()})")
    pytest.fail(f"{name} cannot be installed: {told[-2000:]}", pytrace=False)
