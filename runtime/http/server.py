"""The HTTP server: routes on the raw path, the order of the checks, errors as JSON (SPEC.md 2 and 6)."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime import contract
from runtime.application import ContextApplication, Session
from runtime.contract import EntryReadRequest, PreparedContext, PrepareRequest, RevisionReadRequest
from runtime.errors import (
    InvalidRequest,
    OperationError,
    Problem,
    RuntimeNotReady,
    SchemaRefused,
    ServiceUnavailable,
    StorageUnreachable,
)
from runtime.http import generated
from runtime.http.published import published
from runtime.http.workers import Workers
from runtime.storage import Principal

log = logging.getLogger("runtime.http")

MAX_REQUEST_BYTES = 1_048_576

Answer = Callable[[Session, Principal | None], Mapping[str, Any]]

_Result = TypeVar("_Result")


class UnsupportedMediaType(OperationError):
    """A body that is not declared as JSON."""

    status, code, message = 415, "unsupported_media_type", "The body must be application/json."


class PayloadTooLarge(OperationError):
    """A body over 1 MiB."""

    status, code, message = 413, "payload_too_large", f"The body holds more than {MAX_REQUEST_BYTES} bytes."


class ContextServer:
    """The operations of one application as an ASGI app; the storage is made ready at the first use that finds it."""

    def __init__(self, application: ContextApplication) -> None:
        self._application = application
        self._ready = False
        self._making_ready = threading.Lock()
        self._workers = Workers()
        answers = {
            generated.GET_LIVENESS: self._live,
            generated.GET_READINESS: self._answer_ready,
            generated.GET_CAPABILITIES: self._capabilities,
            generated.GET_CONTRACT: self._contract,
            generated.PREPARE_CONTEXT: self._prepare,
            generated.GET_MEMORY_ENTRY: self._read_entry,
            generated.GET_ARTIFACT_REVISION: self._read_revision,
        }
        routed = Starlette(
            routes=[
                Route(operation.path, answers[operation], methods=[operation.method])
                for operation in generated.OPERATIONS
            ],
            exception_handlers={
                OperationError: _operation_error,
                HTTPException: _routing_error,
                Exception: _unexpected_error,
            },
        )
        # A path with one more slash is another path, and an unknown one.
        routed.router.redirect_slashes = False
        self.app: ASGIApp = _RawPath(routed)

    def make_ready(self) -> None:
        """Make or check the storage's schema; raises SchemaRefused, StorageUnreachable."""
        if self._ready:
            return
        # Two first requests at once would both make the tables. Who waits here longer than he is waited for gives up.
        if not self._making_ready.acquire(timeout=self._application.storage_timeout_seconds):
            raise StorageUnreachable("another request is making it ready")
        try:
            if not self._ready:
                self._application.storage.prepare()
                self._ready = True
        finally:
            self._making_ready.release()

    async def _live(self, _request: Request) -> Response:
        return _json({"status": "live"})

    async def _answer_ready(self, _request: Request) -> Response:
        await self._in_time(self._need_ready)
        await self._in_time(self._ask_storage)
        return _json({"status": "ready"})

    async def _capabilities(self, _request: Request) -> Response:
        return _json({"context_versions": [contract.SCHEMA], "assembly": True, "format": ["markdown"]})

    async def _contract(self, _request: Request) -> Response:
        return _json(published())

    async def _prepare(self, request: Request) -> Response:
        body, refused = await _read_body(request)

        def answer(session: Session, principal: Principal | None) -> Mapping[str, Any]:
            prepared = session.prepare(principal, contract.parse(PrepareRequest, _accepted(body, refused)))
            return PreparedContext(prepared.content).serializable()

        return await self._in_session(request, answer)

    async def _read_entry(self, request: Request) -> Response:
        body, refused = await _read_body(request)

        def answer(session: Session, principal: Principal | None) -> Mapping[str, Any]:
            read = contract.parse(EntryReadRequest, _accepted(body, refused))
            entry = session.read_entry(principal, read)
            citation = read.citation.model_dump()
            return {"citation": citation, "kind": entry.kind, "text": entry.text, "state": entry.state}

        return await self._in_session(request, answer)

    async def _read_revision(self, request: Request) -> Response:
        def answer(session: Session, principal: Principal | None) -> Mapping[str, Any]:
            read = _revision_request(request.path_params)
            return read.model_dump() | {"content": asdict(session.read_revision(principal, read))}

        return await self._in_session(request, answer)

    async def _in_session(self, request: Request, answer: Answer) -> Response:
        """Answer in one snapshot and one thread; the token is judged before anything else."""
        token = _bearer_token(request)
        opened: list[Session] = []

        def answered() -> Mapping[str, Any]:
            self._need_ready()
            with self._application.session() as session:
                opened.append(session)
                return answer(session, session.authenticate(token))

        # Each recall has a time of its own.
        return _json(await self._in_time(answered, goes_on=lambda: bool(opened) and opened[0].recalling))

    async def _in_time(self, work: Callable[[], _Result], *, goes_on: Callable[[], bool] = lambda: False) -> _Result:
        """Do what needs the storage, which is given up after its time; raises RuntimeNotReady, ServiceUnavailable."""
        ready = self._ready
        # To make the tables takes longer than to read them.
        seconds = self._application.storage_timeout_seconds * (1 if ready else 2)
        try:
            return await self._workers.run(work, seconds=seconds, goes_on=goes_on)
        except TimeoutError:
            log.warning("the storage took longer than %s s", seconds)
            raise ServiceUnavailable if ready else RuntimeNotReady from None

    def _need_ready(self) -> None:
        try:
            self.make_ready()
        except (StorageUnreachable, SchemaRefused) as error:
            log.warning("not ready: %s", error)
            raise RuntimeNotReady from error

    def _ask_storage(self) -> None:
        with self._application.session() as session:
            session.ping()


