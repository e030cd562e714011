"""What the models refuse, as mistakes at a line with the nearest known key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from harness.errors import ScenarioError, did_you_mean
from harness.scenario.marks import Mark
from harness.scenario.model import Scenario

_PLAIN_WORD = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def model_errors(problem: ValidationError, mark: Mark, path: Path) -> list[ScenarioError]:
    """Return one mistake per complaint of the models, each at the key or value that it is about."""
    found = []
    for complaint in problem.errors(include_url=False):
        if complaint["type"] == "too_short" and complaint["input"]:
            # Pydantic counts only what is valid; what is not has a complaint of its own.
            continue
        place, message, hint = _explain(complaint, mark)
        found.append(ScenarioError(path, *place, message, hint))
    return found


def _explain(complaint: Any, mark: Mark) -> tuple[tuple[int, int], str, str | None]:
    location: tuple[str | int, ...] = complaint["loc"]
    kind: str = complaint["type"]
    given = complaint["input"]
    if kind == "extra_forbidden":
        known = _known_keys(location[:-1])
        hint = did_you_mean(str(location[-1]), known)
        if location[-1] == "id" and "entry" in known:
            hint = "an Entry of Memory is called by `entry`"
        return mark.key_at(*location), f'unknown key "{location[-1]}"', hint
    if kind == "missing":
        return mark.at(*location), f'"{location[-1]}" is missing{_within(location[:-1], mark)}', None
    if location and location[-1] == "[key]":
        return mark.key_at(*location[:-1]), f'unknown key "{given}"', did_you_mean(str(given), _expected(complaint))
    subject = _subject(location, mark)
    if kind == "literal_error":
        hint = did_you_mean(given, _expected(complaint)) if isinstance(given, str) else _known(_expected(complaint))
        if location[-2:] == ("expect", "status") and type(given) is int:
            hint = f"{hint}; HTTP's is `http`"
        return mark.at(*location), f"{subject} cannot be {_shown(given)}", hint
    if kind in _WANTED:
        return mark.at(*location), f"{subject} must be {_WANTED[kind]}, not {_shown(given)}", _rewritten(kind, given)
    if kind == "value_error":
        return mark.at(*location), str(complaint["ctx"]["error"]), None
    if kind == "too_short":
        return mark.at(*location), f"{subject} is empty", None
    if kind == "string_pattern_mismatch":
        return mark.at(*location), f"{subject} must be pairs of hexadecimal digits", None
    said: str = complaint["msg"]
    return mark.at(*location), f"{subject} {said.removeprefix('Input ')}", None


def _rewritten(kind: str, given: Any) -> str | None:
    """Return how a value of the wrong type would be written in the right one."""
    match _WANTED[kind], given:
        case "text", int() | float():
            return "put it in quotes"
        case "a mapping", None:
            return "write {} for an empty one"
        case "a list", str() if _PLAIN_WORD.fullmatch(given):
            return f"write [{given}]"
        case "a list", str() | dict():
            return "begin each item with a dash"
        case "a whole number", str() if given.isascii() and given.isdecimal():
            return f"write {given}, without quotes"
        case "true or false", "true" | "false":
            return f"write {given}, without quotes"
    return None


def _within(location: Sequence[str | int], mark: Mark) -> str:
    real = [str(element) for element, _ in mark.walk(*location) if isinstance(element, str)]
    return f' in "{real[-1]}"' if real else ""


def _subject(location: Sequence[str | int], mark: Mark) -> str:
    real = [element for element, _ in mark.walk(*location)]
    match real:
        case []:
            return "a scenario"
        case [*_, str(key), int(index)]:
            return f'item {index + 1} of "{key}"'
        case [*_, last]:
            return f'"{last}"'
    return "it"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case str():
            return f'"{value[:40]}"' + ("..." if len(value) > 40 else "")
    return str(value)[:40]


def _expected(complaint: Any) -> list[str]:
    # Pydantic gives the choices as one string: "'ready' or 'empty'".
    said = str(complaint.get("ctx", {}).get("expected", "")).replace(" or ", ", ")
    return [choice.strip("'") for choice in said.split(", ") if choice]


def _known(choices: list[str]) -> str:
    return f"known: {', '.join(choices)}"


def _known_keys(location: Sequence[str | int]) -> list[str]:
    """Return the keys of the models that stand at a location."""
    places: list[Any] = [Scenario]
    for element in location:
        # An element that fits nowhere is pydantic's own name for a branch of a union.
        places = [inner for place in places for inner in _inner(place, element)] or places
    keys = [
        field.alias or name
        for place in places
        for model in _models(place)
        for name, field in model.model_fields.items()
    ]
    return list(dict.fromkeys(keys))


def _branches(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _branches(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for branch in get_args(annotation):
            yield from _branches(branch)
    elif annotation is not NoneType:
        yield annotation


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    for branch in _branches(annotation):
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            yield branch


def _inner(annotation: Any, element: str | int) -> Iterator[Any]:
    for branch in _branches(annotation):
        origin = get_origin(branch)
        if isinstance(branch, type) and origin is None and issubclass(branch, BaseModel):
            for name, field in branch.model_fields.items():
                if element == (field.alias or name):
                    yield field.annotation
        elif origin is tuple and isinstance(element, int):
            yield get_args(branch)[0]
        elif origin is dict and isinstance(element, str):
            yield get_args(branch)[1]
