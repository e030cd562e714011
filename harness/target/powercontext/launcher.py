"""Starts a released PowerContext server that knows several principals, by the release's Python; imports none of ours.

The product's command knows one principal, the holder of its static token. This program calls the product's own
`create_server_app` and gives it an authentication provider, which is a public argument of it. Settings are the
product's own `POWERCONTEXT_SERVER_*`; ours are `HARNESS_SOCKET` (the descriptor of a socket that is bound),
`HARNESS_TOKEN_KEY` (the key by which tokens are signed), `HARNESS_SCHEDULER` (a file) and `HARNESS_TABLES` ("product":
the product makes its tables by itself at its start, without asking for the tenant that a standalone OceanBase engine
does not have).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import socket
from typing import Any

import uvicorn
from powercontext.server import factory
from powercontext.server.authentication import (
    AuthenticationRejectedError,
    AuthenticationResult,
    ProviderReadiness,
)
from powercontext.server.authz import PrincipalRef
from powercontext.server.settings import ServerSettings

ADMINISTRATOR = "harness-administrator"


class SignedTokens:
    """Knows a principal by a token that carries its id and our signature."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    async def authenticate(self, request: Any, /) -> AuthenticationResult:
        """Return the principal of the bearer token; raises the product's own rejection."""
        scheme, _, token = (request.headers.get("authorization") or "").partition(" ")
        identifier, _, signature = token.partition(".")
        expected = hmac.new(self._key, identifier.encode(), hashlib.sha256).hexdigest()
        if scheme.casefold() != "bearer" or not hmac.compare_digest(expected.encode(), signature.encode()):
            raise AuthenticationRejectedError
        try:
            name = base64.urlsafe_b64decode(identifier + "=" * (-len(identifier) % 4)).decode()
        except (binascii.Error, ValueError):
            raise AuthenticationRejectedError from None
        return AuthenticationResult(subject=PrincipalRef(type="user", id=name), credential_id="harness")

    async def readiness(self) -> ProviderReadiness:
        """Say that it is ready."""
        return ProviderReadiness(ready=True)


def main() -> None:
    """Serve on the inherited socket until told to stop."""
    if os.environ.get("HARNESS_TABLES") == "product":
        with contextlib.suppress(ImportError):
            from powercontext.builtin.persistence.migrations import server_readiness

            server_readiness.prepare_server_storage = lambda *_, **__: None
    # The built-in access control makes an administrator only of the static token's holder: name ours instead.
    open_access = factory.open_builtin_access_control

    def open_with_administrator(*arguments: Any, **named: Any) -> Any:
        named["bootstrap_administrators"] = (PrincipalRef(type="user", id=ADMINISTRATOR),)
        return open_access(*arguments, **named)

    factory.open_builtin_access_control = open_with_administrator
    settings = ServerSettings()
    known = SignedTokens(os.environ.pop("HARNESS_TOKEN_KEY").encode())
    application = factory.create_server_app(
        settings=settings,
        scheduler_path=os.environ["HARNESS_SCHEDULER"],
        # Without access control the product refuses to know anybody.
        authentication_provider=None if settings.access.mode == "disabled" else known,
    )
    from powercontext.server.logging import configure_server_logging

    configure_server_logging(settings.logging)
    config = uvicorn.Config(application, access_log=False, log_config=None)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(os.environ["HARNESS_SOCKET"]))])


if __name__ == "__main__":
    main()
