"""Asks a server for a context by a release's own client; run by that release's Python, imports none of ours."""

from __future__ import annotations

import asyncio
import json
import sys

from powercontext.client import PowerContextClient
from powercontext.http import PrepareContextRequest


async def main(url: str, token: str, scope_id: str, query: str) -> None:
    """Print the four fields as the client gives them."""
    async with PowerContextClient(url, token=token, timeout=60) as client:
        prepared = await client.prepare_context(PrepareContextRequest(scope_id=scope_id, query=query))
    print(json.dumps(prepared.model_dump(mode="json", by_alias=True)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
