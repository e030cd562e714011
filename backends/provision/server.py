"""The server way: an OceanBase that somebody else runs, named by a URL."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import unquote, urlsplit

from backends.base import Info
from backends.errors import NotStarted, UrlInvalid
from backends.provision.databases import Endpoint, check_oceanbase

URL_VARIABLE = "POWERCONTEXT_HARNESS_OCEANBASE_URL"
"""The environment variable that names a server when no option does."""

_SCHEMES = frozenset({"mysql", "mysql+pymysql", "mysql+oceanbase"})
_DEFAULT_PORT = 2881


def parse_server_url(url: str) -> Endpoint:
    """Read `mysql://user[@tenant[#cluster]]:password@host[:port]`, percent-encoded or not; the default port is 2881.

    Raises UrlInvalid, which never repeats the URL, since it holds a password.
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        raise UrlInvalid("it has no scheme, such as mysql://")
    if scheme.lower() not in _SCHEMES:
        raise UrlInvalid(f"its scheme is not one of {', '.join(sorted(_SCHEMES))}")
    # The user of a cluster is written user@tenant#cluster, so "@" and "#" before the last "@" belong to the user.
    credentials, at, address = rest.rpartition("@")
    user, _, password = credentials.partition(":")
    if not at or not user:
        raise UrlInvalid("it names no user")
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UrlInvalid("its port is no number from 1 to 65535, or its host is malformed") from None
    if not host:
        raise UrlInvalid("it names no host")
    if port == 0:
        raise UrlInvalid("its port is no number from 1 to 65535, or its host is malformed")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise UrlInvalid("it names a database or options; the run makes databases of its own")
    return Endpoint(user=unquote(user), password=unquote(password), host=host, port=port or _DEFAULT_PORT)


class ServerEngine:
    """A server whose life is not ours."""

    way: ClassVar[str] = "server"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._started = False

    @property
    def endpoint(self) -> Endpoint:
        """Where the server listens. Raises NotStarted."""
        if not self._started:
            raise NotStarted("oceanbase")
        return self._endpoint

    @property
    def detail(self) -> str:
        """The address, for a report."""
        return self._endpoint.where

    def start(self) -> None:
        """See that an OceanBase answers. Raises Unreachable, WrongPassword, RightsMissing, NotOceanBase."""
        if not self._started:
            check_oceanbase(self._endpoint)
            self._started = True

    def check(self) -> None:
        """Raise the error of a connection that fails."""
        check_oceanbase(self.endpoint)

    def stop(self) -> None:
        """Leave the server as it is."""
        self._started = False

    def info(self) -> Info:
        """Describe the server for a worker; holds the password."""
        there = self.endpoint
        return {"host": there.host, "port": str(there.port), "user": there.user, "password": there.password}

    @classmethod
    def attach(cls, info: Info) -> ServerEngine:
        """Reach the server that another process found to be good."""
        engine = cls(Endpoint(user=info["user"], password=info["password"], host=info["host"], port=int(info["port"])))
        engine._started = True
        return engine
