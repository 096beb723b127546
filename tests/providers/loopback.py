"""A small HTTP server on the loopback address that answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Exchange(BaseHTTPRequestHandler):
    """One request, with what a test needs to answer it."""

    body: bytes = b""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve()

    def _serve(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.state.seen.append(
            Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, self.body)
        )
        self.server.state.answer(self)

    def log_message(self, *_: Any) -> None:
        return None

    def reply(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start_stream(self) -> None:
        """Server-sent events that end when the connection closes."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def event(self, data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Loopback:
    """The server's address, its answer to the next request, and the requests so far."""

    url: str
    answer: Callable[[Exchange], None] = lambda exchange: exchange.reply(404, b"{}")
    seen: list[Seen] = field(default_factory=list)

    def answer_with(self, status: int, body: Any) -> None:
        self.answer = lambda exchange: exchange.reply(status, json.dumps(body).encode())

    def stream(self, *events: Any) -> None:
        def answer(exchange: Exchange) -> None:
            exchange.start_stream()
            for event in events:
                exchange.event(event)

        self.answer = answer


class _Server(ThreadingHTTPServer):
    state: Loopback


@contextmanager
def serving() -> Iterator[Loopback]:
    server = _Server(("127.0.0.1", 0), Exchange)
    server.state = Loopback(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
