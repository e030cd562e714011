"""curl commands, as people paste them, each perhaps with its output below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from harness.errors import HarnessError
from harness.importing.answers import split_output
from harness.importing.exchange import Exchange, caller_of, is_prepare, kept_headers, private
from harness.importing.shell_words import Command, Unfinished, read_command

_START = re.compile(r"(?m)^[ \t]*(?:[\w@~:/.-]*[$#%>][ \t]+)?(?:[A-Za-z_]\w*=\S*[ \t]+)*(?=curl[ \t\\])")
_FENCE = re.compile(r"(?m)^[ \t]*```[\w-]*[ \t]*\r?$\n?")
_DATA = {"-d", "--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json"}
_TAKES_VALUE = _DATA | {
    *("-X", "--request", "-H", "--header", "-u", "--user", "-A", "--user-agent", "-b", "--cookie", "-c"),
    *("--cookie-jar", "-e", "--referer", "-o", "--output", "-w", "--write-out", "-m", "--max-time", "-D"),
    *("--dump-header", "--connect-timeout", "--url", "-x", "--proxy", "--cacert", "-E", "--cert", "--key"),
    *("--resolve", "--retry", "--retry-delay", "-F", "--form", "-T", "--upload-file", "-r", "--range"),
    *("--oauth2-bearer", "--connect-to", "--unix-socket", "--interface", "-K", "--config", "--limit-rate"),
    *("--proto", "--tls-max", "--ciphers", "--retry-max-time", "--proxy-user", "-U", "--stderr", "--trace"),
}


def read_curl(text: str) -> list[Exchange]:
    """Return the prepare requests of a text with curl commands; raises HarnessError where there is none."""
    text = _FENCE.sub("", text)
    starts = [match.end() for match in _START.finditer(text)]
    found: list[Exchange] = []
    others: list[str] = []
    tokens: dict[str, str] = {}
    number = 0
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        if start < number:
            # Inside a quoted argument of the command before.
            continue
        try:
            command = read_command(text, start)
        except Unfinished as problem:
            raise HarnessError(
                "unreadable_command", f"a curl command cannot be read: {problem}", hint="copy the whole command"
            ) from None
        number = command.end
        request = _request(command)
        if not is_prepare(request.method, request.url):
            others.append(f"{request.method} {request.url}")
            continue
        following = max(following, command.end)
        # What stands behind the command's line is what it printed; the rest of a pipe is not.
        output = text[(text + "\n").index("\n", command.end) : _before(text, following)]
        status, answer = split_output(output)
        found.append(
            Exchange(
                source=f"curl command {len(found) + 1}",
                body=request.body,
                headers=kept_headers(request.headers),
                caller=caller_of(request.headers, tokens),
                status=status,
                answer=answer,
                notes=tuple(_notes(command, request)),
            )
        )
    if not found:
        seen = f"there are others: {'; '.join(others[:3])}" if others else "no line begins with curl"
        raise HarnessError(
            "nothing_to_import", "no curl command posts to /v1/context/prepare", cause=seen, hint="copy that command"
        )
    return found


def _before(text: str, end: int) -> int:
    """Return where the line begins in which a command starts: its prompt is no output of the one before."""
    return text.rfind("\n", 0, end) + 1 if end < len(text) else end


@dataclass
class _Request:
    method: str = ""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    joint: str = "&"

    @property
    def body(self) -> bytes:
        return self.joint.join(self.parts).encode("utf-8", "surrogateescape")


def _request(command: Command) -> _Request:
    request = _Request()
    for name, value in _options(command.words[1:]):
        match name:
            case "-X" | "--request":
                request.method = value
            case "-H" | "--header":
                key, _, content = value.partition(":")
                request.headers[key.strip().lower()] = content.strip()
            case "--oauth2-bearer":
                request.headers["authorization"] = f"Bearer {value}"
            case "-u" | "--user":
                request.headers["authorization"] = f"Basic {value}"
            case "--url" | "":
                request.url = request.url or value
            case "-F" | "--form" | "-T" | "--upload-file" | "-K" | "--config":
                raise HarnessError("unreadable_command", f"curl's {name} is not understood here", hint="use -d")
            case _ if name in _DATA:
                _add_data(request, command, name, value)
    request.method = request.method or ("POST" if request.parts else "GET")
    return request


def _add_data(request: _Request, command: Command, name: str, value: str) -> None:
    if value.startswith("@") and name != "--data-raw":
        if value != "@-" or command.document is None:
            raise HarnessError(
                "missing_file",
                f"the command reads its data from {value[1:] or 'a file'}, which the report does not hold",
                hint="put the file's text in its place: --data-raw '...'",
            )
        value = command.document if name == "--data-binary" else re.sub(r"[\r\n]", "", command.document)
    if name == "--data-urlencode":
        key, sign, content = value.partition("=")
        value = f"{key}={quote_plus(content)}" if sign and key else quote_plus(content or key)
    if name == "--json":
        request.joint = ""
        request.headers.setdefault("content-type", "application/json")
    request.parts.append(value)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each option with its value, a word that belongs to none under an empty name."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            yield word, next(rest, "") if word in _TAKES_VALUE else ""
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], start=2):
                if f"-{letter}" in _TAKES_VALUE:
                    yield f"-{letter}", word[at:] or next(rest, "")
                    break
                yield f"-{letter}", ""
        else:
            yield "", word


def _notes(command: Command, request: _Request) -> Iterator[str]:
    inside = [name for name in dict.fromkeys(command.variables) if any(name in part for part in request.parts)]
    if inside:
        names = private(f" ({', '.join(inside)})")
        yield f"guess: the command has shell variables in its data{names}; they are taken as they stand"
    if "content-type" not in request.headers:
        yield "guess: the command names no media type; JSON is what it was meant to send"
