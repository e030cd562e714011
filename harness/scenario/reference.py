"""The reference of the scenario format in Markdown, made of the models and of the schema that editors read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.scenario.schema import Schema, schema

_HEAD = """\
# The scenario format: every key

Made by `harness schema --markdown`; [scenarios.md](scenarios.md) explains what is here only listed. A key that must be
there is **bold**; ids are texts of 1 to 256 characters.
"""
_TITLES = {
    "ScopeSpec": "A Scope",
    "MemoryChange": "A change of a Memory",
    "ExperienceItem": "An Experience",
    "ProfileItem": "A Profile",
    "TopicItem": "A topic",
    "PrincipalSpec": "A principal",
    "RuntimeSpec": "How the target is set up",
    "Reranker": "A reranker",
    "Embedder": "An embedder",
    "Step": "A step",
    "Token": "A token",
    "HexBody": "A body byte by byte",
    "Read": "A read",
    "Fault": "A fault",
    "Expect": "What is expected",
    "ItemSpec": "An item by its parts",
    "AnyOrder": "Items in any order",
    "Bounds": "Bounds",
    "Text": "A text",
}
"""The parts in the order in which a reader meets them."""
_NO_PART = {"ScopeContent"}
"""What another part holds as a whole."""


def reference() -> str:
    """Return the page, as docs/format.md holds it; raises LookupError for a model that it has no title for."""
    made = schema()
    definitions: dict[str, Schema] = made["$defs"]
    if missing := definitions.keys() - _TITLES.keys() - _NO_PART:
        raise LookupError(f"no title for {', '.join(sorted(missing))}")
    lines = [_HEAD, "## At the top", "", *_table(made)]
    for name, title in _TITLES.items():
        part = definitions[name]
        lines += ["", f"## {title}", "", _plain(part["description"])]
        if "properties" in part:
            lines += ["", *_table(part)]
    return "\n".join(lines) + "\n"


def _table(part: Schema) -> Iterator[str]:
    yield "| key | takes | meaning |"
    yield "| --- | --- | --- |"
    required = set(part.get("required", ()))
    for name, value in part["properties"].items():
        key = f"**`{name}`**" if name in required else f"`{name}`"
        meaning = _plain(value.get("description", "")) or _described(value)
        yield f"| {key} | {_cell(_takes(value))} | {_cell(meaning)} |"


def _takes(value: Schema) -> str:
    """Say what a key takes, in a few words."""
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    if "$ref" in value:
        return _link(value["$ref"])
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_takes(choice) for choice in value[key]))
    match value.get("type"):
        case "array":
            return f"list of {_takes(value['items'])}"
        case "object":
            return _mapping(value)
        case "integer" | "number" as kind:
            return _number(kind, value)
        case "boolean":
            return "`true` or `false`"
        case "string":
            return "string"
        case _:
            return "anything"


def _mapping(value: Schema) -> str:
    values = value.get("additionalProperties")
    if not isinstance(values, dict):
        return "mapping"
    names: dict[str, Any] = value.get("propertyNames", {})
    keys = f"{_takes(names)} to " if "enum" in names else "names to "
    return f"mapping of {keys}{_takes(values)}"


def _number(kind: str, value: Schema) -> str:
    least, most = value.get("minimum"), value.get("maximum")
    if least is None:
        return kind
    return f"{kind}, {least} to {most}" if most is not None else f"{kind} from {least}"


def _described(value: Schema) -> str:
    """Return what a key's only part says of itself."""
    name = value.get("$ref", "").rpartition("/")[2]
    return _plain(schema()["$defs"][name]["description"]) if name and name != "Text" else ""


def _link(reference: str) -> str:
    title = _TITLES[reference.rpartition("/")[2]]
    return f"[{title[0].lower()}{title[1:]}](#{title.lower().replace(' ', '-')})"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
