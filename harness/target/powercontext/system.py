"""Released PowerContext as what is tested: servers of one release on each backend, or a server that somebody runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from backends.base import Backend
from backends.errors import EngineError
from harness.errors import HarnessError
from harness.target.base import Target, TargetLost
from harness.target.powercontext.releases import OLDEST, named_release
from harness.target.powercontext.requests import release_of
from harness.target.powercontext.server import ReleasedServer, RunningServer, start_servers
from harness.target.powercontext.target import PowerContextTarget
from harness.target.systems import Info

ELSEWHERE = "its own"
"""How the backend of a server is called that somebody else runs: only its owner knows what it is."""
TITLE = "PowerContext"
"""How the title begins that every release gives its published interface."""
_ASKING_SECONDS = 10.0


class ReleasedSystem:
    """One release, one server for each backend, shared by all processes of a run."""

    shares = True
    backends: tuple[str, ...] | None = None

    def __init__(self, name: str, run_directory: Path) -> None:
        self._release = named_release(name)
        self.name = f"powercontext=={self._release.version}"
        self._directory = run_directory / self.name.replace("==", "-")
        self._servers: dict[str, RunningServer] = {}
        self._open_servers: dict[str, ReleasedServer] = {}
        """Servers of this process's own whose access control is off, made at first need."""
        self._is_alone = True

    @property
    def known_as(self) -> str:
        """Its name, with the release."""
        return self.name

    def start(self, engines: Mapping[str, Backend]) -> dict[str, str]:
        """Start a server on a new database of each engine, all at once."""
        missing: dict[str, str] = {}
        new: dict[str, ReleasedServer] = {}
        for backend, engine in engines.items():
            if backend in self._servers:
                continue
            try:
                new[backend] = ReleasedServer(self._release, engine, self._directory / backend)
            except (EngineError, HarnessError) as error:
                missing[backend] = str(error)
        for backend, failure in start_servers(new).items():
            missing[backend] = str(failure)
        self._servers |= {backend: server for backend, server in new.items() if backend not in missing}
        return missing

    def info(self) -> Info:
        """Describe every server, each key with its backend in front."""
        return {
            f"{backend} {key}": value
            for backend, server in self._servers.items()
            for key, value in server.info().items()
        }

    def attach(self, info: Info) -> None:
        """Reach the servers of another process."""
        self._is_alone = False
        parts: dict[str, Info] = {}
        for key, value in info.items():
            backend, _, name = key.partition(" ")
            parts.setdefault(backend, {})[name] = value
        self._servers = {backend: ReleasedServer.attach(part) for backend, part in parts.items()}

    def target(self, backend: str, engine: Backend | None, database: str) -> Target:
        """Return a target on this backend's server; scenarios are kept apart by Scopes of their own."""
        del database
        assert engine is not None
        server = self._servers[backend]
        return PowerContextTarget(
            server.url,
            release=self._release.version,
            backend=backend,
            token=server.token,
            name=self.name,
            restart=server.restart if self._is_alone else None,
            log=(lambda: server.log_path) if self._is_alone else None,
            without_access=lambda: self._open_server(backend, engine),
        )

    def _open_server(self, backend: str, engine: Backend) -> str:
        """Return the URL of a server with access control off, started where it is needed; raises TargetLost."""
        if backend not in self._open_servers:
            try:
                server = ReleasedServer(self._release, engine, self._directory / backend, access="disabled")
            except EngineError as error:
                raise TargetLost(str(error)) from error
            if failures := start_servers({backend: server}):
                raise TargetLost(str(failures[backend]))
            self._open_servers[backend] = server
        return self._open_servers[backend].url

    def check(self, backend: str) -> None:
        """Raise HarnessError, with the end of its log, where a server that this process started has ended."""
        for servers in (self._servers, self._open_servers):
            if backend in servers:
                servers[backend].check()

    def ways(self) -> dict[str, str]:
        """Say how each server was started."""
        return {backend: server.way for backend, server in self._servers.items()}

    def stop(self) -> None:
        """Stop the servers that this process started."""
        servers = [*self._servers.values(), *self._open_servers.values()]
        self._servers, self._open_servers = {}, {}
        for server in servers:
            server.ask_to_stop()
        for server in servers:
            server.stop()


