"""The scenario that `harness new` writes: small, complete, and it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from keyword import iskeyword
from pathlib import PurePath
from typing import Literal, get_args

import yaml

from harness.errors import HarnessError
from runtime.artifacts import EXPERIENCE, MEMORY, PROFILE, TOPIC_MEMORY, Family

Permission = Literal["none", "reference", "revoked", "administrator"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""Who may not read: nobody is left out, a caller without a referenced Scope, one who lost his, the administrator."""

_NO_SCHEMA = "# for completion in editors: harness schema --write"
_LIMITS: dict[Family, int] = {MEMORY: 2, EXPERIENCE: 2, PROFILE: 1, TOPIC_MEMORY: 2}
"""Together no more than the Runtime's total, a Profile of a referenced Scope included."""
_DEFAULT = (MEMORY, EXPERIENCE)
"""What `assembly: {}` asks for, in this order."""
_ITEMS: dict[Family, str] = {
    MEMORY: """\
    memory:
      - {entry: entry-1, text: Run the contract tests after each change.}
""",
    EXPERIENCE: """\
    experience:
      - id: experience-1
        situation: The contract tests failed.
        action: The client was generated again.
        outcome: They passed.
        lesson: Generate before testing.
""",
    PROFILE: """\
    profile:
      - Prefers short answers.
""",
    TOPIC_MEMORY: """\
    topics:
      - id: topic-1
        title: Contract tests
        summary: They compare the client with the server.
        detail: The contract tests run each night.
""",
}
_OTHERS: dict[Family, str] = {
    MEMORY: """\
    memory:
      - {entry: entry-2, text: The contract tests take two minutes.}
""",
    EXPERIENCE: """\
    experience:
      - id: experience-2
        situation: The contract tests took two minutes.
        action: They were run side by side.
        outcome: They took one.
        lesson: Run them side by side.
""",
    PROFILE: """\
    profile:
      - Likes to wait two minutes.
""",
}
"""What the referenced Scope holds; each text has "two minutes" in it."""
_WIDEST = 118 - len("    prepare:")
_TITLES: dict[Family, str] = {
    MEMORY: "Memory",
    EXPERIENCE: "Experience",
    PROFILE: "Profile",
    TOPIC_MEMORY: "Topic Memory",
}
_NAMES: dict[Family, str] = {MEMORY: "entry-1", EXPERIENCE: "experience-1", PROFILE: "profile", TOPIC_MEMORY: "topic-1"}
_OTHER_NAMES: dict[Family, str] = {MEMORY: "entry-2", EXPERIENCE: "experience-2", PROFILE: "profile"}
_PRINCIPALS: dict[Permission, str] = {
    "reference": "  alice: {reads: [demo, shared]}\n  bob: {reads: [demo]}\n",
    "revoked": "  alice: {reads: [demo]}\n",
    "administrator": "  alice: {reads: [demo]}\n  root: {administrator: true}\n",
}


def template(
    path: PurePath,
    *,
    schema: str | None,
    families: Sequence[Family] = _DEFAULT,
    permission: Permission = "reference",
) -> str:
    """Return a new scenario for this path; `schema` is where its schema lies, None where it lies in no such place.

    `families` are what it holds and asks for, in this order. Raises HarnessError for a case that cannot be.
    """
    return "".join(_parts(path, schema, tuple(dict.fromkeys(families)), permission))


