"""`python -m bench.effects`: what the form and the selection do to bytes, tokens and items, on fixed worlds.

Two questions, kept apart: the form changes while the items stay, and the selection changes while the form stays.
Nothing is said about what a model makes of it. Exit code 0, 1 where an answer is not what the question needs, 2 for
misuse or an output that cannot be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backends import EngineError
from bench import effects_report
from bench.context import QUICK, Bench
from bench.corpus import TOKEN
from bench.effects_tokens import ENCODINGS, Tokenizer
from bench.effects_world import COUNTS, KINDS, Kind, alone, mixed, printed, world
from bench.figures import BenchFailed
from harness.check.delivered import read_delivered
from harness.scenario.model import RuntimeSpec
from harness.target.base import Refused, Target
from runtime.artifacts import EntryAddress

BACKEND = "sqlite"
"""All backends give the same bytes, which the scenarios show."""
ROOMY = 32_768
BUDGETS = (512, 750, 1000, 1500, 2000, 4000)
SECTIONS: Mapping[str, Sequence[tuple[str, int]]] = {
    "default: memory 6, experience 2": (("memory", 6), ("experience", 2)),
    "experience 2, memory 6": (("experience", 2), ("memory", 6)),
    "memory 8": (("memory", 8),),
    "experience 2": (("experience", 2),),
    "profile 2, memory 4": (("profile", 2), ("memory", 4)),
    "topic-memory 3, memory 3": (("topic-memory", 3), ("memory", 3)),
    "memory 3, experience 2, profile 2, topic-memory 1": (
        ("memory", 3),
        ("experience", 2),
        ("profile", 2),
        ("topic-memory", 1),
    ),
    "none": (),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One prepared text: its size, and its items by name in their order, `~` behind those that are cut."""

    bytes: int
    tokens: Mapping[str, int]
    body_bytes: int
    """Of the bodies as they are stored or cut, without form and citations."""
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class FormatRow:
    """The same items in both forms."""

    kind: str
    case: str
    items: int
    same_order: bool
    older: Shown
    markdown: Shown


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """What one selection shows within one budget; None where the answer is empty."""

    kind: str
    sections: str
    max_bytes: int
    shown: Shown | None


class Asking:
    """Asks one target, and takes its texts apart."""

    def __init__(self, target: Target, tokenizer: Tokenizer) -> None:
        self._target = target
        self._tokenizer = tokenizer

    def prepare(self, scope_id: str, query: str, max_bytes: int, **fields: Any) -> Shown | None:
        """Send one prepare; raises BenchFailed."""
        request = {"scope_id": scope_id, "query": query, "max_bytes": max_bytes, **fields}
        answer = self._target.prepare(json.dumps(request).encode(), token=TOKEN)
        if answer.status != 200:
            raise BenchFailed(f"{scope_id}: the server answered {answer.status}")
        return None if answer.content is None else self._shown(answer.content, scope_id)

    def _shown(self, content: str, scope_id: str) -> Shown:
        items = read_delivered(content, scope_id=scope_id).items
        names = []
        for item in items:
            of = item.citation.entry_id if isinstance(item.citation, EntryAddress) else item.address.artifact_id
            where = "" if item.scope_id == scope_id else "shared/"
            names.append(f"{where}{of}{'~' if item.truncated else ''}")
        return Shown(
            bytes=len(content.encode()),
            tokens=self._tokenizer.count(content),
            body_bytes=sum(len(item.body_text.encode()) for item in items),
            items=names,
        )


