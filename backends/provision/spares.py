"""Databases that wait on the engine which is kept warm, with the runtime's tables made: a run need not wait for them.

Each is used by one run and no other. A run leaves its database to the keeper, which drops it and makes the next one.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import cache
from pathlib import Path

import runtime.storage
from backends.base import is_name
from backends.provision.databases import REGISTRY, Endpoint, databases_of, drop_database, make_database
from runtime.storage import open_storage

_OWNERS = f"{REGISTRY}.owners"
_LEFT = "left"
"""What a database is registered to whose run is over."""
_COUNT = 2
"""How many wait: one is there while another one is made."""


@cache
def _waiting() -> str:
    """Return what a waiting database is registered to: it holds the tables that these sources make, and no others."""
    digest = hashlib.sha256()
    for source in sorted(Path(runtime.storage.__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return f"waiting {digest.hexdigest()[:16]}"


def take(endpoint: Endpoint, run: str) -> str | None:
    """Register a waiting database to a run, and return its name; None where none waits. Raises EngineError."""
    for name in databases_of(endpoint, _waiting()):
        if _give(endpoint, name, _waiting(), run):
            return name
    return None


def leave(endpoint: Endpoint, name: str, run: str) -> None:
    """Leave a run's database to the keeper. Raises EngineError."""
    _give(endpoint, name, run, _LEFT)


def tend(endpoint: Endpoint) -> None:
    """Drop what runs left, and make what waits for the next ones; the keeper's work. Raises EngineError."""
    for name in databases_of(endpoint, _LEFT):
        drop_database(endpoint, name, _LEFT)
    for _ in range(_COUNT - len(databases_of(endpoint, _waiting()))):
        name = f"pch_spare_{secrets.token_hex(4)}"
        # Nobody may take it before its tables are made.
        make_database(endpoint, name, _LEFT)
        storage = open_storage(endpoint.url(name))
        try:
            storage.prepare()
        finally:
            storage.close()
        _give(endpoint, name, _LEFT, _waiting())


def _give(endpoint: Endpoint, name: str, owner: str, other: str) -> bool:
    """Register a database of one owner to another one, and say whether it was his."""
    assert is_name(name)
    with endpoint.cursor() as cursor:
        given = cursor.execute(
            f"UPDATE {_OWNERS} SET run = %s WHERE name = %s AND run = %s",
            (other.encode(), name.encode(), owner.encode()),
        )
    return given == 1
