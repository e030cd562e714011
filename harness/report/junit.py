"""Results as JUnit's XML, which CI shows: one case for each step, with what was expected and what came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from xml.etree import ElementTree

from harness.check.display import escape_for_human
from harness.report.results import Json
from harness.report.terminal import beside, telling
from harness.run.result import FAULTS


def junit(found: Json) -> str:
    """Return a results document as XML: a suite for each scenario on a target and backend."""
    root = ElementTree.Element("testsuites", name="PowerContext backend harness")
    for case in found["cases"]:
        root.append(_suite(case, found["scenarios"][case["scenario"]], found["runs"][case["run"]]))
    _count(root)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(case: Json, scenario: Json, run: Json) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(case["id"]), timestamp=run["started"], file=case["scenario"])
    properties = ElementTree.SubElement(suite, "properties")
    told = {
        "scenario": scenario["title"],
        "target": case["target"],
        "backend": case["backend"],
        "repeat": case["repeat"],
    }
    for name, value in told.items():
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))
    path = PurePath(case["scenario"]).with_suffix("")
    class_name = ".".join((*path.parts, case["target"], case["backend"]))
    for element in _cases(case):
        element.set("classname", _text(class_name))
        element.set("file", case["scenario"])
        suite.append(element)
    _count(suite)
    return suite


def _cases(case: Json) -> Iterator[ElementTree.Element]:
    """Yield a case for each step; where none was judged, one that says why."""
    if case["verdict"] in (*FAULTS, "not run"):
        element = ElementTree.Element("testcase", name=case["verdict"], time="0")
        kind = "skipped" if case["verdict"] == "not run" else "error"
        reason = ElementTree.SubElement(element, kind, message=_text(case["reason"].partition("\n")[0]))
        reason.text = _text(case["reason"])
        yield element
        return
    for step in case["steps"]:
        spent = case["times"].get("seed", 0.0) if step["verb"] == "seed" else step["seconds"] or 0.0
        element = ElementTree.Element("testcase", name=_text(step["name"]), line=str(step["line"]), time=f"{spent:.6f}")
        if step["failures"]:
            element.append(_failure(step, case))
        yield element
    for issue in case["known"]:
        element = ElementTree.Element("testcase", name=_text(f"known: {issue}"), time="0")
        ElementTree.SubElement(element, "skipped", message="known")
        yield element


def _failure(step: Json, case: Json) -> ElementTree.Element:
    """Return all that is wrong with a step, the most telling first: many readers of JUnit show one failure a case."""
    failures = sorted(step["failures"], key=lambda failure: telling(failure["kind"]))
    first = failures[0]
    element = ElementTree.Element("failure", type=_text(first["kind"]), message=_text(_place(first)))
    lines = [f"{case['scenario']}:{step['line']} {step['name']!r} on {case['backend']} ({case['target']})"]
    for failure in failures:
        said = beside(failure["message"])
        lines += [_place(failure) + (f": {said}" if said else "")]
        lines += [f"  expected: {failure['expected']}", f"  got:      {failure['got']}"]
    if step["prediction"] is not None and all(failure["kind"] != "oracle" for failure in failures):
        lines.append("contract: the oracle predicts what came")
    lines.append(f"repeat: {case['repeat']}")
    element.text = "\n".join(map(_text, lines))
    return element


def _place(failure: Json) -> str:
    return f"{failure['kind']} in {failure['region']}"


def _count(element: ElementTree.Element) -> None:
    """Write the numbers of an element's cases into it."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(kind) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.6f}")


def _text(text: str) -> str:
    """Return a text as XML can hold it: no control characters, no half of a pair; what is unseen by its number."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    told = (character if character == "\n" else escape_for_human(character) for character in whole)
    return "".join(f"<U+{ord(character):04X}>" if character in "\ufffe\uffff" else character for character in told)
