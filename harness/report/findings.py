"""The ledger as a report in Markdown that a maintainer can file: each issue with what reproduces it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.explore.twins import KINDS
from harness.report.curl import script
from harness.report.terminal import by_number, repeat_command
from harness.run.ledger import ANY, Entry, Ledger, number
from harness.scenario.loader import load
from harness.target.powercontext.limits import Abilities, lacking
from harness.target.powercontext.releases import DEFAULT_VERSION
from harness.target.systems import RELEASED, URL_SCHEMES

_SCHEMA_LINE = re.compile(r"\A# yaml-language-server:.*\r?\n")


def findings(ledger: Ledger, *, target: str | None = None) -> str:
    """Return the report on the issues of a target, or on all; raises ScenarioErrors.

    `powercontext` is every release. What the scenarios' files are called is relative to the ledger.
    """
    issues: dict[str, list[Entry]] = {}
    for entry in ledger.entries:
        if target is None or entry.is_of(target) or (target == RELEASED and entry.target.startswith(RELEASED)):
            issues.setdefault(entry.issue, []).append(entry)
    of = "" if target is None else f" of {target}"
    lines = [f"# Known divergences{of}", "", f"{len(issues)} issue{'s' if len(issues) != 1 else ''}."]
    for issue in sorted(issues, key=by_number):
        lines += ["", *_issue(ledger, issues[issue], target)]
    return "\n".join(lines) + "\n"


def _issue(ledger: Ledger, entries: Sequence[Entry], target: str | None) -> Iterator[str]:
    entry = entries[0]
    path = ledger.scenario_path(entry)
    yield f"## {entry.issue}: {entry.title}"
    yield ""
    yield f"- Versions: {'; '.join(dict.fromkeys(map(_versions, entries)))}"
    yield f"- Backends: {', '.join(dict.fromkeys(map(_backend, entries)))}"
    yield from _said("Breaks", entry.breaks)
    yield from _said("Expected", entry.expected)
    yield from _said("Got", entry.got or "; ".join(entry.text))
    yield from _said("Note", entry.note)
    for other in entries[1:]:
        yield f'- Seen too: {other.scenario}, "{other.step}" ({_versions(other)}, {_backend(other)})'
    yield ""
    yield f'It shows in step "{entry.step}" of {entry.scenario}:'
    yield ""
    yield from _block("yaml", _SCHEMA_LINE.sub("", path.read_bytes().decode("utf-8")))
    yield ""
    version = _version(entry, target)
    name = entry.target if version is None or entry.target.startswith(URL_SCHEMES) else f"{RELEASED}=={version}"
    yield f"Run by the harness: `{repeat_command(path.as_posix(), (), targets=[name])}`"
    if version is not None:
        yield ""
        yield from _script(ledger, entry, version)


def _script(ledger: Ledger, entry: Entry, version: str) -> Iterator[str]:
    scenario = load(ledger.scenario_path(entry)).scenario
    release = number(version)
    missing = lacking(scenario, Abilities(release, can_restart=True, only_one=False, can_open=True))
    if missing is not None:
        yield f"By curl it cannot be shown on {version}: the scenario {missing}."
        return
    near = [kind for kind in KINDS if any(f"another {kind.replace('_', ' ')}" in text for text in entry.text)]
    yield f"By curl on a server {version}:"
    yield ""
    yield from _block("bash", script(scenario, entry.step, release, near=near))


def _version(entry: Entry, target: str | None) -> str | None:
    """Return the release that a script is written for: the one asked for, or the newest that is known to have it."""
    for name in (entry.target, target or ""):
        if name.startswith(f"{RELEASED}=="):
            return name.partition("==")[2]
    if entry.target.startswith(URL_SCHEMES):
        return DEFAULT_VERSION
    if entry.target != RELEASED:
        # Writes of our own runtime have no HTTP.
        return None
    return entry.until or max(entry.since or DEFAULT_VERSION, DEFAULT_VERSION, key=number)


def _versions(entry: Entry) -> str:
    match entry.target, entry.since, entry.until:
        case "powercontext", None, None:
            return f"{RELEASED}, every release"
        case "powercontext", since, None:
            return f"{RELEASED} from {since} on"
        case "powercontext", None, until:
            return f"{RELEASED} up to {until}"
        case "powercontext", since, until:
            return f"{RELEASED} {since} to {until}"
    return entry.target


def _backend(entry: Entry) -> str:
    return "every backend" if entry.backend == ANY else entry.backend


def _said(what: str, text: str | None) -> Iterator[str]:
    if text is not None:
        first, *rest = text.rstrip("\n").split("\n")
        yield f"- {what}: {first}"
        # Indented, a line belongs to its bullet.
        yield from (f"  {line}".rstrip() for line in rest)


def _block(language: str, text: str) -> Iterator[str]:
    """Yield a text as a fenced block, whatever fences it holds itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield text.rstrip("\n")
    yield fence
