"""A run's results as data: the file that reports, comparisons and reproductions are made from (docs/results.md).

One JSON document, with a case on each line. While a run goes on, a journal lies beside it that holds the same lines, so
that a run which is killed leaves them too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.check.oracle.predict import Prediction
from harness.errors import HarnessError
from harness.run.result import Outcome, StepResult
from harness.scenario.loader import Loaded

FORMAT = 1
"""The version of the file's form: it rises when a reader of the last one would read something wrongly."""
SCHEMA = Path(__file__).with_name("results.schema.json")
DEFAULT = Path("results/run.json")
"""Where `harness run` writes, and where reports look."""
JOURNAL = ".part"
"""What is appended to a file's name for its journal."""

Json = dict[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")


def case_of(outcome: Outcome, *, case_id: str, path: str, times: Mapping[str, float], worker: str, repeat: str) -> Json:
    """Return one case: a scenario on a target and backend, without the scenario's own text."""
    steps = outcome.steps if outcome.seed is None else (outcome.seed, *outcome.steps)
    return {
        "id": case_id,
        "run": 0,
        "scenario": path,
        "target": outcome.target,
        "backend": outcome.backend,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "known": list(outcome.known),
        "digests": list(outcome.digests),
        "checks": outcome.checks,
        "worker": worker,
        "times": {phase: round(seconds, 6) for phase, seconds in times.items()},
        "repeat": repeat,
        "steps": [_step(step) for step in steps],
    }


def scenario_of(loaded: Loaded) -> Json:
    """Return what a results file keeps of a scenario, its own text among it."""
    scenario = loaded.scenario
    return {
        "chapter": loaded.path.parent.name,
        "title": scenario.scenario,
        "why": scenario.why,
        "tags": list(scenario.tags),
        "report": list(scenario.report),
        "text": loaded.path.read_bytes().decode("utf-8"),
    }


def _step(step: StepResult) -> Json:
    return {
        "index": step.index,
        "name": step.name,
        "verb": step.verb,
        "line": step.line,
        "request": _text(step.request),
        "seconds": None if step.seconds is None else round(step.seconds, 6),
        "status": step.status,
        "body": _text(step.body),
        "failures": [asdict(failure) for failure in step.failures],
        "checks": step.checks,
        "presumed": list(step.presumed),
        "candidates": None
        if step.candidates is None
        else {family: list(offered) for family, offered in step.candidates.items()},
        "reordered": step.reordered,
        "prediction": None if step.prediction is None else _prediction(step.prediction),
    }


def _prediction(prediction: Prediction) -> Json:
    return {"status": prediction.status, "code": prediction.code, "content": _text(prediction.content)}


def _text(data: bytes | None) -> str | Json | None:
    """Return bytes as they stand in the file: text where they are UTF-8, else in hexadecimal."""
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def bytes_of(value: Any) -> bytes | None:
    """Return the bytes of a request, a body or a content in the file."""
    if value is None:
        return None
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value).encode("utf-8", "surrogatepass")


def dumped(value: object) -> str:
    """Return a value as one line of JSON that can be written as UTF-8, whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def document(runs: Sequence[Json], scenarios: Mapping[str, Json], cases: Iterable[str]) -> str:
    """Return a results file's text; the cases are lines of JSON in their order."""
    head = dumped({"format": FORMAT, "runs": list(runs)}).removesuffix("}")
    told = ",\n".join(f"{dumped(path)}:{dumped(scenarios[path])}" for path in sorted(scenarios))
    listed = ",\n".join(cases)
    return f'{head},\n"scenarios":{{\n{told}\n}},\n"cases":[\n{listed}\n]}}\n'


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all; raises HarnessError."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text.encode("utf-8"))
        beside.replace(path)
    except OSError as problem:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise HarnessError("unwritable", f"{path} cannot be written", cause=problem.strerror) from None


def read(path: Path) -> Json:
    """Return a results file, or what the journal of a killed run holds; raises HarnessError.

    Where a file is not there and its journal is, the journal is read.
    """
    journal = path.with_name(path.name + JOURNAL)
    if not path.exists() and journal.exists():
        path = journal
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as problem:
        hint = "`harness run` writes one" if not path.exists() else None
        raise HarnessError("no_results", f"{path} cannot be read", cause=problem.strerror, hint=hint) from None
    except UnicodeDecodeError:
        raise HarnessError("no_results", f"{path} is no results file", cause="it is not UTF-8") from None
    found = _from_journal(text) if path.name.endswith(JOURNAL) else _parsed(text)
    if not isinstance(found, dict) or not {"format", "runs", "scenarios", "cases"} <= found.keys():
        raise HarnessError("no_results", f"{path} is no results file", hint="`harness run` writes one")
    if found["format"] != FORMAT:
        cause = f"its format is {found['format']}, this version reads {FORMAT}"
        raise HarnessError("other_format", f"{path} cannot be read", cause=cause)
    return found


def join(documents: Sequence[Json]) -> Json:
    """Return results files as one: shards of a run, or runs of other columns. Of a case in several the last one counts.

    A shard's cases and another's have no scenario in common, so that nothing is lost.
    """
    runs: list[Json] = []
    scenarios: dict[str, Json] = {}
    cases: dict[tuple[str, str, str], Json] = {}
    for one in documents:
        for case in one["cases"]:
            moved = case | {"run": case["run"] + len(runs)}
            cases[case["scenario"], case["target"], case["backend"]] = moved
        scenarios |= one["scenarios"]
        runs += one["runs"]
    order = {column: place for place, column in enumerate(columns(runs))}
    last = len(order)
    listed = sorted(cases.values(), key=lambda case: (case["scenario"], order.get(column_of(case), last)))
    return {"format": FORMAT, "runs": runs, "scenarios": dict(sorted(scenarios.items())), "cases": listed}


def columns(runs: Iterable[Json]) -> list[tuple[str, str]]:
    """Return the targets and backends of runs, each once, in their order."""
    return list(dict.fromkeys((target, backend) for run in runs for target, backend in run["columns"]))


def column_of(case: Json) -> tuple[str, str]:
    """Return a case's target and backend."""
    return case["target"], case["backend"]


def titles(found: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return what columns are called: by the backend alone where there is one target."""
    single = len({target for target, _ in found}) == 1
    return {column: column[1] if single else f"{column[0]} {column[1]}" for column in found}


def text_of(found: Json) -> str:
    """Return a document that was read or joined as a file's text."""
    return document(found["runs"], found["scenarios"], map(dumped, found["cases"]))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_journal(text: str) -> Any:
    """Return what a journal holds: the run first, then a scenario and its case on each line, the last perhaps torn."""
    lines = [_parsed(line) for line in text.split("\n")[:-1]]
    if not lines or not isinstance(lines[0], dict):
        return None
    kept = [line for line in lines[1:] if isinstance(line, dict) and {"scenario", "case"} <= line.keys()]
    cases = [line["case"] for line in kept]
    scenarios = {line["case"]["scenario"]: line["scenario"] for line in kept}
    return join([lines[0] | {"scenarios": scenarios, "cases": cases}]) if "runs" in lines[0] else None