class _RawPath:
    """Routes on the path as it was sent, numbers each request, logs it, and answers what nobody else does.

    Starlette routes on the decoded path, in which an id's own slash would part it.
    """

    def __init__(self, app: Starlette) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        scope = {**scope, "path": raw.decode("latin-1")}
        request_id = uuid.uuid4().hex
        started = time.perf_counter()
        status = 0

        async def send_numbered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_numbered)
        except ClientDisconnect:
            status = 499
        except Exception:
            # Starlette has answered, and raises again so that somebody tells it.
            log.exception("request %s broke off", request_id)
        finally:
            # The path holds ids of the caller's: it is not logged.
            milliseconds = 1000 * (time.perf_counter() - started)
            log.info("%s %s %d %.1f ms", request_id, scope["method"], status, milliseconds)


async def _read_body(request: Request) -> tuple[bytes, OperationError | None]:
    """Read a body up to its limit; what is wrong with it is told only to who shows a token."""
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        return b"", UnsupportedMediaType()
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_REQUEST_BYTES:
            return b"", PayloadTooLarge()
    return bytes(body), None


def _accepted(body: bytes, refused: OperationError | None) -> bytes:
    if refused is not None:
        raise refused
    return body


def _bearer_token(request: Request) -> str | None:
    shown = request.headers.getlist("authorization")
    # Of two, somebody on the way may have judged the other one.
    scheme, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _revision_request(parts: Mapping[str, str]) -> RevisionReadRequest:
    """Decode each segment once; the revision is a decimal without leading zeros. Raises InvalidRequest."""
    try:
        values = {name: unquote_to_bytes(part).decode("utf-8") for name, part in parts.items()}
    except UnicodeDecodeError:
        raise InvalidRequest(Problem("unicode_invalid", ("path",), "A segment is not UTF-8.")) from None
    revision = values["revision"]
    if not (revision.isascii() and revision.isdigit() and len(revision) <= 19 and revision[0] != "0"):
        raise InvalidRequest(Problem("revision_invalid", ("path", "revision"), "A revision is a decimal from 1."))
    return contract.validate(RevisionReadRequest, values | {"revision": int(revision)})


async def _operation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, OperationError)
    return _error(error.status, error.code, error.message, error.details)


async def _unexpected_error(_request: Request, _fault: Exception) -> Response:
    return _error(500, "internal_error", "The server failed.", None)


async def _routing_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, message = {
        404: ("not_found", "There is no such route."),
        405: ("method_not_allowed", "This route does not take this method."),
    }.get(error.status_code, ("internal_error", "The server failed."))
    return _error(error.status_code, code, message, None, headers=error.headers)


def _error(
    status: int, code: str, message: str, details: Mapping[str, Any] | None, headers: Mapping[str, str] | None = None
) -> Response:
    return _json({"error": {"code": code, "message": message, "details": details}}, status=status, headers=headers)


def _json(value: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, status_code=status, media_type="application/json", headers=headers)
