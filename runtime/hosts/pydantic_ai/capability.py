"""The hooks of pydantic-ai: a run is a turn, its prompt the query; each of its model requests gets the same text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, UserPromptPart

from runtime.hosts.turns import ContextHost


def powercontext(host: ContextHost) -> Hooks[Any]:
    """Return a capability for `Agent(capabilities=[...])`.

    The text is a user message of its own, of these requests alone: it does not stay in the message history, so a later
    run does not carry what an earlier one was given.
    """

    async def run(ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        if query := _query(ctx.prompt):
            host.turn(ctx.run_id).prefetch(query)
        try:
            return await handler()
        finally:
            host.end(ctx.run_id)

    async def request(ctx: Any, context: Any) -> Any:
        text = await host.turn(ctx.run_id).context_async(_query(ctx.prompt))
        return context if text is None else replace(context, messages=_with(text, context.messages))

    hooks: Hooks[Any] = Hooks()
    hooks.on.run(run)
    hooks.on.before_model_request(request)
    return hooks


def _query(prompt: str | Sequence[Any] | None) -> str:
    """Return what a prompt says in words; pictures and files are none."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    words = (part.content if isinstance(part, TextContent) else part for part in prompt)
    return "\n".join(part for part in words if isinstance(part, str))


def _with(text: str, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Put the text before the last message that holds a prompt, which is the run's own."""
    prompts = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
    ]
    place = prompts[-1] if prompts else len(messages)
    return [*messages[:place], ModelRequest(parts=[UserPromptPart(content=text)]), *messages[place:]]
