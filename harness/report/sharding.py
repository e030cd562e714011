"""Parts of a corpus for several machines: a scenario belongs to the same one wherever it is run."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from harness.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts, numbered from 1."""

    number: int
    count: int

    def has(self, path: str) -> bool:
        """Say whether a scenario belongs here, by a hash of its path as the user writes it."""
        return int.from_bytes(hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest()[:8]) % self.count == (
            self.number - 1
        )


def read_shard(words: str | None) -> Shard | None:
    """Return the shard of `2/4`, None where none was asked for; raises HarnessError."""
    if words is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", words)
    if found is not None and 1 <= int(found[1]) <= int(found[2]):
        return Shard(int(found[1]), int(found[2]))
    raise HarnessError("bad_shard", f"{words!r} is no shard", hint="write I/N, from 1/4 to 4/4 for four machines")
