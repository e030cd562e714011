"""The examples of docs/client.md are carried out and print what is shown."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from demo import TOKEN, fill, served

from runtime.http import client
from runtime.storage import Storage

DOCUMENT = Path(__file__).parents[2] / "docs" / "client.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_examples_print_what_is_shown(storage: Storage, database: str) -> None:
    fill(storage)
    examples = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert len(examples) == TEXT.count("```python") == 3
    with served(database) as url:
        names: dict[str, Any] = {"url": url, "token": TOKEN}
        for source, shown in examples:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, DOCUMENT.name, "exec"), names)
            assert printed.getvalue() == shown


@pytest.mark.parametrize("name", [name for name in client.__all__ if name[0].isupper()])
def test_every_error_is_described(name: str) -> None:
    kind = getattr(client, name)
    if isinstance(kind, type) and issubclass(kind, client.ContextError) and kind is not client.Refused:
        assert f"`{name}`" in TEXT
