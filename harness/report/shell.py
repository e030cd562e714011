"""Requests as curl commands of a bash script, the ids that a server makes being shell variables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ONCE = "~~once~~"
"""Stands in a body for a text that is another one each time."""

_PLACEHOLDER = re.compile(r"~~(?:[vV]\d{4}|once)~~")
_RANDOM = "$RANDOM$RANDOM$RANDOM"
_LONGEST_ARGUMENT = 100_000
"""Bytes; the kernel takes 128 KiB for one argument."""

SHOW = """\
# Prints the prepared text where there is one, otherwise the answer; then the status.
show() { jq -Rr '. as $line | try (fromjson | .content // .) catch $line'; }"""

Name = Callable[[str], str]
"""Gives the shell variable that a placeholder stands for."""


@dataclass(frozen=True)
class Command:
    """One request: the path and the body hold placeholders for ids."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    variable: str | None = None
    """The shell variable of the bearer token."""
    token: str | None = None
    """A bearer token in so many words."""
    makes: Mapping[str, str] = field(default_factory=dict)
    """Where the answer has the ids that it makes: jq's path by placeholder."""
    is_shown: bool = False
    """Whether the answer is what the script is about."""

    @property
    def uses(self) -> set[str]:
        """The placeholders in it."""
        return placeholders(self.path + (self.body or b"").decode("utf-8", "replace"))


def placeholder(number: int) -> str:
    """Return what stands for the id of a number: letters and signs that no encoding changes, in their order."""
    return f"~~v{number:04}~~"


def placeholders(text: str) -> set[str]:
    """Return the placeholders in a text, those in upper case too."""
    return {found.lower() for found in _PLACEHOLDER.findall(text)}


def json_body(value: Any) -> bytes:
    """Return a value as JSON that can be read: characters that an editor shows stay as they are."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def curl(command: Command, name: Name) -> list[str]:
    """Return the lines of one request; each id that it makes and that has a name is kept."""
    kept = [(name(key), path) for key, path in command.makes.items() if name(key)]
    options = "-sS" if command.is_shown else "-fsS"
    if command.is_shown and not kept:
        options += r" -w '\nHTTP %{http_code}\n'"
    elif not kept:
        options += " -o /dev/null"
    lines = [*_request(command, options, name)]
    if len(kept) == 1:
        variable, path = kept[0]
        return _within(f"{variable}=$(", lines, f" | jq -r {path})")
    if kept:
        return [
            *_within("ANSWER=$(", lines, ")"),
            *(f'{variable}=$(jq -r {path} <<< "$ANSWER")' for variable, path in kept),
        ]
    return _within("", lines, " | show" if command.is_shown else "")


def in_order(command: Command, variables: Sequence[str]) -> list[str]:
    """Return the lines that send a request once for each variable, and give them the ids that come as they rise."""
    (path,) = command.makes.values()
    first, *rest = _request(command, "-fsS", str)
    return [
        f"IDS=$(for _ in {' '.join(str(index + 1) for index in range(len(variables)))}; do",
        f"  {first}",
        *(f"    {line}" for line in rest),
        f"done | jq -r {path} | LC_ALL=C sort)",
        f'{{ {" ".join(f"read -r {variable};" for variable in variables)} }} <<< "$IDS"',
    ]


def quoted(text: str, name: Name) -> str:
    """Return a text as one word of bash, its placeholders as variables."""
    parts = []
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(_plain(text[at : found.start()]))
        parts.append(f'"{_variable(found, name)}"')
        at = found.end()
    parts.append(_plain(text[at:]))
    return "".join(parts) or "''"


def _request(command: Command, options: str, name: Name) -> list[str]:
    words = ["curl", options]
    if command.method != ("GET" if command.body is None else "POST"):
        words.append(f"-X {command.method}")
    if "%2E" in command.path:
        words.append("--path-as-is")
    words.append(f'"$BASE{_PLACEHOLDER.sub(lambda found: _variable(found, name), command.path)}"')
    given = {key.lower() for key in command.headers}
    if "authorization" in given:
        pass
    elif command.variable is not None:
        words.append(f'-H "Authorization: Bearer ${command.variable}"')
    elif command.token is not None:
        words.append(f"-H {_plain(f'Authorization: Bearer {command.token}')}")
    declared = {} if command.body is None or "content-type" in given else {"Content-Type": "application/json"}
    words += [
        f"-H {_plain(f'{key}: {value}' if value else f'{key};')}"
        for key, value in {**declared, **command.headers}.items()
    ]
    if command.body is None:
        return [" ".join(words)]
    text = _readable(command.body)
    if text is None:
        return [f"printf '{_bytes(command.body, name)}' |", f"{' '.join(words)} --data-binary @-"]
    if len(command.body) > _LONGEST_ARGUMENT:
        return [f"printf %s {quoted(text, name)} |", f"{' '.join(words)} --data-binary @-"]
    # A text that begins with @ would be the name of a file.
    return [f"{' '.join(words)} \\", f"{'-d' if text.startswith('{') else '--data-raw'} {quoted(text, name)}"]


def _within(before: str, lines: list[str], after: str) -> list[str]:
    first, *rest = lines
    whole = [before + first, *(f"  {line}" for line in rest)]
    return [*whole[:-1], whole[-1] + after]


def _readable(body: bytes) -> str | None:
    """Return a body as text that an editor shows, None where only its bytes tell what it is."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    try:
        json.loads(text)
    except ValueError:
        return text if text.isprintable() else None
    # In JSON an escape means the same, unless it stood outside of strings.
    return None if re.search(r"[\t\r\n]", text) else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _bytes(body: bytes, name: Name) -> str:
    """Return bytes as the format of a printf, in single quotes."""
    parts = []
    text = body.decode("latin-1")
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(_octal(text[at : found.start()]))
        parts.append(f"'\"{_variable(found, name)}\"'")
        at = found.end()
    return "".join((*parts, _octal(text[at:])))


def _octal(text: str) -> str:
    return "".join(one if " " <= one <= "~" and one not in "%\\'-" else f"\\{ord(one):03o}" for one in text)


def _variable(found: re.Match[str], name: Name) -> str:
    if found[0] == ONCE:
        return _RANDOM
    variable = name(found[0].lower())
    if found[0] != found[0].lower():
        return f"${{{variable}^^}}"
    following = found.string[found.end() : found.end() + 1]
    return f"${{{variable}}}" if following.isalnum() or following == "_" else f"${variable}"


def _plain(text: str) -> str:
    return "" if not text else "'" + text.replace("'", "'\\''") + "'"
