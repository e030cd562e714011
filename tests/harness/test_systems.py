"""Targets by the name that users give them: what is not there is told by name, and is never green."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets.processes import Place, a_place

from backends.provision.homes import STATE_VARIABLE
from harness.errors import HarnessError, UnknownNames
from harness.target.powercontext.system import ELSEWHERE, RemoteSystem
from harness.target.systems import InTree, open_systems

SCENARIO = """\
scenario: one memory
scopes:
  demo: {memory: [{entry: one, text: tea}]}
steps:
  - {step: asked, prepare: {scope_id: demo, query: tea, assembly: {}}, expect: {sections: [Memory: [one]]}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path) as place:
        place.write("one.yaml", SCENARIO)
        yield place


def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_systems_are_known_by_their_full_names_and_once(tmp_path: Path) -> None:
    systems = open_systems(["runtime", "http://user:secret@127.0.0.1:8000"], run_directory=tmp_path, admin_token="t")
    assert list(systems) == ["runtime", "http://127.0.0.1:8000"]
    assert isinstance(systems["runtime"], InTree)
    assert systems["http://127.0.0.1:8000"].backends == (ELSEWHERE,)


@pytest.mark.parametrize("name", ["prod", "powercontexts==1.4.1", "ftp://127.0.0.1", ""])
def test_an_unknown_target_is_told_with_what_there_is(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNames, match=r"powercontext==VERSION"):
        open_systems([name], run_directory=tmp_path)


@pytest.mark.parametrize("name", ["powercontext==", "powercontext==latest", "powercontext==1.4"])
def test_a_malformed_version_is_a_mistake_of_the_users(name: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError):
        open_systems([name], run_directory=tmp_path)


def test_a_release_that_is_not_installed_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    with pytest.raises(HarnessError, match=r"make powercontext VERSION=1\.4\.1"):
        open_systems(["powercontext==1.4.1"], run_directory=tmp_path)


def test_a_url_without_a_token_or_a_server_is_missing() -> None:
    assert "token_missing" in RemoteSystem("http://127.0.0.1:1", None).start({})[ELSEWHERE]
    told = RemoteSystem(f"http://127.0.0.1:{unused_port()}", "secret-token").start({})[ELSEWHERE]
    assert "no_server" in told
    assert "secret-token" not in told


def test_a_run_on_a_server_that_is_not_there_is_red(place: Place) -> None:
    ended = place.harness("run", "--target", f"http://127.0.0.1:{unused_port()}", "--admin-token", "secret-token")
    assert ended.code == 2
    assert "does not answer as a PowerContext server" in ended.output
    assert "secret-token" not in ended.output


def test_two_targets_are_two_columns(place: Place) -> None:
    options = ("-q", "--backend", "sqlite", "--target", "runtime", "--target", "cannot-fail")
    ended = place.pytest(*options, "scenarios")
    assert ended.code == 0, ended.output
    assert "one.yaml::sqlite[runtime]" in place.pytest(*options, "--collect-only", "scenarios").output
    assert "chapter    runtime sqlite  cannot-fail sqlite\n" in ended.output
    assert "2 passed" in ended.output


def test_a_server_of_somebody_elses_is_known_by_its_release() -> None:
    remote = RemoteSystem("http://127.0.0.1:8000", "token")
    assert remote.known_as == "http://127.0.0.1:8000"
    remote.attach({"release": "1.4.1", "administrator": "root"})
    assert (remote.known_as, remote.name) == ("powercontext==1.4.1", "http://127.0.0.1:8000")
