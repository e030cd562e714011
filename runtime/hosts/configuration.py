"""What a host is set up with, from its code or from environment variables, and frozen for each turn (SPEC.md 9)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from runtime.contract import Assembly, PrepareRequest, validate
from runtime.errors import InvalidRequest
from runtime.http.client import OMITTED, AssemblyValue
from runtime.http.client.messages import Omitted, as_given

PREFIX = "POWERCONTEXT_HOST_"
DEFAULT_MAX_BYTES = 8000
DEFAULT_TIMEOUT_SECONDS = 2.0
MAX_TIMEOUT_SECONDS = 60.0

_ASSEMBLY = "an object that SPEC.md 2 allows"
_SECONDS = "a number of seconds above 0 and up to 60"

Effective = tuple[str, tuple[tuple[str, int], ...], tuple[str, ...]]
"""An assembly in normal form: format, sections, and what is shown, sorted, since its order changes nothing."""


class ConfigurationRefused(Exception):
    """A setting that cannot be used, by name, with what it takes."""

    def __init__(self, setting: str, takes: str) -> None:
        super().__init__(f"{setting} takes {takes}")
        self.setting = setting


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for: the assembly as it was given, None for the older output, and the budget in UTF-8 bytes.

    Made by `of`. It is a value: what the caller does to his mapping afterwards does not reach it.
    """

    given: str | None = None
    """JSON."""
    effective: Effective | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    @classmethod
    def of(cls, assembly: AssemblyValue | Omitted = OMITTED, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Self:
        """Judge what is given by the contract's rules; raises ConfigurationRefused. None is refused, `{}` is not."""
        given = None if isinstance(assembly, Omitted) else _written(assembly)
        fields: dict[str, Any] = {} if given is None else {"assembly": json.loads(given)}
        try:
            validate(PrepareRequest, {"scope_id": "any", "query": "any", "max_bytes": max_bytes} | fields)
        except InvalidRequest as refused:
            if any("max_bytes" in problem.loc for problem in refused.problems):
                raise ConfigurationRefused("max_bytes", "an integer from 512 to 32768") from None
            raise ConfigurationRefused("assembly", _ASSEMBLY) from None
        if given is None:
            return cls(max_bytes=max_bytes)
        full = validate(Assembly, fields["assembly"])
        sections = tuple((section.family, section.limit) for section in full.sections)
        return cls(given, (full.format, sections, tuple(sorted(full.show))), max_bytes)

    @property
    def assembly(self) -> Mapping[str, Any] | Omitted:
        """The assembly as it goes out."""
        if self.given is None:
            return OMITTED
        value: dict[str, Any] = json.loads(self.given)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One server, one Scope, and what is asked of them."""

    url: str
    scope_id: str
    token: str | None = field(default=None, repr=False)
    selection: Selection = Selection()
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """For all of one prepare, whatever holds it up."""
    enabled: bool = True

    def __post_init__(self) -> None:
        """Refuse a time that nobody can wait for, which a turn would find out; raises ConfigurationRefused."""
        if not 0 < self.timeout_seconds <= MAX_TIMEOUT_SECONDS:
            raise ConfigurationRefused("timeout_seconds", _SECONDS)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self | None:
        """Read the settings, None where no server is named; raises ConfigurationRefused, which names the variable."""
        url = environment.get(f"{PREFIX}URL", "")
        if not url:
            return None
        scope_id = environment.get(f"{PREFIX}SCOPE", "")
        if not (scope_id.strip() and len(scope_id) <= 256):
            raise ConfigurationRefused(f"{PREFIX}SCOPE", "an id of 1 to 256 characters")
        return cls(
            url=url,
            scope_id=scope_id,
            token=environment.get(f"{PREFIX}TOKEN") or None,
            selection=_selection(environment),
            timeout_seconds=_seconds(environment),
            enabled=_switch(environment),
        )


def _written(assembly: AssemblyValue) -> str:
    try:
        return json.dumps(as_given(assembly))
    except (TypeError, ValueError, RecursionError):
        pass
    # Raised here, since the errors above may quote a value.
    raise ConfigurationRefused("assembly", _ASSEMBLY)


def _selection(environment: Mapping[str, str]) -> Selection:
    text = environment.get(f"{PREFIX}MAX_BYTES", str(DEFAULT_MAX_BYTES))
    # Python does not even read a number of thousands of digits.
    max_bytes = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    given = environment.get(f"{PREFIX}ASSEMBLY")
    try:
        assembly = OMITTED if given is None else json.loads(given)
        return Selection.of(assembly, max_bytes=max_bytes)
    except ConfigurationRefused as refused:
        setting, takes = f"{PREFIX}{refused.setting.upper()}", str(refused).partition(" takes ")[2]
    except (ValueError, RecursionError):
        setting, takes = f"{PREFIX}ASSEMBLY", "JSON; leave it unset for the older output"
    # Raised here, since the errors above hold the text.
    raise ConfigurationRefused(setting, takes)


def _seconds(environment: Mapping[str, str]) -> float:
    try:
        seconds = float(environment.get(f"{PREFIX}TIMEOUT_SECONDS", DEFAULT_TIMEOUT_SECONDS))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise ConfigurationRefused(f"{PREFIX}TIMEOUT_SECONDS", _SECONDS)
    return seconds


def _switch(environment: Mapping[str, str]) -> bool:
    match environment.get(f"{PREFIX}ENABLED", "1"):
        case "1" | "true":
            return True
        case "0" | "false":
            return False
        case _:
            raise ConfigurationRefused(f"{PREFIX}ENABLED", "1 or 0")
