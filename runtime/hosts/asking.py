"""One prepare over HTTP, by the Python client."""

from __future__ import annotations

from runtime.hosts.configuration import Configuration, Selection
from runtime.http.client import Client


def ask(configuration: Configuration, query: str, selection: Selection) -> bytes:
    """Send one prepare and return the body of its 200 as the server sent it; raises ContextError."""
    with Client(
        configuration.url, token=configuration.token, timeout_seconds=configuration.timeout_seconds, retries=0
    ) as client:
        return client.prepare(
            configuration.scope_id, query, max_bytes=selection.max_bytes, assembly=selection.assembly
        ).raw
