"""The two clients: one request on one connection pool, its time, and the bounded retries of exact reads."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from runtime.http.client import messages
from runtime.http.client.errors import (
    AnswerInvalid,
    ContextError,
    Misuse,
    RequestUnusable,
    ServiceUnavailable,
    TimedOut,
    Unreachable,
)
from runtime.http.client.messages import (
    OMITTED,
    AssemblyValue,
    Call,
    Capabilities,
    EntryVersion,
    Omitted,
    Prepared,
    Revision,
)

TIMEOUT_SECONDS = 10.0
MAX_TIMEOUT_SECONDS = 86_400.0
"""A day: the system takes no time-out of any length."""
RETRIES = 2
PAUSE_SECONDS = 0.1
"""Before the first retry; doubled for each further one."""

_REPEATED = (Unreachable, TimedOut, ServiceUnavailable)
_FAILURES = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL)

_Failure = httpx.HTTPError | httpx.StreamError | httpx.InvalidURL

_Result = TypeVar("_Result")
_Http = TypeVar("_Http", httpx.Client, httpx.AsyncClient)


@dataclass(frozen=True, slots=True)
class Retry:
    """One more attempt at an exact read: which one it will be, and how the one before ended."""

    attempt: int
    error: ContextError


class _Common(Generic[_Http]):
    """What both clients are made of; raises Misuse."""

    _http: _Http

    def __init__(self, timeout_seconds: float, retries: int, on_retry: Callable[[Retry], None] | None) -> None:
        if not 0 < timeout_seconds <= MAX_TIMEOUT_SECONDS or retries < 0:
            raise Misuse("option_malformed", "A time-out is over 0 seconds and up to a day, and retries are 0 or more.")
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._on_retry = on_retry

    def _again(self, call: Call[Any], attempt: int, error: ContextError) -> bool:
        """Say whether a call that ended so is to be tried once more, and tell it."""
        if not call.repeatable or attempt > self._retries:
            return False
        if self._on_retry is not None:
            self._on_retry(Retry(attempt + 1, error))
        return True

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout_seconds


class Client(_Common[httpx.Client]):
    """The prepare path and the exact reads of one server, for use by any number of threads.

    `timeout_seconds` bounds each attempt: connecting, every wait for bytes, and the whole of the answer's body. A
    prepare and a refused request are never sent again. Exact reads are, up to `retries` times, when no answer came or
    the server answered 503; `on_retry` is told of each, and a result's `received.attempts` counts them.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        on_retry: Callable[[Retry], None] | None = None,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Make a client of a server's base URL; raises Misuse."""
        super().__init__(timeout_seconds, retries, on_retry)
        self._http = httpx.Client(**_options(url, token, timeout_seconds, tls), transport=transport)

    def prepare(
        self,
        scope_id: str,
        query: str,
        *,
        max_bytes: int | Omitted = OMITTED,
        assembly: AssemblyValue | Omitted = OMITTED,
    ) -> Prepared:
        """Return a prepared context; without `assembly` the older output. Raises ContextError."""
        return self._call(messages.prepare(scope_id, query, max_bytes=max_bytes, assembly=assembly))

    def read_revision(self, scope_id: str, family: str, artifact_id: str, revision: int) -> Revision:
        """Return one Artifact revision, read exactly; raises ContextError."""
        return self._call(messages.read_revision(scope_id, family, artifact_id, revision))

    def read_entry(
        self, scope_id: str, entry_id: str, entry_version_id: str, *, revision: int, artifact_id: str = "memory"
    ) -> EntryVersion:
        """Return one Entry version in one revision of a Memory, read exactly; raises ContextError."""
        return self._call(
            messages.read_entry(scope_id, entry_id, entry_version_id, revision=revision, artifact_id=artifact_id)
        )

    def capabilities(self) -> Capabilities:
        """Return what the server says of itself; raises ContextError."""
        return self._call(messages.capabilities())

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, call: Call[_Result]) -> _Result:
        _need_open(self._http)
        attempt = 1
        while True:
            try:
                return self._attempt(call, attempt)
            except _REPEATED as error:
                if not self._again(call, attempt, error):
                    raise
            time.sleep(_pause(attempt))
            attempt += 1

    def _attempt(self, call: Call[_Result], attempt: int) -> _Result:
        deadline = self._deadline()
        failure: ContextError
        try:
            with self._http.stream(call.operation.method, call.path, **_sent(call)) as answer:
                body = _Body(call, deadline)
                for piece in answer.iter_raw():
                    body.add(piece)
        except _FAILURES as error:
            failure = _failure(error)
        else:
            return call.result(answer.status_code, answer.headers, bytes(body.read), attempt)
        # Raised here, since the error above holds the request with its token.
        raise failure


class AsyncClient(_Common[httpx.AsyncClient]):
    """The prepare path and the exact reads of one server, for use by the tasks of one event loop.

    As Client, except that `timeout_seconds` bounds each attempt as a whole.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        on_retry: Callable[[Retry], None] | None = None,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Make a client of a server's base URL; raises Misuse."""
        super().__init__(timeout_seconds, retries, on_retry)
        self._http = httpx.AsyncClient(**_options(url, token, timeout_seconds, tls), transport=transport)

    async def prepare(
        self,
        scope_id: str,
        query: str,
        *,
        max_bytes: int | Omitted = OMITTED,
        assembly: AssemblyValue | Omitted = OMITTED,
    ) -> Prepared:
        """Return a prepared context; without `assembly` the older output. Raises ContextError."""
        return await self._call(messages.prepare(scope_id, query, max_bytes=max_bytes, assembly=assembly))

    async def read_revision(self, scope_id: str, family: str, artifact_id: str, revision: int) -> Revision:
        """Return one Artifact revision, read exactly; raises ContextError."""
        return await self._call(messages.read_revision(scope_id, family, artifact_id, revision))

    async def read_entry(
        self, scope_id: str, entry_id: str, entry_version_id: str, *, revision: int, artifact_id: str = "memory"
    ) -> EntryVersion:
        """Return one Entry version in one revision of a Memory, read exactly; raises ContextError."""
        return await self._call(
            messages.read_entry(scope_id, entry_id, entry_version_id, revision=revision, artifact_id=artifact_id)
        )

    async def capabilities(self) -> Capabilities:
        """Return what the server says of itself; raises ContextError."""
        return await self._call(messages.capabilities())

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, call: Call[_Result]) -> _Result:
        _need_open(self._http)
        attempt = 1
        while True:
            try:
                return await self._attempt(call, attempt)
            except _REPEATED as error:
                if not self._again(call, attempt, error):
                    raise
            await asyncio.sleep(_pause(attempt))
            attempt += 1

    async def _attempt(self, call: Call[_Result], attempt: int) -> _Result:
        deadline = self._deadline()
        failure: ContextError
        try:
            async with asyncio.timeout(self._timeout_seconds):
                async with self._http.stream(call.operation.method, call.path, **_sent(call)) as answer:
                    body = _Body(call, deadline)
                    async for piece in answer.aiter_raw():
                        body.add(piece)
        except TimeoutError:
            failure = _late("the whole answer")
        except _FAILURES as error:
            failure = _failure(error)
        else:
            return call.result(answer.status_code, answer.headers, bytes(body.read), attempt)
        raise failure


