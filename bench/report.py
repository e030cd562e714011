"""The table that a person reads, and the file that the next run is compared with."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.figures import Figure, ratios

FORMAT = "powercontext-harness.bench.v1"
PACKAGES = ("SQLAlchemy", "PyMySQL", "pyobvector", "pydantic", "starlette", "uvicorn", "httpx", "pytest")


def machine() -> dict[str, Any]:
    """Return what the figures depend on, and nothing that names the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def load_average() -> float:
    """Return how many processes wanted to run in the last minute."""
    return round(os.getloadavg()[0], 2)


def document(figures: Sequence[Figure], **facts: Any) -> dict[str, Any]:
    """Return the whole result as plain values."""
    measured = [figure.serializable() for figure in figures]
    return {"format": FORMAT, **facts, "machine": machine(), "figures": measured, "ratios": ratios(figures)}


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Write the file whole or not at all; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    half.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    half.replace(path)


def lines(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the table and the ratios; times and memory are min / median / max."""
    rows = [["measure", "case", "system", "backend", "n", "min", "median", "max", "unit", "bound", "verdict", "note"]]
    for figure in figures:
        spread = figure.spread
        rows.append(
            [
                figure.measure,
                figure.case,
                figure.system or "",
                figure.backend or "",
                str(spread.n),
                *(_short(value) for value in (spread.minimum, spread.median, spread.maximum)),
                figure.unit,
                "" if figure.bound is None else f"{figure.bound:g}",
                figure.verdict,
                figure.note,
            ]
        )
    yield from _columns(rows, right=range(4, 8))
    yield ""
    yield from _columns([["ratio of medians", ""], *([name, _short(value)] for name, value in ratios(figures).items())])


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
