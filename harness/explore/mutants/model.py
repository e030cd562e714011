"""What a wrong implementation is: a small change of the runtime by name, and who is expected to catch it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

SQLITE = "sqlite"
OCEANBASE = "oceanbase"
BOTH = (SQLITE, OCEANBASE)
SCHEMA = frozenset(f"storage/{name}.py" for name in ("types", "tables", "schema", "vectors", "sqlite", "oceanbase"))
"""The files that say what the tables and the connections are."""


class NotApplicable(Exception):
    """A change whose old text is not in the runtime as often as it says."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One exact replacement in a file of the runtime."""

    file: str
    """The file's path below runtime/."""
    old: str
    new: str
    times: int = 1
    """How often the old text stands there; any other number makes the mutant not applicable."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberately wrong implementation of the runtime."""

    room: str
    """The part of the contract that it breaks; `sqlite` and `oceanbase` for faults of one engine's storage."""
    name: str
    sentence: str
    """What it does wrong."""
    edits: tuple[Edit, ...]
    killers: tuple[str, ...]
    """The scenarios that are expected to catch it, by chapter and name."""
    backends: tuple[str, ...] = BOTH
    """The backends that must go red by themselves; every other one must stay green but for the comparison."""

    @property
    def needs_fresh_database(self) -> bool:
        """Whether it may change what the tables are, so that it must not share them with others."""
        return any(edit.file in SCHEMA for edit in self.edits)


def mutant(
    room: str, name: str, sentence: str, *edits: Edit, killers: tuple[str, ...], backends: tuple[str, ...] = BOTH
) -> Mutant:
    """Make a mutant of its parts."""
    return Mutant(room, name, sentence, edits, killers, backends)


def apply(wrong: Mutant, runtime: Path) -> None:
    """Make the changes in a copy of the runtime; raises NotApplicable."""
    for edit in wrong.edits:
        path = runtime / edit.file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = source.count(edit.old)
        if found != edit.times:
            raise NotApplicable(f"{edit.file} holds {edit.old!r} {found} times, not {edit.times}")
        path.write_text(source.replace(edit.old, edit.new), encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()


def copy_runtime(source: Path, folder: Path) -> Path:
    """Copy the package into a folder, and return the copy; what Python compiled goes along, which saves the time."""
    return Path(shutil.copytree(source, folder / "runtime"))
