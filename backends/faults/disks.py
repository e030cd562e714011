"""Small disks that can be filled or made read-only: a tmpfs each, which needs the right to mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILLER = "filler"
_PIECE_BYTES = 65_536


class MountRefused(Exception):
    """A disk that this process may not mount; the text is mount's own, on one line."""


@contextmanager
def small_disk(directory: Path, size_bytes: int) -> Iterator[Path]:
    """Mount a disk of so many bytes on a directory for as long as the block lasts. Raises MountRefused."""
    directory.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={size_bytes},mode=700", "tmpfs", str(directory))
    try:
        yield directory
    finally:
        # Lazily: a file that somebody still holds open must not keep the mount for ever.
        subprocess.run(["umount", "--lazy", str(directory)], check=True, capture_output=True)


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    """Leave not one byte free on a disk for as long as the block lasts."""
    filler = disk / _FILLER
    try:
        with filler.open("wb", buffering=0) as file:
            for size in (_PIECE_BYTES, 1):
                # A disk may be full in the midst of a piece.
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
        yield
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Let a disk refuse to be written for as long as the block lasts; nobody may hold a file of it open for writing."""
    _mount("-o", "remount,ro", str(disk))
    try:
        yield
    finally:
        _mount("-o", "remount,rw", str(disk))


def _mount(*arguments: str) -> None:
    try:
        subprocess.run(
            ["mount", *arguments], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
        )
    except FileNotFoundError:
        raise MountRefused("there is no program mount") from None
    except subprocess.CalledProcessError as error:
        raise MountRefused(" ".join(error.stderr.split())) from None
