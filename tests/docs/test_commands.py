"""Every command of the documents is executed, and prints what they show."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from console import ROOT, Shell, a_home, alike, fits
from documents import Command, File, actions_of, lines_of

DOCUMENTS = [
    document
    for document in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docker/*.md")])
    if "```console" in lines_of(document)
]
WRITE = os.environ.get("DOCS_WRITE") == "yes"
"""Put what is printed into the document, for its author to look at, instead of comparing."""

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with a_home() as folder:
        yield folder


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_shows_what_its_commands_print(document: Path, tmp_path: Path, home: Path) -> None:
    lines = lines_of(document)
    wrong: list[str] = []
    printed: list[tuple[Command, list[str]]] = []
    with closing(Shell(tmp_path, home)) as shell:
        # Kept for all documents, so that only one that ends it has to wait.
        shell.run("harness engine up")
        for action in actions_of(lines):
            if isinstance(action, File):
                path = shell.folder / action.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(action.text, encoding="utf-8")
                continue
            code, output = shell.run(action.text)
            printed.append((action, output))
            wrong += difference(document, action, code, output)
    if WRITE and wrong:
        write(document, lines, printed)
    assert not wrong, "\n" + "\n".join(wrong)


def difference(document: Path, command: Command, code: int, output: list[str], *, root: Path = ROOT) -> list[str]:
    """Return how a command's output differs from what is shown; one that shows none must end well."""
    where = f"{document.relative_to(root)}:{command.line}: $ {command.text}"
    if not command.output:
        return [] if code == 0 else [where, f"ended with exit code {code}:", *output]
    shown, came = alike(command.output), alike(output)
    if fits(shown, came):
        return []
    return [where, *difflib.unified_diff(shown, came, "shown", "printed", lineterm="")]


def write(document: Path, lines: list[str], printed: list[tuple[Command, list[str]]]) -> None:
    for command, output in reversed(printed):
        if command.output and not fits(alike(command.output), alike(output)):
            start = command.first - 1
            lines[start : start + len(command.output)] = output
    document.write_text("\n".join(lines) + "\n", encoding="utf-8")
