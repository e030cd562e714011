"""What the embedded engine needs of a machine, looked at before anything is started."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

from backends.errors import DiskFull, MemoryShort, PlatformUnsupported, WheelMissing

DISK_BYTES = 2_200_000_000
"""The engine allocates 2 GiB of log and its data file; below 2.1 GB it fails with a bare -4736."""

MEMORY_BYTES = 600_000_000
"""About 500 MB under load, measured, and some air."""

_GLIBC = (2, 28)
_PROCESSORS = frozenset({"x86_64", "aarch64"})
_PACKAGE = "pylibseekdb"


@dataclass(frozen=True, slots=True)
class Machine:
    """The properties of a machine that decide whether the engine's wheel fits it."""

    system: str
    processor: str
    glibc: str
    """The version, "" where there is another C library."""

    @classmethod
    def here(cls) -> Machine:
        """Look at this machine."""
        library, version = platform.libc_ver()
        return cls(platform.system(), platform.machine(), version if library == "glibc" else "")

    def check(self) -> None:
        """Raise PlatformUnsupported, naming what was found, when the wheel does not fit."""
        if self.system != "Linux":
            raise PlatformUnsupported(self.system or "an unknown system")
        if self.processor not in _PROCESSORS:
            raise PlatformUnsupported(f"Linux on {self.processor or 'an unknown processor'}")
        if not self.glibc:
            raise PlatformUnsupported("Linux without glibc")
        if tuple(int(part) for part in self.glibc.split(".")[:2]) < _GLIBC:
            raise PlatformUnsupported(f"Linux with glibc {self.glibc}")


def locate_server(find_spec: Callable[[str], ModuleSpec | None] = importlib.util.find_spec) -> Path:
    """Return the server's executable without importing its package, which would load a native library.

    Raises WheelMissing.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise WheelMissing(f"Python finds no package {_PACKAGE}")
    executable = Path(next(iter(spec.submodule_search_locations))) / "seekdb"
    if not executable.is_file():
        raise WheelMissing(f"the package {_PACKAGE} holds no file seekdb")
    if not os.access(executable, os.X_OK):
        raise WheelMissing(f"the file seekdb of the package {_PACKAGE} may not be executed")
    return executable


def free_space(directory: Path) -> int:
    """Return the bytes free to this user on a directory's disk."""
    return shutil.disk_usage(directory).free


def available_memory() -> int:
    """Return the bytes of memory that a new process can have: the kernel's estimate, or the container's limit."""
    available = 2**63
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text("ascii").strip()
    except OSError:
        return available
    return min(available, int(limit)) if limit.isdecimal() else available


def check_disk(directory: Path, variable: str, free: Callable[[Path], int] = free_space) -> None:
    """Raise DiskFull when the engine's files do not fit; `variable` is what moves them elsewhere."""
    found = free(directory)
    if found < DISK_BYTES:
        raise DiskFull(str(directory), variable, found, DISK_BYTES)


def check_memory(available: Callable[[], int] = available_memory) -> None:
    """Raise MemoryShort when the engine would be killed under load."""
    found = available()
    if found < MEMORY_BYTES:
        raise MemoryShort(found, MEMORY_BYTES)


def free_port() -> int:
    """Return a TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("0.0.0.0", 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Say whether a server could listen on a TCP port now."""
    with socket.socket() as probe:
        # As a server does: connections that ended a moment ago do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True
