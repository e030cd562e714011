"""An agent of pydantic-ai as a user writes it: one tool, one prompt from the command line, its answer on stdout.

Further arguments are further parts of the prompt, each typed as text.
"""

from __future__ import annotations

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import TextContent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from runtime.hosts import Configuration, ContextHost
from runtime.hosts.pydantic_ai import powercontext


def look_up() -> str:
    """Look something up."""
    return "looked up"


def main() -> None:
    """Answer the prompt."""
    provider = OpenAIProvider(base_url=os.environ["MODEL_URL"], api_key="none")
    host = ContextHost(Configuration.from_environment())
    agent = Agent(
        OpenAIChatModel("fake-model", provider=provider),
        instructions="You are a tester.",
        tools=[look_up],
        capabilities=[powercontext(host)],
    )
    first, *more = sys.argv[1:]
    print(agent.run_sync([first, *map(TextContent, more)] if more else first).output)


if __name__ == "__main__":
    main()
