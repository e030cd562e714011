"""Bodies and candidates to try, for Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from runtime.artifacts import Address, EntryAddress, Family
from runtime.builder import Candidate

CALM = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
"""The same examples on every run, on however slow a machine."""

PIECES = [
    *(
        "a",
        "b ",
        "é",
        "e\u0301",
        "界",
        "𪩘",
        "😀",
        "👩\u200d💻",
        "\u200b",
        "\ufeff",
        "\u202e",
        "\U000e0001",
        "\U00013439",
    ),
    *(
        "\r\n",
        "\r",
        "\n",
        "\u2028",
        "\u2029",
        "\x85",
        "\x00",
        "\t",
        "\x7f",
        "\\u200b",
        "\\U000e0001",
        "…",
        "\xa0",
        '"\\',
    ),
]
_COUNTS = [1, 1, 1, 1, 2, 3, 7, 20, 61, 64, 200, 667]

pieces = st.sampled_from(PIECES)
bodies = st.lists(
    st.builds(lambda piece, times: piece * times, pieces, st.sampled_from(_COUNTS)), min_size=0, max_size=6
).map("".join)
long_bodies = st.lists(
    st.builds(lambda piece, times: piece * times, pieces, st.sampled_from([1, 2, 5, 999, 1000, 2001, 4002])),
    min_size=1,
    max_size=5,
).map("".join)

ids = st.sampled_from(["m1", "m2", "m3", "m4", "項目", "😀", '"', "\x7f"])
scopes = st.sampled_from(["demo", "Demo", "scope 界"])


def citation(family: Family, scope_id: str, name: str, revision: int) -> Address | EntryAddress:
    """Return a citation of this family."""
    if family == "memory":
        return EntryAddress(Address(scope_id, family, "memory", revision), name, f"{name}-v1")
    return Address(scope_id, family, name, revision)


def candidates(family: Family, texts: st.SearchStrategy[str] = bodies) -> st.SearchStrategy[list[Candidate]]:
    """Return lists of candidates of one family, exact repeats among them."""
    cited = st.builds(citation, st.just(family), scopes, ids, st.sampled_from([1, 12]))
    return st.lists(st.builds(Candidate.of, cited, texts), max_size=5)
