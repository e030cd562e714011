"""The scenario format as JSON Schema (draft 2020-12), for editors; the loader judges more than a schema can."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePath
from typing import Any

from harness.errors import HarnessError
from harness.scenario.check_steps import REFUSALS
from harness.scenario.model import VERBS, Scenario

PATH = Path(__file__).with_name("scenario.schema.json")
"""The committed file; `write_schema` makes it."""

Schema = dict[str, Any]

_TEXT: Schema = {
    "description": "A text: as it is, `{repeat: text, times: n}`, or `{join: [text, ...]}`.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "repeat": {"$ref": "#/$defs/Text"},
                "times": {"type": "integer", "minimum": 0},
            },
            "required": ["repeat", "times"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"join": {"type": "array", "items": {"$ref": "#/$defs/Text"}}},
            "required": ["join"],
            "additionalProperties": False,
        },
    ],
}
_REQUEST: Schema = {
    # No types: a scenario may send what the contract refuses.
    "scope_id": {"description": "A Scope's name, whose id goes out in its place; another text goes out as it is."},
    "query": {"description": "What to look for: 1 to 8192 characters, not blank."},
    "max_bytes": {"description": "The whole text's budget, 512 to 32768 bytes; default 8000."},
    "assembly": {
        "description": "What to assemble; absent for the older output, `{}` for memory 6 then experience 2.",
        "properties": {
            "format": {"description": "`markdown`, the default and the only one."},
            "sections": {"description": "0 to 4 of `{family: ..., limit: n}`, in the order of the text."},
            "show": {"description": "`confidence` and `recall_rank`, or none of them."},
        },
    },
}
_ONE_LINE = r"^[^\r\n]*$"


def schema() -> Schema:
    """Return the schema of a scenario file."""
    made = _without_null(_texts(Scenario.model_json_schema(by_alias=True)))
    definitions: Schema = made["$defs"]
    definitions["Text"] = _TEXT
    for name in ("ScopeSpec", "ScopeContent"):
        if name in definitions:
            _content(definitions[name]["properties"])
    _one_of(definitions["MemoryChange"], [["entry", "text"], ["retire"]])
    definitions["MemoryChange"]["dependentSchemas"] = {"retire": {"maxProperties": 1}}
    _one_of(definitions["ItemSpec"], [["entry"], ["id"]])
    _one_of(definitions["Read"], [["entry"], ["family", "id"]])
    step = definitions["Step"]
    _one_of(step, [[verb] for verb in VERBS])
    step["properties"]["prepare"]["properties"] = _REQUEST
    step["properties"]["restart"] = {"const": True, "description": step["properties"]["restart"]["description"]}
    step["properties"]["write"]["minProperties"] = 1
    step["properties"]["prepare"]["additionalProperties"] = True
    expect = definitions["Expect"]["properties"]
    expect["sections"]["items"] |= {"minProperties": 1, "maxProperties": 1}
    expect["refused"]["enum"] = list(REFUSALS)
    for name in ("contains", "absent"):
        expect[name] = _one_or_list(expect[name])
    top = made["properties"]
    top["report"] = _one_or_list(top["report"])
    top["scenario"] |= {"minLength": 1, "pattern": _ONE_LINE}
    top["why"]["pattern"] = _ONE_LINE
    top["tags"]["items"]["pattern"] = r"^[^\W\d]\w*$"
    top["steps"]["minItems"] = 1
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scenario", **made}


def text() -> str:
    """Return the schema as the committed file holds it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def write_schema(path: Path = PATH) -> None:
    """Write the schema's file."""
    path.write_text(text(), encoding="utf-8")


def write_beside(folder: str) -> Path:
    """Write the schema into a folder of scenarios, and return its path; raises HarnessError."""
    path = Path(folder) / PATH.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_schema(path)
    except OSError as error:
        raise HarnessError("unwritable", f"{path} cannot be written", cause=error.strerror) from None
    return path


def schema_place(path: PurePath) -> str | None:
    """Return where a scenario file's schema lies, as an editor is told; None where it has no place that others share.

    It is the copy in a folder above the file (`harness schema --write`), or our own where the file lies in our tree.
    """
    here = Path(path).absolute().parent
    root = Path.cwd()
    for folder in (here, *here.parents):
        if folder.is_relative_to(root) and (folder / PATH.name).is_file():
            return _relative(folder / PATH.name, here)
    ours = PATH.parents[2]
    # An environment inside a project is nobody else's.
    if here.is_relative_to(ours) and (ours / "pyproject.toml").is_file():
        return _relative(PATH, here)
    return None


def _relative(path: Path, start: Path) -> str:
    return Path(os.path.relpath(path, start)).as_posix()


def _content(properties: Schema) -> None:
    change = {"$ref": "#/$defs/MemoryChange"}
    several = {"type": "array", "items": change, "minItems": 1}
    properties["memory"]["items"] = {"anyOf": [change, several]}
    properties["profile"]["items"] = {"anyOf": [{"$ref": "#/$defs/Text"}, {"$ref": "#/$defs/ProfileItem"}]}


def _one_of(definition: Schema, choices: list[list[str]]) -> None:
    definition["oneOf"] = [{"required": keys} for keys in choices]


def _one_or_list(listed: Schema) -> Schema:
    description = {key: listed.pop(key) for key in ("description",) if key in listed}
    return description | {"anyOf": [listed["items"], {"type": "array", "items": listed["items"]}]}


def _texts(node: Any) -> Any:
    """Put the reference to `Text` where the models marked one."""
    if isinstance(node, list):
        return [_texts(part) for part in node]
    if not isinstance(node, dict):
        return node
    made = {key: _texts(value) for key, value in node.items() if key != "x-text"}
    return made | {"$ref": "#/$defs/Text"} if "x-text" in node else made


def _without_null(node: Any) -> Any:
    """Leave out null, which the loader refuses, with the titles and defaults that say nothing."""
    if isinstance(node, list):
        return [_without_null(part) for part in node]
    if not isinstance(node, dict):
        return node
    made: Schema = {}
    for key, value in node.items():
        if key == "properties":
            made[key] = {name: _without_null(inner) for name, inner in value.items()}
        elif key == "title" or (key == "default" and value in (None, {}, [])):
            continue
        elif key == "anyOf" and {"type": "null"} in value:
            rest = [_without_null(choice) for choice in value if choice != {"type": "null"}]
            made |= rest[0] if len(rest) == 1 else {"anyOf": rest}
        else:
            made[key] = _without_null(value)
    return made
