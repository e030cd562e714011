"""A results file as one HTML page that needs nothing else: each text stands in it once, and is shown when asked for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.check.regions import regions
from harness.report.plots import latency_plot, phases_plot
from harness.report.results import Json, bytes_of, column_of, columns, dumped, titles
from harness.report.tally import PHASES
from harness.report.terminal import beside, telling

VERDICTS = ("failed", "engine fault", "missing", "known", "not run", "passed")
"""The worst first."""

_PARTS = Path(__file__).with_name("html")
_SCRIPTS = ("dom.js", "diff.js", "matrix.js", "case.js", "start.js")
_CONTENT = re.compile(r'"content"\s*:\s*("(?:[^"\\]|\\.)*")')


def page(found: Json) -> str:
    """Return the page of a results document."""
    shown = columns(found["runs"])
    names = titles(shown)
    by_scenario: dict[str, dict[tuple[str, str], Json]] = {path: {} for path in found["scenarios"]}
    for case in found["cases"]:
        by_scenario[case["scenario"]][column_of(case)] = case
    listed, pages = [], []
    for path, cases in by_scenario.items():
        scenario = found["scenarios"][path]
        whole = _scenario(scenario, [cases.get(column) for column in shown], shown)
        listed.append(_listed(path, scenario, cases, whole, names))
        pages.append(_embedded(whole))
    script = (
        '(() => {\n"use strict";\n' + "\n".join((_PARTS / name).read_text("utf-8") for name in _SCRIPTS) + "})();\n"
    )
    index = {"columns": [{"title": names[column]} for column in shown], "phases": PHASES, "scenarios": listed}
    environment = Environment(
        loader=FileSystemLoader(_PARTS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        title="PowerContext backend harness",
        told=_told(found, listed),
        warnings=list(_warnings(found)),
        style=(_PARTS / "page.css").read_text("utf-8"),
        # The page runs this script and no other, whatever a text of a scenario might hold.
        script=script,
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        index=_embedded(index),
        cases=pages,
        runs=[list(_facts(run).items()) for run in found["runs"]],
        phases=phases_plot(found["cases"], names),
        latency=latency_plot(found["cases"], names),
    )


def _embedded(value: object) -> str:
    """Return JSON that may stand in a script element: no character of it can end the element."""
    return dumped(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _listed(
    path: str, scenario: Json, cases: Mapping[tuple[str, str], Json], whole: Json, names: Mapping[tuple[str, str], str]
) -> Json:
    """Return a scenario's row of the matrix."""
    return {
        "path": path,
        "title": scenario["title"],
        "chapter": scenario["chapter"],
        "tags": scenario["tags"],
        "verdicts": [cases[column]["verdict"] if column in cases else None for column in names],
        "differs": any(step["differs"] for step in whole["steps"]),
        "seconds": round(sum(sum(case["times"].values()) - case["times"]["start"] for case in cases.values()), 3),
        "what": "; ".join(dict.fromkeys(filter(None, map(_what, cases.values())))),
    }


def _what(case: Json) -> str:
    """Return what is wrong with a case, in a few words."""
    failed = next((step for step in case["steps"] if step["failures"]), None)
    if failed is None:
        return "; ".join(case["known"]) if case["verdict"] == "known" else case["reason"].partition("\n")[0]
    worst = min(failed["failures"], key=lambda failure: telling(failure["kind"]))
    return f"{worst['kind']} in {worst['region']}"


def _scenario(scenario: Json, cases: Sequence[Json | None], shown: Sequence[tuple[str, str]]) -> Json:
    """Return all that a scenario's page shows; each text once, in `texts`."""
    texts: dict[str, int] = {}

    def kept(text: str | None) -> int | None:
        return None if text is None else texts.setdefault(text, len(texts))

    steps: dict[int, Json] = {}
    for place, case in enumerate(cases):
        for step in case["steps"] if case else ():
            if step["verb"] == "seed" and not step["failures"]:
                continue
            known = {name: step[name] for name in ("index", "name", "verb", "line")}
            line = steps.setdefault(step["index"], known | {"results": [None] * len(cases)})
            line["results"][place] = _result(step, kept)
    for step in steps.values():
        step["differs"] = _differs(step["results"], shown)
    return {
        **{name: scenario[name] for name in ("why", "report", "text")},
        "cases": [
            case and {name: case[name] for name in ("verdict", "reason", "known", "checks", "times", "repeat")}
            for case in cases
        ],
        "steps": [steps[index] for index in sorted(steps)],
        "texts": [{"text": text, "regions": _regions(text)} for text in texts],
    }


