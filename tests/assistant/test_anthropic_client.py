"""The Anthropic client: the real SDK against a server on the loopback address that checks what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from frontmind.errors import ModelError, ModelUnavailable, Overloaded, RateLimited, RequestRefused
from frontmind.providers.anthropic import AnthropicModel
from frontmind.values.usage import Usage
from support import bench, marker_places, selected, texts

Answer = tuple[int, list[dict[str, Any]] | dict[str, Any]]


class MessagesServer:
    """Answers ``POST /v1/messages`` as a stream, and refuses what the API would refuse."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda body: (200, reply(f"Reply {len(self.bodies)}."))
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                problem = invalid(body)
                status, answer = (400, error(problem)) if problem else outer.answer(body)
                self.send_response(status)
                self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
                self.end_headers()
                if isinstance(answer, dict):
                    self.wfile.write(json.dumps(answer).encode())
                    return
                for event in answer:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

            def log_message(self, *args: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def error(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def invalid(body: dict[str, Any]) -> str:
    """What the Messages API would refuse in this body; empty when nothing."""
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user" or roles[-1] != "user":
        return "messages must begin and end with the user"
    if any(not block["text"].strip() for message in body["messages"] for block in message["content"]):
        return "text content blocks must be non-empty"
    return "too many cache markers" if len(marker_places(body)) > 4 else ""


def reply(text: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 30, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return events if text else [events[0], *events[4:]]


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    started = MessagesServer()
    yield started
    started.close()


@pytest.fixture
async def model(server: MessagesServer) -> AnthropicModel:
    return opened(server)


def opened(server: MessagesServer, name: str = "anthropic:claude-sonnet-5") -> AnthropicModel:
    selection = selected(name)
    return AnthropicModel(
        selection.profile,
        name=name,
        framing=selection.framing,
        max_output_tokens=99,
        api_key="k",
        base_url=server.url,
    )


async def test_a_conversation_is_accepted_and_its_usage_adds_up(server: MessagesServer, model: AnthropicModel) -> None:
    pieces: list[str] = []
    async with bench(model) as bench_:
        reports = [await bench_.orchestrator.run_turn(f"m{n}", on_text=pieces.append) for n in range(3)]
        stored = await bench_.sent()
    await model.close()
    assert [report.reply for report in reports] == ["Reply 1.", "Reply 2.", "Reply 3."] == pieces
    assert reports[0].usage == Usage(input=150, cached=100, written=20, output=7)
    # What the client adds: that it streams, and the question why not more was read from the cache.
    added = ("stream", "diagnostics")
    assert [{key: body[key] for key in body if key not in added} for body in server.bodies] == stored
    assert marker_places(server.bodies[2]) == [("system", 0, 0), ("messages", 1, 0), ("messages", 3, 0)]
    assert texts(server.bodies[2]["messages"][3]) == "Reply 2."


@pytest.mark.parametrize(
    ("status", "kind", "raised", "said"),
    [
        (400, "invalid_request_error", RequestRefused, "refused the request"),
        (401, "authentication_error", ModelUnavailable, "check ANTHROPIC_API_KEY"),
        (404, "not_found_error", ModelUnavailable, "check the name"),
        (429, "rate_limit_error", RateLimited, "try again"),
        (529, "overloaded_error", Overloaded, "try again"),
    ],
)
async def test_an_error_of_the_provider_says_what_to_do(
    server: MessagesServer, model: AnthropicModel, status: int, kind: str, raised: type[ModelError], said: str
) -> None:
    server.answer = lambda body: (status, error("because", kind))
    async with bench(model) as bench_:
        with pytest.raises(raised, match=said) as caught:
            await bench_.orchestrator.run_turn("hi")
    await model.close()
    assert type(caught.value) is raised
    assert "because" in str(caught.value)


async def test_a_stream_that_breaks_off_keeps_what_was_said(server: MessagesServer, model: AnthropicModel) -> None:
    server.answer = lambda body: (200, reply("Half a")[:3])
    async with bench(model) as bench_:
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("hi")
        turn = (await bench_.store.turns("main"))[0]
    await model.close()
    assert turn.interrupted
    assert turn.reply is not None
    assert turn.reply.text == "Half a"


@pytest.mark.parametrize("figure", [None, "many", 10**30, -3, True])
async def test_a_figure_that_is_no_count_does_not_cost_the_reply(
    server: MessagesServer, model: AnthropicModel, figure: object
) -> None:
    events = reply("Hello.")
    events[-2]["usage"]["output_tokens"] = figure
    server.answer = lambda body: (200, events)
    async with bench(model) as bench_:
        report = await bench_.orchestrator.run_turn("hi")
    await model.close()
    assert report.reply == "Hello."
    assert report.usage.output > 0


@pytest.mark.parametrize(
    "events",
    [[], [{"type": "ping"}], [{"type": "message_start", "message": 7}], reply("x")[2:]],
    ids=["nothing", "only a ping", "no message", "a piece of no block"],
)
async def test_a_stream_that_is_no_reply_is_an_error(
    server: MessagesServer, model: AnthropicModel, events: list[dict[str, Any]]
) -> None:
    server.answer = lambda body: (200, events)
    async with bench(model) as bench_:
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("hi")
    await model.close()


async def test_an_empty_reply_is_an_error(server: MessagesServer, model: AnthropicModel) -> None:
    server.answer = lambda body: (200, reply(""))
    async with bench(model) as bench_:
        with pytest.raises(ModelError, match="empty reply"):
            await bench_.orchestrator.run_turn("hi")
    await model.close()


async def test_a_server_that_is_not_there_is_named(server: MessagesServer) -> None:
    server.close()
    model = opened(server)
    async with bench(model) as bench_:
        with pytest.raises(ModelUnavailable, match="cannot reach"):
            await bench_.orchestrator.run_turn("hi")
    await model.close()
