"""A scenario with other texts, ids and queries; its structure, its lengths and what it expects stay."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.anonymizing.ids import Ids
from harness.anonymizing.words import Words
from harness.check.display import ELLIPSIS
from harness.check.request import FIELDS, SHOWABLE
from harness.explore.writing import Plain
from harness.scenario.operations import DEFAULT_PRINCIPAL, NOBODY
from runtime.artifacts import FAMILIES

_ITEM_TEXTS = ("text", "situation", "action", "outcome", "lesson", "content", "title", "summary", "detail")
_CONTRACT = frozenset((*FAMILIES, *FIELDS, *SHOWABLE, "markdown"))
"""The words of a request that are the contract's own."""
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"(\\u[0-9a-fA-F]{4}|\\.)")
_DEFAULT_VERSION = re.compile(r"(.+)-v([1-9][0-9]*)", re.DOTALL)
_ID_KEYS = ("scope_id", "artifact_id", "entry_id", "entry_version_id")
_HEADERS = ("content-type", "accept")
KEPT = (
    "structure, order and number of everything; lengths in bytes and characters; upper and lower case, punctuation, "
    "blanks, line breaks, control characters; keys, families, kinds, states, budgets, limits, tags, report, step names "
    "and the sentences of `scenario` and `why`: read these yourself"
)


@dataclass(frozen=True, slots=True)
class Anonymized:
    """A scenario without its texts, what stayed of them, and what each id is called now."""

    plain: Plain
    kept: tuple[str, ...]
    name: Callable[[str], str]
    """What an id is called now."""


def anonymize(plain: Plain, *, seed: int) -> Anonymized:
    """Return a scenario's plain values with other texts and ids; the same seed gives the same ones."""
    return _Anonymizing(plain, seed).result()


