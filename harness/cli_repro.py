"""The commands that look at a failure again: repro, kept."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from harness.errors import HarnessError
from harness.target import ReferenceTarget

Json = Mapping[str, Any]

OceanBaseUrl = Annotated[str | None, typer.Option(help="an OceanBase that somebody runs")]
_BAD = ("failed", "engine fault", "missing", "known")
"""Verdicts of cases that are worth a second look, and so have a number."""


def repro(
    results: Annotated[Path, typer.Argument(metavar="RUN", help="a results file")],
    case: Annotated[
        str | None, typer.Argument(help="a scenario, scenario::backend, or a number; without it: which there are")
    ] = None,
    oceanbase_url: OceanBaseUrl = None,
    keep: Annotated[bool, typer.Option("--keep", help="leave the failing case's database")] = False,
) -> None:
    """Run one case of a results file again, from that file alone: the scenario's text and the options are in it.

    Exit code: as of run.
    """
    from harness.cli import run_pytest
    from harness.report.results import read

    found = read(results)
    if case is None:
        for line in _listed(found):
            print(line)
        return
    chosen = choose(found, case)
    asked = found["runs"][chosen[0]["run"]]
    folder = Path(tempfile.mkdtemp(prefix="powercontext-repro-"))
    file = _written(folder, chosen[0]["scenario"], found["scenarios"][chosen[0]["scenario"]]["text"])
    for line in _told(asked, chosen, oceanbase_url):
        print(line)
    again = folder / "results.json"
    words = [*options(asked, chosen, oceanbase_url=oceanbase_url), "--results", str(again), "-n", "0"]
    code = run_pytest([str(file), *words, *(["--keep"] if keep else [])])
    for line in _compared(chosen, read(again)["cases"] if again.exists() else []):
        print(line)
    if code == 0:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"the scenario lies at {file}")
    raise typer.Exit(code)


def kept(
    remove: Annotated[bool, typer.Option("--remove", help="drop them")] = False,
    oceanbase_url: OceanBaseUrl = None,
) -> None:
    """List the databases that `--keep` left, with the commands that open them, or remove them."""
    from harness.run.keeping import NotKept, all_kept
    from harness.run.keeping import remove as drop

    found = all_kept()
    left = 0
    for one in found:
        print(f"{one.made}  {one.scenario} on {one.backend}\n  {one.command}")
        if remove:
            try:
                drop(one, oceanbase_url=oceanbase_url)
            except NotKept as problem:
                left += 1
                print(f"  not removed: {problem}", file=sys.stderr)
    removed = f", {len(found) - left} removed" if remove else ""
    print(f"{len(found)} kept{removed}")
    raise typer.Exit(2 if left else 0)


def choose(found: Json, case: str) -> list[Json]:
    """Return the cases of a results file that a word means: those of one scenario; raises HarnessError."""
    cases: list[Json] = found["cases"]
    if case.isdecimal():
        numbered = list(_numbered(cases))
        if not 1 <= int(case) <= len(numbered):
            many = f"{len(numbered)} cases" if len(numbered) != 1 else "1 case"
            raise HarnessError(
                "unknown_case",
                f"there is no case {case}",
                cause=f"{many} did not pass",
                hint="leave it out to see them",
            )
        return [numbered[int(case) - 1]]
    word = case.removeprefix("./")
    chosen = [one for one in cases if word in (one["id"], one["scenario"])]
    if not chosen:
        ends = {one["scenario"] for one in cases if _is_end(one["scenario"], word)}
        chosen = [one for one in cases if one["scenario"] in ends] if len(ends) == 1 else []
    if not chosen:
        names: list[str] = list(dict.fromkeys(name for one in cases for name in (one["scenario"], one["id"])))
        short: dict[str, str] = {PurePosixPath(name).name: name for name in names}
        near = [short.get(name) or name for name in get_close_matches(word, [*names, *short], n=6, cutoff=0.5)]
        near = list(dict.fromkeys(near))[:3]
        hint = f"did you mean {' or '.join(near)}?" if near else "leave it out to see which did not pass"
        raise HarnessError("unknown_case", f'no case "{case}" in the results', hint=hint)
    bad = [one for one in chosen if one["verdict"] in _BAD]
    return bad or chosen


def options(asked: Json, chosen: Sequence[Json], *, oceanbase_url: str | None) -> list[str]:
    """Return the words after `harness run FILE` that ask for the same: the first backend too, which judges others."""
    given: Json = asked["options"]
    backends = list(given.get("backends") or dict.fromkeys(one["backend"] for one in chosen))
    used = {one["backend"] for one in chosen}
    words = [word for name in backends if name == backends[0] or name in used for word in ("--backend", name)]
    targets = list(dict.fromkeys(one["target"] for one in chosen))
    if targets != [ReferenceTarget.name]:
        words += [word for target in targets for word in ("--target", target)]
    if given.get("twins"):
        words += ["--twins", ",".join(given["twins"])]
    for name in ("shuffle", "sweep", "oceanbase_image"):
        if given.get(name) is not None and not (name == "oceanbase_image" and oceanbase_url):
            words += [f"--{name.replace('_', '-')}", str(given[name])]
    return [*words, *(["--oceanbase-url", oceanbase_url] if oceanbase_url else [])]


def _is_end(scenario: str, word: str) -> bool:
    path = PurePosixPath(scenario)
    return word in (path.name, path.stem) or scenario.endswith(f"/{word}") or f"{word}.yaml" == path.name


def _numbered(cases: Sequence[Json]) -> Iterator[Json]:
    yield from (one for one in cases if one["verdict"] in _BAD)


def _listed(found: Json) -> Iterator[str]:
    number = 0
    for number, one in enumerate(_numbered(found["cases"]), start=1):
        failure = _first_failure(one)
        told = f": {failure['kind']} in {failure['region']}" if failure else ""
        yield f"{number:>4}  {one['id']}  {one['verdict']}{told}"
    yield f"{number} of {len(found['cases'])} cases did not pass"


def _written(folder: Path, scenario: str, text: str) -> Path:
    """Write a scenario's text below a folder, in its chapter; of a path that others wrote no more than that counts."""
    parts = [part for part in PurePosixPath(scenario).parts[-2:] if part not in ("/", "..", ".", "scenarios")]
    file = folder.joinpath("scenarios", *parts)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode("utf-8"))
    return file


