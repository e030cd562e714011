"""What the documents say is so: commands exist, examples load, links lead somewhere, every key is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from documents import blocks_of, commands_in, lines_of, prose_of

from harness.cli import app
from harness.scenario import model
from harness.scenario.loader import parse
from harness.scenario.reference import reference

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docker/*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


NOT_EXECUTED = re.compile(
    # What takes minutes, installs, or is executed by another target of make; needs Docker; a server that somebody runs;
    # an installed release; does not end by itself.
    r"make |source \.venv|docker |ROOT_PASSWORD=|.*--oceanbase-|.*http://|export POWERCONTEXT|.*powercontext==|"
    r"(token=\$\()?python -|harness watch"
)
"""How the commands begin that a block of the language `sh` may hold."""


def anchors_of(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(lines_of(document)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_relative_link_leads_to_a_file_and_every_anchor_to_a_heading(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", prose_of(lines_of(document))):
        path, _, anchor = link.partition("#")
        leads_to = document.parent / path if path else document
        assert leads_to.exists(), link
        assert not anchor or anchor in anchors_of(leads_to), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_is_executed_or_has_a_reason_why_not(document: Path) -> None:
    for block in blocks_of(lines_of(document)):
        if block.language == "console":
            assert commands_in(block)
        elif block.language == "sh":
            for command in commands_in(block):
                assert NOT_EXECUTED.match(command.text), f"line {command.line}: it could be executed"


def test_the_reference_of_the_format_is_fresh() -> None:
    assert text_of("docs/format.md") == reference(), "harness schema --markdown > docs/format.md"


@pytest.mark.parametrize("part", ["check", "run"])
def test_every_kind_of_failure_is_described(part: str) -> None:
    sources = "".join(path.read_text("utf-8") for path in sorted((ROOT / "harness" / part).rglob("*.py")))
    # A list's first kind, the pairs of fitting.py, and the constants of compare.py.
    given = r"(?:differs|Failure)\(\s*\"([a-z-]+)\"|return \"([a-z-]+)\", f?\"|= \"([A-Z]+ MISMATCH)\""
    kinds = set(re.findall(given, sources))
    named = {kind for found in kinds for kind in found if kind}
    assert len(named) >= 3
    described = set(re.findall(r"`([A-Za-z -]+)`", text_of("docs/invariants.md") + text_of("docs/scenarios.md")))
    assert named - described == set()


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


def test_the_run_that_is_shown_has_the_scenarios_that_there_are() -> None:
    counts = {
        path.name: sum(1 for _ in path.rglob("*.yaml")) for path in (ROOT / "scenarios").iterdir() if path.is_dir()
    }
    counts["all"] = sum(counts.values())
    shown = re.findall(r"^([a-z_]+) +(\d+) passed +(\d+) passed$", text_of("README.md"), re.MULTILINE)
    assert {name: (int(sqlite), int(oceanbase)) for name, sqlite, oceanbase in shown} == {
        name: (count, count) for name, count in counts.items()
    }
    runs = 2 * counts["all"]
    assert f"executed: {runs} of {runs} (scenarios x backends), {counts['all']} scenarios, " in text_of("README.md")
    assert f"\n{runs} passed in " in text_of("README.md")


def test_the_lock_names_no_place_and_has_a_hash_for_everything() -> None:
    lock = text_of("requirements.lock")
    assert "://" not in lock
    for requirement in re.split(r"\n(?=[a-z])", lock.strip()):
        assert "--hash=sha256:" in requirement, requirement
