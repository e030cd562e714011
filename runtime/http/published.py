"""The contract as this package holds it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CONTRACT = Path(__file__).with_name("openapi.yaml")


@cache
def published() -> Mapping[str, Any]:
    """Return the OpenAPI document, read at its first use."""
    document: Mapping[str, Any] = yaml.load(CONTRACT.read_bytes(), Loader=yaml.CSafeLoader)
    return document