def _told(asked: Json, chosen: Sequence[Json], oceanbase_url: str | None) -> Iterator[str]:
    import platform

    yield f"again: {', '.join(one['id'] for one in chosen)}"
    ours = f"{platform.system()} {platform.machine()}"
    yield (
        f"then:  harness {asked['harness']}, Python {asked['python']}, {asked['platform']}, {asked['started']}; "
        f"here: Python {platform.python_version()}, {ours}"
    )
    if (
        asked["options"].get("oceanbase_url")
        and not oceanbase_url
        and any(one["backend"] != "sqlite" for one in chosen)
    ):
        yield (
            f"then on the OceanBase at {asked['options']['oceanbase_url']}; here on an engine of our own, "
            "unless --oceanbase-url names one"
        )
    if any(one["verdict"] == "known" for one in chosen):
        yield "what the ledger knows is not known here: it fails"


def _first_failure(case: Json) -> Json | None:
    return next((failure for step in case["steps"] for failure in step["failures"]), None)


def _compared(chosen: Sequence[Json], again: Sequence[Json]) -> Iterator[str]:
    """Yield for each case whether it failed in the same way."""
    for then in chosen:
        now = next((one for one in again if (one["target"], one["backend"]) == (then["target"], then["backend"])), None)
        if now is None:
            yield f"{then['id']}: not run here"
            continue
        kinds = [
            {(failure["kind"], failure["region"]) for step in one["steps"] for failure in step["failures"]}
            for one in (then, now)
        ]
        if now["verdict"] == "passed" and then["verdict"] != "passed":
            yield f"{then['id']}: {then['verdict']} then, passes here"
        elif now["verdict"] != then["verdict"] and then["verdict"] != "known":
            yield f"{then['id']}: {then['verdict']} then, {now['verdict']} here"
        else:
            yield f"{then['id']}: {'the same' if kinds[0] == kinds[1] else 'another'} outcome as then"
