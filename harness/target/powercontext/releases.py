"""Released versions of PowerContext, each in an environment of its own that is made once and then reused."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from backends.provision.homes import STATE_VARIABLE, state_directory
from backends.provision.process import OwnedProcess
from harness.errors import HarnessError
from harness.target.base import Style

DEFAULT_VERSION = "1.4.1"
"""The release whose locked set of dependencies is used for all of them."""
OLDEST = (1, 0, 0)
"""The first release that can be a target."""
LOCK = Path(__file__).with_name("requirements.lock")
PYTHON = sys.executable
"""What makes the environments."""

_PACKAGE = "powercontext"
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})((?:a|b|rc)\d{1,4})?(?:\.post(\d{1,4}))?", re.ASCII)
_COMPLETE = "complete"
_INSTALL_SECONDS = 1800.0
_LOG_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Release:
    """A release that is installed, and the Python that runs it."""

    version: str
    python: Path

    @property
    def has_migration_gate(self) -> bool:
        """Whether it looks at its tables by migrations before it starts, as 1.4.1 was the first to do."""
        return any(
            self.python.parents[1].glob(
                "lib/python*/site-packages/powercontext/builtin/persistence/migrations/server_readiness.py"
            )
        )


def releases_directory() -> Path:
    """Return where releases are installed: outside of any project, beside the engines' directories."""
    engines = state_directory()
    return engines / "releases" if os.environ.get(STATE_VARIABLE) else engines.with_name("releases")


def installed() -> list[str]:
    """Return the versions that are installed, the oldest first."""
    try:
        names = [path.name for path in releases_directory().iterdir()]
    except OSError:
        return []
    return sorted((name for name in names if _VERSION.fullmatch(name) and _is_complete(_home(name))), key=_order)


def newest() -> Release:
    """Return the newest release that is installed; raises HarnessError with the code release_missing."""
    if not (versions := [version for version in installed() if can_be_target(version)]):
        raise _missing("no release of PowerContext is installed", DEFAULT_VERSION)
    return release(versions[-1])


def can_be_target(version: str) -> bool:
    """Say whether a release has the prepare path of RFC 1489, as 1.0.0 was the first to have."""
    return _order(version)[:3] >= OLDEST


def release(version: str) -> Release:
    """Return an installed release that can be a target.

    Raises HarnessError: version_malformed, release_too_old, release_missing.
    """
    if not can_be_target(version):
        raise HarnessError(
            "release_too_old",
            f"PowerContext {version} cannot be a target: targets start from 1.0.0",
            hint=f"for instance powercontext=={DEFAULT_VERSION}",
        )
    return older_release(version)


def older_release(version: str) -> Release:
    """Return an installed release of any age, as a server or a caller from before RFC 1489 and not as a target.

    Raises HarnessError: version_malformed, release_missing.
    """
    if not _is_complete(_home(version)):
        raise _missing(f"PowerContext {version} is not installed", version)
    return Release(version, _python(_home(version)))


def named_release(name: str) -> Release:
    """Return the release that a user's word names: `powercontext==1.4.1`, or `powercontext` for the newest installed.

    Raises HarnessError: version_malformed, release_too_old, release_missing.
    """
    package, separator, version = name.strip().partition("==")
    if package.strip() != _PACKAGE:
        raise _malformed(name)
    return release(version.strip()) if separator else newest()


def style_of(version: str) -> Style:
    """Return whose output a release has; later ones than are known are taken to be like the newest known."""
    return "1.0-1.2" if keeps_collections(version) else "1.3-1.4"


def has_topics(version: str) -> bool:
    """Say whether Topic Memory can be made over HTTP, which 1.0.0 did not know yet."""
    return _order(version)[:3] > OLDEST


def keeps_collections(version: str) -> bool:
    """Say whether all memories of a Scope are Entries of one Artifact, as up to 1.2, rather than one Artifact each."""
    return _order(version)[:2] < (1, 3)


def install(version: str, log: Callable[[str], None]) -> Release:
    """Install a release where it is not, telling `log` what is awaited; two processes do not do it twice.

    Raises HarnessError: version_malformed, release_unknown, release_not_installed, release_directory_unusable.
    """
    _order(version)
    home = _home(version)
    if _is_complete(home):
        return Release(version, _python(home))
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _hold(FileLock(home.with_name(f"{version}.lock")), version, log):
            if not _is_complete(home):
                log(f"installing PowerContext {version} into {home}, once (about 430 MB, a minute or two)")
                _build(version, home)
    except Timeout:
        raise HarnessError(
            "release_not_installed",
            f"PowerContext {version} could not be installed",
            cause=f"another process has held {home.with_name(f'{version}.lock')} for {_INSTALL_SECONDS:.0f} s",
        ) from None
    except OSError as error:
        raise HarnessError(
            "release_directory_unusable",
            f"{home.parent} cannot be used for releases of PowerContext",
            cause=error.strerror or str(error),
            hint=f"set {STATE_VARIABLE} to a directory that can be written",
        ) from None
    return Release(version, _python(home))


