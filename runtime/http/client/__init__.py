"""The Python client of the prepare path: `Client` for threads, `AsyncClient` for asyncio (docs/client.md).

`runtime.http.client.errors` says what a call can end in.
"""

from runtime.http.client.clients import AsyncClient, Client, Retry
from runtime.http.client.errors import (
    AnswerInvalid,
    Conflict,
    ContextError,
    Forbidden,
    Misuse,
    NotFound,
    Problem,
    Refused,
    RequestRefused,
    RequestUnusable,
    ServerFailed,
    ServiceUnavailable,
    TimedOut,
    Unauthorized,
    Unreachable,
    VersionMismatch,
)
from runtime.http.client.messages import (
    OMITTED,
    AssemblyValue,
    Capabilities,
    EntryVersion,
    Omitted,
    Prepared,
    Received,
    Revision,
)
from runtime.http.generated import Assembly, Section

__all__ = [
    "OMITTED",
    "AnswerInvalid",
    "Assembly",
    "AssemblyValue",
    "AsyncClient",
    "Capabilities",
    "Client",
    "Conflict",
    "ContextError",
    "EntryVersion",
    "Forbidden",
    "Misuse",
    "NotFound",
    "Omitted",
    "Prepared",
    "Problem",
    "Received",
    "Refused",
    "RequestRefused",
    "RequestUnusable",
    "Retry",
    "Revision",
    "Section",
    "ServerFailed",
    "ServiceUnavailable",
    "TimedOut",
    "Unauthorized",
    "Unreachable",
    "VersionMismatch",
]
