"""The ways to get an engine, without one: machines that do not fit, executables that fail, URLs, left-overs."""

from __future__ import annotations

import copy
import pickle
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from backends.errors import (
    DiskFull,
    EngineDied,
    EngineError,
    EngineSlow,
    MemoryShort,
    NotOceanBase,
    PlatformUnsupported,
    PortInUse,
    StateDirectoryUnusable,
    Unreachable,
    UrlInvalid,
    WheelMissing,
)
from backends.provision import embedded
from backends.provision.databases import Endpoint, check_oceanbase
from backends.provision.embedded import EmbeddedEngine, Needs
from backends.provision.homes import STATE_VARIABLE, open_home, state_directory
from backends.provision.machine import Machine, free_port, locate_server
from backends.provision.server import ServerEngine, parse_server_url

HERE = Machine.here()


def executable(directory: Path, body: str) -> Path:
    """Write a program that stands in for the server."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "seekdb"
    path.write_text(f"#!{sys.executable}\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in state.iterdir() if path.name != "sweep.lock")


# The machine


@pytest.mark.parametrize(
    ("machine", "named"),
    [
        (Machine("Darwin", "arm64", ""), "Darwin"),
        (Machine("Linux", "riscv64", "2.36"), "riscv64"),
        (Machine("Linux", "x86_64", ""), "without glibc"),
        (Machine("Linux", "x86_64", "2.27"), r"glibc 2\.27"),
    ],
)
def test_a_machine_that_does_not_fit_is_named(machine: Machine, named: str, tmp_path: Path) -> None:
    with pytest.raises(PlatformUnsupported, match=rf"{named}(.|\n)*glibc 2\.28(.|\n)*x86_64 or aarch64"):
        EmbeddedEngine(state=tmp_path, needs=Needs(machine)).start()


@pytest.mark.parametrize("glibc", ["2.28", "2.36", "3.0"])
def test_a_machine_that_fits(glibc: str) -> None:
    Machine("Linux", "aarch64", glibc).check()


def test_a_missing_wheel_says_what_to_install(tmp_path: Path) -> None:
    needs = Needs(HERE, locate=lambda: locate_server(lambda _name: None))
    with pytest.raises(WheelMissing, match=r"pip install pylibseekdb"):
        EmbeddedEngine(state=tmp_path, needs=needs).start()


def test_a_wheel_without_the_server_is_missing_too(tmp_path: Path) -> None:
    spec = ModuleSpec("pylibseekdb", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    with pytest.raises(WheelMissing, match="holds no file seekdb"):
        locate_server(lambda _name: spec)
    (tmp_path / "seekdb").touch(mode=0o600)
    with pytest.raises(WheelMissing, match="may not be executed"):
        locate_server(lambda _name: spec)


def test_the_server_is_found_without_importing_its_package() -> None:
    program = (
        "import sys; from backends.provision.machine import locate_server\n"
        "locate_server(); sys.exit('pylibseekdb' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_small_disk_is_found_before_the_start(tmp_path: Path) -> None:
    needs = Needs(HERE, free_space=lambda _directory: 1_900_000_000)
    with pytest.raises(DiskFull, match=rf"1\.9 GB free(.|\n)*2\.2 GB(.|\n)*{STATE_VARIABLE}"):
        EmbeddedEngine(state=tmp_path, needs=needs).start()
    assert left_in(tmp_path) == []


def test_too_little_memory_is_found_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(MemoryShort, match="100 MB"):
        EmbeddedEngine(state=tmp_path, needs=Needs(HERE, available_memory=lambda: 100_000_000)).start()


def test_a_state_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StateDirectoryUnusable, match=STATE_VARIABLE):
        EmbeddedEngine(state=tmp_path / "taken").start()


def test_the_state_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(STATE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert state_directory() == tmp_path / "powercontext-harness" / "engines"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert state_directory() == Path.home() / ".cache" / "powercontext-harness" / "engines"
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "chosen"))
    assert state_directory() == tmp_path / "chosen"


# The start


def test_an_executable_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    server = executable(tmp_path / "bin", "import sys; print('boom'); sys.exit(3)")
    with pytest.raises(EngineDied, match=r"while starting(.|\n)*exit status 3(.|\n)*boom"):
        EmbeddedEngine(state=tmp_path / "state", needs=Needs(HERE, locate=lambda: server)).start()
    assert left_in(tmp_path / "state") == []


def test_an_executable_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(embedded, "_SLOW_SECONDS", 0.05)
    server = executable(tmp_path / "bin", "import signal; signal.pause()")
    engine = EmbeddedEngine(state=tmp_path / "state", start_seconds=0.5, needs=Needs(HERE, locate=lambda: server))
    with pytest.raises(EngineSlow, match=r"within 0\.5 s"):
        engine.start()
    assert capsys.readouterr().err.count("waiting up to") == 1
    assert left_in(tmp_path / "state") == []


def test_an_executable_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_STOP_SECONDS", 0.2)
    server = executable(tmp_path / "bin", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()")
    engine = EmbeddedEngine(state=tmp_path / "state", start_seconds=0.5, needs=Needs(HERE, locate=lambda: server))
    with pytest.raises(EngineSlow):
        engine.start()
    assert left_in(tmp_path / "state") == []


def test_a_port_in_use_is_named_when_no_other_is_found(taken: int, tmp_path: Path) -> None:
    with pytest.raises(PortInUse, match=str(taken)):
        EmbeddedEngine(state=tmp_path, needs=Needs(HERE, choose_port=lambda: taken)).start()
    assert left_in(tmp_path) == []


def test_a_port_in_use_is_left_for_a_free_one(taken: int, tmp_path: Path) -> None:
    ports = iter([taken, free_port()])
    engine = EmbeddedEngine(state=tmp_path, needs=Needs(HERE, choose_port=lambda: next(ports)))
    engine.start()
    try:
        engine.check()
        assert len(left_in(tmp_path)) == 1
    finally:
        engine.stop()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        yield listener.getsockname()[1]


# What dead owners left


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_sweep_kills_only_the_engine_of_that_directory(tmp_path: Path, is_its_own: bool) -> None:
    left = tmp_path / "engine-1-abc"
    (left / "base" / "run").mkdir(parents=True)
    base = left / "base" if is_its_own else tmp_path / "engine-2-def" / "base"
    command = ["seekdb", "-c", "import signal; signal.pause()", "--base-dir", str(base)]
    with subprocess.Popen(command, executable=sys.executable) as process:
        (left / "base" / "run" / "seekdb.pid").write_text(str(process.pid), "ascii")
        # A program that has just begun has no arguments yet.
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
            pass
        home = open_home(tmp_path, wait_seconds=10)
        try:
            assert left_in(tmp_path) == [home.directory.name]
            # One that was killed has lost its name a moment before it can be awaited.
            assert (process.wait(10) if is_its_own else process.poll()) == (-signal.SIGKILL if is_its_own else None)
        finally:
            process.kill()
            home.remove()
    assert left_in(tmp_path) == []


def test_a_home_in_use_is_not_swept(tmp_path: Path) -> None:
    first = open_home(tmp_path, wait_seconds=10)
    second = open_home(tmp_path, wait_seconds=10)
    assert left_in(tmp_path) == sorted([first.directory.name, second.directory.name])
    second.remove()
    first.remove()


# Server URLs


@pytest.mark.parametrize(
    ("url", "user", "password", "host", "port"),
    [
        ("mysql://root:pw@db.example:2883", "root", "pw", "db.example", 2883),
        ("mysql+pymysql://root@t1:pw@db.example:2883", "root@t1", "pw", "db.example", 2883),
        ("mysql+oceanbase://root@t1#c1:pw@db.example:2883", "root@t1#c1", "pw", "db.example", 2883),
        ("mysql://root%40t1%23c1:p%40%3A%2F@db.example:2883/", "root@t1#c1", "p@:/", "db.example", 2883),
        ("mysql://root@db.example", "root", "", "db.example", 2881),
        ("mysql://root:pw@[::1]:2881", "root", "pw", "::1", 2881),
        # Through obproxy, literally and encoded; a password may hold what separates the other parts.
        ("mysql://app@shop#east:a#b@c@proxy.example:2883", "app@shop#east", "a#b@c", "proxy.example", 2883),
        (
            "mysql://app%40shop%23east:%3F%23%40@proxy.example:2883?ssl_mode=REQUIRED",
            "app@shop#east",
            "?#@",
            "proxy.example",
            2883,
        ),
    ],
)
def test_server_urls(url: str, user: str, password: str, host: str, port: int) -> None:
    there = parse_server_url(url)
    assert (there.user, there.password, there.host, there.port) == (user, password, host, port)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "no scheme"),
        ("root:secret@db.example", "no scheme"),
        ("postgresql://root:secret@db.example:1", "scheme is not one of mysql"),
        ("mysql://db.example:2881", "no user"),
        ("mysql://:secret@db.example:2881", "no user"),
        ("mysql://root:secret@:2881", "no host"),
        ("mysql://root:secret@", "no host"),
        ("mysql://root:secret@db.example:0", "port"),
        ("mysql://root:secret@db.example:70000", "port"),
        ("mysql://root:secret@db.example:abc", "port"),
        ("mysql://root:secret@db.example:2881/test", "names a database"),
        ("mysql://root:secret@db.example:2881?ssl=1", "'ssl' is not one of ssl_mode"),
    ],
)
def test_server_url_mistakes(url: str, told: str) -> None:
    with pytest.raises(UrlInvalid, match=told) as caught:
        parse_server_url(url)
    assert "secret" not in str(caught.value) + repr(caught.value)


def test_an_unreachable_server() -> None:
    engine = ServerEngine(Endpoint("root", "secret", host="127.0.0.1", port=free_port(), connect_seconds=2))
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1(.|\n)*2003"):
        engine.start()


def test_a_server_that_accepts_and_says_nothing(taken: int) -> None:
    silent = Endpoint("root", "secret", host="127.0.0.1", port=taken, connect_seconds=1, read_seconds=1)
    with pytest.raises(Unreachable):
        ServerEngine(silent).start()


def test_a_server_of_another_make_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_as_mysql, args=(listener, b"8.0.36"))
        thread.start()
        there = Endpoint("root", "secret", host="127.0.0.1", port=listener.getsockname()[1], read_seconds=5)
        with pytest.raises(NotOceanBase, match=r"'8\.0\.36'"):
            check_oceanbase(there)
        thread.join(10)


def answer_as_mysql(listener: socket.socket, version: bytes) -> None:
    """Serve one connection: greeting, any password, and a row with the version for each query."""

    def packet(number: int, body: bytes) -> bytes:
        return len(body).to_bytes(3, "little") + bytes([number]) + body

    def word(value: bytes) -> bytes:
        return bytes([len(value)]) + value

    capabilities = (0x0008_8201).to_bytes(4, "little")  # long password, 4.1 protocol, secure connection, plugin names
    greeting = (
        b"\x0a"
        + version
        + b"\0"
        + b"\x01\0\0\0"
        + b"a" * 8
        + b"\0"
        + capabilities[:2]
        + b"\x21\x02\0"
        + capabilities[2:]
        + b"\x15"
        + bytes(10)
        + b"b" * 12
        + b"\0"
        + b"mysql_native_password\0"
    )
    okay = b"\0\0\0\x02\0\0\0"
    column = word(b"def") + word(b"") * 3 + word(b"v") + word(b"") + b"\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0"
    end = b"\xfe\0\0\x02\0"
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(10)
        connection.sendall(packet(0, greeting))
        connection.recv(4096)
        connection.sendall(packet(2, okay))
        while asked := connection.recv(4096):
            if asked[4:5] == b"\x01":
                return
            if b"version" in asked:
                replies = [b"\x01", column, end, word(version), end]
                connection.sendall(b"".join(packet(number, body) for number, body in enumerate(replies, 1)))
            else:
                connection.sendall(packet(1, okay))


# Errors


def test_an_error_prints_as_code_sentence_cause_and_hint() -> None:
    error = EngineDied("in mid-run", -9, ["one", "two"])
    assert str(error).splitlines() == [
        "engine_died: the OceanBase engine ended in mid-run",
        "  cause: signal 9",
        "         one",
        "         two",
        "  hint: look for a kill by hand, too little memory (signal 9) or a full disk, then run again",
    ]


def test_an_error_survives_pickling_and_copying() -> None:
    error = DiskFull("/state", STATE_VARIABLE, 1, 2)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is DiskFull
        assert str(other) == str(error)


def test_each_cause_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in EngineError.__subclasses__()]
    assert len(codes) == len(set(codes)) > 15
