"""What stands in for a released server while a script is written: it accepts every write and makes placeholder ids."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from harness.report.shell import placeholder
from harness.target.base import Answer
from harness.target.powercontext.requests import Request

_REVISION = re.compile(r'"revision:(\d+)"')

Makes = dict[str, str]
"""Where an answer has the ids that it makes: jq's path by placeholder."""


class StandIn:
    """Answers the requests of a seed as a released server does, as far as the seed looks at the answers."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        """What kind of thing each placeholder is, in the order of their making."""
        self._memory_revisions: Counter[str] = Counter()

    def answer(self, request: Request) -> tuple[Answer, Makes]:
        """Return the answer to a request, and which ids it makes."""
        makes: Makes = {}
        body = self._body(request, request.body or {}, makes)
        return Answer(200, (), json.dumps(body).encode()), makes

    def _body(self, request: Request, sent: Any, makes: Makes) -> dict[str, Any]:
        match request.method, request.path.removeprefix("/v1/").split("/"):
            case "POST", ["scopes"]:
                return {"scope_id": self._new("scope", ".scope_id", makes), "version": 1}
            case "PUT", ["scopes", _]:
                return {"version": sent["expected_version"] + 1}
            case "POST", ["scopes", _, "artifacts"] if sent["family"] == "profile":
                return {"artifact_id": "profile", "revision": 1}
            case "POST", ["scopes", _, "artifacts"]:
                return {"artifact_id": self._new("artifact", ".artifact_id", makes), "revision": 1}
            case "PUT", ["scopes", _, "artifacts", *_]:
                present = _REVISION.fullmatch(request.headers["if-match"])
                assert present is not None
                return {"revision": int(present[1]) + 1}
            case "POST", ["scopes", _, "sources"]:
                return {"source_id": self._new("source", ".source_id", makes)}
            case "POST", ["experience", "propose"]:
                return {"candidate_id": self._new("candidate", ".candidate_id", makes), "version": 1}
            case "POST", ["atomic-memory", "lifecycle"]:
                return {"records": [{"state_version": sent["target"]["state_version"] + 1}]}
            case "POST", ["memory", *_]:
                return self._entry(sent, makes)
            case "POST", ["access", "bindings", "create"]:
                return {"binding_id": self._new("binding", ".binding_id", makes), "version": 1}
        return {}

    def _entry(self, sent: Any, makes: Makes) -> dict[str, Any]:
        self._memory_revisions[sent["scope_id"]] += 1
        citation = sent.get("citation") or {"entry_id": self._new("entry", ".entry.citation.entry_id", makes)}
        # Retiring keeps the version.
        if "text" in sent:
            version = self._new("version", ".entry.citation.entry_version_id", makes)
            citation = {**citation, "entry_version_id": version}
        revision = self._memory_revisions[sent["scope_id"]]
        return {"entry": {"citation": citation}, "memory": {"revision": revision}}

    def _new(self, kind: str, path: str, makes: Makes) -> str:
        made = placeholder(len(self.made))
        self.made[made] = kind
        makes[made] = path
        return made
