"""The server way: an OceanBase that somebody else runs, named by a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from backends.base import Info
from backends.errors import NotStarted, UrlInvalid
from backends.provision.databases import Endpoint, check_oceanbase
from backends.provision.tls import OPTIONS, Tls

URL_VARIABLE = "POWERCONTEXT_HARNESS_OCEANBASE_URL"
"""The environment variable that names a server when no option does."""

_SCHEMES = frozenset({"mysql", "mysql+pymysql", "mysql+oceanbase"})
_DEFAULT_PORT = 2881
_SECONDS = ("connect_timeout", "read_timeout")


def parse_server_url(url: str) -> Endpoint:
    """Read `mysql://user[@tenant[#cluster]]:password@host[:port][?options]`, percent-encoded or not.

    The default port is 2881, an observer's; obproxy's is 2883. Options: those of TLS (see tls.py), connect_timeout and
    read_timeout in seconds. Raises UrlInvalid, which never repeats the URL, since it holds a password.
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
    if parts.path.strip("/") or parts.fragment:
        raise UrlInvalid("it names a database; the run makes databases of its own")
    return _endpoint(unquote(user), unquote(password), host, port or _DEFAULT_PORT, _options(parts.query))


def _options(query: str) -> dict[str, str]:
    known = (*OPTIONS, *_SECONDS, "charset")
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        # MySQL's own clients write ssl-mode.
        name = name.replace("-", "_")
        if name not in known:
            raise UrlInvalid(f"its option {name!r} is not one of {', '.join(known)}")
        if name in options:
            raise UrlInvalid(f"its option {name!r} is there twice")
        options[name] = value
    if options.pop("charset", "utf8mb4") != "utf8mb4":
        raise UrlInvalid("its charset is not utf8mb4")
    for name in _SECONDS:
        if name in options and not (options[name].isascii() and options[name].isdigit() and int(options[name]) > 0):
            raise UrlInvalid(f"its {name} is no positive number of seconds")
    return options


def _endpoint(user: str, password: str, host: str, port: int, options: Mapping[str, str]) -> Endpoint:
    there = Endpoint(user=user, password=password, host=host, port=port, tls=Tls.of(options))
    return replace(
        there,
        connect_seconds=int(options.get("connect_timeout", there.connect_seconds)),
        read_seconds=int(options.get("read_timeout", there.read_seconds)),
    )


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
        """See that an OceanBase answers. Raises Unreachable, WrongPassword, TlsRefused, RightsMissing, NotOceanBase."""
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
        options = {"connect_timeout": str(there.connect_seconds), "read_timeout": str(there.read_seconds)}
        return {
            "host": there.host,
            "port": str(there.port),
            "user": there.user,
            "password": there.password,
            "options": urlencode(options | there.tls.options),
        }

    @classmethod
    def attach(cls, info: Info) -> ServerEngine:
        """Reach the server that another process found to be good."""
        engine = cls(endpoint_of(info))
        engine._started = True
        return engine


def endpoint_of(info: Info) -> Endpoint:
    """Return the endpoint that info() of a server describes."""
    options = dict(parse_qsl(info["options"]))
    return _endpoint(info["user"], info["password"], info["host"], int(info["port"]), options)
