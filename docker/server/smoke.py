"""Ask a server in its container: seed its database by the write surface, then prepare over HTTP.

`python smoke.py URL`; the database is the one of POWERCONTEXT_SERVER_DATABASE_URL. Exit code 1 with what was wrong.
"""

from __future__ import annotations

import os
import secrets
import sys

import httpx

from runtime.artifacts import EntryWrite
from runtime.storage import open_storage

BODY = "Run the contract tests before every release."


def main(url: str) -> int:
    """Seed, ask as somebody who may read and as nobody, and compare with what is due."""
    scope, reader = f"smoke-{secrets.token_hex(4)}", f"reader-{secrets.token_hex(4)}"
    storage = open_storage(os.environ["POWERCONTEXT_SERVER_DATABASE_URL"])
    try:
        storage.prepare()
        with storage.writing() as writer:
            writer.create_scope(scope)
            writer.write_memory(scope, [EntryWrite("entry-1", "entry-1-v1", BODY)])
            writer.create_principal(reader, administrator=False)
            token = writer.create_token(reader)
            writer.grant(reader, scope)
    finally:
        storage.close()
    request = {"scope_id": scope, "query": "contract tests", "assembly": {}}
    asked = f"{url}/v1/context/prepare"
    answer = httpx.post(asked, json=request, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    if answer.status_code != 200 or BODY not in answer.json()["content"]:
        print(f"expected {BODY!r} in the content, got {answer.status_code} {answer.text}", file=sys.stderr)
        return 1
    refused = httpx.post(asked, json=request, timeout=30)
    if refused.status_code != 401:
        print(f"expected 401 without a token, got {refused.status_code}", file=sys.stderr)
        return 1
    print(f"the server at {url} answered {answer.json()['status']!r} with the Entry, and 401 without a token")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
