"""An explanation as lines of text: the same bytes on every machine, nothing invisible left raw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.check.display import show_invisible
from harness.check.oracle import Prediction, Undetermined
from harness.check.oracle.recall import POOLS
from harness.check.parts import TITLES
from harness.explain.budget import Cost
from harness.explain.stored import Stored
from harness.explain.story import FamilyRecall, Hit, Prepared, ScopeRecall, Told
from harness.scenario.loader import Loaded
from runtime.artifacts import PROFILE, EntryWrite

_SHOWN_CHARACTERS = 60
_LONGEST_LINE = 200
_ORDER = "most of the query's tokens, then fewest tokens at all, then ids"


def lines_of(loaded: Loaded, told: Sequence[Told]) -> Iterator[str]:
    """Yield the lines of an explanation."""
    yield _visible(f"{loaded.path}: {loaded.scenario.scenario}")
    for step in told:
        yield ""
        yield _visible(f"{loaded.path}:{step.line} {step.name!r}")
        # Ids and tokens can hold anything.
        yield from map(_visible, _step(step))


def _step(told: Told) -> Iterator[str]:
    prepared = told.prepared
    yield f"  {told.caller} {_asks(prepared)}" if prepared is not None else f"  {told.verb} {told.what}".rstrip()
    yield from (f"  note: {note}" for note in told.notes)
    yield from (f"    {line}" for operation in told.written for line in _written(operation))
    if prepared is None:
        return
    yield "  world"
    for scope in told.world:
        yield from (f"    {line}" for line in _scope(scope))
    if prepared.refusal is not None:
        assert isinstance(prepared.prediction, Prediction)
        yield f"  refused with {prepared.prediction.status} {prepared.prediction.code}: {prepared.refusal}"
        return
    if isinstance(prepared.prediction, Undetermined):
        yield f"  nothing is predicted: {prepared.prediction.reason}"
        return
    if prepared.asked is not None and prepared.asked.sections == ():
        yield "  no section is asked for: no Artifact is read, the answer is empty"
        return
    yield f"  tokens of the query: {_words(prepared.tokens)}"
    for recall in prepared.recalls:
        yield from (f"  {line}" for line in _recall(recall))
    yield from (f"  {line}" for line in _budget(prepared))
    yield from (f"  {line}" for line in _text(prepared.prediction))


def _asks(prepared: Prepared) -> str:
    asked = prepared.asked
    if asked is None:
        return "sends what is no legal request"
    if asked.sections is None:
        wanted = "the older output"
    else:
        wanted = ", ".join(f"{TITLES[family]} up to {limit}" for family, limit in asked.sections) or "no section"
    shown = f", shows {' and '.join(sorted(asked.show))}" if asked.show else ""
    return f"asks {asked.scope_id!r} for {_short(asked.query)!r}: {wanted}, at most {asked.max_bytes} bytes{shown}"


def _written(operation: Operation) -> Iterator[str]:
    match operation:
        case CreateScope(scope_id):
            yield f"a new Scope {scope_id}"
        case SetReferences(scope_id, references):
            yield f"{scope_id} references {', '.join(references) or 'nothing'}"
        case WriteMemory(scope_id, changes):
            for change in changes:
                if isinstance(change, EntryWrite):
                    yield f"{scope_id}: {change.entry_id}@{change.entry_version_id}  {_quoted(change.text)}"
                else:
                    yield f"{scope_id}: {change.entry_id} is retired"
        case WriteDocument(scope_id, artifact_id, _, _):
            yield f"{scope_id}: another revision of {artifact_id}"
        case Propose(scope_id, artifact_id, _, state):
            yield f"{scope_id}: a {state} Candidate of {artifact_id}"
        case Grant(principal_id, scope_id):
            yield f"{principal_id} becomes viewer of {scope_id}"
        case Revoke(principal_id, scope_id):
            yield f"{principal_id} is viewer of {scope_id} no more"
        case CreatePrincipal(principal_id, _, _):
            yield f"a new principal {principal_id}"


def _scope(stored: Stored) -> Iterator[str]:
    facts = ["the current Scope"] if stored.is_current else []
    facts += [] if stored.is_readable else ["not readable for the caller"]
    facts += [f"references {', '.join(stored.references)}"] if stored.references else []
    yield stored.scope + (f" ({'; '.join(facts)})" if facts else "")
    rows = []
    for item in stored.items:
        size = f"{len(item.text.encode('utf-8', 'surrogatepass'))} bytes"
        state = "" if item.state in ("active", "head") else f"{item.state}, never recalled"
        rows.append([TITLES[item.family], _visible(item.name), size, _quoted(item.text), state])
    yield from (f"  {line}" for line in table(rows, right=(2,)))


def _recall(recall: FamilyRecall) -> Iterator[str]:
    yield f"recall of {TITLES[recall.family]}"
    if not recall.has_source:
        yield "  has no source here: no candidates"
        return
    for scope in recall.scopes:
        yield from (f"  {line}" for line in _scope_recall(scope, recall))
    is_by_words = all(hit.score is None and not hit.reranked for scope in recall.scopes for hit in scope.hits)
    if recall.family != PROFILE and is_by_words and any(len(scope.hits) > 1 for scope in recall.scopes):
        yield f"  order in a Scope: {_ORDER}"
    if len(recall.scopes) > 1 and recall.turns:
        yield f"  one of each Scope in turn: {', '.join(recall.turns)}"
    if recall.beyond:
        yield f"  left out behind {POOLS[recall.family]} of all Scopes: {', '.join(recall.beyond)}"
    if recall.dropped:
        yield f"  left out, blank or a repeat: {', '.join(recall.dropped)}"


def _scope_recall(scope: ScopeRecall, recall: FamilyRecall) -> Iterator[str]:
    if recall.family == PROFILE:
        yield f"{scope.scope}: {scope.hits[0].name if scope.hits else 'no Profile'}"
        return
    yield f"{scope.scope}: {len(scope.hits)} found" if scope.hits else f"{scope.scope}: nothing found"
    rows = [[f"{hit.rank}.", hit.name, _score(hit)] for hit in scope.hits]
    yield from (f"  {line}" for line in table(rows))
    if scope.beyond:
        yield f"  left out behind {POOLS[recall.family]} of this Scope: {', '.join(scope.beyond)}"
    if scope.missed:
        yield f"  no token of the query in: {', '.join(scope.missed)}"


def _score(hit: Hit) -> str:
    words = [f"{len(hit.held)} of the query's tokens among its {hit.tokens}: {_words(hit.held)}"] if hit.held else []
    if hit.score is not None:
        ranks = [("words", hit.by_words), ("vectors", hit.by_vectors)]
        told = ", ".join(f"{rank}. by {channel}" for channel, rank in ranks if rank is not None)
        words.append(f"{told}, score {hit.score}")
    if hit.reranked:
        words.append("put here by the reranker")
    return "; ".join(words)


def _budget(prepared: Prepared) -> Iterator[str]:
    assert prepared.asked is not None
    yield f"budget of {prepared.asked.max_bytes} bytes"
    if not prepared.costs:
        yield "  nothing was tried: the answer is empty"
        return
    is_older = prepared.asked.sections is None
    head = ["", "section", "heading", "metadata", "body", "text", ""]
    if is_older:
        head = ["", "comma", "", "citation", "content", "text", ""]
    rows = [head, ["notice, markers" if not is_older else "frame", "", "", "", "", str(prepared.frame), ""]]
    rows += [_cost(cost) for cost in prepared.costs]
    yield from (f"  {line}" for line in table(rows, right=(1, 2, 3, 4, 5)))
    left = prepared.asked.max_bytes - prepared.costs[-1].total
    if any(cost.number is not None for cost in prepared.costs):
        yield f"  left: {left} of {prepared.asked.max_bytes}"
    else:
        yield "  nothing is placed: the answer is empty"


def _cost(cost: Cost) -> list[str]:
    is_placed = cost.number is not None
    place = f"{cost.title} {cost.number}: {cost.name}" if is_placed else f"skipped: {cost.name}"
    numbers = [str(number) if number else "" for number in (cost.section, cost.heading, cost.metadata, cost.body)]
    if not is_placed:
        numbers = [f"({number})" if number else "" for number in numbers]
    why = cost.why.removeprefix("skipped: ")
    return [place, *numbers, str(cost.total), f"rank {cost.rank}, {why}"]


def _text(prediction: Prediction) -> Iterator[str]:
    if prediction.content is None:
        return
    yield f"text of {len(prediction.content)} bytes, each line behind its offset"
    offset = 0
    for line in prediction.content.split(b"\n"):
        shown = show_invisible(line)
        if len(shown) > _LONGEST_LINE:
            shown = f"{shown[: _LONGEST_LINE // 2]} [...] {shown[-_LONGEST_LINE // 2 :]}"
        yield f"  {offset:>5}  {shown}".rstrip()
        offset += len(line) + 1


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows with their columns aligned, those of `right` at their right ends."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _words(tokens: Sequence[str]) -> str:
    return ", ".join(tokens) or "none"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _quoted(text: str) -> str:
    # Before columns are measured.
    return _visible(_short(text))


def _visible(text: str) -> str:
    return show_invisible(text.encode("utf-8", "surrogatepass"))
