from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any, cast

import pytest

from runtime.hosts import Configuration, ConfigurationRefused, Selection
from runtime.http.client import OMITTED, Assembly, Section

SPELLED_OUT = {
    "format": "markdown",
    "sections": [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}],
    "show": [],
}
NAMED = {"POWERCONTEXT_HOST_URL": "http://127.0.0.1:1", "POWERCONTEXT_HOST_SCOPE": "demo"}


def test_an_empty_assembly_is_the_same_as_its_default_spelled_out() -> None:
    assert Selection.of({}).effective == Selection.of(SPELLED_OUT).effective
    assert Selection.of({"show": []}).effective == Selection.of({"format": "markdown"}).effective


def test_the_older_output_no_sections_and_the_default_are_three_things() -> None:
    assert len({Selection.of().effective, Selection.of({}).effective, Selection.of({"sections": []}).effective}) == 3


def test_the_order_of_what_is_shown_changes_nothing_and_that_of_sections_does() -> None:
    shown = [
        Selection.of({"show": show}).effective
        for show in (["confidence", "recall_rank"], ["recall_rank", "confidence"])
    ]
    assert shown[0] == shown[1] != Selection.of({"show": ["confidence"]}).effective
    sections = cast("list[Any]", SPELLED_OUT["sections"])
    assert Selection.of({"sections": sections}).effective != Selection.of({"sections": sections[::-1]}).effective


@pytest.mark.parametrize("assembly", [{}, {"sections": []}, {"show": ["recall_rank", "confidence"]}])
def test_an_assembly_goes_out_as_it_was_given(assembly: dict[str, object]) -> None:
    assert Selection.of(assembly).assembly == assembly
    assert Selection.of().assembly is OMITTED


def test_a_mapping_that_is_changed_afterwards_changes_nothing() -> None:
    assembly: dict[str, Any] = {"sections": [{"family": "memory", "limit": 1}]}
    selection = Selection.of(assembly)
    assembly["sections"].append({"family": "profile", "limit": 1})
    assert selection.assembly == {"sections": [{"family": "memory", "limit": 1}]}


@pytest.mark.parametrize(
    ("assembly", "max_bytes", "setting"),
    [
        (None, 8000, "assembly"),
        ([], 8000, "assembly"),
        ({"sections": [{"family": "experience", "limit": 3}]}, 8000, "assembly"),
        ({"sort_by": "score"}, 8000, "assembly"),
        ({"sections": [{"family": "memory", "limit": object()}]}, 8000, "assembly"),
        ({"format": "\ud800"}, 8000, "assembly"),
        ({"sections": [{"family": "memory", "limit": math.nan}]}, 8000, "assembly"),
        ({}, 511, "max_bytes"),
        ({}, 32769, "max_bytes"),
        ({}, True, "max_bytes"),
        ({}, 8000.0, "max_bytes"),
    ],
)
def test_what_the_contract_refuses_is_refused_before_it_is_sent(assembly: Any, max_bytes: Any, setting: str) -> None:
    with pytest.raises(ConfigurationRefused) as refused:
        Selection.of(assembly, max_bytes=max_bytes)
    assert refused.value.setting == setting


def test_an_assembly_may_be_typed_or_any_mapping() -> None:
    typed = Assembly(sections=[Section(family="memory", limit=1)])
    plain = {"sections": [{"family": "memory", "limit": 1}]}
    assert Selection.of(typed) == Selection.of(MappingProxyType(plain)) == Selection.of(plain)
    assert Selection.of(Assembly()).assembly == {}


@pytest.mark.parametrize("seconds", [0, -1, 61, 1e12, math.inf, math.nan])
def test_a_time_that_nobody_can_wait_for_is_refused_before_a_turn_begins(seconds: float) -> None:
    with pytest.raises(ConfigurationRefused) as refused:
        Configuration(url="http://127.0.0.1:1", scope_id="demo", timeout_seconds=seconds)
    assert refused.value.setting == "timeout_seconds"


def test_the_environment_makes_a_configuration() -> None:
    more = {"TOKEN": "t", "ASSEMBLY": '{"sections": []}', "MAX_BYTES": "512", "TIMEOUT_SECONDS": "0.5", "ENABLED": "0"}
    made = Configuration.from_environment(NAMED | {f"POWERCONTEXT_HOST_{name}": value for name, value in more.items()})
    assert made == Configuration(
        url="http://127.0.0.1:1",
        scope_id="demo",
        token="t",
        selection=Selection.of({"sections": []}, max_bytes=512),
        timeout_seconds=0.5,
        enabled=False,
    )


def test_nothing_is_configured_by_default_and_the_older_output_is_asked_of_a_server_that_is_named() -> None:
    assert Configuration.from_environment({}) is None
    made = Configuration.from_environment(NAMED)
    assert made is not None
    assert (made.selection, made.enabled) == (Selection(given=None, effective=None, max_bytes=8000), True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCOPE", " "),
        ("SCOPE", "x" * 257),
        ("ASSEMBLY", "null"),
        ("ASSEMBLY", "secret-value"),
        ("ASSEMBLY", ""),
        ("ASSEMBLY", '{"secret-value": 1}'),
        ("MAX_BYTES", "511"),
        ("MAX_BYTES", "secret-value"),
        ("MAX_BYTES", "9" * 5000),
        ("TIMEOUT_SECONDS", "0"),
        ("TIMEOUT_SECONDS", "nan"),
        ("TIMEOUT_SECONDS", "61"),
        ("TIMEOUT_SECONDS", "secret-value"),
        ("ENABLED", "secret-value"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_without_its_value(name: str, value: str) -> None:
    with pytest.raises(ConfigurationRefused) as refused:
        Configuration.from_environment(NAMED | {f"POWERCONTEXT_HOST_{name}": value})
    assert refused.value.setting == f"POWERCONTEXT_HOST_{name}"
    assert "secret-value" not in str(refused.value)


def test_a_token_is_not_printed() -> None:
    assert "secret-value" not in repr(Configuration(url="http://x", scope_id="demo", token="secret-value"))
    assert json.dumps("secret-value") not in str(Configuration(url="http://x", scope_id="demo", token="secret-value"))
