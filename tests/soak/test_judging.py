"""The judge of the soak: right answers pass, and each kind of torn, stale or forbidden read is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from history import DOCUMENTS, LEFT, RIGHT, Grant, Held, History, Slot, State, bodies_of
from judging import Caller, Observed, Shown, judge

from runtime.artifacts import Address, EntryAddress

FAMILIES = frozenset({"memory", "experience", "profile", "topic-memory"})
SLOTS: tuple[Slot, ...] = ("entry-1", "extra-1", *DOCUMENTS)


def state(scope_id: str, number: int, begun: float, acknowledged: float, *, guest: bool = True) -> State:
    tag = f"tag-{scope_id[5:]}-{number}"
    return State(number, {slot: Held(tag, number) for slot in SLOTS}, guest, begun, acknowledged)


def world() -> History:
    """Two Scopes of three commits, written around the times 10, 20 and 30; the guest is out in RIGHT's second one."""
    history = History()
    for scope_id in (LEFT, RIGHT):
        for number in (1, 2, 3):
            made = state(scope_id, number, 10 * number, 10 * number + 1, guest=scope_id == LEFT or number != 2)
            history.begin(scope_id, made)
            history.acknowledge(scope_id, made, 10 * number + 1)
    for held, begun in ((True, 0.0), (False, 14.0), (True, 24.0)):
        history.visit(Grant(held, begun))
        history.visit_acknowledged(begun + 0.5)
    return history


def items(history: History, scope_id: str, number: int, families: frozenset[str] = FAMILIES) -> list[Shown]:
    held = history.states[scope_id][number]
    return [
        Shown(citation, min(bodies_of(slot, held.slots[slot].tag), key=len))
        for citation, slot in held.items(scope_id, families).items()
    ]


def seen(
    history: History, left: int, right: int, start: float, end: float, caller: Caller = "keeper", status: int = 200
) -> Observed:
    shown = [*items(history, LEFT, left), *items(history, RIGHT, right, FAMILIES - {"topic-memory"})]
    return Observed(caller, LEFT, FAMILIES, start, end, status, tuple(shown) if status == 200 else ())


def test_answers_of_one_moment_pass() -> None:
    history = world()
    assert judge(history, seen(history, 1, 1, 12, 13)) is None
    assert judge(history, seen(history, 2, 2, 22, 23)) is None
    # While both commits are under way each of the four may be seen.
    for left, right in ((1, 1), (1, 2), (2, 1), (2, 2)):
        assert judge(history, seen(history, left, right, 20.2, 20.6)) is None
    assert judge(history, seen(history, 2, 2, 22, 23, "guest", status=403)) is None
    assert judge(history, seen(history, 1, 1, 16, 17, "visitor", status=403)) is None
    assert judge(history, seen(history, 3, 3, 32, 33, "visitor")) is None
    assert judge(history, seen(history, 3, 3, 32, 33, "guest")) is None


def test_an_item_of_a_later_moment_than_the_rest_is_found() -> None:
    history = world()
    right = seen(history, 1, 1, 20.2, 20.6)
    for place, item in enumerate(right.items):
        newer = next(new for new in seen(history, 2, 2, 0, 0).items if _place(new) == _place(item))
        torn = (*right.items[:place], newer, *right.items[place + 1 :])
        assert judge(history, replace(right, items=torn)) is not None, item


def _place(item: Shown) -> tuple[object, ...]:
    if isinstance(item.citation, EntryAddress):
        return item.scope_id, item.citation.entry_id
    return item.scope_id, item.citation.family, item.citation.artifact_id


def test_an_item_half_old_and_half_new_is_found() -> None:
    history = world()
    right = seen(history, 1, 1, 12, 13)
    for place, item in enumerate(right.items):
        other = item.body.replace("-1", "-2", 1)
        assert other != item.body
        torn = (*right.items[:place], replace(item, body=other), *right.items[place + 1 :])
        assert judge(history, replace(right, items=torn)) is not None, item


def test_a_body_of_another_revision_than_the_cited_one_is_found() -> None:
    history = world()
    right = seen(history, 2, 2, 22, 23)
    old = {_place(item): item for item in seen(history, 1, 1, 0, 0).items}
    for place, item in enumerate(right.items):
        torn = (*right.items[:place], replace(item, body=old[_place(item)].body), *right.items[place + 1 :])
        assert judge(history, replace(right, items=torn)) is not None, item
        wrong = (*right.items[:place], replace(item, citation=old[_place(item)].citation), *right.items[place + 1 :])
        assert judge(history, replace(right, items=wrong)) is not None, item


def test_a_stale_answer_and_one_of_the_future_are_found() -> None:
    history = world()
    assert "not of a moment" in str(judge(history, seen(history, 1, 1, 22, 23)))
    assert "not of a moment" in str(judge(history, seen(history, 3, 3, 22, 23)))
    assert judge(history, seen(history, 1, 1, 20.9, 23)) is None


def test_two_scopes_of_two_moments_are_found() -> None:
    history = world()
    # The request lasted from the first moment to the third; nothing says that both Scopes were ever like this.
    for left, right in ((1, 3), (3, 1), (1, 2)):
        late = seen(history, left, right, 12, 32)
        problem = judge(history, late)
        if (left, right) == (1, 2):
            assert problem is None
        else:
            assert problem == "the two Scopes are of two moments"


def test_what_is_missing_or_too_much_is_found() -> None:
    history = world()
    right = seen(history, 2, 2, 22, 23)
    for place in range(len(right.items)):
        less = (*right.items[:place], *right.items[place + 1 :])
        assert "missing" in str(judge(history, replace(right, items=less)))
        assert judge(history, replace(right, items=less, complete=False)) is None
    strange = Shown(Address(RIGHT, "experience", "experience-9", 1), right.items[2].body)
    assert judge(history, replace(right, items=(*right.items, strange))) is not None
    cut = (replace(right.items[0], truncated=True), *right.items[1:])
    assert "cut" in str(judge(history, replace(right, items=cut)))


def test_a_read_after_an_acknowledged_revocation_is_found() -> None:
    history = world()
    assert "revoked" in str(judge(history, seen(history, 1, 1, 15, 16, "visitor")))
    assert "revocation" in str(judge(history, seen(history, 2, 2, 22, 23, "guest")))
    right = tuple(items(history, RIGHT, 1))
    assert judge(history, Observed("visitor", RIGHT, FAMILIES, 15, 16, 200, right)) is None
    # Begun before the acknowledgement it may still be answered.
    assert judge(history, seen(history, 1, 1, 14.2, 16, "visitor")) is None


def test_a_revoked_view_never_shows_what_was_written_together_with_the_revocation() -> None:
    history = world()
    assert judge(history, seen(history, 1, 1, 20.2, 20.6, "guest")) is None
    assert "revocation" in str(judge(history, seen(history, 1, 2, 20.2, 20.6, "guest")))


def test_a_refusal_without_a_revocation_and_another_status_are_found() -> None:
    history = world()
    assert "refused" in str(judge(history, seen(history, 2, 2, 22, 23, "keeper", status=403)))
    assert "refused" in str(judge(history, seen(history, 1, 1, 12, 13, "guest", status=403)))
    assert "refused" in str(judge(history, seen(history, 3, 3, 32, 33, "visitor", status=403)))
    assert judge(history, seen(history, 1, 1, 12, 13, status=503)) == "status 503"


@pytest.mark.parametrize("slot", SLOTS)
def test_every_place_has_a_body_that_tells_its_write(slot: Slot) -> None:
    assert not bodies_of(slot, "tag-left-1-1") & bodies_of(slot, "tag-left-1-2")
