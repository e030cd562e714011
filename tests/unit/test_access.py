"""Who may read what."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from runtime.access import Access
from runtime.errors import Forbidden, OperationError, ScopeNotFound
from runtime.settings import AccessMode
from runtime.storage import Principal, ScopeAccess

READER = Principal("reader", administrator=False)
ADMINISTRATOR = Principal("root", administrator=True)
SEEN = ScopeAccess("demo", granted=True)
UNSEEN = ScopeAccess("other", granted=False)


def verdict(
    check: Callable[[Sequence[ScopeAccess]], None], scopes: Sequence[ScopeAccess]
) -> type[OperationError] | None:
    try:
        check(scopes)
    except OperationError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("mode", "principal", "scopes", "expected"),
    [
        ("enforced", READER, [SEEN], None),
        ("enforced", READER, [UNSEEN], Forbidden),
        ("enforced", READER, [], Forbidden),
        ("enforced", ADMINISTRATOR, [SEEN], None),
        # To manage is not to read.
        ("enforced", ADMINISTRATOR, [UNSEEN], Forbidden),
        ("enforced", ADMINISTRATOR, [], ScopeNotFound),
        ("enforced", None, [SEEN], None),
        ("enforced", None, [UNSEEN], Forbidden),
        ("enforced", None, [], Forbidden),
        ("disabled", None, [UNSEEN], None),
        ("disabled", None, [], ScopeNotFound),
        ("disabled", READER, [UNSEEN], None),
        # The references are judged later, and only where they are read.
        ("enforced", READER, [SEEN, UNSEEN], None),
    ],
)
def test_the_current_scope_is_judged(
    mode: AccessMode, principal: Principal | None, scopes: list[ScopeAccess], expected: type[OperationError] | None
) -> None:
    assert verdict(Access(mode, principal).check_current, scopes) is expected


@pytest.mark.parametrize(
    ("mode", "scopes", "expected"),
    [
        ("enforced", [SEEN, SEEN], None),
        ("enforced", [SEEN, SEEN, UNSEEN], Forbidden),
        ("enforced", [SEEN, UNSEEN, SEEN], Forbidden),
        ("disabled", [UNSEEN, UNSEEN], None),
    ],
)
def test_all_that_is_read_must_be_readable(
    mode: AccessMode, scopes: list[ScopeAccess], expected: type[OperationError] | None
) -> None:
    for principal in (READER, ADMINISTRATOR):
        assert verdict(Access(mode, principal).check_referenced, scopes) is expected
