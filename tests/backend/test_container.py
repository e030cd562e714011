"""OceanBase in a container of our own image: start, ports, labels, ends, what is kept, and what dead owners left.

Skipped only where there is no Docker; POWERCONTEXT_HARNESS_DOCKER=needed, as `make docker-test` sets it, forbids that.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import backends
from backends.errors import (
    DockerMissing,
    DockerSilent,
    EngineDied,
    EngineSlow,
    ImageUnknown,
    NotStarted,
    Unreachable,
)
from backends.oceanbase import OceanBase
from backends.provision import container_engine
from backends.provision.claims import OWNER_LABEL, REUSE_LABEL
from backends.provision.container_engine import ContainerEngine
from backends.provision.daemon import connected
from backends.provision.databases import Endpoint, databases_of
from backends.provision.homes import STATE_VARIABLE
from backends.provision.images import MEMORY_VARIABLE

ROOT = Path(__file__).parents[2]
IMAGE = f"powercontext-harness/engine:{os.environ.get('TAG', 'local')}"
NEEDED = os.environ.get("POWERCONTEXT_HARNESS_DOCKER") == "needed"

OWNER = """
import sys, time
from pathlib import Path
from backends.provision.container_engine import ContainerEngine
engine = ContainerEngine(sys.argv[1])
engine.start()
print(engine.container_id, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The daemon, where our image is."""
    try:
        with connected() as client:
            with FileLock(tmp_path_factory.getbasetemp().parent / "docker-build.lock"):
                if not client.images.list(IMAGE):
                    build = [str(ROOT / "docker" / "build.sh")]
                    subprocess.run(build, check=True, timeout=900, env={**os.environ, "PYTHON": sys.executable})
            yield client
    except (DockerMissing, DockerSilent) as error:
        if NEEDED:
            raise
        pytest.skip(f"needs Docker: {error.message}")


@pytest.fixture(scope="module")
def started(docker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerEngine]:
    engine = ContainerEngine(IMAGE, state=tmp_path_factory.mktemp("state"))
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def state(tmp_path: Path, docker: Any) -> Iterator[Path]:
    """A state directory, whose containers are removed at the end in any case."""
    yield tmp_path
    owners = [file.stem.removeprefix("owner-") for file in (tmp_path / "containers").glob("owner-*.lock")]
    for owner in owners:
        for container in docker.containers.list(all=True, filters={"label": f"{OWNER_LABEL}={owner}"}):
            container.remove(force=True, v=True)


def exists(docker: Any, container_id: str) -> bool:
    return any(found.id == container_id for found in docker.containers.list(all=True))


def told_by(owner: subprocess.Popen[bytes]) -> str:
    """Return the id of the container that an owner has started."""
    assert owner.stdout is not None
    container_id = owner.stdout.readline().decode().strip()
    assert container_id
    return container_id


def locks(state: Path) -> list[str]:
    return [file.name for file in (state / "containers").glob("owner-*.lock")]


# A container that runs


def test_it_answers_on_the_loopback_alone(started: ContainerEngine, docker: Any) -> None:
    ports = docker.containers.get(started.container_id).attrs["NetworkSettings"]["Ports"]
    assert {place["HostIp"] for places in ports.values() for place in places or ()} == {"127.0.0.1"}
    assert started.endpoint.host == "127.0.0.1"
    started.check()


def test_it_is_labelled_as_ours_and_of_this_session(started: ContainerEngine, docker: Any) -> None:
    labels = docker.containers.get(started.container_id).labels
    assert labels[OWNER_LABEL]
    assert REUSE_LABEL not in labels
    # By this one testcontainers' reaper knows it.
    assert "org.testcontainers.session-id" in labels


def test_its_password_is_in_no_message(started: ContainerEngine) -> None:
    backend = OceanBase(started, run="message", owner=False)
    told = [repr(started.endpoint), started.detail, backend.facts().sentence, str(backend.facts())]
    assert not [text for text in told if started.endpoint.password in text]


def test_it_runs_as_nobody_in_particular_and_is_healthy(started: ContainerEngine, docker: Any) -> None:
    container = docker.containers.get(started.container_id)
    assert container.exec_run(["id", "-u"]).output.strip() == b"10001"
    deadline = time.monotonic() + 30
    while container.attrs["State"]["Health"]["Status"] != "healthy":
        assert time.monotonic() < deadline
        time.sleep(0.2)
        container.reload()


def test_a_worker_takes_part(started: ContainerEngine) -> None:
    owner = OceanBase(started, run="worker", owner=False)
    worker = backends.attach(owner.connection_info())
    assert (owner.facts().way, worker.facts().way) == ("container", "container")
    worker.database_url("pch_container_gw0")
    assert databases_of(started.endpoint, "worker") == ["pch_container_gw0"]
    worker.drop("pch_container_gw0")
    worker.stop()
    worker.check()


# The end of one


def test_a_stop_leaves_nothing(docker: Any, state: Path) -> None:
    engine = ContainerEngine(IMAGE, state=state)
    engine.start()
    container_id = engine.container_id
    volumes = [mount["Name"] for mount in docker.containers.get(container_id).attrs["Mounts"]]
    assert len(volumes) == 1
    engine.stop()
    engine.stop()
    assert not exists(docker, container_id)
    assert not {volume.name for volume in docker.volumes.list()} & set(volumes)
    assert locks(state) == []
    with pytest.raises(NotStarted):
        engine.check()


def test_a_container_that_is_killed_is_told_with_its_signal(docker: Any, state: Path) -> None:
    engine = ContainerEngine(IMAGE, state=state)
    engine.start()
    backend = OceanBase(engine, run="killed", owner=True)
    worker = backends.attach(backend.connection_info())
    docker.containers.get(engine.container_id).kill()
    for told in (backend, worker):
        with pytest.raises(EngineDied, match=r"in mid-run(.|\n)*signal 9(.|\n)*ready: seekdb answers"):
            told.check()
    docker.containers.get(engine.container_id).remove(v=True)
    with pytest.raises(EngineDied, match="container is gone"):
        worker.check()
    backend.stop()
    assert locks(state) == []


def test_a_container_that_is_just_dying_is_told_as_dead(docker: Any, state: Path) -> None:
    engine = ContainerEngine(IMAGE, state=state)
    engine.start()
    backend = OceanBase(engine, run="dying", owner=True)
    worker = backends.attach(backend.connection_info())
    # Behind the daemon's back: it hears of the end later than a client whose connection is cut.
    os.kill(docker.containers.get(engine.container_id).attrs["State"]["Pid"], signal.SIGKILL)
    with pytest.raises(EngineDied, match="signal 9"):
        worker.check()
    with pytest.raises(EngineDied, match="signal 9"):
        backend.check()
    backend.stop()
    assert locks(state) == []


def test_a_container_that_ends_at_once_is_told_with_its_words(
    docker: Any, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "nonsense")
    engine = ContainerEngine(IMAGE, state=state)
    with pytest.raises(EngineDied, match=r"while starting(.|\n)*exit status 1(.|\n)*the engine ended with status"):
        engine.start()
    assert locks(state) == []


def test_a_container_that_does_not_answer_in_time(
    docker: Any, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def silent(there: Endpoint) -> None:
        raise Unreachable(there.where, "2003 it says nothing")

    monkeypatch.setattr(container_engine, "_TOLD_AFTER", 0.0)
    monkeypatch.setattr(container_engine, "check_oceanbase", silent)
    with pytest.raises(EngineSlow, match=r"within 3 s(.|\n)*2003 it says nothing(.|\n)*Starting seekdb"):
        ContainerEngine(IMAGE, state=state, start_seconds=3).start()
    told = capsys.readouterr().err
    assert told.count("for seekdb in container") == 1
    assert "(so far: 2003 it says nothing)" in told
    (container_id,) = re.findall(r"in container (\w+)", told)
    assert not [found for found in docker.containers.list(all=True) if found.id.startswith(container_id)]
    assert locks(state) == []


# What stays for the next run


def test_a_container_is_used_again(docker: Any, state: Path) -> None:
    def run(number: int) -> str:
        engine = ContainerEngine(IMAGE, reuse=True, state=state)
        backend = OceanBase(engine, run=f"run {number}", owner=True)
        backend.start()
        backend.database_url("pch_used_again")
        container_id = engine.container_id
        backend.stop()
        return container_id

    first = run(1)
    try:
        assert run(2) == first
        labels = docker.containers.get(first).labels
        assert labels[REUSE_LABEL]
        assert OWNER_LABEL not in labels
        # Memory is part of what it was made of.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(MEMORY_VARIABLE, "1200M")
            other = run(3)
        assert other != first
        docker.containers.get(other).remove(force=True, v=True)
    finally:
        docker.containers.get(first).remove(force=True, v=True)


# What dead owners left


def test_the_next_start_takes_away_what_a_killed_owner_left(docker: Any, state: Path) -> None:
    environment = {**os.environ, STATE_VARIABLE: str(state), "TESTCONTAINERS_RYUK_DISABLED": "true"}
    command = [sys.executable, "-c", OWNER, IMAGE]
    bystander = docker.containers.create(IMAGE, ["check"], labels={OWNER_LABEL: "somebody-else"})
    try:
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alive:
            used = told_by(alive)
            with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as dead:
                left = told_by(dead)
                dead.send_signal(signal.SIGKILL)
            assert exists(docker, left)
            engine = ContainerEngine(IMAGE, state=state)
            engine.start()
            engine.stop()
            assert not exists(docker, left)
            assert exists(docker, used)
            assert exists(docker, bystander.id)
    finally:
        bystander.remove(v=True)
    assert not exists(docker, used)


REAPER = """
import http.client, json, socket, threading, urllib.parse
# A line with a filter, and when the connection ends, the end of what it fits: testcontainers expects no more.
class Docker(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("/var/run/docker.sock")
def ask(method, path):
    docker = Docker("docker")
    docker.request(method, path)
    return docker.getresponse().read()
with socket.create_server(("0.0.0.0", 8080)) as server:
    print("Started!", flush=True)
    client, _ = server.accept()
    with client, client.makefile() as lines:
        label = lines.readline().strip().partition("label=")[2]
        lines.read()
found = ask("GET", "/containers/json?all=1&filters=" + urllib.parse.quote(json.dumps({"label": [label]})))
for container in json.loads(found):
    ask("DELETE", f"/containers/{container['Id']}?force=1&v=1")
"""


def test_with_a_reaper_what_a_killed_owner_left_goes_at_once(docker: Any, state: Path, tmp_path: Path) -> None:
    # The official one may be out of reach; this one does what it does, in a container of the same base.
    context = tmp_path / "reaper"
    context.mkdir()
    (context / "reaper.py").write_text(REAPER, "utf-8")
    # As root: the socket is root's.
    (context / "Dockerfile").write_text(
        f"FROM {IMAGE}\nUSER root\nCOPY reaper.py /\nHEALTHCHECK NONE\n"
        'ENTRYPOINT ["/opt/engine/bin/python", "/reaper.py"]\nCMD []\n',
        "utf-8",
    )
    image, _ = docker.images.build(path=str(context), tag=f"powercontext-harness/reaper:{os.getpid()}", rm=True)
    environment = {
        **os.environ,
        STATE_VARIABLE: str(state),
        "RYUK_CONTAINER_IMAGE": image.tags[0],
        "TESTCONTAINERS_RYUK_DISABLED": "false",
    }
    command = [sys.executable, "-c", OWNER, IMAGE]
    try:
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
            left = told_by(owner)
            assert exists(docker, left)
            reapers = docker.containers.list(filters={"ancestor": image.tags[0]})
            assert len(reapers) == 1
            owner.send_signal(signal.SIGKILL)
            owner.wait(10)
        # It removes itself once it is done.
        reapers[0].wait(condition="removed", timeout=30)
        assert not exists(docker, left)
    finally:
        docker.images.remove(image.tags[0], force=True)


# The whole harness


@pytest.mark.parametrize("processes", ["0", "2"])
def test_scenarios_run_on_an_image(docker: Any, state: Path, processes: str) -> None:
    command = [sys.executable, "-m", "harness", "run", "scenarios/profile"]
    command += ["--oceanbase-image", IMAGE, "-n", processes, "-p", "no:cacheprovider"]
    environment = {**os.environ, STATE_VARIABLE: str(state)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " (container), " in ran.stdout
    assert locks(state) == []


# Where there is no Docker, or not this image


def test_an_unknown_image_is_named(docker: Any, state: Path) -> None:
    with pytest.raises(ImageUnknown, match=r"'powercontext-harness/no-such-image:0'(.|\n)*docker/build\.sh"):
        ContainerEngine("powercontext-harness/no-such-image:0", state=state).start()


def test_an_image_that_no_image_can_be_called(docker: Any, state: Path) -> None:
    with pytest.raises(ImageUnknown, match="'NOT/An Image'"):
        ContainerEngine("NOT/An Image", state=state).start()