class _Anonymizing:
    def __init__(self, plain: Plain, seed: int) -> None:
        self._plain = plain
        self._words = Words(seed)
        self._texts: list[str] = []
        """The original texts in which a part may be looked up."""
        self._told: list[str] = []
        self._entries = set(_known(plain, ("entry", "retire")))
        self._scopes = {*plain.get("scopes", {}), *_known(plain, ("id",))}
        ids = {*_known(plain, ("entry", "retire", "id", "version", "scope")), *plain.get("scopes", {})}
        ids |= {*(plain.get("principals") or {}), *_known(plain, _ID_KEYS)}
        for step in plain["steps"]:
            ids |= {*step.get("write", {}), *step.get("grant", {}), *step.get("revoke", {})}
        ids |= {part for name in ids for part in re.split("[@#/]", name)}
        self._known = {name for name in ids if name not in FAMILIES}
        self.ids = Ids(ids, Random(f"ids {seed}"), self._words)

    def result(self) -> Anonymized:
        plain = self._plain
        # Texts first: what is expected of them is looked up in them.
        made: Plain = dict(plain)
        made["scopes"] = self._contents(plain.get("scopes", {}))
        if "scopes" not in plain:
            del made["scopes"]
        if plain.get("principals"):
            made["principals"] = {self._id(name): self._principal(one) for name, one in plain["principals"].items()}
        if "runtime" in plain:
            made["runtime"] = self._runtime(plain["runtime"])
        written = [self._contents(step["write"]) if "write" in step else None for step in plain["steps"]]
        made["steps"] = [self._step(step, write) for step, write in zip(plain["steps"], written, strict=True)]
        kept = [KEPT, *(f"{why}: {count}" for why, count in sorted(self._words.kept.items()))]
        if self.ids.kept:
            signs = "".join(sorted(self.ids.kept))
            kept.append(f"in ids these characters: {json.dumps(signs)}")
        return Anonymized(made, (*kept, *dict.fromkeys(self._told)), self._id)

    def _id(self, name: str) -> str:
        """Return what an id is called; versions that are named by their Entry still are."""
        if name in (NOBODY, DEFAULT_PRINCIPAL) and name not in self._plain.get("scopes", {}):
            return name
        found = _DEFAULT_VERSION.fullmatch(name)
        if found is not None and found[1] in self._entries:
            return f"{self.ids(found[1])}-v{found[2]}"
        return self.ids(name)

    def _text(self, text: str) -> str:
        return self._words.text(text)

    def _part(self, text: str) -> str:
        """Return what became of a text that may be a part of another one, cut in the middle of a word."""
        for whole in self._texts:
            at = whole.find(text)
            if at >= 0:
                return self._text(whole)[at : at + len(text)]
        if text in self._known:
            return self._id(text)
        return self._words.framed(text, lambda name: self._id(name) if name in self._known else None)

    def _contents(self, contents: dict[str, Any]) -> dict[str, Any]:
        return {self._id(name): self._content(content) for name, content in contents.items()}

    def _content(self, content: dict[str, Any]) -> dict[str, Any]:
        made = dict(content)
        if "id" in made:
            made["id"] = self._id(made["id"])
        if "references" in made:
            made["references"] = list(map(self._id, made["references"]))
        for key in ("memory", "experience", "profile", "topics"):
            if key in made:
                made[key] = [self._item(item) for item in made[key]]
        return made

    def _item(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self._item(one) for one in item]
        if isinstance(item, str):
            item, is_plain = {"content": item}, True
        else:
            is_plain = False
        made = {}
        for key, value in item.items():
            if key in _ITEM_TEXTS:
                self._texts.append(value)
                made[key] = self._text(value)
            else:
                made[key] = self._id(value) if key in ("entry", "version", "retire", "id") else value
        return made["content"] if is_plain else made

    def _principal(self, principal: dict[str, Any]) -> dict[str, Any]:
        made = dict(principal)
        if "id" in made:
            made["id"] = self._id(made["id"])
        if "reads" in made:
            made["reads"] = list(map(self._id, made["reads"]))
        return made

    def _runtime(self, runtime: dict[str, Any]) -> dict[str, Any]:
        made = dict(runtime)
        if "reranker" in made:
            made["reranker"] = {"order": list(map(self._id, made["reranker"]["order"]))}
        if "vectors" in made.get("embedder", {}):
            vectors = {self._text(query): vector for query, vector in made["embedder"]["vectors"].items()}
            made["embedder"] = {**made["embedder"], "vectors": vectors}
        return made

    def _step(self, step: dict[str, Any], write: dict[str, Any] | None) -> dict[str, Any]:
        made = dict(step)
        if write is not None:
            made["write"] = write
        if "prepare" in step:
            made["prepare"] = self._request(step["prepare"])
        if "body" in step:
            made["body"] = self._body(step["body"])
        if "headers" in step:
            made["headers"] = {
                name: value if name.lower() in _HEADERS else self._text(value)
                for name, value in step["headers"].items()
            }
        match step.get("as"):
            case str() as name:
                made["as"] = self._id(name)
            case {"token": token}:
                made["as"] = {"token": self._text(token)}
        if isinstance(step.get("read"), dict):
            made["read"] = {key: self._named(key, value) for key, value in step["read"].items()}
        for verb in ("grant", "revoke"):
            if verb in step:
                made[verb] = {self._id(name): list(map(self._id, scopes)) for name, scopes in step[verb].items()}
        if "expect" in step:
            made["expect"] = self._expect(step["expect"])
        return made

    def _named(self, key: str, value: Any) -> Any:
        if key not in ("scope", "entry", "version", "id") or not isinstance(value, str):
            return value
        return self._short(value) if key == "entry" else self._id(value)

    def _request(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._request(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self._request(part, key) for part in value]
        if not isinstance(value, str) or value in _CONTRACT:
            return value
        return self._id(value) if key == "scope_id" else self._text(value)

    def _body(self, body: Any) -> Any:
        """Return a request's bytes with other words in its strings, whether it is JSON or not."""
        if isinstance(body, str):
            return _LITERAL.sub(self._literal, body)
        raw = bytes.fromhex(body["hex"])
        text = raw.decode("utf-8", "surrogateescape")
        other = _LITERAL.sub(self._literal, text)
        return {"hex": other.encode("utf-8", "surrogateescape").hex()}

    def _literal(self, found: re.Match[str]) -> str:
        inside = found[1]
        if inside in _CONTRACT:
            return found[0]
        if inside in self._scopes:
            return f'"{self._id(inside)}"'
        parts = _ESCAPE.split(inside)
        return '"' + "".join(part if at % 2 else self._text(part) for at, part in enumerate(parts)) + '"'

    def _expect(self, expect: dict[str, Any]) -> dict[str, Any]:
        made = dict(expect)
        for key in ("contains", "absent"):
            if key in made:
                strings = [made[key]] if isinstance(made[key], str) else made[key]
                made[key] = list(map(self._part, strings))
        if "sections" in made:
            made["sections"] = [
                {title: self._items(items) for title, items in section.items()} for section in made["sections"]
            ]
        if "truncated" in made:
            made["truncated"] = [self._short(item) for item in made["truncated"]]
        if "ranks" in made:
            made["ranks"] = {self._short(item): rank for item, rank in made["ranks"].items()}
        if "text" in made:
            made["text"] = self._text(made["text"])
        if "artifact" in made:
            made["artifact"] = self._artifact(made["artifact"])
        if "content" in made and (content := self._delivered(made.pop("content"))) is not None:
            made["content"] = content
        return made

    def _items(self, items: Any) -> Any:
        if isinstance(items, dict):
            return {"any_order": [self._short(item) for item in items["any_order"]]}
        return [self._short(item) for item in items]

    def _short(self, item: Any) -> Any:
        """Return an item's short form, or its parts, by other ids."""
        if isinstance(item, dict):
            return {key: self._id(value) if isinstance(value, str) else value for key, value in item.items()}
        parts = re.split("([@#/])", item)
        revision = parts[-1] if len(parts) > 2 and parts[-2] == "#" else None
        named = [part if at % 2 else self._id(part) for at, part in enumerate(parts)]
        return "".join(named if revision is None else [*named[:-1], revision])

    def _artifact(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._artifact(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self._artifact(part, key) for part in value]
        if not isinstance(value, str) or key in ("kind", "state", "family"):
            return value
        return self._id(value) if key in _ID_KEYS else self._text(value)

    def _delivered(self, content: str) -> str | None:
        """Return an expected text by other words, or None where a body in it is cut: its last word is no whole one."""
        if ELLIPSIS in content or "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in content:
            self._told.append(
                "an expected `content` with a cut body, or of the older form, is left out: let it be filled in again"
            )
            return None
        lines = []
        for line in content.split("\n"):
            if line.startswith(">     "):
                lines.append(">     " + self._text(line[6:]))
            elif line.startswith(("    Scope: ", "    Artifact: ", "    Entry: ")):
                lines.append(_LITERAL.sub(self._cited, line))
            else:
                lines.append(line)
        return "\n".join(lines)

    def _cited(self, found: re.Match[str]) -> str:
        name = json.loads(found[0])
        return found[0] if name in FAMILIES else json.dumps(self._id(name))


def _known(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield every string that stands below one of these keys, at any depth."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in keys and isinstance(part, str):
                yield part
            yield from _known(part, keys)
    elif isinstance(value, list):
        for part in value:
            yield from _known(part, keys)
