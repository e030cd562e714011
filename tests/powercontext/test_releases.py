"""Which releases there are, how they are named, and how one is installed, without a package index."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from backends.provision.homes import STATE_VARIABLE
from harness.errors import HarnessError
from harness.target.powercontext import releases
from harness.target.powercontext.releases import (
    DEFAULT_VERSION,
    LOCK,
    Release,
    has_topics,
    install,
    installed,
    keeps_collections,
    named_release,
    newest,
    release,
    releases_directory,
    style_of,
    without_the_product,
)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    return tmp_path / "releases"


def put(version: str, *, complete: bool = True) -> None:
    """Make what an installed release looks like."""
    python = releases_directory() / version / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    if complete:
        (python.parents[1] / "complete").touch()


def code_of(name: str) -> str:
    with pytest.raises(HarnessError) as caught:
        named_release(name)
    return caught.value.code


# Names


def test_the_releases_lie_beside_the_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, directory: Path) -> None:
    assert releases_directory() == directory
    monkeypatch.delenv(STATE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert releases_directory() == tmp_path / "powercontext-harness" / "releases"


def test_a_release_is_named_with_its_version(directory: Path) -> None:
    put("1.2.0")
    assert named_release("powercontext==1.2.0") == Release("1.2.0", directory / "1.2.0" / "bin" / "python")


def test_the_newest_that_is_installed_needs_no_version() -> None:
    for version in ("1.2.0", "1.10.0", "1.9.3", "1.10.0rc2"):
        put(version)
    assert installed() == ["1.2.0", "1.9.3", "1.10.0rc2", "1.10.0"]
    assert named_release("powercontext").version == newest().version == "1.10.0"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "powercontext==",
        "powercontext==1.4",
        "powercontext==latest",
        "powercontext==1.4.1/..",
        "powercontext==../x",
        "powercontext=1.4.1",
        "powercontexts==1.4.1",
        "1.4.1",
        "powercontext==1.4.1;",
        "powercontext==-1.0.0",
    ],
)
def test_a_name_that_is_none(name: str) -> None:
    assert code_of(name) == "version_malformed"


def test_a_release_that_is_missing_says_how_to_get_it() -> None:
    put("1.2.0")
    with pytest.raises(HarnessError) as caught:
        release("1.3.0")
    assert str(caught.value).splitlines() == [
        "release_missing: PowerContext 1.3.0 is not installed",
        "  cause: installed are 1.2.0",
        "  hint: make powercontext VERSION=1.3.0, or harness powercontext 1.3.0",
    ]


def test_no_release_at_all_says_how_to_get_one() -> None:
    with pytest.raises(HarnessError) as caught:
        newest()
    assert caught.value.code == "release_missing"
    assert (
        caught.value.hint == f"make powercontext VERSION={DEFAULT_VERSION}, or harness powercontext {DEFAULT_VERSION}"
    )


@pytest.mark.parametrize("version", ["0.2.0", "0.0.1"])
def test_a_release_before_the_first_target(version: str) -> None:
    put(version)
    assert code_of(f"powercontext=={version}") == "release_too_old"


def test_half_of_an_installation_is_none(directory: Path) -> None:
    put("1.2.0", complete=False)
    put("1.3.0")
    (directory / "1.3.0" / "bin" / "python").unlink()
    assert installed() == []
    assert code_of("powercontext==1.2.0") == code_of("powercontext==1.3.0") == "release_missing"


@pytest.mark.parametrize(
    ("version", "style", "topics", "collections"),
    [
        ("1.0.0", "1.0-1.2", False, True),
        ("1.1.0", "1.0-1.2", True, True),
        ("1.2.0", "1.0-1.2", True, True),
        ("1.2.9.post1", "1.0-1.2", True, True),
        ("1.3.0", "1.3-1.4", True, False),
        ("1.4.1", "1.3-1.4", True, False),
        ("1.10.0", "1.3-1.4", True, False),
        ("2.0.0", "1.3-1.4", True, False),
    ],
)
def test_what_a_release_can_do(version: str, style: str, topics: bool, collections: bool) -> None:
    assert (style_of(version), has_topics(version), keeps_collections(version)) == (style, topics, collections)


# The lock file


def test_the_lock_file_names_every_package_with_hashes_and_no_host() -> None:
    text = LOCK.read_text("utf-8")
    assert f"\npowercontext=={DEFAULT_VERSION} " in text
    packages = [line for line in text.splitlines() if line[:1].strip()]
    assert all("==" in line and line.endswith("\\") for line in packages)
    assert text.count("--hash=sha256:") >= len(packages) > 100
    assert "://" not in text
    assert "--index" not in text


def test_other_releases_get_the_same_dependencies() -> None:
    text = LOCK.read_text("utf-8")
    other = without_the_product(text)
    assert "powercontext==" not in other
    removed = [line for line in text.splitlines() if line not in other.splitlines()]
    assert removed[0].startswith(f"powercontext=={DEFAULT_VERSION}")
    assert len(removed) == 3


def test_the_files_of_this_package_come_with_the_wheel() -> None:
    # The build takes all files of a package that Git does not ignore.
    root = Path(__file__).parents[2]
    for path in (LOCK, LOCK.with_name("launcher.py")):
        ignored = subprocess.run(["git", "check-ignore", "--quiet", str(path)], cwd=root, check=False)
        assert ignored.returncode != 0


# An installation, by a Python that stands in for the one that makes environments


STAND_IN = """#!{python}
import os, sys, pathlib, shutil
words = sys.argv[1:]
home = pathlib.Path({home!r})
with open({told!r}, "a") as told:
    told.write(" ".join(words) + "\\n")
