"""Download the wheels of requirements.lock for the images' Python, by pip as it is configured on this machine.

`python docker/wheels.py DIRECTORY PROCESSOR` (x86_64 or aarch64). The lock serves every platform, and pip judges its
markers by the Python that runs it, so they are judged here, by the images' own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.markers import Marker

LOCK = Path(__file__).parents[1] / "requirements.lock"
PYTHON = "3.11"


def main(directory: str, processor: str) -> int:
    """Download what fits into a directory; returns pip's exit code."""
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": processor,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{PYTHON}.0",
        "python_version": PYTHON,
        "sys_platform": "linux",
    }
    platforms = [f"manylinux_2_{minor}_{processor}" for minor in (36, 34, 31, 28, 27, 26, 24, 17)]
    with tempfile.TemporaryDirectory() as scratch:
        fitting = Path(scratch) / "requirements.txt"
        fitting.write_text("".join(fits(LOCK.read_text("utf-8"), environment)), "utf-8")
        return subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--require-hashes", "--no-deps", "--only-binary=:all:", "--dest", directory),
                *("--implementation", "cp", "--python-version", PYTHON),
                *(word for abi in ("cp311", "abi3", "none") for word in ("--abi", abi)),
                *(word for platform in [*platforms, f"manylinux2014_{processor}"] for word in ("--platform", platform)),
                *("-r", str(fitting)),
            ],
            check=False,
        ).returncode


def fits(lock: str, environment: dict[str, str]) -> list[str]:
    """Return the lock's entries whose markers hold in an environment, without the markers."""
    entries = re.findall(r"^[^\s#][^\n]*\\\n(?:[ \t]+[^\n]*\n)*", lock, re.MULTILINE)
    kept = []
    for entry in entries:
        requirement, _, hashes = entry.partition("\\\n")
        pin, _, marker = requirement.partition(";")
        if not marker.strip() or Marker(marker.strip()).evaluate(environment):
            kept.append(f"{pin.strip()} \\\n{hashes}")
    return kept


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
