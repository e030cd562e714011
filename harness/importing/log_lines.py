"""Lines of a PowerContext server's log. None holds a Scope, a query, a caller or an answer: see NOT_TOLD.

Releases 1.4.0 and newer write `operation="prepare_context"` into each line of a request, older ones only a request id
in the plain format. A line of the access log of uvicorn or a proxy has method, path and status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import HarnessError
from harness.importing.exchange import Exchange, private

OPERATION = "prepare_context"
NOT_TOLD = "guess: a log line holds no Scope, query, budget, caller or answer; all but the status is made up"

_PLAIN = re.compile(r"^(\d{4}-\d\d-\d\dT\S+) ([A-Z]+) (powercontext\.[\w.]+) ")
_FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s"]\S*)')
_ACCESS = re.compile(r'"POST \S*/v1/context/prepare\S* HTTP/[\d.]+" ([1-5]\d\d)')
Record = Mapping[str, Any]


def is_log(text: str) -> bool:
    """Say whether a text holds lines of a server's log."""
    return any(_PLAIN.match(line) or _ACCESS.search(line) or _json_record(line) for line in text.split("\n"))


def read_log(text: str) -> list[Exchange]:
    """Return the prepare requests that a log tells of, one for each request id; raises HarnessError without any."""
    requests: dict[str, dict[str, Any]] = {}
    seen = 0
    for number, line in enumerate(text.split("\n"), start=1):
        record = _record(line.rstrip("\r"))
        seen += record is not None
        if record is not None and record.get("operation") == OPERATION:
            # The application's line has the code, the transport's the status that went out.
            known = requests.setdefault(str(record.get("request_id", f"line {number}")), {})
            for name, value in record.items():
                known.setdefault(name, value)
    if not requests:
        raise HarnessError(
            "nothing_to_import",
            "no line of the log tells of a prepare",
            cause=f'{seen} lines of a server were read, none with operation="{OPERATION}"',
            hint="releases before 1.4.0 name no operation in their plain log; import the request itself",
        )
    return [_exchange(f"log of request {key}", record) for key, record in requests.items()]


def _exchange(source: str, record: Record) -> Exchange:
    status, code = record.get("status_code"), record.get("error_code")
    told = [f"{name} {record[name]}" for name in ("timestamp", "service_version", "request_id") if name in record]
    return Exchange(
        source=source,
        caller="caller-1",
        status=status if type(status) is int else None,
        code=code if isinstance(code, str) else None,
        notes=(f"the log says{private(': ' + ', '.join(told))}" if told else "the log says no more", NOT_TOLD),
    )


def _record(line: str) -> Record | None:
    if found := _ACCESS.search(line):
        return {"operation": OPERATION, "status_code": int(found[1])}
    if (record := _json_record(line)) is not None:
        return record
    head = _PLAIN.match(line)
    if head is None:
        return None
    return {"timestamp": head[1], "logger": head[3], **dict(_fields(line))}


def _fields(line: str) -> Iterator[tuple[str, Any]]:
    for name, written in _FIELD.findall(line):
        try:
            yield name, json.loads(written)
        except ValueError:
            yield name, written


def _json_record(line: str) -> Record | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("logger"), str) and "level" in value else None
