"""A model on loopback that speaks OpenAI's chat completions, answers a fixed sentence, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

ANSWER = "The fake model has answered."
MODEL = "fake-model"


class ModelServer:
    """Serves while it is entered; the first answer is a call of `tool`, when one is named."""

    def __init__(self, *, tool: str | None = None) -> None:
        self.requests: list[bytes] = []
        """The bodies, as they came."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                model.requests.append(body)
                calls = tool is not None and len(model.requests) == 1
                message = _call(tool) if calls else {"role": "assistant", "content": ANSWER}
                reason = "tool_calls" if calls else "stop"
                streamed = json.loads(body).get("stream", False)
                sent = b"".join(_streamed(message, reason)) if streamed else _whole(message, reason)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streamed else "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def texts(self, number: int) -> list[str]:
        """Return the texts of one request's messages, each part by itself, in their order."""
        return [text for message in json.loads(self.requests[number])["messages"] for text in _texts(message)]


def _texts(message: dict[str, Any]) -> Sequence[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if part["type"] == "text"]


def _call(tool: str | None) -> dict[str, Any]:
    function = {"name": tool, "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call-1", "type": "function", "function": function}],
    }


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 1, "model": MODEL}


def _whole(message: dict[str, Any], reason: str) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(_head("chat.completion") | {"choices": [choice], "usage": usage}).encode()


def _streamed(message: dict[str, Any], reason: str) -> Iterator[bytes]:
    last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": reason}
    for choice in ({"index": 0, "delta": message, "finish_reason": None}, last):
        yield b"data: " + json.dumps(_head("chat.completion.chunk") | {"choices": [choice]}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"
