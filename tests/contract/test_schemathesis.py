"""Schemathesis against a running server: examples, bounds, generated requests right and wrong, and chains of calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from demo import LARGEST_TOTAL, TOKEN, fill, operations, served

from runtime.http.published import CONTRACT
from runtime.storage import Storage

EXAMPLES = 150
"""Generated for each operation, beside those of the bounds of each field."""
SEED = os.environ.get("CONTRACT_SEED")
"""Generates other requests than those of every run."""
SECONDS = 280

pytestmark = pytest.mark.contract


def schemathesis(url: str, directory: Path, *options: str) -> tuple[dict[str, Any], str]:
    """Run it in a process of its own; returns its report, and what it printed."""
    report = directory / "report.json"
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(CONTRACT), "--url", url, "--no-color"]
    command += ["--header", f"Authorization: Bearer {TOKEN}", "--report-json-path", str(report), "--report", "json"]
    command += ["--continue-on-failure", *(["--seed", SEED] if SEED else ["--generation-deterministic"])]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "positive_requests", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [*command, *options], cwd=directory, env=environment, capture_output=True, timeout=SECONDS, encoding="utf-8"
    )
    found: dict[str, Any] = json.loads(report.read_bytes()) if report.exists() else {}
    return found, done.stdout + done.stderr


def test_requests_of_any_kind_are_answered_as_the_contract_says(
    storage: Storage, database: str, tmp_path: Path
) -> None:
    fill(storage)
    with served(database, max_entries=LARGEST_TOTAL) as url:
        report, printed = schemathesis(url, tmp_path, "--max-examples", str(EXAMPLES))
    print(printed)
    assert report, printed
    assert (report["exit_code"], report["failures"], report["errors"]) == (0, [], []), printed
    assert report["operations"]["tested"] == report["operations"]["total"] == len(operations())
    assert {name: phase["status"] for name, phase in report["phases"].items()} == dict.fromkeys(
        ("examples", "coverage", "fuzzing", "stateful"), "success"
    )
    assert report["test_cases"]["generated"] > 500
    for method, path, operation in operations().values():
        accepted = {name: rate["accepted"] for name, rate in report["valid_rates"][f"{method} {path}"].items()}
        # What has no input has one request only.
        needed = 10 if "requestBody" in operation or "parameters" in operation else 1
        assert sum(accepted.values()) >= needed, (path, accepted)
    links = sum(
        len(answer.get("links", ())) for _, _, one in operations().values() for answer in one["responses"].values()
    )
    assert f"{links} covered / {links} selected" in printed


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_server_that_breaks_the_contract_is_found(storage: Storage, database: str, tmp_path: Path) -> None:
    fill(storage)
    # It asks for no token, and refuses the default sections.
    with served(database, access_mode="disabled", max_entries=1) as url:
        report, printed = schemathesis(url, tmp_path, "--max-examples", "3", "--phases", "examples,coverage")
    assert report["exit_code"] == 1, printed
    assert {failure["type"] for failure in report["failures"]} >= {"IgnoredAuth", "RejectedPositiveData"}, printed
