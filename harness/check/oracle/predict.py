"""The answer to a prepare, predicted: status, code, the text's bytes, and the items placed (SPEC.md 2-5 and 7)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.check.context import Prepared
from harness.check.failure import Failure, differs
from harness.check.oracle.build_markdown import build_markdown
from harness.check.oracle.build_older import build_older
from harness.check.oracle.order import CannotKnow, Order, Undetermined
from harness.check.oracle.recall import candidate_order
from harness.check.regions import first_difference
from harness.check.request import Asked
from harness.check.world import World
from harness.scenario.model import RuntimeSpec
from harness.target.base import Answer, Style
from runtime.artifacts import Citation, Family

DEFAULT_MAX_ENTRIES = 8
MOST_REQUEST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an answer must be: an error's code, or the text's UTF-8 (None for an empty one) and the items placed."""

    status: int
    code: str | None = None
    content: bytes | None = None
    origins: tuple[Citation, ...] = ()


def predict(
    world: World,
    asked: Asked | None,
    order: Order | None = None,
    *,
    caller: str | None,
    runtime: RuntimeSpec = RuntimeSpec(),
    style: Style = "in-tree",
    failing: Collection[Family] = (),
) -> Prediction | Undetermined:
    """Return what a target must answer to a prepare.

    `asked` is None for a body that the request model refuses. `order` holds the candidates of the selected families;
    None means the in-tree runtime's own. `caller` is the principal's id, None without a known token. `failing` are
    families whose recall fails. What the server refuses before it reads a body (404, 405, 413, 415) is not known here.
    """
    refused = verdict(world, asked, caller=caller, runtime=runtime, failing=failing)
    if refused is not None:
        return refused
    assert asked is not None
    if asked.sections == ():
        return Prediction(200)
    try:
        if order is None:
            order = candidate_order(world, asked, runtime=runtime, style=style)
        if asked.sections is None:
            content, origins = build_older(asked, order, style=style)
        else:
            content, origins = build_markdown(asked, order)
    except CannotKnow as unknown:
        return Undetermined(str(unknown))
    return Prediction(200, content=content, origins=origins)


def verdict(
    world: World,
    asked: Asked | None,
    *,
    caller: str | None,
    runtime: RuntimeSpec = RuntimeSpec(),
    failing: Collection[Family] = (),
) -> Prediction | None:
    """Return the refusal of the first check of SPEC.md 2 that does not pass, or None."""
    enforced = runtime.access == "enforced"

    def readable(scope_id: str) -> bool:
        return world.readable(caller, scope_id) if enforced else world.exists(scope_id)

    if enforced and caller is None:
        return Prediction(401, "unauthorized")
    if asked is None:
        return Prediction(422, "invalid_request")
    if not readable(asked.scope_id):
        told = not enforced or (caller is not None and world.principals[caller].administrator)
        if told and not world.exists(asked.scope_id):
            return Prediction(404, "scope_not_found")
        return Prediction(403, "forbidden")
    if asked.total > (runtime.max_entries or DEFAULT_MAX_ENTRIES):
        return Prediction(422, "invalid_request")
    if asked.sections == ():
        return None
    if asked.reads_references and not all(map(readable, world.references[asked.scope_id])):
        return Prediction(403, "forbidden")
    if asked.families & set(failing):
        return Prediction(503, "service_unavailable")
    return None


def judge_prepared(
    prepared: Prepared,
    *,
    runtime: RuntimeSpec = RuntimeSpec(),
    order: Order | None = None,
    style: Style = "in-tree",
    failing: Collection[Family] = (),
) -> list[Failure]:
    """Return where one prepare as it went differs from its prediction; nothing where that is not judged."""
    if not is_judged(prepared):
        return []
    prediction = predict(
        prepared.world,
        prepared.asked,
        order,
        caller=prepared.principal_id,
        runtime=runtime,
        style=style,
        failing=failing,
    )
    return judge_prediction(prediction, prepared.answer)


def is_judged(prepared: Prepared) -> bool:
    """Say whether a prepare's body decides, not already its headers or its size."""
    return prepared.media_type and len(prepared.sent) <= MOST_REQUEST_BYTES


def judge_prediction(prediction: Prediction | Undetermined, answer: Answer) -> list[Failure]:
    """Return where an answer differs from its prediction; nothing where there is none."""
    if isinstance(prediction, Undetermined):
        return []
    error = answer.json.get("error") if isinstance(answer.json, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if (answer.status, code) != (prediction.status, prediction.code):
        return [
            differs(
                "oracle",
                "status",
                "as predicted",
                expected=_said(prediction.status, prediction.code),
                got=_said(answer.status, code),
            )
        ]
    if prediction.status != 200:
        return []
    got = None if answer.content is None else answer.content.encode("utf-8", errors="surrogatepass")
    if got is None or prediction.content is None:
        if got == prediction.content:
            return []
        expected = "empty" if prediction.content is None else f"a text of {len(prediction.content)} bytes"
        came = "empty" if got is None else f"a text of {len(got)} bytes"
        return [differs("oracle", "response", "as predicted", expected=expected, got=came)]
    difference = first_difference(prediction.content, got)
    if difference is None:
        return []
    message = (
        f"differs from the prediction at byte {difference.offset}, {difference.region}: "
        f"expected `{difference.expected}`, got `{difference.got}`"
    )
    return [Failure("oracle", difference.region, difference.expected, difference.got, message)]


def _said(status: int, code: object) -> str:
    return str(status) if code is None else f"{status} {code}"
