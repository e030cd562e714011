"""The public operations of a server, as raw requests and answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from urllib.parse import quote

import httpx

from harness.target.base import Answer, TargetLost
from runtime.artifacts import Citation, EntryAddress


class Client:
    """One connection to one server; nothing is retried, nothing is followed."""

    def __init__(self, url: str, *, timeout_seconds: float = 30.0) -> None:
        self.url = url
        self._timeout_seconds = timeout_seconds
        self._http = self._connected()

    def prepare(self, body: bytes, *, token: str | None, headers: Mapping[str, str] = {}) -> Answer:
        """Post these bytes to the prepare operation."""
        return self._send("POST", "/v1/context/prepare", body, token=token, headers=headers)

    def read(self, citation: Citation, *, token: str | None) -> Answer:
        """Read exactly what a citation names."""
        if not isinstance(citation, EntryAddress):
            revision = str(citation.revision)
            return self.read_revision(citation.scope_id, citation.family, citation.artifact_id, revision, token=token)
        memory = citation.memory
        request = {
            "scope_id": memory.scope_id,
            "citation": {
                "memory_ref": {
                    "family": memory.family,
                    "artifact_id": memory.artifact_id,
                    "revision": memory.revision,
                },
                "entry_id": citation.entry_id,
                "entry_version_id": citation.entry_version_id,
            },
        }
        return self.read_entry(json.dumps(request, ensure_ascii=False).encode(), token=token)

    def read_revision(
        self, scope_id: str, family: str, artifact_id: str, revision: str, *, token: str | None
    ) -> Answer:
        """Read one Artifact revision by its raw parts, legal or not."""
        scope, kind, artifact, number = map(_segment, (scope_id, family, artifact_id, revision))
        path = f"/v1/scopes/{scope}/artifacts/{kind}/{artifact}/revisions/{number}"
        return self._send("GET", path, None, token=token, headers={})

    def read_entry(self, body: bytes, *, token: str | None) -> Answer:
        """Post these bytes to the exact read of an Entry version."""
        return self._send("POST", "/v1/memory/entries/get", body, token=token, headers={})

    def send(
        self, method: str, path: str, body: bytes | None, *, token: str | None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """Send any other request."""
        return self._send(method, path, body, token=token, headers=headers)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _connected(self) -> httpx.Client:
        # The environment's proxies are for other traffic than that to a server under test.
        # Certificates would be read from disk, a tenth of a second each time, for plain HTTP.
        encrypted = self.url.startswith("https:")
        return httpx.Client(base_url=self.url, timeout=self._timeout_seconds, trust_env=False, verify=encrypted)

    def _send(
        self, method: str, path: str, body: bytes | None, *, token: str | None, headers: Mapping[str, str]
    ) -> Answer:
        sent = {} if body is None else {"content-type": "application/json"}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        sent |= {name.lower(): value for name, value in headers.items()}
        started = time.perf_counter()
        try:
            answer = self._http.request(
                method, path, content=body, headers=[(name.encode(), value.encode()) for name, value in sent.items()]
            )
        except httpx.HTTPError as error:
            raise TargetLost(f"{type(error).__name__}: {error}") from error
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            # A server that failed may close the connection a moment later, without having said so.
            self._http.close()
            self._http = self._connected()
        return Answer(
            answer.status_code,
            tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers.raw),
            answer.content,
            time.perf_counter() - started,
        )


def _segment(text: str) -> str:
    """Encode one path segment; dots too, since a path's `.` and `..` are resolved away on the way."""
    return quote(text, safe="").replace(".", "%2E")
