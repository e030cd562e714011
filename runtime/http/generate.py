"""Writes `generated.py` from `openapi.yaml`: operations, limits and request models; `--check` only compares.

It knows the keywords that the contract uses for requests, and ends with the place of any other one: no rule of the
contract may be lost on the way. `make api-generate` and `make api-generate-check` run it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runtime.http.published import CONTRACT, published

GENERATED = Path(__file__).with_name("generated.py")

_REFERENCE = "#/components/schemas/"
_METHODS = ("get", "put", "post", "delete", "patch")
_SAID = {"description", "format", "default"}
"""Keywords that do not restrict, or that are read where a field is."""
_HEAD = '''"""Operations, limits and request models, from openapi.yaml by `make api-generate`; not to be edited."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from runtime.http import rules
from runtime.http.rules import Cap, Operation, Strict
'''

Schema = Mapping[str, Any]


class NotGenerated(Exception):
    """A part of the contract that this program has no Python for."""


def generate(contract: Mapping[str, Any]) -> str:
    """Return the module's source; raises NotGenerated."""
    schemas: Mapping[str, Schema] = contract["components"]["schemas"]
    operations = list(_operations(contract))
    parts = [_HEAD, *(_operation(name, method, path) for name, method, path, _ in operations)]
    parts.append(f"OPERATIONS = ({', '.join(name.upper() for name, *_ in operations)},)\n")
    wanted = [name for *_, operation in operations for name in _requested(operation)]
    classes: dict[str, None] = {}
    for name in wanted:
        _collect(name, schemas, classes)
    used = {_name(part) for part in _references([schemas[name] for name in classes] + [one for *_, one in operations])}
    for name, schema in schemas.items():
        if schema.get("type") in ("string", "integer") and (name in used or "const" in schema):
            parts.append(_scalar(name, schema))
    parts += [_class(name, schemas[name], schemas) for name in classes]
    for *_, operation in operations:
        if "x-request" in operation:
            parts.append(_class(operation["x-request"], _path_schema(operation), schemas))
    fields = sorted(
        {field for name in classes for field in schemas[name]["properties"]}
        | {parameter["name"] for *_, operation in operations for parameter in operation.get("parameters", ())}
    )
    parts.append(f"FIELDS = frozenset({fields!r})\n")
    told = '"""All names of fields of requests and paths."""'
    return _formatted("\n".join(parts) + told + "\n")


def _operations(contract: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for path, item in contract["paths"].items():
        for method, operation in item.items():
            if method not in _METHODS:
                raise NotGenerated(f"{path}: {method} is no method")
            yield operation["operationId"], method.upper(), path, operation


def _operation(name: str, method: str, path: str) -> str:
    return f"{name.upper()} = Operation({name!r}, {method!r}, {path!r})"


def _requested(operation: Mapping[str, Any]) -> Iterator[str]:
    _need_plain(operation)
    if "requestBody" in operation:
        yield _name(operation["requestBody"]["content"]["application/json"]["schema"])


def _need_plain(operation: Mapping[str, Any]) -> None:
    """Refuse input that the server does not judge by a model: it takes a JSON body, or the parts of a path."""
    place = operation["operationId"]
    body = operation.get("requestBody", {"required": True, "content": {"application/json": {}}})
    if body.get("required") is not True or set(body["content"]) != {"application/json"}:
        raise NotGenerated(f"{place}: no Python for a body that may be missing, or is not JSON")
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "path" or "x-request" not in operation:
            raise NotGenerated(f"{place}: no Python for {parameter['name']} in {parameter['in']}")


def _references(part: Any) -> Iterator[Schema]:
    """Return all references to schemas within requests."""
    if isinstance(part, Mapping):
        if str(part.get("$ref", "")).startswith(_REFERENCE):
            yield part
        for key, inner in part.items():
            if key not in ("responses", "examples"):
                yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _path_schema(operation: Mapping[str, Any]) -> Schema:
    properties = {parameter["name"]: parameter["schema"] for parameter in operation["parameters"]}
    description = "The parts of the path of an exact read."
    return {
        "type": "object",
        "description": description,
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _collect(name: str, schemas: Mapping[str, Schema], found: dict[str, None]) -> None:
    """Add the object schemas that one needs, in the order in which they can be defined."""
    schema = schemas[name]
    if schema["type"] != "object":
        return
    for field in schema["properties"].values():
        for part in (field, field.get("items", {})):
            if "$ref" in part:
                _collect(_name(part), schemas, found)
    found.setdefault(name)


def _scalar(name: str, schema: Schema) -> str:
    kind = _kind(schema, f"{_REFERENCE}{name}")
    if "const" in schema:
        return f"{_constant(name)} = {schema['const']!r}\n"
    limits = [f"{_constant(name)}_MAX_LENGTH = {schema['maxLength']}\n"] if "maxLength" in schema else []
    told = f'"""{_sentence(schema)}"""\n' if "description" in schema else ""
    return "".join([*limits, f"{name} = {kind}\n", told])


def _class(name: str, schema: Schema, schemas: Mapping[str, Schema]) -> str:
    place = f"{_REFERENCE}{name}"
    known = {"type", "description", "additionalProperties", "required", "properties", "if", "then"}
    _need_known(schema, known, place)
    if schema.get("additionalProperties") is not False:
        raise NotGenerated(f"{place}: a request object has additionalProperties: false")
    lines = [f"class {name}(Strict):", f'    """{_sentence(schema)}"""', ""]
    if "if" in schema:
        lines += [f"    caps = ({_cap(schema, place)},)", ""]
    for field, part in schema["properties"].items():
        lines.append(f"    {field}: {_field(field, part, field in schema.get('required', ()), schemas, place)}")
    for field, part in schema["properties"].items():
        if "x-total" in part:
            summed = part["x-total"]
            lines += [
                "",
                "    @property",
                "    def total(self) -> int:",
                f'        """The sum of each {summed} of {field}, which the server bounds."""',
                f"        return sum(item.{summed} for item in self.{field})",
            ]
    return "\n\n" + "\n".join(lines) + "\n\n"


def _field(field: str, part: Schema, required: bool, schemas: Mapping[str, Schema], place: str) -> str:
    place = f"{place}/{field}"
    target = schemas[_name(part)] if "$ref" in part else part
    kind = _kind(part, place)
    if required:
        return kind
    if "default" not in target:
        if target["type"] != "object":
            raise NotGenerated(f"{place}: a field that may be left out has a default or is an object")
        return f"Annotated[{kind} | None, BeforeValidator(rules.not_null)] = None"
    default = target["default"]
    if not isinstance(default, list):
        return f"{kind} = {default!r}"
    if not default:
        return f"{kind} = Field(default_factory=list)"
    item = _name(target["items"])
    made = ", ".join(f"{item}({', '.join(f'{key}={value!r}' for key, value in one.items())})" for one in default)
    return f"{kind} = Field(default_factory=lambda: [{made}])"


def _kind(schema: Schema, place: str) -> str:
    """Return the type that a schema is in Python."""
    if "$ref" in schema:
        _need_known(schema, {"$ref"}, place)
        return _name(schema)
    match schema.get("type"):
        case "string" if "enum" in schema:
            _need_known(schema, {"type", "enum"}, place)
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        case "string" if "const" in schema:
            _need_known(schema, {"type", "const"}, place)
            return f"Literal[{schema['const']!r}]"
        case "string":
            bounds = {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}
            return _bounded("str", schema, bounds, place)
        case "integer":
            return _bounded("int", schema, {"minimum": "ge", "maximum": "le"}, place)
        case "array":
            _need_known(schema, {"type", "items", "maxItems", "uniqueItems", "allOf", "x-total"}, place)
            rules = [f"Field(max_length={schema['maxItems']})"] if "maxItems" in schema else []
            if schema.get("uniqueItems"):
                rules.append("AfterValidator(rules.unique)")
            if "allOf" in schema:
                rules.append(f"AfterValidator(rules.each_once({_contained(schema['allOf'], place)}))")
            kind = f"list[{_kind(schema['items'], place)}]"
            return f"Annotated[{', '.join([kind, *rules])}]" if rules else kind
    raise NotGenerated(f"{place}: no Python for {dict(schema)}")


def _bounded(kind: str, schema: Schema, names: Mapping[str, str], place: str) -> str:
    _need_known(schema, {"type", *names}, place)
    bounds = [f"{names[keyword]}={schema[keyword]!r}" for keyword in names if keyword in schema]
    return f"Annotated[{kind}, Field({', '.join(bounds)})]" if bounds else kind


def _contained(conditions: list[Schema], place: str) -> str:
    """Read `contains` of one value of one field, at most once, and return the arguments of its rule."""
    values: dict[str, list[str]] = {}
    for condition in conditions:
        ((field, part),) = condition["contains"]["properties"].items()
        contains = {"required": [field], "properties": {field: {"const": part.get("const")}}}
        if condition != {"contains": contains, "minContains": 0, "maxContains": 1}:
            raise NotGenerated(f"{place}: no Python for {condition}")
        values.setdefault(field, []).append(part["const"])
    ((field, constants),) = values.items()
    return ", ".join(map(repr, (field, *constants)))


def _cap(schema: Schema, place: str) -> str:
    """Read `if` a field has a value, `then` another one has a maximum."""
    ((field, part),) = schema["if"]["properties"].items()
    ((capped, bound),) = schema["then"]["properties"].items()
    condition = {"required": [field], "properties": {field: {"const": part.get("const")}}}
    consequence = {"properties": {capped: {"maximum": bound.get("maximum")}}}
    if schema["if"] != condition or schema["then"] != consequence:
        raise NotGenerated(f"{place}: no Python for its if and then")
    return f"Cap({field!r}, {part['const']!r}, {capped!r}, maximum={bound['maximum']})"


def _need_known(schema: Schema, known: set[str], place: str) -> None:
    if unknown := set(schema) - known - _SAID:
        raise NotGenerated(f"{place}: no Python for {', '.join(sorted(unknown))}")


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).removeprefix(_REFERENCE)


def _constant(name: str) -> str:
    return "".join(f"_{letter}" if letter.isupper() and place else letter for place, letter in enumerate(name)).upper()


def _sentence(schema: Schema) -> str:
    return " ".join(str(schema["description"]).split())


def _formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "120", "--stdin-filename", GENERATED.name, "-"]
    done = subprocess.run(command, input=source.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8")


def main(arguments: list[str]) -> int:
    """Write the module, or say by the exit status that it is stale."""
    try:
        source = generate(published())
    except NotGenerated as error:
        print(f"{CONTRACT.name}: {error}", file=sys.stderr)
        return 2
    if arguments == ["--check"]:
        if GENERATED.exists() and GENERATED.read_text(encoding="utf-8") == source:
            return 0
        print(f"{GENERATED.name} is not what {CONTRACT.name} says: make api-generate", file=sys.stderr)
        return 1
    GENERATED.write_text(source, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
