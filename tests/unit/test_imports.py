"""DESIGN.md's rules of who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("runtime", "backends", "harness", "bench", "tests", "scenarios")


def imports(file: Path) -> Iterator[str]:
    """Return the modules that a file imports, with the names taken from them, wherever it does so."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            assert called not in ("__import__", "import_module"), f"{file} imports by a string"


def broken(package: str, *allowed: str, but: tuple[str, ...] = ()) -> list[str]:
    """Return which imports of our own packages a package has beside the allowed ones."""
    found = []
    for file in sorted((ROOT / package).rglob("*.py")):
        here = file.relative_to(ROOT).as_posix()
        if here in but:
            continue
        for name in imports(file):
            if name.split(".")[0] in OURS and not any(f"{name}.".startswith(f"{prefix}.") for prefix in allowed):
                found.append(f"{here}: {name}")
    return found


def test_runtime_imports_nothing_of_ours() -> None:
    assert broken("runtime", "runtime") == []


def test_backends_import_only_the_write_surface() -> None:
    # runtime.errors holds the refusal of a write.
    assert broken("backends", "backends", "runtime.storage", "runtime.artifacts", "runtime.errors") == []


# What the harness takes of the runtime beside its artifacts, each for a reason; none of it starts anything.
TAKEN = {
    # The Unicode version of the tokens, to be printed.
    "harness/doctor.py: runtime.storage.tokenizer.UNICODE_VERSION",
    # Where it was imported from: a wrong copy is under test there.
    "harness/explore/mutants/child.py: runtime",
}


def test_only_the_reference_target_starts_the_runtime() -> None:
    starts = "harness/target/reference.py"
    assert set(broken("harness", "harness", "backends", "runtime.artifacts", but=(starts,))) <= TAKEN
    assert any(name.startswith("runtime.http") for name in imports(ROOT / starts))


def test_the_checks_share_no_rule_with_the_runtime() -> None:
    assert broken("harness/check", "harness", "backends.operations", "runtime.artifacts") == []


@pytest.mark.parametrize("module", ["text", "envelope", "builder"])
def test_the_pure_modules_have_no_clock_no_files_and_no_database(module: str) -> None:
    used = {name.split(".")[0] for name in imports(ROOT / "runtime" / f"{module}.py")}
    assert not used & {"time", "datetime", "os", "pathlib", "random", "sqlalchemy", "logging", "threading", "socket"}
    assert not [n for n in imports(ROOT / "runtime" / f"{module}.py") if n.startswith("runtime.storage")]
