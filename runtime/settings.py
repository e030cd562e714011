"""The server's settings, from environment variables (SPEC.md 2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PREFIX = "POWERCONTEXT_SERVER_"

AccessMode = Literal["enforced", "disabled"]


class SettingRefused(Exception):
    """A setting that cannot be used, by name, with what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one server runs."""

    database_url: str = field(repr=False)
    """It may hold a password."""
    access_mode: AccessMode = "enforced"
    assembly_max_entries: int = 8
    """The total of all limits of one request (SPEC.md 2)."""
    recall_timeout_seconds: float = 5.0
    host: str = "127.0.0.1"
    port: int = 8000

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings; raises SettingRefused, which names the variable."""
        url = environment.get(f"{PREFIX}DATABASE_URL", "")
        if not url:
            raise SettingRefused(
                f"{PREFIX}DATABASE_URL is not set; give a URL such as sqlite:////var/lib/powercontext.db "
                "or mysql+oceanbase://user:password@127.0.0.1:2881/powercontext"
            )
        return cls(
            database_url=url,
            access_mode=_access_mode(environment),
            assembly_max_entries=_positive_integer(environment, "RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES", 8),
            recall_timeout_seconds=_positive_seconds(environment, "RECALL_TIMEOUT_SECONDS", 5.0),
            host=environment.get(f"{PREFIX}HOST", "127.0.0.1"),
            port=_positive_integer(environment, "PORT", 8000, at_most=65_535),
        )


def _access_mode(environment: Mapping[str, str]) -> AccessMode:
    match environment.get(f"{PREFIX}ACCESS_MODE", "enforced"):
        case "enforced":
            return "enforced"
        case "disabled":
            return "disabled"
        case _:
            raise SettingRefused(f"{PREFIX}ACCESS_MODE takes enforced or disabled")


def _positive_integer(environment: Mapping[str, str], name: str, default: int, *, at_most: int = 2**63 - 1) -> int:
    text = environment.get(PREFIX + name)
    if text is None:
        return default
    # Python does not even read a number of thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= at_most):
        raise SettingRefused(f"{PREFIX}{name} takes a positive integer, at most {at_most}")
    return int(text)


def _positive_seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(PREFIX + name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise SettingRefused(f"{PREFIX}{name} takes a number of seconds above 0 and below 86400")
    return seconds
