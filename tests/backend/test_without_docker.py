"""Where Docker is missing, silent or elsewhere: refused by name, with a hint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from backends.errors import (
    DockerMissing,
    DockerRemote,
    DockerSilent,
    EngineError,
    ImageUnknown,
)
from backends.provision import daemon
from backends.provision.container_engine import ContainerEngine
from backends.provision.daemon import check_is_local
from backends.provision.homes import STATE_VARIABLE

ROOT = Path(__file__).parents[2]
IMAGE = "powercontext-harness/engine:local"


def test_a_machine_without_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with pytest.raises(DockerMissing, match=r"DOCKER_HOST(.|\n)*embedded engine"):
        ContainerEngine(IMAGE, state=tmp_path).start()


def test_a_daemon_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "CALL_SECONDS", 1)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{tmp_path}/docker.sock")
        silent.listen()
        with pytest.raises(DockerSilent, match="does not answer"):
            ContainerEngine(IMAGE, state=tmp_path).start()


def test_a_daemon_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(f"{tmp_path}/docker.sock")
    with pytest.raises(DockerSilent):
        ContainerEngine(IMAGE, state=tmp_path).start()


@pytest.mark.parametrize(
    ("where", "is_local"),
    [
        ("http+docker://localhost", True),
        ("http://127.0.0.1:2375", True),
        ("https://build.example:2376", False),
        ("ssh://me@build.example", False),
    ],
)
def test_a_daemon_of_another_machine_is_refused(where: str, is_local: bool) -> None:
    client = SimpleNamespace(api=SimpleNamespace(base_url=where))
    if is_local:
        check_is_local(client)
    else:
        with pytest.raises(DockerRemote, match=r"build\.example"):
            check_is_local(client)


def test_a_run_without_docker_is_red_with_a_hint(tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/docker.sock", STATE_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-m", "harness", "run", "scenarios/profile", "-n", "0"]
    ran = subprocess.run(
        [*command, "--oceanbase-image", IMAGE, "-p", "no:cacheprovider"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "docker_missing: there is no Docker here" in ran.stdout


def test_every_error_of_docker_has_a_hint() -> None:
    for error in (DockerMissing("x"), DockerSilent("x"), DockerRemote("x"), ImageUnknown("x", "y")):
        assert isinstance(error, EngineError)
        assert "\n  hint: " in str(error)
