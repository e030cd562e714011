"""What the documents say is so: commands exist, examples load, links lead somewhere, every key is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from harness.cli import app
from harness.scenario import model
from harness.scenario.loader import parse

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docker/*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_example_of_the_format_loads() -> None:
    (example,) = blocks(text_of("docs/scenarios.md"), "yaml")
    assert parse(example.encode(), Path("example.yaml")).scenario.tags == ("grouping",)


@pytest.mark.parametrize(
    "kind",
    [model.Scenario, model.ScopeSpec, model.PrincipalSpec, model.RuntimeSpec, model.Step, model.Expect],
    ids=lambda kind: kind.__name__,
)
def test_every_key_of_the_format_is_described(kind: type[model.Strict]) -> None:
    keys = {field.alias or name for name, field in kind.model_fields.items()} - {"format"}
    prose = re.sub(r"^```.*?^```", "", text_of("docs/scenarios.md"), flags=re.DOTALL | re.MULTILINE)
    described = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert keys - described == set()


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    named = {name for document in DOCUMENTS for name in re.findall(r"make ([a-z-]+)`", document.read_text("utf-8"))}
    named |= set(re.findall(r"^\$ make ([a-z-]+)", text_of("README.md"), re.MULTILINE))
    assert named
    assert named <= targets


def test_every_command_that_is_named_exists() -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    texts = [document.read_text("utf-8") for document in DOCUMENTS]
    named = {name for text in texts for name in re.findall(r"(?:`|^\$ )harness ([a-z]+)", text, re.MULTILINE)}
    assert {"run", "new", "lint", "schema", "doctor"} <= named <= commands


def test_the_chapters_that_are_shown_are_the_chapters() -> None:
    shown = set(re.findall(r"^([a-z_]+) +\d+ passed", text_of("README.md"), re.MULTILINE)) - {"all"}
    assert shown == {path.name for path in (ROOT / "scenarios").iterdir() if path.is_dir()}


def test_the_lock_names_no_place_and_has_a_hash_for_everything() -> None:
    lock = text_of("requirements.lock")
    assert "://" not in lock
    for requirement in re.split(r"\n(?=[a-z])", lock.strip()):
        assert "--hash=sha256:" in requirement, requirement