def format_rows(asking: Asking) -> Iterator[FormatRow]:
    """Yield the same items in both forms; raises BenchFailed where they are not the same."""
    for kind in KINDS:
        for family, counts in COUNTS.items():
            for count in counts:
                limits = [{"family": family, "limit": count}]
                row = _format_row(asking, kind, f"{family} {count}", alone(kind, family, count), limits)
                if row.items != count or not row.same_order:
                    raise BenchFailed(f"{kind.name}, {row.case}: the two forms show other items or another order")
                yield row
        # Families in turn there, and grouped here: the order is what the form makes of it. The older output has no
        # Profile; the limits are what it takes of each family.
        limits = [
            {"family": "memory", "limit": 3},
            {"family": "topic-memory", "limit": 3},
            {"family": "experience", "limit": 2},
        ]
        yield _format_row(asking, kind, "mixed 8", mixed(kind), limits)


def _format_row(
    asking: Asking, kind: Kind, case: str, scope_id: str, sections: Sequence[Mapping[str, object]]
) -> FormatRow:
    older = asking.prepare(scope_id, kind.query, ROOMY)
    markdown = asking.prepare(scope_id, kind.query, ROOMY, assembly={"sections": sections})
    if older is None or markdown is None or sorted(older.items) != sorted(markdown.items):
        raise BenchFailed(f"{kind.name}, {case}: the two forms show other items")
    if any(name.endswith("~") for name in older.items):
        raise BenchFailed(f"{kind.name}, {case}: an item is cut, so its two bodies differ")
    return FormatRow(kind.name, case, len(older.items), older.items == markdown.items, older, markdown)


def selection_rows(asking: Asking) -> Iterator[SelectionRow]:
    """Yield what each selection shows within each budget."""
    for kind in KINDS:
        for name, sections in SECTIONS.items():
            assembly = {"sections": [{"family": family, "limit": limit} for family, limit in sections]}
            for max_bytes in BUDGETS:
                shown = asking.prepare(mixed(kind), kind.query, max_bytes, assembly=assembly)
                yield SelectionRow(kind.name, name, max_bytes, shown)


def evaluate(seed: int) -> dict[str, Any]:
    """Return the whole result as plain values; raises BenchFailed, EngineError."""
    tokenizer = Tokenizer()
    operations = world(seed)
    with (
        Bench(seed=seed, sizes=QUICK, backends=[BACKEND], oceanbase_url=None) as bench,
        bench.targets("effects") as targets,
    ):
        target = targets[BACKEND]
        target.reset(RuntimeSpec())
        if isinstance(refused := target.apply(operations), Refused):
            raise BenchFailed(f"the world was refused: {refused.code}")
        asking = Asking(target, tokenizer)
        formats, selections = list(format_rows(asking)), list(selection_rows(asking))
    return {
        "format": "powercontext-harness.effects.v1",
        "seed": seed,
        "tokenizer": tokenizer.name,
        "encodings": list(ENCODINGS),
        "queries": {kind.name: kind.query for kind in KINDS},
        "sections": {name: [list(section) for section in sections] for name, sections in SECTIONS.items()},
        "world": printed(operations),
        "same_items_two_forms": [asdict(row) for row in formats],
        "same_form_other_selection": [asdict(row) for row in selections],
    }


def main(arguments: Sequence[str] | None = None, *, evaluate: Callable[[int], dict[str, Any]] = evaluate) -> int:
    """Run the evaluation; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m bench.effects", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1489, help="of the worlds' texts (default 1489)")
    parser.add_argument("--output", type=Path, default=Path("results"), metavar="DIR", help="default results")
    parser.add_argument("--document", type=Path, metavar="FILE", help="put the tables behind the mark in this document")
    options = parser.parse_args(arguments)
    try:
        result = evaluate(options.seed)
        text = effects_report.markdown(result)
        written = effects_report.write(options.output, result, text)
        if options.document is not None:
            effects_report.write_document(options.document, text)
    except BenchFailed as error:
        print(f"effects_failed: {error}", file=sys.stderr)
        return 1
    except EngineError as error:
        print(error, file=sys.stderr)
        return 2
    except effects_report.DocumentUnmarked as error:
        print(f"document_unmarked: {options.document} has no line {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"output_unwritable: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(text)
    print("written: " + ", ".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