def _result(step: Json, kept: Any) -> Json:
    text, around = text_and_rest(bytes_of(step["body"]))
    predicted = step["prediction"]
    dissents = any(failure["kind"] == "oracle" for failure in step["failures"])
    return {
        **{name: step[name] for name in ("status", "seconds", "candidates")},
        "failures": [_failure(failure) for failure in sorted(step["failures"], key=lambda one: telling(one["kind"]))],
        "request": _readable(bytes_of(step["request"])),
        "text": kept(text),
        "around": around,
        "predicted": kept(_predicted(predicted)) if predicted is not None and dissents else None,
        "as_predicted": predicted is not None and not dissents,
    }


def _failure(failure: Json) -> Json:
    """Return a failure as the page shows it: what its message says beside both values."""
    return {name: failure[name] for name in ("kind", "region", "expected", "got")} | {
        "told": beside(failure["message"])
    }


def _differs(results: Sequence[Json | None], shown: Sequence[tuple[str, str]]) -> bool:
    """Say whether backends of one target answer a step differently."""
    answers: dict[str, set[tuple[Any, ...]]] = {}
    for result, (target, _) in zip(results, shown, strict=True):
        if result is not None and result["text"] is not None:
            answers.setdefault(target, set()).add((result["status"], result["text"], result["around"]))
    return any(len(found) > 1 for found in answers.values())


def text_and_rest(body: bytes | None) -> tuple[str | None, str]:
    """Return an answer's text and its body with that left out; of one without a text the body, and nothing."""
    whole = _readable(body)
    if body is None or whole is None:
        return None, ""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return whole, ""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, str):
        return whole, ""
    for found in _CONTENT.finditer(whole):
        if json.loads(found[1], strict=False) == content:
            return content, f'{whole[: found.start(1)]}"…"{whole[found.end(1) :]}'
    return content, whole


def _readable(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return f"no UTF-8: {data.hex(' ')}"


def _predicted(prediction: Json) -> str:
    content = bytes_of(prediction["content"])
    if prediction["status"] != 200:
        return f"{prediction['status']} {prediction['code']}"
    return "an empty answer" if content is None else content.decode("utf-8", "backslashreplace")


def _regions(text: str) -> list[list[Any]]:
    """Return the regions of a prepared text as name and bytes, nothing for what is none."""
    data = text.encode("utf-8", "surrogatepass")
    found = regions(data)
    if len(found) < 2:
        return []
    return [[region.name, region.end - region.start] for region in found]


def _told(found: Json, listed: Sequence[Json]) -> str:
    counts: dict[str, int] = {}
    for case in sorted(found["cases"], key=lambda case: VERDICTS.index(case["verdict"])):
        counts[case["verdict"]] = counts.get(case["verdict"], 0) + 1
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    noun = "scenario" if len(listed) == 1 else "scenarios"
    started = found["runs"][-1]["started"].replace("T", " ")
    return f"{len(listed)} {noun}, {len(found['cases'])} verdicts: {verdicts}; {started}"


def _warnings(found: Json) -> Iterator[str]:
    for run in found["runs"]:
        if not run["complete"]:
            yield f"The run of {run['started']} was broken off: what it had judged until then is here."
        for fault in run["faults"]:
            cause = fault["cause"].partition("\n")[0]
            yield f"{fault['target']} on {fault['backend']}, {fault['verdict']}: {cause}"
        if run["unreadable"]:
            yield f"Could not be read or judged: {', '.join(run['unreadable'])}"
    if not found["cases"]:
        yield "Nothing was judged."


def _facts(run: Json) -> dict[str, str]:
    """Return what ran, by words for a table."""
    told = {"run": f"{run['id']}, {run['started']}" + ("" if run["seconds"] is None else f", {run['seconds']:.1f} s")}
    told["harness"] = f"{run['harness']}, Python {run['python']}, {run['platform']}"
    told |= run["facts"]
    asked = {name: value for name, value in run["options"].items() if value}
    told["options"] = ", ".join(
        f"{name} {' '.join(value) if isinstance(value, list) else value}" for name, value in sorted(asked.items())
    )
    return told
