"""The same with 100,000 entries in the current Scope, in databases of their own."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.context import Bench, turns
from bench.corpus import CURRENT, Corpus
from bench.figures import BenchFailed, Figure, Spread
from bench.prepare import ASSEMBLIES, BOUNDS, Case, ask
from harness.scenario.model import RuntimeSpec
from harness.target.base import Refused, Target

FACTOR = 3
"""How many times the bound of the small Scopes a bounded query may take."""
BOUNDED = "3 words"
FREQUENT = "ranks 1-3"
LENGTHS = (1, 3, 10, 40)
FREQUENT_REQUESTS = 12


def large(bench: Bench) -> Iterator[Figure]:
    """Load 100,000 entries, then ask with queries of 1-40 words, and with the most frequent words apart."""
    sizes = bench.sizes
    cases = [case for length in LENGTHS for case in _cases(bench, length)]
    frequent = " ".join(bench.corpus.words[:3])
    cases.append(Case(FREQUENT, ASSEMBLIES["{}"], [frequent] * (1 + min(sizes.requests, FREQUENT_REQUESTS))))
    with bench.targets("large") as targets:
        yield from _load(bench, targets)
        hits = _Hits.of(bench.corpus, sizes.large_entries, sizes.entries_a_revision, cases)
        for case in cases:
            warm_up = 1 if case.name == FREQUENT else sizes.warm_up
            counts = Spread.of([hits.of_query(query) for query in case.queries[warm_up:]])
            note = f"hits {counts.minimum:.0f} / {counts.median:.0f} / {counts.maximum:.0f}"
            for backend, milliseconds in ask(targets, [case], warm_up=warm_up)[case.name].items():
                bound = FACTOR * BOUNDS[backend] if case.name == BOUNDED and backend in BOUNDS else None
                yield Figure("large", case.name, backend, "ms", Spread.of(milliseconds), bound, note)


def _cases(bench: Bench, length: int) -> Iterator[Case]:
    count = bench.sizes.warm_up + bench.sizes.requests
    name = f"{length} word" + "s" * (length > 1)
    queries = bench.corpus.ranked_queries(name, count, words=length)
    for assembly, fields in ASSEMBLIES.items():
        if assembly == "{}":
            yield Case(name, fields, queries)
        elif name == BOUNDED:
            yield Case(f"{name}, {assembly}", fields, queries)


def _load(bench: Bench, targets: Mapping[str, Target]) -> Iterator[Figure]:
    """Write the large Scope one revision after the other, and yield what it took."""
    sizes = bench.sizes
    world = bench.corpus.world(current=0, referenced=sizes.memories, experiences=sizes.experiences)
    for target in targets.values():
        target.reset(RuntimeSpec())
        target.apply(world)
    spent: dict[str, list[float]] = {name: [] for name in targets}
    for number, first in enumerate(range(0, sizes.large_entries, sizes.entries_a_revision)):
        revision = bench.corpus.memories(CURRENT, first, min(sizes.entries_a_revision, sizes.large_entries - first))
        for name in turns(tuple(targets), number):
            started = time.perf_counter()
            if isinstance(targets[name].apply([revision]), Refused):
                raise BenchFailed(f"{name} refused a revision of the large Scope")
            spent[name].append(time.perf_counter() - started)
    for name, seconds in spent.items():
        yield Figure("large", f"load {sizes.large_entries:,} entries", name, "s", Spread.of([sum(seconds)]))
        case = f"load a revision of {sizes.entries_a_revision:,} entries"
        yield Figure("large", case, name, "s", Spread.of(seconds))


@dataclass(slots=True)
class _Hits:
    """Which entries of the large Scope hold a word, counted beside the database; only for words that are asked for."""

    entries: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, corpus: Corpus, count: int, step: int, cases: Sequence[Case]) -> _Hits:
        """Read all texts once."""
        hits = cls()
        asked = {word for case in cases for query in case.queries for word in query.split()}
        for first in range(0, count, step):
            texts = corpus.texts(f"{CURRENT} {first}", min(step, count - first))
            for number, text in enumerate(texts, start=first):
                for word in asked.intersection(text.split()):
                    hits.entries[word].add(number)
        return hits

    def of_query(self, query: str) -> int:
        """Return how many entries match."""
        return len(set[int]().union(*(self.entries[word] for word in query.split())))
