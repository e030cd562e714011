"""pydantic-ai as a host: a capability that puts the prepared context in front of a run's own prompt.

host = ContextHost(Configuration(url=..., token=..., scope_id=..., selection=Selection.of({})))
agent = Agent(model, capabilities=[powercontext(host)])
"""

from runtime.hosts.pydantic_ai.capability import powercontext

__all__ = ["powercontext"]