class RemoteSystem:
    """A server that somebody runs, reached by its URL and an administrator's token; nothing is started or stopped."""

    shares = True
    backends: tuple[str, ...] | None = (ELSEWHERE,)

    def __init__(self, url: str, admin_token: str | None) -> None:
        self.name = _server_of(url)
        self._token = admin_token
        self._release = ""
        self._administrator = ""

    @property
    def known_as(self) -> str:
        """The release that the server says it is."""
        return f"powercontext=={self._release}" if self._release else self.name

    def start(self, engines: Mapping[str, Backend]) -> dict[str, str]:
        """Ask the server for its release and for the principal whose token was given."""
        del engines
        if self._token is None:
            hint = "give --admin-token, or set POWERCONTEXT_HARNESS_ADMIN_TOKEN"
            return {
                ELSEWHERE: str(HarnessError("token_missing", f"{self.name} needs an administrator's token", hint=hint))
            }
        headers = {"authorization": f"Bearer {self._token}"}
        try:
            with httpx.Client(base_url=self.name, headers=headers, timeout=_ASKING_SECONDS, trust_env=False) as client:
                described, known = client.get("/openapi.json"), client.get("/v1/access/me")
                if known.status_code == httpx.codes.UNAUTHORIZED:
                    return {ELSEWHERE: str(HarnessError("token_refused", f"{self.name} does not know the token"))}
                about, administrator = described.json()["info"], known.json()["principal"]["id"]
                if not str(about["title"]).startswith(TITLE):
                    raise ValueError(f"it says that it is {about['title']!r}")
                version = str(about["version"])
                if release_of(version) < OLDEST:
                    message = f"{self.name} is PowerContext {version}, and targets start from 1.0.0"
                    return {ELSEWHERE: str(HarnessError("release_too_old", message))}
                self._release, self._administrator = version, str(administrator)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            told = f"{type(error).__name__}: {error}"
            message = f"{self.name} does not answer as a PowerContext server"
            return {ELSEWHERE: str(HarnessError("no_server", message, cause=told, hint="is it started there?"))}
        return {}

    def info(self) -> Info:
        """Pass on what the server told."""
        return {"release": self._release, "administrator": self._administrator}

    def attach(self, info: Info) -> None:
        """Know what another process was told."""
        self._release, self._administrator = info["release"], info["administrator"]

    def target(self, backend: str, engine: Backend | None, database: str) -> Target:
        """Return a target on the server; the administrator is the only principal there."""
        del engine, database
        token = self._token or ""
        return PowerContextTarget(
            self.name,
            release=self._release,
            backend=backend,
            token=lambda _: token,
            name=self.name,
            administrator=self._administrator,
            administrators_only=True,
        )

    def check(self, backend: str) -> None:
        """Leave it to its owner."""

    def ways(self) -> dict[str, str]:
        """Say what the server says of itself; nothing where it did not answer."""
        if not self._release:
            return {}
        return {ELSEWHERE: f"powercontext {self._release} of somebody else's, as {self._administrator}"}

    def stop(self) -> None:
        """Leave the server alone."""


def _server_of(url: str) -> str:
    """Return `http://host:port` of a URL that says no more than that; raises HarnessError with the code bad_url."""
    scheme, _, rest = url.partition("://")
    # A user's name and password are not asked for, and never told.
    server = f"{scheme}://{rest.rpartition('@')[2].rstrip('/')}"
    try:
        parts = urlsplit(server)
        # Reading the port says whether it is a number that a port can be.
        is_one = bool(parts.hostname) and parts.port != 0 and parts.netloc == server.partition("://")[2]
    except ValueError:
        is_one = False
    if not is_one or any(map(str.isspace, server)):
        hint = "a path or a query would not be asked for"
        raise HarnessError("bad_url", f"the target {server!r} is no http://HOST:PORT", hint=hint)
    return server
