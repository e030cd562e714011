"""Engines to run on, for tests."""

from __future__ import annotations

from backends.base import BACKENDS, Backend, Facts, attach, create
from backends.errors import EngineError
from backends.oceanbase import OceanBase
from backends.sqlite import SQLite

BACKENDS.update({SQLite.NAME: SQLite, OceanBase.NAME: OceanBase})

__all__ = ["BACKENDS", "Backend", "EngineError", "Facts", "attach", "create"]