def _hold(lock: FileLock, version: str, log: Callable[[str], None]) -> AbstractContextManager[object]:
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        log(f"waiting for another process that installs PowerContext {version}")
        return lock.acquire(timeout=_INSTALL_SECONDS)


def _build(version: str, home: Path) -> None:
    """Build in place, since the scripts of an environment know its path; the marker comes last."""
    # What an installation that was cut off has left.
    shutil.rmtree(home, ignore_errors=True)
    _log_of(home).unlink(missing_ok=True)
    deadline = time.monotonic() + _INSTALL_SECONDS
    _run(version, home, [PYTHON, "-I", "-m", "venv", str(home)], deadline)
    pip = [str(_python(home)), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    requirements = LOCK
    if version != DEFAULT_VERSION:
        # First the release, so that one which does not exist is known at once.
        _run(version, home, [*pip, "--no-deps", "--only-binary", _PACKAGE, f"{_PACKAGE}=={version}"], deadline)
        requirements = home / LOCK.name
        requirements.write_text(without_the_product(LOCK.read_text("utf-8")), "utf-8")
    _run(version, home, [*pip, "--require-hashes", "-r", str(requirements)], deadline)
    (home / _COMPLETE).touch()


def without_the_product(lock: str) -> str:
    """Return a lock file's text without PowerContext itself: what releases other than the locked one need."""
    return re.sub(rf"^{_PACKAGE}==[^\n]*\\\n(?:    [^\n]*\n)*", "", lock, flags=re.MULTILINE)


def _run(version: str, home: Path, command: list[str], deadline: float) -> None:
    output = _log_of(home)
    # It must not go on in a directory that nobody holds locked any more.
    process = OwnedProcess(command, output=output, environment=os.environ)
    try:
        over = process.ended_within(max(0.0, deadline - time.monotonic()))
    finally:
        process.end(5)
    if over and process.exit_code == 0:
        return
    lines = output.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace").splitlines()
    told = [line for line in lines if line.startswith("ERROR:")] or [line for line in lines if line.strip()]
    words = told[-1] if told else f"exit status {process.exit_code}"
    shutil.rmtree(home, ignore_errors=True)
    # An index that cannot be reached knows no version at all.
    if re.search(rf"{_PACKAGE}=={re.escape(version)} \(from versions: (?!none)", "\n".join(told)):
        raise HarnessError(
            "release_unknown",
            f"the package index has no PowerContext {version} for this machine",
            cause=words,
            hint=f"the releases of {_PACKAGE} are listed on PyPI",
        )
    raise HarnessError(
        "release_not_installed",
        f"PowerContext {version} could not be installed",
        cause=words if over else f"it took longer than {_INSTALL_SECONDS:.0f} s",
        hint=f"read {output}",
    )


def _home(version: str) -> Path:
    return releases_directory() / version


def _log_of(home: Path) -> Path:
    return home.with_name(f"{home.name}.log")


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _is_complete(home: Path) -> bool:
    # The Python that an environment was made from may have been removed since.
    return (home / _COMPLETE).exists() and _python(home).exists()


def _order(version: str) -> tuple[int, int, int, bool, str, int]:
    """Return what versions sort by; raises HarnessError with the code version_malformed."""
    parts = _VERSION.fullmatch(version)
    if parts is None:
        raise _malformed(version)
    major, minor, patch, early, post = parts.groups()
    return int(major), int(minor), int(patch), early is None, early or "", int(post or 0)


def _malformed(text: str) -> HarnessError:
    return HarnessError(
        "version_malformed",
        f"{text!r} names no release of PowerContext",
        hint=f"write {_PACKAGE}=={DEFAULT_VERSION}, or {_PACKAGE} for the newest that is installed",
    )


def _missing(sentence: str, version: str) -> HarnessError:
    there = ", ".join(installed())
    return HarnessError(
        "release_missing",
        sentence,
        cause=f"installed are {there}" if there else None,
        hint=f"make powercontext VERSION={version}, or harness powercontext {version}",
    )