def _parts(path: PurePath, schema: str | None, families: tuple[Family, ...], permission: Permission) -> Iterator[str]:
    words = path.stem.replace("_", " ").replace("-", " ")
    chapter = path.parent.name.replace("-", "_")
    usable = chapter.isidentifier() and not iskeyword(chapter) and chapter != "scenarios"
    # Topic Memory is read from the current Scope alone.
    shared = next((family for family in families if family != TOPIC_MEMORY), None)
    has_reference = permission == "reference"
    if has_reference and shared is None:
        raise HarnessError(
            "no_such_case", "topic memory is read from no referenced Scope", hint="add --family memory for instance"
        )
    yield f"# yaml-language-server: $schema={schema}\n" if schema is not None else f"{_NO_SCHEMA}\n"
    yield f"scenario: {_scalar(words)}\n"
    yield "why: say which rule this shows, and where it stands\n"
    yield f"tags: [{_scalar(chapter if usable else 'new')}]\n"
    yield "\nscopes:\n  demo:\n"
    if has_reference:
        yield "    references: [shared]\n"
    # Keys of a Scope have an order of their own.
    yield from (text for family, text in _ITEMS.items() if family in families)
    if has_reference and shared is not None:
        yield "  shared:\n"
        yield _OTHERS[shared]
    if permission != "none":
        yield f"\nprincipals:\n{_PRINCIPALS[permission]}"
    yield "\nsteps:\n"
    yield from _steps(families, shared if has_reference else None, permission)


def _steps(families: tuple[Family, ...], shared: Family | None, permission: Permission) -> Iterator[str]:
    assembly = "{}"
    if families != _DEFAULT:
        sections = ", ".join(f"{{family: {family}, limit: {_limit(family, shared)}}}" for family in families)
        assembly = f"{{sections: [{sections}]}}"
    request = _request("demo", assembly)
    if permission == "none":
        yield _sees("what is found", request, families, shared)
        yield "  - step: what was cited is read exactly\n    read: everything cited\n"
        return
    yield _sees("alice sees both Scopes" if shared else "alice sees it", request, families, shared, "alice")
    yield "  - step: what was cited is read exactly\n    read: everything cited\n    as: alice\n"
    match permission:
        case "reference":
            yield _refused("bob may not read the reference", request, "bob", absent="two minutes")
        case "revoked":
            yield "  - step: she loses the Scope\n    revoke: {alice: [demo]}\n"
            yield _refused("she sees nothing of it at once", request, "alice")
        case _:
            yield _refused("the administrator reads nothing without a grant", request, "root")
            nowhere = _request("nowhere", assembly)
            yield _refused("but he learns that a Scope is absent", nowhere, "root", "404, error: scope_not_found")
            yield _refused("which nobody else does", nowhere, "alice")


def _sees(
    step: str, request: str, families: tuple[Family, ...], shared: Family | None, caller: str | None = None
) -> str:
    lines = [f"  - step: {step}", f"    prepare:{request}", *([f"    as: {caller}"] if caller else [])]
    lines += ["    expect:", "      status: ready", "      sections:"]
    for family in families:
        items = [_NAMES[family]]
        if family == shared:
            items.append(f"shared/{_OTHER_NAMES[family]}")
            if family == PROFILE:
                items[0] = f"demo/{items[0]}"
        lines.append(f"        - {_TITLES[family]}: [{', '.join(items)}]")
    return "\n".join(lines) + "\n"


def _refused(
    step: str, request: str, caller: str, error: str = "403, error: forbidden", *, absent: str | None = None
) -> str:
    hidden = f", absent: [{absent}]" if absent else ""
    return f"  - step: {step}\n    prepare:{request}\n    as: {caller}\n    expect: {{http: {error}{hidden}}}\n"


def _request(scope: str, assembly: str) -> str:
    """Return a request behind its key: in brackets where it fits, otherwise one line for each part."""
    parts = (f"scope_id: {scope}", "query: contract tests", f"assembly: {assembly}")
    short = f" {{{', '.join(parts)}}}"
    return short if len(short) <= _WIDEST else "".join(f"\n      {part}" for part in parts)


def _limit(family: Family, shared: Family | None) -> int:
    return max(_LIMITS[family], 2 if family == shared else 1)


def _scalar(text: str) -> str:
    """Return a text as YAML, in quotes where a reader could take it for something else."""
    try:
        is_plain = len(text) > 1 and yaml.safe_load(text) == text
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else json.dumps(text, ensure_ascii=False)
