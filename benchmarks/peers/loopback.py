"""An Anthropic Messages server on 127.0.0.1 that answers from a list and keeps every body that it was sent.

It knows the wire format and nothing of conversations: the first request gets the first reply, and so on. A request
beyond the last reply is refused with HTTP 400, which no client repeats.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MESSAGES_PATH: Final = "/v1/messages"
CHARACTERS_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says: a text, or a call of a tool with an optional text in front of it."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Received:
    """A request: the parsed body in the order of its keys, and the `anthropic-beta` header ("" when absent)."""

    body: dict[str, Any]
    beta: str


class Loopback:
    """The server's address, the replies that it gives, and what it received. Use `serving` to start one."""

    def __init__(self, url: str, replies: Sequence[Reply]) -> None:
        self.url = url
        self._replies = tuple(replies)
        self._received: list[Received] = []
        self._lock = threading.Lock()

    @property
    def received(self) -> tuple[Received, ...]:
        """Every request so far, in the order in which they came."""
        with self._lock:
            return tuple(self._received)

    def take(self, request: Received) -> tuple[int, Reply | None]:
        """Keep a request; its number from 1 on, and its reply, or None when there is none left."""
        with self._lock:
            self._received.append(request)
            number = len(self._received)
        return number, self._replies[number - 1] if number <= len(self._replies) else None


@contextmanager
def serving(replies: Sequence[Reply]) -> Iterator[Loopback]:
    """Serve these replies from a thread of this process until the block ends.

    Raises:
        OSError: no port can be opened on 127.0.0.1.
    """
    server = _Server(("127.0.0.1", 0), _Exchange)
    server.state = Loopback(f"http://127.0.0.1:{server.server_port}", replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    state: Loopback


class _Exchange(BaseHTTPRequestHandler):
    # Kept connections, and no waiting for a full packet: a conversation is some hundred small exchanges.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.partition("?")[0] != MESSAGES_PATH:
            self._refuse(404, "not_found_error", f"only {MESSAGES_PATH} is served here")
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._refuse(400, "invalid_request_error", "the body is no JSON object")
            return
        assert isinstance(self.server, _Server)
        number, reply = self.server.state.take(Received(body, self.headers.get("anthropic-beta") or ""))
        if reply is None:
            self._refuse(400, "invalid_request_error", f"request {number} has no reply: the script has ended")
            return
        message = message_for(reply, number, model=str(body.get("model", "")), input_tokens=_tokens(raw))
        if body.get("stream"):
            events = stream_events(message)
            lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send(200, "text/event-stream", lines.encode())
        else:
            self._send(200, "application/json", json.dumps(message).encode())

    def _refuse(self, status: int, kind: str, message: str) -> None:
        error = {"type": "error", "error": {"type": kind, "message": message}}
        self._send(status, "application/json", json.dumps(error).encode())

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return None


def message_for(reply: Reply, number: int, *, model: str, input_tokens: int) -> dict[str, Any]:
    """The complete message object for a reply; ids are made from the request's number, from 1 on."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    if reply.tool:
        call = {"type": "tool_use", "id": f"toolu_{number:024d}", "name": reply.tool, "input": dict(reply.arguments)}
        content.append(call)
    return {
        "id": f"msg_{number:024d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if reply.tool else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": input_tokens,
            "output_tokens": _tokens(json.dumps(content).encode()),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def stream_events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The server-sent events that say a complete message."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _tokens(data: bytes) -> int:
    # The figures are only there because clients require them; the cost is computed from the bodies.
    return max(1, len(data) // CHARACTERS_PER_TOKEN)