class _Body:
    """An answer's body as it comes, within its bounds; raises TimedOut, AnswerInvalid.

    Nothing is unpacked: no encoding was asked for, and a few kilobytes can be packed gigabytes.
    """

    def __init__(self, call: Call[Any], deadline: float) -> None:
        self._call, self._deadline = call, deadline
        self.read = bytearray()

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        self.read += piece
        if len(self.read) > self._call.max_answer_bytes:
            raise AnswerInvalid(
                "answer_too_large",
                "The answer is larger than any that the contract has.",
                cause=f"over {self._call.max_answer_bytes} bytes",
            )
        if time.monotonic() > self._deadline:
            raise _late("the answer's body")


def _options(url: str, token: str | None, timeout_seconds: float, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """Return how a client of httpx is made; raises Misuse, which quotes neither the URL nor the token."""
    try:
        parsed: httpx.URL | None = httpx.URL(url)
        # The resolver writes a name so, and is too late to say that it cannot.
        httpx.URL(url).raw_host.decode("ascii").encode("idna")
    except (httpx.InvalidURL, TypeError, UnicodeError):
        parsed = None
    if parsed is None or parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise Misuse("url_malformed", "The server's URL cannot be used.", hint="for instance http://127.0.0.1:8000")
    if parsed.userinfo:
        raise Misuse("url_malformed", "The server's URL holds a user or a password.", hint="pass a token")
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if token is not None:
        if not (token.strip() and token == token.strip() and token.isascii() and token.isprintable()):
            raise Misuse("token_malformed", "A token is printable ASCII without blanks around it.")
        headers["authorization"] = f"Bearer {token}"
    return {
        "base_url": parsed,
        "headers": headers,
        # None is kept: a request holds what its caller gave.
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
        "timeout": timeout_seconds,
        # Proxies, certificates and passwords of the environment are meant for other traffic.
        "trust_env": False,
        "follow_redirects": False,
        # Certificates would be read from disk, a tenth of a second each time, for plain HTTP.
        "verify": tls if tls is not None else parsed.scheme == "https",
    }


def _sent(call: Call[Any]) -> Mapping[str, Any]:
    return {} if call.body is None else {"content": call.body, "headers": {"content-type": "application/json"}}


def _failure(error: _Failure) -> ContextError:
    """Return what went wrong below HTTP, by its kind alone: the error's own text may hold what was sent."""
    if isinstance(error, httpx.InvalidURL):
        return RequestUnusable("url_too_long", "The request's URL is longer than any that is sent.")
    if isinstance(error, httpx.TimeoutException):
        return _late("connecting" if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout) else "the answer")
    if isinstance(error, httpx.ConnectError):
        return Unreachable(
            "server_unreachable",
            "The server cannot be reached.",
            cause=type(error).__name__,
            hint="is it running, and is its URL right?",
        )
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return Unreachable("connection_lost", "The connection ended before the answer.", cause=type(error).__name__)
    return AnswerInvalid("answer_invalid", "The answer cannot be read.", cause=type(error).__name__)


def _late(what: str) -> TimedOut:
    return TimedOut("timed_out", "The server did not answer in time.", cause=f"waiting for {what}")


def _need_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise Misuse("client_closed", "The client has been closed.")


def _pause(attempt: int) -> float:
    return PAUSE_SECONDS * 2.0 ** (attempt - 1)
