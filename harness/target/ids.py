"""What a scenario's own ids are called on a target that makes its ids by itself, and back (SPEC.md 1).

Real ids are random, so no two runs have the same; what is told or compared is put back to the scenario's own ids.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_GENERATED = re.compile(
    rb"(?:scp_[0-9a-z]{26}|(?:art|cand|mem_ent|mem_ver)_[0-9a-f]{32})(?![0-9a-z])",
)
"""How ids look that releases of PowerContext generate, as measured."""

_ASKED_SCOPE = re.compile(rb'("scope_id"\s*:\s*)("(?:[^"\\]|\\.)*")')


@dataclass
class Ids:
    """The real id for each of a scenario's: an empty one stands for a target that takes ids as they are given.

    Scopes by their id, Artifacts by Scope and id, Entries by Scope and id, versions by Scope, Entry and version; all of
    these the scenario's, a Scope may also be named by its real id. What is not known stands for itself.
    """

    scopes: dict[str, str] = field(default_factory=dict)
    artifacts: dict[tuple[str, str], str] = field(default_factory=dict)
    entries: dict[tuple[str, str], str] = field(default_factory=dict)
    versions: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict, repr=False)

    def scope(self, scope_id: str) -> str:
        """Return a Scope's real id; an id that is a known one with an edit at an end is edited likewise."""
        if scope_id in self.scopes or not self.scopes:
            return self.scopes.get(scope_id, scope_id)
        return self._likewise(scope_id)

    def artifact(self, scope_id: str, artifact_id: str) -> str:
        """Return an Artifact's real id in a Scope of the scenario's."""
        return self.artifacts.get((self._home(scope_id), artifact_id), artifact_id)

    def entry(self, scope_id: str, entry_id: str) -> str:
        """Return an Entry's real id."""
        return self.entries.get((self._home(scope_id), entry_id), entry_id)

    def version(self, scope_id: str, entry_id: str, version_id: str) -> str:
        """Return an Entry version's real id."""
        return self.versions.get((self._home(scope_id), entry_id, version_id), version_id)

    def name(self, real: str) -> str:
        """Return the scenario's own id for a real one."""
        return self._names.get(real.encode("utf-8", "surrogatepass"), real)

    def learn_scope(self, scope_id: str, real: str) -> None:
        """Remember a Scope that was made."""
        self.scopes[scope_id] = real
        self._names[real.encode()] = scope_id

    def learn_artifact(self, scope_id: str, artifact_id: str, real: str) -> None:
        """Remember an Artifact that was made in a Scope of the scenario's."""
        self.artifacts[scope_id, artifact_id] = real
        self._names[real.encode()] = artifact_id

    def learn_entry(self, scope_id: str, entry_id: str, real: str) -> None:
        """Remember an Entry that was made."""
        self.entries[scope_id, entry_id] = real
        self._names[real.encode()] = entry_id

    def learn_version(self, scope_id: str, entry_id: str, version_id: str, real: str) -> None:
        """Remember a version that was made."""
        self.versions[scope_id, entry_id, version_id] = real
        self._names[real.encode()] = version_id

    def in_request(self, body: bytes) -> bytes:
        """Return a raw request body with the real id for a Scope of the scenario's that it asks for."""
        if not self.scopes:
            return body

        def real(found: re.Match[bytes]) -> bytes:
            try:
                scope_id = json.loads(found[2])
            except ValueError:
                return found[0]
            put = self.scope(scope_id)
            return found[0] if put == scope_id else found[1] + json.dumps(put, ensure_ascii=False).encode()

        return _ASKED_SCOPE.sub(real, body)

    def named(self, text: str) -> str:
        """Return a text for people, each real id in it put back to the scenario's."""
        return self._put_back(text.encode("utf-8", "surrogatepass"), pad=False).decode("utf-8", "surrogatepass")

    def named_value(self, value: Any) -> Any:
        """Return a JSON value with each string in it as `named` gives it."""
        if isinstance(value, str):
            return self.named(value)
        if isinstance(value, list):
            return [self.named_value(part) for part in value]
        if isinstance(value, dict):
            return {key: self.named_value(part) for key, part in value.items()}
        return value

    def comparable(self, body: bytes) -> bytes:
        """Return an answer's bytes with each real id put back, padded to as many bytes where it is shorter."""
        return self._put_back(body, pad=True)

    def _put_back(self, data: bytes, *, pad: bool) -> bytes:
        if not self._names:
            return data

        def name(found: re.Match[bytes]) -> bytes:
            known = self._names.get(found[0])
            if known is None:
                return found[0]
            put = known.encode()
            return put.ljust(len(found[0]), b"~") if pad else put

        return _GENERATED.sub(name, data)

    def _home(self, scope_id: str) -> str:
        """Return the scenario's id of a Scope, or of the one that a near miss with blanks is near to."""
        known = self.name(scope_id)
        return self.name(scope_id.strip()) if known == scope_id and scope_id not in self.scopes else known

    def _likewise(self, scope_id: str) -> str:
        """Return what a near miss of a known Scope id is near to here: the same edit of the real id."""
        for known, real in self.scopes.items():
            if known and scope_id.startswith(known) and not scope_id[len(known) :].strip():
                return real + scope_id[len(known) :]
            if known and scope_id.endswith(known) and not scope_id[: -len(known)].strip():
                return scope_id[: -len(known)] + real
            if scope_id == known.swapcase():
                return real.swapcase()
            if scope_id == known.upper():
                return real.upper()
        return scope_id
