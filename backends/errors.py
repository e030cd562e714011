"""What can go wrong between asking for an engine and using it.

The life of an engine, and the errors that each step raises:

1. choose: UnknownBackend, UrlInvalid, NameInvalid, WaysConflict
2. look at the machine: PlatformUnsupported, WheelMissing, StateDirectoryUnusable, DiskFull, MemoryShort; for a
   container: DockerMissing, DockerSilent, DockerRemote, ImageUnknown
3. start: PortInUse, EngineDied, EngineSlow
4. connect: Unreachable, WrongPassword, TlsRefused, NotOceanBase
5. use: RightsMissing, ForeignDatabase, SessionDiffers, EngineDied, NotStarted, QueryFailed

No text here ever holds a password, nor a URL as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar


def _restore(cls: type[EngineError], message: str, hint: str, cause: str | None) -> EngineError:
    error = cls.__new__(cls)
    EngineError.__init__(error, message=message, hint=hint, cause=cause)
    return error


# Not frozen: contextlib and pytest assign to the traceback of an exception that passes through them.
@dataclass(eq=False, repr=False)
class EngineError(Exception):
    """An engine that could not be had or used: a code, one sentence, its cause where known, and what to do."""

    code: ClassVar[str] = "engine_error"

    message: str
    hint: str
    cause: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.cause:
            lines.append("  cause: " + self.cause.replace("\n", "\n         "))
        return "\n".join([*lines, f"  hint: {self.hint}"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.code}: {self.message}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.hint, self.cause)


class UnknownBackend(EngineError):
    """A backend name that nobody registered."""

    code = "unknown_backend"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"there is no backend named {name!r}", f"the known ones are {', '.join(sorted(known))}")


class UrlInvalid(EngineError):
    """A server URL that cannot be used, told without repeating it."""

    code = "url_invalid"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the OceanBase server URL cannot be used: {what}",
            "give mysql://user[@tenant[#cluster]]:password@host:port[?ssl_mode=...&ssl_ca=...], with reserved "
            "characters percent-encoded",
        )


class NameInvalid(EngineError):
    """A database name outside pch_ and at most 60 lower-case letters, digits and underscores."""

    code = "name_invalid"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is no name for a test database",
            "use pch_ followed by 1 to 60 lower-case letters, digits and underscores, as in pch_run_worker",
        )


class WaysConflict(EngineError):
    """Two ways to get an engine, asked for at once."""

    code = "ways_conflict"

    def __init__(self, url: str, image: str) -> None:
        super().__init__(f"both {url} and {image} say where OceanBase comes from", "name a server or an image alone")


class DockerMissing(EngineError):
    """A machine without Docker, where a container was asked for."""

    code = "docker_missing"

    def __init__(self, cause: str) -> None:
        super().__init__(
            "there is no Docker here to start OceanBase's container",
            "install Docker and start its daemon, or set DOCKER_HOST; without an image the embedded engine is used",
            cause,
        )


class DockerSilent(EngineError):
    """A Docker daemon that does not answer, or not this user."""

    code = "docker_silent"

    def __init__(self, cause: str) -> None:
        super().__init__(
            "Docker's daemon does not answer",
            "start it, see that this user may use its socket, and that DOCKER_HOST is right",
            cause,
        )


class DockerRemote(EngineError):
    """A Docker daemon of another machine."""

    code = "docker_remote"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Docker's daemon runs on {host}, and containers are published on that machine's loopback alone",
            "use a daemon of this machine, or start the engine there by hand and name it by its URL",
        )


class ImageUnknown(EngineError):
    """An image that is neither on this machine nor to be pulled."""

    code = "image_unknown"

    def __init__(self, image: str, cause: str) -> None:
        super().__init__(
            f"the image {image!r} is not here and cannot be pulled",
            "check its name and tag, log in to its registry, or build ours with docker/build.sh",
            cause,
        )


class PlatformUnsupported(EngineError):
    """A machine for which no embedded engine is published."""

    code = "platform_unsupported"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the embedded OceanBase engine does not run on {found}",
            "it needs Linux with glibc 2.28 or newer on x86_64 or aarch64; elsewhere name a server by its URL",
        )


class WheelMissing(EngineError):
    """The package that carries the engine is not installed, or not whole."""

    code = "wheel_missing"

    def __init__(self, cause: str) -> None:
        super().__init__(
            "the embedded OceanBase engine is not installed",
            "run `pip install pylibseekdb` (Linux, glibc 2.28 or newer, x86_64 or aarch64), or name a server by URL",
            cause,
        )


class StateDirectoryUnusable(EngineError):
    """The directory that holds the engines' files cannot be written."""

    code = "state_directory_unusable"

    def __init__(self, path: str, variable: str, cause: str) -> None:
        super().__init__(f"the engine's files cannot be kept in {path}", f"set {variable} to a writable one", cause)


