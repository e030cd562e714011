"""Generated worlds are legal scenarios in which everything of SPEC.md 1 and 2 happens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from harness.explore.steps import scenarios
from harness.explore.texts import LOCALES, words
from harness.explore.writing import text_of
from harness.scenario.loader import parse
from harness.scenario.model import Scenario

COUNT = 300


def test_generated_worlds_load_and_hold_everything() -> None:
    seen: Counter[str] = Counter()

    @seed(2)
    @settings(
        max_examples=COUNT,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios())
    def judge(plain: dict[str, Any]) -> None:
        scenario = parse(text_of(plain).encode(), Path("generated.yaml")).scenario
        assert scenario == Scenario.model_validate(plain, by_alias=True, by_name=False)
        seen.update(set(features(scenario)))
        seen["worlds"] += 1

    judge()
    assert seen["worlds"] == COUNT
    assert {name for name in EVERYTHING if not seen[name]} == set()
    # Most requests are answered, and most worlds are small.
    assert seen["answered"] > COUNT / 2


EVERYTHING = {
    *("memory", "experience", "profile", "topics", "retire", "pending", "rejected", "several changes"),
    *("references", "a cycle", "many references", "runtime", "administrator", "older", "no section", "show", "default"),
    *("write", "grant", "revoke", "read", "everything cited", "body", "refused", "a small budget"),
    *("401", "403", "404", "422", "a nasty id", "a long text", "answered"),
}


def features(scenario: Scenario) -> list[str]:
    found: list[str] = []
    for name, scope in scenario.scopes.items():
        found += [key for key in ("memory", "experience", "profile", "topics") if getattr(scope, key)]
        found += ["several changes" for changes in scope.memory if len(changes) > 1]
        changes = [change for item in scope.memory for change in item]
        found += ["retire" for change in changes if change.retire is not None]
        found += ["a long text" for change in changes if len((change.text or "").encode()) > 2000]
        found += ["a nasty id" for change in changes if not (change.entry or "a").isascii()]
        for items in (scope.experience, scope.profile, scope.topics):
            found += [item.state for item in items if item.state]
        references = scope.references or ()
        found += ["references"] if references else []
        found += ["many references"] if len(references) > 8 else []
        found += ["a cycle" for other in references if name in (scenario.scopes[other].references or ())]
    found += ["administrator" for caller in (scenario.principals or {}).values() if caller.administrator]
    found += ["runtime"] if "runtime" in scenario.model_fields_set else []
    for step in scenario.steps:
        found += [step.verb, str(step.expect.http or "answered"), "refused" if step.expect.refused else ""]
        found += ["everything cited"] if step.read == "everything cited" else []
        if step.prepare is not None and step.expect.http is None:
            assembly = step.prepare.get("assembly")
            found += ["older"] if assembly is None else ["default"] if assembly == {} else []
            found += ["no section"] if assembly and assembly.get("sections") == [] else []
            found += ["show"] if assembly and assembly.get("show") else []
            found += ["a small budget"] if step.prepare.get("max_bytes", 8000) < 1100 else []
    return found


def test_every_language_has_words_of_its_own() -> None:
    spoken = {locale: "".join(words(locale)) for locale in LOCALES}
    for locale, first, last in (("zh_CN", "一", "鿿"), ("ja_JP", "ぁ", "ヿ"), ("ar_SA", "ء", "ي"), ("ru_RU", "а", "я")):
        assert any(first <= character <= last for character in spoken[locale]), locale
