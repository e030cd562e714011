"""TLS: what a URL may ask for, and the real engine with a certificate of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import text

from backends.base import attach
from backends.errors import EngineError, TlsRefused, UrlInvalid
from backends.oceanbase import OceanBase
from backends.provision.databases import Endpoint, check_oceanbase
from backends.provision.machine import free_port, locate_server
from backends.provision.process import OwnedProcess
from backends.provision.server import ServerEngine, endpoint_of, parse_server_url
from backends.provision.tls import Tls
from runtime.storage import open_storage

URL = "mysql://root:secret@localhost:2881"

# What a URL may say


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some file.pem"
    path.touch()
    return path


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("", "PREFERRED"),
        ("?ssl_mode=preferred", "PREFERRED"),
        ("?ssl-mode=REQUIRED", "REQUIRED"),
        ("?ssl_mode=DISABLED", "DISABLED"),
        ("?ssl_disabled=true", "DISABLED"),
        ("?ssl_check_hostname=false", "REQUIRED"),
        ("?ssl_ca=FILE", "VERIFY_IDENTITY"),
        ("?ssl_ca=FILE&ssl_mode=VERIFY_CA", "VERIFY_CA"),
        ("?ssl_ca=FILE&ssl_check_hostname=false", "VERIFY_CA"),
        ("?ssl_ca=FILE&ssl_check_hostname=true", "VERIFY_IDENTITY"),
        ("?ssl_mode=required&ssl_cert=FILE&ssl_key=FILE", "REQUIRED"),
        ("?ssl_cert=FILE", "REQUIRED"),
    ],
)
def test_modes(query: str, mode: str, file: Path) -> None:
    there = parse_server_url(URL + query.replace("FILE", str(file).replace(" ", "%20")))
    assert there.tls.mode == mode
    # A worker is told the same, and so is the driver of the system under test.
    engine = ServerEngine(there)
    engine._started = True
    assert endpoint_of(engine.info()) == there
    assert Tls.of(there.tls.options) == there.tls


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?ssl_mode=sometimes", "ssl_mode is not one of DISABLED, PREFERRED"),
        ("?ssl_mode=VERIFY_CA", "needs ssl_ca"),
        ("?ssl_ca=/no/such/file", "ssl_ca names no file"),
        ("?ssl_ca=FILE&ssl_mode=DISABLED", "does not go with a certificate"),
        ("?ssl_mode=REQUIRED&ssl_key=FILE", "ssl_key needs ssl_cert"),
        ("?ssl_disabled=perhaps", "neither true nor false"),
        ("?ssl_mode=REQUIRED&ssl_check_hostname=false", "goes with neither"),
        ("?ssl_mode=REQUIRED&ssl_mode=DISABLED", "'ssl_mode' is there twice"),
        ("?tls=1", "'tls' is not one of ssl_mode"),
        ("?charset=latin1", "charset is not utf8mb4"),
        ("?read_timeout=0", "read_timeout is no positive number"),
        ("?connect_timeout=%D9%A1", "connect_timeout is no positive number"),
    ],
)
def test_mistakes(query: str, told: str, file: Path) -> None:
    with pytest.raises(UrlInvalid, match=told) as caught:
        parse_server_url(URL + query.replace("FILE", str(file).replace(" ", "%20")))
    assert "secret" not in str(caught.value)


def test_time_outs_of_a_url() -> None:
    there = parse_server_url(f"{URL}?connect_timeout=3&read_timeout=7&charset=utf8mb4")
    assert (there.connect_seconds, there.read_seconds) == (3, 7)


# A real engine that speaks TLS


@dataclass(frozen=True)
class Certified:
    """An engine with a certificate for localhost and 127.0.0.1, and those who vouch for it and for nobody."""

    endpoint: Endpoint
    ca: Path
    stranger: Path

    def over(self, host: str = "localhost", **options: str) -> Endpoint:
        return replace(self.endpoint, host=host, tls=Tls.of(options))


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make certificates")
    directory = tmp_path_factory.mktemp("tls")
    base = directory / "base"
    base.mkdir()
    port = free_port()
    there = Endpoint("root", "", host="localhost", port=port, connect_seconds=5, read_seconds=10)
    make_authority(directory, "ca")
    make_authority(directory, "stranger")
    make_certificate(directory, "server", names="DNS:localhost")
    with engine(base, port) as child:
        await_answer(there, child)
        (base / "wallet").mkdir()
        for name, found in (("ca", "ca.pem"), ("server-cert", "server.pem"), ("server-key", "server.key")):
            shutil.copy(directory / found, base / "wallet" / f"{name}.pem")
        with there.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET ssl_client_authentication = 'TRUE'")
    # It reads its certificates at the start.
    with engine(base, port) as child:
        await_answer(there, child)
        yield Certified(there, directory / "ca.pem", directory / "stranger.pem")


class engine:  # noqa: N801 (used as a function)
    """The engine on a base-dir, ended at the end."""

    def __init__(self, base: Path, port: int) -> None:
        parameters = ("memory_budget=1G", "datafile_size=64M", "log_disk_size=2G")
        self._command = [str(locate_server()), "--nodaemon", "--port", str(port), "--base-dir", str(base)]
        self._command += [word for parameter in parameters for word in ("--parameter", parameter)]
        self._output = base.parent / "output.txt"

    def __enter__(self) -> OwnedProcess:
        environment = {**os.environ, "TELEMETRY_ENABLED": "false"}
        self._child = OwnedProcess(self._command, output=self._output, environment=environment)
        return self._child

    def __exit__(self, *_: object) -> None:
        self._child.end(5)


def await_answer(there: Endpoint, child: OwnedProcess) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            check_oceanbase(there)
            return
        except EngineError:
            assert time.monotonic() < deadline
        assert not child.ended_within(0.1)


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True, timeout=60)


def make_authority(directory: Path, name: str) -> None:
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key")
    openssl(directory, "req", "-x509", *key, "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}")


def make_certificate(directory: Path, name: str, *, names: str) -> None:
    (directory / "names").write_text(f"subjectAltName={names}", "ascii")
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key")
    openssl(directory, "req", *key, "-out", f"{name}.csr", "-subj", "/CN=server")
    ours = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", *ours, "-out", f"{name}.pem")


def cipher(there: Endpoint) -> str:
    """Return the cipher of the driver's own connection, "" for none."""
    with there.cursor() as cursor:
        channel = cursor.connection._sock  # type: ignore[attr-defined]
        told = channel.cipher() if hasattr(channel, "cipher") else None
        return str(told[0]) if told else ""


