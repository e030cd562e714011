"""What an item shows of a stored content: bodies, topic snippets, single fields (SPEC.md 3 and 10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from harness.check.display import display, is_blank, lines
from runtime.artifacts import (
    EXPERIENCE,
    MEMORY,
    PROFILE,
    TOPIC_MEMORY,
    Content,
    Experience,
    Family,
    Memory,
    Profile,
    Topic,
)

SNIPPET_CHARACTERS = 240
_MOST_SNIPPETS = 20_000
"""Of a detail with more, the rest is not tried: the longest lines are a test's, not a user's."""
SNIPPET_LABEL = "\n\nSnippet: "


def family_of(content: Content) -> Family:
    """Return the family of a content."""
    match content:
        case Memory():
            return MEMORY
        case Experience():
            return EXPERIENCE
        case Profile():
            return PROFILE
        case Topic():
            return TOPIC_MEMORY


def document_body(content: Content) -> str:
    """Return the body of an Experience or a Profile (SPEC.md 3)."""
    match content:
        case Experience():
            return (
                f"Situation: {content.situation}\nAction: {content.action}\n"
                f"Outcome: {content.outcome}\nLesson: {content.lesson}"
            )
        case Profile():
            return content.content
        case _:
            raise TypeError(f"a {family_of(content)} has no single body")


def fields(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the stored texts of a document: the name of the field and its text."""
    match content:
        case Experience():
            names: tuple[str, ...] = ("situation", "action", "outcome", "lesson")
        case Topic():
            names = ("title", "summary", "detail")
        case Profile():
            names = ("content",)
        case Memory():
            names = ()
    for name in names:
        yield name, getattr(content, name)


def topic_bodies(topic: Topic, *, delivered: str, truncated: bool, windows: bool = False) -> list[str]:
    """Return every body of a topic that fits what was delivered (without its ellipsis): one for each possible snippet.

    Empty where the delivered text is no body of this topic, or shows a snippet that SPEC.md 10 does not know.
    `windows`: a snippet is a window of the whole detail, as releases have it, instead of a line.
    """
    head = topic_head(topic)
    shown_head = display(head)
    if delivered == shown_head and not truncated:
        return [head]
    if (shown_head + SNIPPET_LABEL).startswith(delivered) and truncated:
        return [head, *(head + SNIPPET_LABEL + snippet for snippet in snippets(topic.detail, shown=""))]
    if not delivered.startswith(shown_head + SNIPPET_LABEL):
        return []
    shown = delivered[len(shown_head + SNIPPET_LABEL) :]
    if windows:
        return [head + SNIPPET_LABEL + shown] if is_window(shown, topic.detail) else []
    found = snippets(topic.detail, shown=shown)
    return [head + SNIPPET_LABEL + snippet for snippet in found if truncated or display(snippet) == shown]


def is_window(shown: str, detail: str) -> bool:
    """Say whether a snippet is a stretch of a detail, its white space made single blanks, with ellipses at cut ends."""
    inner = shown.removeprefix("\u2026").removesuffix("\u2026")
    return inner != "" and inner in display(" ".join(detail.split()))


def older_topic_bodies(topic: Topic, *, delivered: str, truncated: bool, windows: bool = False) -> list[str]:
    """Return every content of a topic in the older output that fits what was delivered (without its ellipsis).

    It is compact JSON of title, summary and, when there is one, snippet (SPEC.md 7).
    """
    head: dict[str, str] = {"title": topic.title, "summary": topic.summary}
    opening = _compact(head)[:-1] + ',"snippet":"'
    if windows and delivered.startswith(opening):
        return [delivered] if _is_older_window(delivered[len(opening) :], topic.detail, truncated=truncated) else []
    found = [_compact(head)]
    for snippet in _every_snippet(topic.detail):
        found.append(_compact({**head, "snippet": snippet}))
        if len(found) > _MOST_SNIPPETS:
            break
    return [body for body in found if (body.startswith(delivered) if truncated else body == delivered)]


def _is_older_window(rest: str, detail: str, *, truncated: bool) -> bool:
    """Say whether a snippet in JSON, with or without its end, is a stretch of a detail."""
    # A cut may lie within an escape of JSON.
    whole = rest[: rest.rindex("\\")] if "\\" in rest[-6:] else rest
    inner = whole if truncated else rest.removesuffix('"}')
    try:
        return inner == "" or is_window(json.loads(f'"{inner}"'), detail)
    except ValueError:
        return False


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _every_snippet(detail: str) -> Iterator[str]:
    for line in dict.fromkeys(lines(detail)):
        for start in range(max(1, len(line) - SNIPPET_CHARACTERS + 1)) if not is_blank(line) else ():
            yield line[start : start + SNIPPET_CHARACTERS]


def topic_head(topic: Topic) -> str:
    """Return a topic's body without a snippet."""
    return f"Title: {topic.title}\n\nSummary: {topic.summary}"


def snippets(detail: str, *, shown: str) -> list[str]:
    """Return the snippets of a detail that SPEC.md 10 allows and whose display begins with what was shown.

    A snippet is a whole line of at most 240 code points, or 240 code points out of a longer line. Which line it must
    be depends on the query's tokens and is the oracle's matter. Of a longer line, where nothing was shown, only the
    first is returned.
    """
    found: list[str] = []
    for line in dict.fromkeys(lines(detail)):
        if is_blank(line):
            continue
        if len(line) <= SNIPPET_CHARACTERS:
            starts: Iterable[int] = (0,)
        elif not shown:
            starts = (0,)
        else:
            starts = _starts(line, shown)
        for start in starts:
            snippet = line[start : start + SNIPPET_CHARACTERS]
            if len(snippet) == min(len(line), SNIPPET_CHARACTERS) and display(snippet).startswith(shown):
                found.append(snippet)
    return found


def _starts(line: str, shown: str) -> list[int]:
    """Return where in a line a shown text may begin: no look at every start of a line of a million characters."""
    first = [start for start, character in enumerate(line) if display(character)[0] == shown[0]]
    return [start for start in first if display(line[start : start + 8]).startswith(shown[:8])]
