"""Which files are scenarios: YAML files, without the ledger that lies among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import HarnessError

SUFFIXES = (".yaml", ".yml")
LEDGER = "ledger.yaml"
FOLDER = Path("scenarios")
"""Where scenarios are looked for when no path is named."""


def scenario_files(paths: Sequence[Path] | None) -> Iterator[Path]:
    """Yield the scenario files of files and folders, those of a folder in their order; raises HarnessError."""
    for path in paths or [FOLDER]:
        if not exists(path):
            raise HarnessError("no_such_file", f"{path} does not exist")
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.name != LEDGER)
        else:
            yield path


def exists(path: Path) -> bool:
    """Say whether there is such a file or folder."""
    try:
        return path.exists()
    except OSError:
        # A name that is longer than the file system allows.
        return False