def test_it_is_used_where_it_is_offered(certified: Certified) -> None:
    assert cipher(certified.over()).startswith("TLS_")
    assert cipher(certified.over(ssl_mode="REQUIRED")).startswith("TLS_")
    assert cipher(certified.over(ssl_mode="DISABLED")) == ""


def test_a_certificate_that_fits(certified: Certified) -> None:
    assert cipher(certified.over(ssl_ca=str(certified.ca))).startswith("TLS_")
    assert cipher(certified.over("127.0.0.1", ssl_mode="VERIFY_CA", ssl_ca=str(certified.ca))).startswith("TLS_")


def test_a_certificate_of_another_host_is_refused(certified: Certified) -> None:
    with pytest.raises(TlsRefused, match=r"127\.0\.0\.1(.|\n)*ssl_ca"):
        check_oceanbase(certified.over("127.0.0.1", ssl_ca=str(certified.ca)))


def test_a_certificate_that_a_stranger_vouches_for_is_refused(certified: Certified) -> None:
    with pytest.raises(TlsRefused, match="certificate"):
        check_oceanbase(certified.over(ssl_mode="VERIFY_CA", ssl_ca=str(certified.stranger)))


def test_the_system_under_test_is_given_the_same(certified: Certified) -> None:
    backend = OceanBase(ServerEngine(certified.over(ssl_ca=str(certified.ca))), run="tls", owner=True)
    backend.start()
    try:
        worker = attach(backend.connection_info())
        storage = open_storage(worker.database_url("pch_tls"))
        try:
            storage.prepare()
            with storage.engine.connect() as connection:
                assert connection.execute(text("SELECT 1")).scalar() == 1
                driver = connection.connection.driver_connection
                assert driver is not None
                assert driver._sock.version() == "TLSv1.3"
        finally:
            storage.close()
    finally:
        backend.stop()


def test_an_engine_without_a_certificate_is_named(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    there = Endpoint("root", "", host="127.0.0.1", port=free_port(), connect_seconds=5, read_seconds=10)
    with engine(base, there.port) as child:
        await_answer(there, child)
        with pytest.raises(TlsRefused, match="doesn't support it"):
            check_oceanbase(replace(there, tls=Tls("REQUIRED")))