class DiskFull(EngineError):
    """Less free disk than an engine allocates at start."""

    code = "disk_full"

    def __init__(self, path: str, variable: str, free: int, needed: int) -> None:
        super().__init__(
            f"the disk of {path} has {free / 1e9:.1f} GB free, and the engine needs {needed / 1e9:.1f} GB",
            f"free some space, or set {variable} to a directory on another disk",
        )


class MemoryShort(EngineError):
    """Less memory available than an engine uses under load."""

    code = "memory_short"

    def __init__(self, available: int, needed: int) -> None:
        super().__init__(
            f"{available / 1e6:.0f} MB of memory are available, and the engine uses up to {needed / 1e6:.0f} MB",
            "end other programs, raise the container's memory limit, or name a server by its URL",
        )


class PortInUse(EngineError):
    """A TCP port of the engine that another process holds."""

    code = "port_in_use"

    def __init__(self, port: int) -> None:
        super().__init__(
            f"the engine could not take TCP port {port}",
            "start again; the port is chosen anew each time",
            "another process listens on it",
        )


class EngineDied(EngineError):
    """An engine that ended although nobody stopped it; the cause holds its status and its last words."""

    code = "engine_died"

    def __init__(self, when: str, status: int | None, last_lines: Iterable[str]) -> None:
        told = "status unknown" if status is None else f"signal {-status}" if status < 0 else f"exit status {status}"
        super().__init__(
            f"the OceanBase engine ended {when}",
            "look for a kill by hand, too little memory (signal 9) or a full disk, then run again",
            "\n".join([told, *last_lines]),
        )


class EngineSlow(EngineError):
    """An engine that answered no query before the deadline."""

    code = "engine_slow"

    def __init__(self, seconds: float, cause: str | None, last_lines: Iterable[str]) -> None:
        super().__init__(
            f"the OceanBase engine answered no query within {seconds:g} s",
            "see whether the machine is overloaded or the disk slow, then run again",
            "\n".join([cause or "no connection was tried", *last_lines]),
        )


class Unreachable(EngineError):
    """No server answers at an address, or it stopped answering."""

    code = "unreachable"

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"no server answers at {where}", "check host, port and firewall, and that it runs", cause)


class WrongPassword(EngineError):
    """A server that refuses the user's name or password."""

    code = "wrong_password"

    def __init__(self, where: str, user: str) -> None:
        super().__init__(
            f"the server at {where} refuses user {user!r} or its password",
            "check both, the tenant in user@tenant too, and percent-encode reserved characters",
        )


class TlsRefused(EngineError):
    """A server with which no TLS connection comes about, or whose certificate does not fit."""

    code = "tls_refused"

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(
            f"no TLS connection to {where} comes about",
            "check ssl_ca and the host's name in the certificate, or choose another ssl_mode",
            cause,
        )


class SessionDiffers(EngineError):
    """A pooled connection that is not like the first one of its pool."""

    code = "session_differs"

    def __init__(self, database: str, cause: str) -> None:
        super().__init__(
            f"a connection to database {database} is not like the first one",
            "see whether a proxy leads to servers of several versions or settings, or global variables were changed",
            cause,
        )


class RightsMissing(EngineError):
    """A user who may not do what a test run needs."""

    code = "rights_missing"

    def __init__(self, where: str, user: str, cause: str) -> None:
        super().__init__(
            f"user {user!r} lacks a right on the server at {where}",
            "grant CREATE, DROP, SELECT, INSERT, UPDATE, DELETE, INDEX and REFERENCES on `pch_%`.*, and let this host "
            "connect; `harness doctor --oceanbase-url ...` names what is missing",
            cause,
        )


class NotOceanBase(EngineError):
    """A server of another make."""

    code = "not_oceanbase"

    def __init__(self, where: str, version: str) -> None:
        super().__init__(
            f"the server at {where} is no OceanBase: its version is {version!r}", "name an OceanBase or seekdb server"
        )


class ForeignDatabase(EngineError):
    """A database of the wished name that this run did not make."""

    code = "foreign_database"

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(
            f"database {name} was not made by this run, and is left alone",
            "use another name, or drop it by hand once you know that nobody needs it",
            cause,
        )


class NotStarted(EngineError):
    """A backend used before its start or after its stop."""

    code = "not_started"

    def __init__(self, name: str) -> None:
        super().__init__(f"the backend {name} is not started", "call start() first")


class QueryFailed(EngineError):
    """A statement of ours that the engine refused for another reason."""

    code = "query_failed"

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"the engine at {where} refused a statement", "read the cause; it is the engine's own", cause)
