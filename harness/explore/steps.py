"""Generated steps: requests at the budgets that matter, writes, grants and exact reads between them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from harness.explore.moments import Moment
from harness.explore.requests import ABSENT, bodies, budgets, illegal, requests
from harness.explore.sweep import interesting_budgets
from harness.explore.texts import texts
from harness.explore.worlds import Names, Plain, contents, worlds
from runtime.artifacts import MEMORY, Address

_CHANGES = ("write", "write", "refused", "revoke", "grant", "read", "read", "cited", "cited")
_MOST_STEPS = 3
_MANY = 1_048_577
"""One byte more than a body may have."""


@st.composite
def scenarios(draw: st.DrawFn) -> Plain:
    """Draw a whole scenario as plain values, each step with what it must be answered with."""
    head, names = draw(worlds())
    moment = Moment({"scenario": "a generated world", **head})
    _prepare(draw, moment)
    for _ in range(draw(st.integers(0, _MOST_STEPS))):
        _change(draw, moment, names)
        if draw(st.booleans()):
            _prepare(draw, moment)
    return moment.plain


def _prepare(draw: st.DrawFn, moment: Moment) -> None:
    caller = _caller(draw, moment)
    if draw(st.integers(0, 19)) == 19:
        moment.take({"body": draw(bodies()), **caller})
        return
    request = draw(requests(moment.names))
    if draw(st.integers(0, 11)) == 11:
        moment.take({"prepare": {**request, **draw(illegal())}, **caller})
        return
    budget = draw(budgets())
    if draw(st.booleans()):
        full = moment.full({"prepare": request, **caller})
        edges = [] if full is None else interesting_budgets(full, seed="edges")
        budget = draw(st.sampled_from(edges)) if edges else budget
    if budget is not None:
        request["max_bytes"] = budget
    moment.take({"prepare": _ordered(request), **caller})


def _ordered(request: Plain) -> Plain:
    return {key: request[key] for key in ("scope_id", "query", "max_bytes", "assembly") if key in request}


def _caller(draw: st.DrawFn, moment: Moment) -> Plain:
    """Draw who calls: mostly the first principal, who needs no mention."""
    others = [*list(moment.plain["principals"])[1:], "nobody"]
    chosen: Any = draw(st.sampled_from([None] * 16 + others))
    if chosen == "nobody" and draw(st.booleans()):
        chosen = {"token": "a token that nobody has"}
    return {} if chosen is None else {"as": chosen}


def _change(draw: st.DrawFn, moment: Moment, names: Names) -> None:
    match draw(st.sampled_from(_CHANGES)):
        case "write":
            _write(draw, moment, names)
        case "refused":
            _refused(draw, moment)
        case "read":
            _read(draw, moment)
        case "cited":
            _read_cited(moment)
        case verb:
            caller = draw(st.sampled_from(list(moment.plain["principals"])))
            moment.take({verb: {caller: draw(st.lists(st.sampled_from(moment.names), min_size=1, max_size=2))}})


def _write(draw: st.DrawFn, moment: Moment, names: Names) -> None:
    name = draw(st.sampled_from([*moment.names, "later"]))
    made = draw(contents(most=1))(names, name)
    if draw(st.booleans()):
        others = [other for other in moment.names if other != name]
        made = {
            "references": draw(st.lists(st.sampled_from(others), unique=True, max_size=3)) if others else [],
            **made,
        }
    if made or name not in moment.names:
        moment.take({"write": {name: made}})


def _refused(draw: st.DrawFn, moment: Moment) -> None:
    name = draw(st.sampled_from(moment.names))
    entry: Plain = {"entry": "refused", "text": draw(texts(most=1))}
    refusals: tuple[tuple[Plain, str], ...] = (
        ({"memory": [entry, {"retire": "an entry that nobody wrote"}]}, "entry_unknown"),
        ({"memory": [entry], "references": [name]}, "invalid_reference"),
        ({"memory": [{**entry, "entry": "x" * 257}]}, "invalid_id"),
        ({"memory": [{**entry, "version": " \u3000"}]}, "invalid_id"),
        ({"memory": [entry], "profile": ["x" * _MANY]}, "body_too_long"),
        ({"memory": [entry], "references": [ABSENT]}, "invalid_reference"),
    )
    content, code = draw(st.sampled_from(refusals))
    moment.take({"write": {name: content}, "expect": {"refused": code}})


def _read(draw: st.DrawFn, moment: Moment) -> None:
    """Draw an exact read: of any revision that is stored, and sometimes one or two numbers or letters beside it."""
    caller = _caller(draw, moment)
    addresses = moment.addresses()
    if not addresses:
        moment.take({"read": {"scope": "s1", "family": "profile", "id": "profile", "revision": 1}, **caller})
        return
    address: Address = draw(st.sampled_from(addresses))
    beside = draw(st.sampled_from(("", "", "revision", "family", "id", "scope")))
    read: Plain = {
        "scope": ABSENT if beside == "scope" else moment.name_of(address.scope_id),
        "revision": address.revision + (beside == "revision"),
    }
    memory = moment.world.memory(address)
    if memory is not None and beside != "family" and draw(st.booleans()):
        entry = draw(st.sampled_from(memory.entries))
        read |= {"entry": entry.entry_id + ("x" if beside == "id" else ""), "version": entry.entry_version_id}
    else:
        family = "Memory" if beside == "family" else address.family
        read |= {"family": family, "id": address.artifact_id + ("x" if beside == "id" and family != MEMORY else "")}
    moment.take({"read": read, **(caller if beside != "family" else {})})


def _read_cited(moment: Moment) -> None:
    if not moment.is_cited:
        return
    readable = moment.may_read_cited(next(iter(moment.plain["principals"])))
    if readable is not None:
        refused = {"expect": {"http": 403, "error": "forbidden"}}
        moment.take({"read": "everything cited", **({} if readable else refused)})
