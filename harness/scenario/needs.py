"""What a scenario needs of a target, as its content shows."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from harness.scenario.model import Scenario, ScopeContent
from harness.scenario.operations import principal_id, principals, scope_ids
from runtime.artifacts import CandidateState

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")

TEXT_LENGTH = "a text's length"
"""The need of steps that say how long a text is, or every byte of it."""


def needs(scenario: Scenario) -> tuple[str, ...]:
    """Return short phrases for a target that cannot do everything, e.g. `("an embedder", "chosen ids")`.

    `chosen ids`: the ids themselves matter, so a target that makes its own is no match. They do when one is unusual and
    when two are hard to tell apart. `a text's length`: a step counts or spells out the text that ids are part of.
    """
    runtime = scenario.runtime
    contents = list(_contents(scenario))
    found = {
        "access disabled": runtime.access == "disabled",
        f"max_entries {runtime.max_entries}": runtime.max_entries is not None,
        "a reranker": runtime.reranker is not None,
        "an embedder": runtime.embedder is not None,
        f"the sources {', '.join(runtime.sources or ())}": runtime.sources is not None,
        "chosen ids": _chosen_ids(scenario, contents),
        TEXT_LENGTH: any(step.expect.bytes is not None or step.expect.content is not None for step in scenario.steps),
        "candidates": any(state is not None for content in contents for state in _states(content)),
        "several changes in one revision": any(len(item) > 1 for content in contents for item in content.memory),
        "faults": any(step.fault is not None for step in scenario.steps),
        "restarts": any(step.restart is not None for step in scenario.steps),
    }
    return tuple(phrase for phrase, needed in found.items() if needed)


def _contents(scenario: Scenario) -> Iterator[ScopeContent]:
    yield from scenario.scopes.values()
    for step in scenario.steps:
        yield from (step.write or {}).values()


def _states(content: ScopeContent) -> list[CandidateState | None]:
    return (
        [item.state for item in content.experience]
        + [item.state for item in content.profile]
        + [item.state for item in content.topics]
    )


def _chosen_ids(scenario: Scenario, contents: list[ScopeContent]) -> bool:
    kinds: list[set[str]] = [
        set(scope_ids(scenario).values()),
        {principal_id(scenario, name) for name in principals(scenario)},
        {change.entry for content in contents for item in content.memory for change in item if change.entry},
        {change.version for content in contents for item in content.memory for change in item if change.version},
        {item.id for content in contents for item in content.experience},
        {item.id for content in contents for item in content.topics},
    ]
    return any(not _PLAIN_ID.fullmatch(name) for kind in kinds for name in kind) or any(
        count > 1 for kind in kinds for count in Counter(map(_folded, kind)).values()
    )


def _folded(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).strip()
