"""The rights that a run needs on somebody's server, and how the doctor names those that are missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest

from backends.base import create
from backends.errors import WrongPassword
from backends.oceanbase import OceanBase
from backends.provision.databases import Endpoint
from backends.provision.embedded import EmbeddedEngine
from backends.provision.rights import RIGHTS, lacking
from harness.doctor import examine

PASSWORD = "only-for-the-doctor"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    engine = EmbeddedEngine(state=tmp_path_factory.mktemp("engines"))
    engine.start()
    yield replace(engine.endpoint, socket="", host="127.0.0.1")
    engine.stop()


def user_with(root: Endpoint, name: str, rights: str) -> Endpoint:
    """Make a user who has some rights on databases of ours, and none on others."""
    with root.cursor() as cursor:
        cursor.execute(f"CREATE USER {name} IDENTIFIED BY %s", (PASSWORD,))
        if rights:
            cursor.execute(f"GRANT {rights} ON `pch_%%`.* TO {name}", ())
    return replace(root, user=name, password=PASSWORD)


def url_of(there: Endpoint) -> str:
    return f"mysql://{quote(there.user)}:{quote(there.password)}@{there.host}:{there.port}"


def databases(root: Endpoint) -> set[str]:
    with root.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return {str(row[0]) for row in cursor.fetchall()}


def test_the_least_rights_are_enough_for_the_doctor(root: Endpoint) -> None:
    before = databases(root)
    least = user_with(root, "least", ", ".join(RIGHTS))
    assert list(lacking(least)) == []
    assert databases(root) == before


def test_the_least_rights_are_enough_for_a_run(root: Endpoint, tmp_path: object) -> None:
    runner = user_with(root, "runner", ", ".join(RIGHTS))
    command = [sys.executable, "-m", "harness", "run", "scenarios/profile", "-n", "0"]
    command += ["-k", "oceanbase", "--backend", "oceanbase", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "--oceanbase-url", url_of(runner)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " (server), " in ran.stdout
    assert {name for name in databases(root) if name.startswith("pch_")} <= {"pch_registry"}


@pytest.mark.parametrize("right", [right for right in RIGHTS if right not in ("CREATE", "DROP")])
def test_a_missing_right_is_named_alone(root: Endpoint, right: str) -> None:
    some = user_with(root, f"no_{right.lower()}", ", ".join(other for other in RIGHTS if other != right))
    assert [lack.what for lack in lacking(some)] in ([right], [right, "a full-text index"])


def test_all_missing_rights_are_named_at_once(root: Endpoint) -> None:
    poor = user_with(root, "poor", "CREATE, DROP")
    assert {lack.what for lack in lacking(poor)} >= {"REFERENCES", "INDEX", "INSERT", "SELECT", "UPDATE", "DELETE"}


def test_without_the_right_to_create_nothing_else_is_tried(root: Endpoint) -> None:
    nobody = user_with(root, "nobody_at_all", "")
    (lack,) = lacking(nobody)
    assert (lack.what, lack.cause[:4]) == ("CREATE", "1044")


def test_a_database_that_may_not_be_dropped_is_named(root: Endpoint) -> None:
    keeper = user_with(root, "keeper", ", ".join(right for right in RIGHTS if right != "DROP"))
    *_, lack = lacking(keeper)
    assert lack.what == "DROP"
    (left,) = {name for name in databases(root) if name.startswith("pch_doctor_")}
    assert left in lack.purpose
    with root.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {left}")


def test_the_doctor_prints_a_line_for_each(root: Endpoint) -> None:
    url = url_of(user_with(root, "reader", "CREATE, DROP, SELECT, UPDATE, DELETE, INDEX, ALTER, REFERENCES"))
    found = [finding for finding in examine(["oceanbase"], oceanbase_url=url) if finding.subject == "oceanbase"]
    assert [finding.well for finding in found] == [True, False]
    assert found[0].found.startswith("starts: 5.7.25-OceanBase")
    assert "time-outs: query 10 s" in found[0].found
    assert "lacks INSERT, needed to write (1142 INSERT command denied" in found[1].found


def test_the_doctor_says_that_all_is_there(root: Endpoint) -> None:
    *_, finding = examine(["oceanbase"], oceanbase_url=url_of(root))
    assert (finding.well, "grants what a run needs" in finding.found) == (True, True)


def test_a_wrong_password_is_told_before_any_right(root: Endpoint) -> None:
    *_, finding = examine(["oceanbase"], oceanbase_url=url_of(replace(root, password="wrong")))
    assert (finding.well, WrongPassword.code in finding.found) == (False, True)


def test_a_user_of_a_tenant_is_entered_as_such(root: Endpoint, tmp_path: object) -> None:
    # This engine has no tenants: it takes the whole name for the user's, which shows what was sent.
    url = f"mysql://alice%40shop%23east:{PASSWORD}@{root.host}:{root.port}"
    backend = create("oceanbase", oceanbase_url=url, run_directory=tmp_path)  # type: ignore[arg-type]
    assert isinstance(backend, OceanBase)
    with pytest.raises(WrongPassword, match="'alice@shop#east'"):
        backend.start()
