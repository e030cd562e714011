"""The evaluation's tables, its file of values, and its plots as SVG that needs nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

Json = Mapping[str, Any]

WIDTH, LEFT, ROW = 1000, 300, 18
CHARACTER = 6.2
"""How wide a character of the words behind a bar is, about."""
FAMILIES = {"m": "memory", "e": "experience", "p": "profile", "t": "topic-memory"}
"""By the letter that an item's name begins with."""

MARK = "<!-- What follows is written by `make effects DOCUMENT=docs/effects.md`. -->\n\n"


class DocumentUnmarked(Exception):
    """A document without the line behind which the tables go."""


def markdown(result: Json) -> str:
    """Return all tables."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Json) -> Iterator[str]:
    first, second = result["encodings"]
    yield f"Seed {result['seed']}; tokens by {result['tokenizer']}, {first} / {second}."
    yield ""
    yield "## The same items in both forms"
    yield ""
    yield from _table(
        [
            "text",
            "items",
            "bodies",
            "older bytes",
            "Markdown bytes",
            "ratio",
            "older tokens",
            "Markdown tokens",
            "ratio",
        ],
        [
            [
                row["kind"],
                row["case"],
                str(row["older"]["body_bytes"]),
                str(row["older"]["bytes"]),
                str(row["markdown"]["bytes"]),
                _ratio(row["markdown"]["bytes"], row["older"]["bytes"]),
                " / ".join(str(row["older"]["tokens"][name]) for name in (first, second)),
                " / ".join(str(row["markdown"]["tokens"][name]) for name in (first, second)),
                _ratio(row["markdown"]["tokens"][first], row["older"]["tokens"][first]),
            ]
            for row in result["same_items_two_forms"]
        ],
    )
    yield ""
    yield f"Markdown by older: {_spread(result, _bytes)} of the bytes, {_spread(result, _tokens(first))} of the tokens."
    rows = result["same_form_other_selection"]
    budgets = sorted({row["max_bytes"] for row in rows})
    for kind in dict.fromkeys(row["kind"] for row in rows):
        yield ""
        yield f"## Other selections in one form: {kind}"
        yield ""
        own = {(row["sections"], row["max_bytes"]): row["shown"] for row in rows if row["kind"] == kind}
        names = list(dict.fromkeys(sections for sections, _ in own))
        cells = [[name, *(_cell(own[name, budget], first) for budget in budgets)] for name in names]
        yield from _table(["sections", *(f"{budget} bytes" for budget in budgets)], cells)
    yield ""
    yield f"## Which items: {budgets[-1]} bytes"
    yield ""
    yield from _table(
        ["text", "sections", "items"],
        [
            [row["kind"], row["sections"], " ".join(row["shown"]["items"]) if row["shown"] else "empty"]
            for row in rows
            if row["max_bytes"] == budgets[-1]
        ],
    )


def _bytes(shown: Json) -> int:
    size: int = shown["bytes"]
    return size


def _tokens(encoding: str) -> Callable[[Json], int]:
    return lambda shown: int(shown["tokens"][encoding])


def _spread(result: Json, size: Callable[[Json], int]) -> str:
    """Return the least and the greatest ratio of the two forms."""
    found = [size(row["markdown"]) / size(row["older"]) for row in result["same_items_two_forms"]]
    return f"{min(found):.2f} to {max(found):.2f}"


def _cell(shown: Json | None, encoding: str) -> str:
    """Return the items of each family, how many are cut, the bytes and the tokens."""
    if shown is None:
        return "empty"
    counts = " ".join(f"{family[0].upper()}{count}" for family, count in by_family(shown).items() if count)
    cut = sum(name.endswith("~") for name in shown["items"])
    return f"{counts}{f', {cut} cut' if cut else ''}: {shown['bytes']} B, {shown['tokens'][encoding]} t"


def by_family(shown: Json | None) -> dict[str, int]:
    """Return how many items of each family there are, in the order in which they stand."""
    counts: dict[str, int] = {}
    for name in shown["items"] if shown else ():
        family = FAMILIES[name.removeprefix("shared/")[0]]
        counts[family] = counts.get(family, 0) + 1
    return counts


def _ratio(value: int, other: int) -> str:
    return f"{value / other:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def format_plot(result: Json) -> dict[str, Any]:
    """Return two bars for each case, of the tokens of each form."""
    first = result["encodings"][0]
    rows = []
    for row in result["same_items_two_forms"]:
        for form, part in (("older", row["older"]), ("Markdown", row["markdown"])):
            title = f"{row['kind']}, {row['case']}" if form == "older" else ""
            told = f"{part['tokens'][first]} tokens, {part['bytes']} bytes"
            rows.append({"title": title, "bars": [{"of": form, "value": part["tokens"][first]}], "told": told})
    return _scaled(rows, ["older", "Markdown"], f"tokens ({first}) of the same items in both forms")


def selection_plot(result: Json) -> dict[str, Any]:
    """Return one bar for each selection and budget, of its items by family, for the first kind of text."""
    rows = []
    kind = result["same_form_other_selection"][0]["kind"]
    for row in result["same_form_other_selection"]:
        if row["kind"] == kind:
            bars = [{"of": family, "value": count} for family, count in by_family(row["shown"]).items()]
            told = " ".join(row["shown"]["items"]) if row["shown"] else "empty"
            rows.append({"title": f"{_short(row['sections'])}; {row['max_bytes']}", "bars": bars, "told": told})
    return _scaled(rows, list(FAMILIES.values()), f"items by selection and budget in bytes, {kind} text")


def _short(sections: str) -> str:
    return sections.removeprefix("default: ").replace("topic-memory", "topic").replace("experience", "exp.")


def _scaled(rows: Sequence[dict[str, Any]], series: Sequence[str], title: str) -> dict[str, Any]:
    longest = max([sum(bar["value"] for bar in row["bars"]) for row in rows] or [0]) or 1
    words = max([len(row["told"]) for row in rows] or [0])
    scale = (WIDTH - LEFT - 20 - CHARACTER * words) / longest
    for place, row in enumerate(rows):
        at = float(LEFT)
        row["y"] = 56 + place * ROW
        for bar in row["bars"]:
            bar["x"], bar["width"] = round(at, 1), round(bar["value"] * scale, 1)
            bar["place"] = series.index(bar["of"])
            at += bar["value"] * scale
        row["end"] = round(at + 6, 1)
    legend = [{"of": name, "place": place, "x": LEFT + place * 130} for place, name in enumerate(series)]
    return {
        "width": WIDTH,
        "left": LEFT,
        "height": 70 + len(rows) * ROW,
        "title": title,
        "rows": rows,
        "legend": legend,
    }


def write(directory: Path, result: Json, text: str) -> list[Path]:
    """Write values, tables and plots, and return the files; raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    templates = FileSystemLoader(Path(__file__).parent, encoding="utf-8")
    environment = Environment(loader=templates, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    svg = environment.get_template("bars.svg.jinja")
    contents = {
        "effects.json": json.dumps(result, indent=2, ensure_ascii=False) + "\n",
        "effects.md": text,
        "effects-format.svg": svg.render(plot=format_plot(result)),
        "effects-selection.svg": svg.render(plot=selection_plot(result)),
    }
    for name, content in contents.items():
        (directory / name).write_text(content, encoding="utf-8")
    return [directory / name for name in contents]


def write_document(path: Path, text: str) -> None:
    """Put the tables in the place of what stands behind the mark; raises OSError, DocumentUnmarked."""
    before, mark, _ = path.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise DocumentUnmarked(MARK.strip())
    path.write_text(before + MARK + text, encoding="utf-8")
