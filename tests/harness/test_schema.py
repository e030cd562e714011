"""The JSON Schema: up to date, and of one mind with the loader as far as a schema can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from harness.scenario import model, schema

FILES = Path(__file__).with_name("scenario_files")
VALID = sorted((FILES / "valid").glob("*.yaml"))
MARKED = [
    path for path in sorted((FILES / "invalid").glob("*.yaml")) if "\n# schema: refuses\n" in path.read_text("utf-8")
]


def as_an_editor_reads(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_committed_file_is_up_to_date() -> None:
    assert schema.PATH.read_text(encoding="utf-8") == schema.text(), "run `harness schema`"


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema.schema())


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_right_file_validates(path: Path) -> None:
    errors = Draft202012Validator(schema.schema()).iter_errors(as_an_editor_reads(path))
    assert [(list(error.absolute_path), error.message) for error in errors] == []


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_a_wrong_file_does_not_validate_where_a_schema_can_tell(path: Path) -> None:
    assert not Draft202012Validator(schema.schema()).is_valid(as_an_editor_reads(path))


def test_enough_wrong_files_can_be_told_by_the_schema() -> None:
    assert len(MARKED) >= 25


def test_an_editor_shows_what_a_key_means() -> None:
    made = schema.schema()
    for name in ("MemoryChange", "ExperienceItem", "Step", "Expect", "Read", "RuntimeSpec"):
        assert made["$defs"][name]["description"] == getattr(model, name).__doc__
    for definition in (made, made["$defs"]["Step"], made["$defs"]["Expect"]):
        missing = [
            key
            for key, value in definition["properties"].items()
            if "description" not in value and "$ref" not in value and value.keys() != {"const", "default", "type"}
        ]
        assert missing == []


def test_the_file_is_written_as_text(tmp_path: Path) -> None:
    schema.write_schema(tmp_path / "made.json")
    assert json.loads((tmp_path / "made.json").read_text("utf-8")) == schema.schema()