if "venv" in words:
    (home / "bin").mkdir(parents=True)
    shutil.copy(__file__, home / "bin" / "python")
elif {fails!r} and {fails!r} in " ".join(words):
    print({words!r})
    sys.exit(1)
"""


class Installer:
    """Stands in for Python and pip."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._told = tmp_path / "told"
        self._path = tmp_path / "python"
        self._monkeypatch = monkeypatch
        self.log: list[str] = []

    def put(self, version: str, *, fails: str = "", words: str = "") -> None:
        home = str(releases_directory() / version)
        text = STAND_IN.format(python=sys.executable, home=home, told=str(self._told), fails=fails, words=words)
        self._path.write_text(text, "utf-8")
        self._path.chmod(self._path.stat().st_mode | stat.S_IXUSR)
        # The leash is run by the real one, so only the name that this module knows is another.
        self._monkeypatch.setattr(releases, "PYTHON", str(self._path))

    def install(self, version: str) -> Release:
        return install(version, self.log.append)

    @property
    def told(self) -> list[str]:
        return self._told.read_text("utf-8").splitlines() if self._told.exists() else []


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    return Installer(tmp_path, monkeypatch)


def test_the_locked_release_is_installed_with_hashes(installer: Installer) -> None:
    installer.put(DEFAULT_VERSION)
    made = installer.install(DEFAULT_VERSION)
    assert made == release(DEFAULT_VERSION)
    assert [line.split()[2] for line in installer.told] == ["venv", "pip"]
    assert f"--require-hashes -r {LOCK}" in installer.told[1]
    assert len(installer.log) == 1


def test_another_release_comes_first_and_alone(installer: Installer) -> None:
    installer.put("1.2.0")
    installer.install("1.2.0")
    assert "--no-deps" in installer.told[1]
    assert installer.told[1].endswith("powercontext==1.2.0")
    assert "--require-hashes" in installer.told[2]
    assert "powercontext==" not in Path(installer.told[2].split()[-1]).read_text("utf-8")


def test_what_is_installed_is_not_installed_again(installer: Installer) -> None:
    installer.put(DEFAULT_VERSION)
    installer.install(DEFAULT_VERSION)
    before = installer.told
    installer.install(DEFAULT_VERSION)
    assert installer.told == before


def test_what_was_cut_off_is_made_anew(installer: Installer, directory: Path) -> None:
    put(DEFAULT_VERSION, complete=False)
    (directory / DEFAULT_VERSION / "left").touch()
    installer.put(DEFAULT_VERSION)
    installer.install(DEFAULT_VERSION)
    assert not (directory / DEFAULT_VERSION / "left").exists()
    assert installed() == [DEFAULT_VERSION]


NOT_FOUND = """WARNING: Retrying
ERROR: Could not find a version that satisfies the requirement powercontext==9.9.9 (from versions: {})
ERROR: No matching distribution found for powercontext==9.9.9"""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (NOT_FOUND.format("1.0.0, 1.1.0"), "release_unknown"),
        (NOT_FOUND.format("none"), "release_not_installed"),
        ("ERROR: No space left on device\nWARNING: more", "release_not_installed"),
    ],
)
def test_an_installation_that_fails_is_told_and_leaves_nothing(installer: Installer, words: str, code: str) -> None:
    installer.put("9.9.9", fails="--no-deps", words=words)
    with pytest.raises(HarnessError) as caught:
        installer.install("9.9.9")
    assert caught.value.code == code
    assert caught.value.cause == [line for line in words.splitlines() if line.startswith("ERROR")][-1]
    assert installed() == []
    assert not (releases_directory() / "9.9.9").exists()


def test_a_second_process_waits_for_the_first(installer: Installer, directory: Path) -> None:
    directory.mkdir()
    installer.put(DEFAULT_VERSION)
    held = FileLock(directory / f"{DEFAULT_VERSION}.lock", thread_local=False)
    told = threading.Event()
    with held.acquire():
        # The first one has finished when the second gets the lock.
        put(DEFAULT_VERSION)
        (directory / DEFAULT_VERSION / "complete").unlink()
        thread = threading.Thread(target=install, args=(DEFAULT_VERSION, lambda _line: told.set()))
        thread.start()
        assert told.wait(10)
        (directory / DEFAULT_VERSION / "complete").touch()
    thread.join(10)
    assert installer.told == []


def test_a_directory_that_cannot_be_written(tmp_path: Path, directory: Path) -> None:
    directory.touch()
    with pytest.raises(HarnessError) as caught:
        install(DEFAULT_VERSION, print)
    assert caught.value.code == "release_directory_unusable"
    assert STATE_VARIABLE in str(caught.value)


def test_the_command_line_refuses_a_version_that_is_none() -> None:
    harness = Path(sys.executable).with_name("harness")
    ended = subprocess.run(
        [harness, "powercontext", "latest"],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("version_malformed: 'latest' names no release")
