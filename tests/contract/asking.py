"""Both clients behind one face, so that each test is of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime.http.client import AsyncClient, Client

Ask = Callable[..., Any]
"""Makes a client of a URL with options, does one call by its name, and closes the client."""


def ask_in_a_thread(url: str, method: str, *arguments: Any, options: dict[str, Any] | None = None, **named: Any) -> Any:
    with Client(url, **(options or {})) as client:
        return getattr(client, method)(*arguments, **named)


def ask_in_a_loop(url: str, method: str, *arguments: Any, options: dict[str, Any] | None = None, **named: Any) -> Any:
    async def asked() -> Any:
        async with AsyncClient(url, **(options or {})) as client:
            return await getattr(client, method)(*arguments, **named)

    return asyncio.run(asked())


both_clients = pytest.mark.parametrize("ask", [ask_in_a_thread, ask_in_a_loop], ids=["sync", "async"])
