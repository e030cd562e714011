"""The host kit: what an agent needs to put a prepared context in front of its model (SPEC.md 9, docs/hosts.md).

A host makes one `ContextHost`, asks it for a `Turn` at each turn's start, and puts the text that the turn gives, if
any, into the model's context unchanged. Nothing that the server does or fails to do reaches the host as an exception.
"""

from runtime.hosts.configuration import Configuration, ConfigurationRefused, Selection
from runtime.hosts.outcomes import Outcome, tell
from runtime.hosts.turns import ContextHost, Turn
from runtime.hosts.validator import ResponseInvalid, SchemaUnknown, validate

__all__ = [
    "Configuration",
    "ConfigurationRefused",
    "ContextHost",
    "Outcome",
    "ResponseInvalid",
    "SchemaUnknown",
    "Selection",
    "Turn",
    "tell",
    "validate",
]
