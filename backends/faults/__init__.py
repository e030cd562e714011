"""Faults of an engine and of the way to it, each brought about and ended again, for tests.

Nothing here belongs to a run of scenarios: what is broken here is broken on purpose, and on loopback alone.
"""

from __future__ import annotations

from backends.faults.disks import MountRefused, fill, read_only, small_disk
from backends.faults.processes import end_at_once, hung, other_process
from backends.faults.proxy import Fault, Proxy

__all__ = [
    "Fault",
    "MountRefused",
    "Proxy",
    "end_at_once",
    "fill",
    "hung",
    "other_process",
    "read_only",
    "small_disk",
]
