"""What the generated request models are made of: rules of JSON Schema that pydantic has no field for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the contract: its name, its method, and its path with the names of its segments."""

    name: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Cap:
    """`if` a field has a value, `then` another one is at most so much."""

    field: str
    value: str
    capped: str
    maximum: int


class Strict(BaseModel):
    """A request object: no unknown fields, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, revalidate_instances="always")

    caps: ClassVar[tuple[Cap, ...]] = ()

    @model_validator(mode="after")
    def _keep_caps(self) -> Self:
        for cap in self.caps:
            if getattr(self, cap.field) == cap.value and getattr(self, cap.capped) > cap.maximum:
                raise ValueError(f"the {cap.capped} of {cap.value} is at most {cap.maximum}")
        return self


def not_null(value: Any) -> Any:
    """Refuse null where a field may be left out: `type: object` without null."""
    if value is None:
        raise ValueError("must be left out or be an object")
    return value


def unique(items: list[_Item]) -> list[_Item]:
    """Refuse repeats: `uniqueItems`."""
    if any(item in items[:place] for place, item in enumerate(items)):
        raise ValueError("an item may be listed once")
    return items


def each_once(field: str, *values: str) -> Callable[[list[_Item]], list[_Item]]:
    """Refuse a second item with one of these values in a field: `contains` with `maxContains: 1`."""

    def check(items: list[_Item]) -> list[_Item]:
        found: Sequence[Any] = [getattr(item, field) for item in items]
        if any(found.count(value) > 1 for value in values):
            raise ValueError(f"a {field} may be selected once")
        return items

    return check
