"""The engine in its container: starts seekdb, gives root its password, and asks it a real query as the health check.

`engine.py run` is the container's first process, `engine.py check` the health check. Environment: ROOT_PASSWORD
(needed), SEEKDB_DATABASE (a database to make), MEMORY_BUDGET, DATAFILE_SIZE, LOG_DISK_SIZE (the engine's parameters).
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import ER

HOME = Path("/var/lib/seekdb")
BASE = HOME / "base"
SOCKET = BASE / "run" / "sql.sock"
PORT = 2881
START_SECONDS = 60.0
PARAMETERS = {"MEMORY_BUDGET": "1G", "DATAFILE_SIZE": "64M", "LOG_DISK_SIZE": "2G"}
LOG_LINES = 10


class Refused(Exception):
    """Why the container cannot go on, in a sentence."""


def main(arguments: list[str], environment: Mapping[str, str] = os.environ) -> int:
    """Run the engine or check it; returns the exit code, 2 for a setting that cannot be used."""
    password = environment.get("ROOT_PASSWORD", "")
    if arguments not in (["run"], ["check"]):
        return _refuse(f"engine.py takes run or check, not {' '.join(arguments) or 'nothing'}")
    if not password:
        return _refuse("ROOT_PASSWORD is not set: the engine listens on the container's network, so root needs one")
    if arguments == ["check"]:
        return check(password)
    return run(password, environment)


def check(password: str) -> int:
    """Ask over TCP, as clients do."""
    try:
        with closing(_connect(password, host="127.0.0.1", port=PORT)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (pymysql.MySQLError, OSError) as error:
        return _refuse(f"the engine does not answer: {error}", code=1)
    return 0


def run(password: str, environment: Mapping[str, str]) -> int:
    """Start the engine, make it ready, and stay until it ends; a SIGTERM or SIGINT ends it."""
    BASE.mkdir(exist_ok=True)
    parameters = [f"{name.lower()}={environment.get(name, default)}" for name, default in PARAMETERS.items()]
    engine = subprocess.Popen(
        [
            *(str(_executable()), "--nodaemon", "--port", str(PORT), "--base-dir", str(BASE), "--log-level", "WARN"),
            *(word for parameter in parameters for word in ("--parameter", parameter)),
        ],
        stdin=subprocess.DEVNULL,
        cwd=HOME,
    )
    asked: list[int] = []

    def end(number: int, _frame: object) -> None:
        asked.append(number)
        engine.terminate()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        _make_ready(engine, password, environment.get("SEEKDB_DATABASE", ""))
        print(f"ready: seekdb answers on port {PORT}", flush=True)
        status = engine.wait()
    except Refused as refusal:
        engine.kill()
        engine.wait()
        return 0 if asked else _refuse(f"{refusal}\n{_last_words()}", code=1)
    if asked:
        return 0
    return _refuse(f"the engine ended with status {status}\n{_last_words()}", code=1)


def _make_ready(engine: subprocess.Popen[bytes], password: str, database: str) -> None:
    deadline, known, cause = time.monotonic() + START_SECONDS, "", "nothing was tried"
    while True:
        try:
            # Over the socket as long as the password is not set; a volume that was used before has it already.
            with closing(_connect(known, unix_socket=str(SOCKET))) as connection, connection.cursor() as cursor:
                if database:
                    cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{database.replace('`', '``')}`")
                if not known:
                    cursor.execute("ALTER USER root IDENTIFIED BY %s", (password,))
                return
        except pymysql.MySQLError as error:
            cause = str(error)
            if error.args[0] == ER.ACCESS_DENIED_ERROR:
                if known:
                    raise Refused("the data in the volume was made with another ROOT_PASSWORD") from None
                known = password
                continue
        except OSError as error:
            cause = str(error)
        if time.monotonic() > deadline:
            raise Refused(f"the engine answered no query within {START_SECONDS:g} s: {cause}")
        with suppress(subprocess.TimeoutExpired):
            status = engine.wait(0.05)
            raise Refused(f"the engine ended with status {status} while starting")


def _connect(password: str, **where: Any) -> pymysql.Connection[Any]:
    # The connect time-out does not cover the handshake, which the read time-out does.
    return pymysql.connect(
        user="root", password=password, autocommit=True, connect_timeout=5, read_timeout=8, write_timeout=8, **where
    )


def _executable() -> Path:
    """Return the server of the package, without importing its native library."""
    spec = importlib.util.find_spec("pylibseekdb")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package pylibseekdb is not in the image")
    return Path(spec.submodule_search_locations[0]) / "seekdb"


def _last_words() -> str:
    with suppress(OSError), (BASE / "log" / "seekdb.log").open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
        return "\n".join(log.read().decode("utf-8", "replace").rstrip("\n").split("\n")[-LOG_LINES:])
    return "it left no log"


def _refuse(sentence: str, *, code: int = 2) -> int:
    print(sentence, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
