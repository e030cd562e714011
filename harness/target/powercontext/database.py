"""How a release of PowerContext gets at a database that a backend made for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.engine import URL, make_url

from backends.errors import QueryFailed
from backends.provision.databases import Endpoint
from harness.errors import HarnessError
from harness.target.powercontext.releases import Release
from harness.target.powercontext.tenants import TenantProxy

AS_RELEASED = "as released"
OWN_TABLES = "tables by the product itself, no migration gate"
BEHIND_PROXY = "behind a tenant proxy"

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Way:
    """How a server gets at its database."""

    sentence: str
    """One of the three above, for reports."""
    environment: dict[str, str] = field(repr=False)
    """The settings of the server's process that say it; they hold a password."""
    proxy: TenantProxy | None = None
    """To be stopped after the server."""


def choose_way(release: Release, backend: str, database_url: str) -> Way:
    """Choose how a server of the release gets at a database, by asking it; the URL is a Backend's.

    A release asks for the tenant that it is in. A full OceanBase has one; an engine without tenants needs a way round.
    Raises EngineError when the database does not answer, HarnessError with the code needs_no_encryption.
    """
    url = make_url(database_url)
    if any(name.startswith("ssl") for name in url.query):
        raise HarnessError(
            "needs_no_encryption",
            "PowerContext has no setting for an encrypted connection to OceanBase",
            hint="name a server that takes plain connections too",
        )
    if backend == "sqlite":
        return Way(AS_RELEASED, _settings("sqlite", url.set(drivername="sqlite+aiosqlite")))
    there = _endpoint(url)
    if has_tenants(there):
        return Way(AS_RELEASED, _oceanbase(url, _host(there), there.port))
    if release.has_migration_gate:
        return Way(OWN_TABLES, {**_oceanbase(url, _host(there), there.port), "HARNESS_TABLES": "product"})
    proxy = TenantProxy(socket=there.socket, host=_host(there), port=there.port)
    return Way(BEHIND_PROXY, _oceanbase(url, _LOOPBACK, proxy.port), proxy)


def has_tenants(endpoint: Endpoint) -> bool:
    """Ask a server whether it has tenants, as releases ask it. Raises EngineError when it does not answer."""
    with endpoint.cursor() as cursor:
        cursor.execute("SHOW VARIABLES LIKE 'ob_compatibility_mode'")
        if cursor.fetchone() is None:
            return False
    try:
        with endpoint.cursor() as cursor:
            cursor.execute("SELECT effective_tenant_id()")
            return cursor.fetchone() is not None
    except QueryFailed:
        return False


def _endpoint(url: URL) -> Endpoint:
    path = url.query.get("unix_socket", "")
    return Endpoint(
        user=url.username or "",
        password=url.password or "",
        socket=path if isinstance(path, str) else path[0],
        host=url.host or "",
        port=url.port or 0,
    )


def _host(endpoint: Endpoint) -> str:
    # The host of a unix socket is this machine, whose name may stand for an address that the engine does not listen on.
    return _LOOPBACK if endpoint.socket else endpoint.host


def _oceanbase(url: URL, host: str, port: int) -> dict[str, str]:
    # A release takes this driver and these parts of a URL, and no others.
    product = URL.create(
        "mysql+aoceanbase",
        username=url.username,
        password=url.password,
        host=host,
        port=port,
        database=url.database,
        query={"charset": "utf8mb4"},
    )
    return _settings("oceanbase", product)


def _settings(kind: str, url: URL) -> dict[str, str]:
    return {
        "POWERCONTEXT_SERVER_DATABASE_KIND": kind,
        "POWERCONTEXT_SERVER_DATABASE_URL": url.render_as_string(hide_password=False),
    }
