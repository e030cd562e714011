"""`python -m bench`: measure, print the table, write the file.

Exit code 0 when everything was measured, 1 for a measure that failed and, with --strict, for a missed bound or for a
measure that was left out, 2 for misuse or a missing engine, 130 when interrupted. The engine is stopped in every case.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from backends import BACKENDS, EngineError
from bench import report
from bench.building import build
from bench.context import QUICK, Bench, Sizes
from bench.figures import BenchFailed, Figure, LeftOut
from bench.large import large
from bench.load import load
from bench.prepare import prepare
from bench.processes import collection, loop, whole_run
from bench.released import released
from bench.scenario_cost import scenario_cost

FAILED, MISUSE, INTERRUPTED = 1, 2, 130

MEASURES: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    # Whole processes first, while no engine of ours is there to take their time.
    "loop": loop,
    "whole-run": whole_run,
    "collection": collection,
    "builder": build,
    "prepare": prepare,
    "scenario": scenario_cost,
    "large": large,
    "released": released,
    "load": load,
}
"""By the names that --only takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    names = options.only or list(MEASURES)
    figures: list[Figure] = []
    left_out: dict[str, str] = {}
    before = report.load_average()
    # An engine must not outlive a run that is ended from outside.
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Bench(
            seed=options.seed,
            sizes=QUICK if options.quick else Sizes(),
            backends=list(dict.fromkeys(options.backend or BACKENDS)),
            oceanbase_url=options.oceanbase_url,
        ) as bench:
            for name in MEASURES:
                if name in names:
                    print(f"measuring {name} ...", file=sys.stderr, flush=True)
                    try:
                        for figure in MEASURES[name](bench):
                            figures.append(figure)
                    except LeftOut as error:
                        left_out[name] = str(error)
                        print(f"left out: {name}: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except EngineError as error:
        print(error, file=sys.stderr)
        return MISUSE
    except BenchFailed as error:
        print(f"bench_failed: {error}", file=sys.stderr)
        return FAILED
    finally:
        signal.signal(signal.SIGTERM, earlier)
    failed = options.strict and (bool(left_out) or any(figure.met is False for figure in figures))
    if not figures:
        # A file of an earlier run says more than an empty one.
        return FAILED if failed else 0
    load = [before, report.load_average()]
    facts = {"seed": options.seed, "quick": options.quick, "engines": bench.engines, "left_out": left_out}
    result = report.document(figures, **facts, load_average=load)
    print(f"seed {options.seed}, load average {load[0]} before, {load[1]} after\n")
    print("\n".join(report.lines(figures)))
    try:
        report.write(options.output, result)
    except OSError as error:
        print(f"output_unwritable: {options.output}: {error.strerror}", file=sys.stderr)
        return MISUSE
    print(f"\nwritten to {options.output}")
    return FAILED if failed else 0


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", action="append", choices=MEASURES, metavar="NAME", help=f"measure this alone: {', '.join(MEASURES)}")
    add("--backend", action="append", choices=BACKENDS, metavar="NAME", help=f"of {', '.join(BACKENDS)}; default all")
    add("--oceanbase-url", metavar="URL", help="an OceanBase that somebody runs, instead of our own engine")
    add("--quick", action="store_true", help="small sizes, to see that everything works")
    add("--seed", type=int, default=1489, help="of texts and queries (default 1489)")
    add("--output", type=Path, default=Path("results/bench.json"), metavar="PATH", help="default results/bench.json")
    add("--strict", action="store_true", help="exit code 1 when a bound is missed or a measure left out")
    return parser


if __name__ == "__main__":
    sys.exit(main())
