"""Who may read what: principals, grants, and the decisions of SPEC.md 1, 2 and 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.errors import Forbidden, ScopeNotFound
from runtime.settings import AccessMode
from runtime.storage import Principal, ScopeAccess


@dataclass(frozen=True, slots=True)
class Access:
    """One caller's rights; without access control there is no caller and everything is readable."""

    mode: AccessMode
    principal: Principal | None

    @property
    def principal_id(self) -> str | None:
        """The id whose grants count."""
        return None if self.principal is None else self.principal.principal_id

    def check_current(self, scopes: Sequence[ScopeAccess]) -> None:
        """Make sure that the current Scope, the first, exists and is readable.

        To an ordinary caller an absent one looks like one that he may not read. Raises Forbidden, ScopeNotFound.
        """
        if not scopes and (self.mode == "disabled" or (self.principal is not None and self.principal.administrator)):
            raise ScopeNotFound
        if not scopes or not self._may_read(scopes[0]):
            raise Forbidden

    def check_referenced(self, scopes: Sequence[ScopeAccess]) -> None:
        """Make sure that all Scopes that will be read are readable; raises Forbidden."""
        if not all(map(self._may_read, scopes)):
            raise Forbidden

    def _may_read(self, scope: ScopeAccess) -> bool:
        return self.mode == "disabled" or scope.granted
