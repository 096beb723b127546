"""What can break at a provider, over the real SDKs: each fault comes out as the same class at all of them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from frontmind.errors import (
    ConnectionLost,
    MalformedReply,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    WindowTooLarge,
)
from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.bedrock import BedrockModel
from frontmind.providers.gemini import GeminiModel
from frontmind.providers.openai_chat import OpenAIChatModel
from frontmind.providers.openai_responses import OpenAIResponsesModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, ReplyEvent, Retrying, StopReason, StreamEvent, TextDelta
from frontmind.providers.retrying import RetryingModel
from frontmind.values.message import user
from frontmind.window.window import Window
from providers.loopback import Exchange, Loopback
from providers.test_bedrock_client import event as framed_event
from providers.test_bedrock_client import exception as framed_exception

AnyModel: TypeAlias = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel | GeminiModel | BedrockModel
WINDOW = Window("Be short.", "", (), "", (user("Hello?"),))
SILENCE = 0.3


@dataclass(frozen=True)
class Provider:
    """How one provider says things.

    Attributes:
        open: the real client, from the server's address and how long the server may be silent.
        text: a piece of the reply, "Hel".
        end: the end of a reply that stopped as usual; with what it needs to be a reply, but no text.
        refusal: the end of a reply that the model refused.
        refused_text: the words of a refusal, where they are marked as such.
        bad_json: an event that is cut off.
        inside: an error within the stream: it is overloaded.
        overloaded, limited, too_long, no_credit: status and body.
    """

    open: Callable[[str, float], AnyModel]
    text: bytes
    end: bytes
    refusal: bytes
    bad_json: bytes
    inside: bytes
    overloaded: tuple[int, Any]
    limited: tuple[int, Any]
    too_long: tuple[int, Any]
    no_credit: tuple[int, Any]
    start: bytes = b""
    refused_text: bytes = b""
    stream_type: str = "text/event-stream"
    error_type: Callable[[Any], str] = lambda body: ""


def _options(name: str, provider: str, model: str, **facts: Any) -> dict[str, Any]:
    profile = resolve_profile(provider, model, facts)
    return {"profile": profile, "name": name, "framing": choose_framing(profile), "max_output_tokens": 99}


def _data(body: Any, kind: str = "") -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return (f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode()


def _typed(*events: Mapping[str, Any]) -> bytes:
    return b"".join(_data(event, event["type"]) for event in events)


def _anthropic_error(kind: str, message: str = "because") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _openai_error(code: str, message: str = "because") -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code, "param": None}}


def _google_error(code: int, status: str, message: str = "because") -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message}}


def _chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})


def _candidate(*parts: Any, finish: str | None = None) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return _data({"candidates": [candidate | ({"finishReason": finish} if finish else {})]})


def _response(kind: str, *output: Any, **more: Any) -> bytes:
    body = {"id": "r", "object": "response", "model": "m", "status": kind, "output": list(output), **more}
    return _data({"type": f"response.{kind}", "response": body, "sequence_number": 9})


def _said(**content: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [content]}


def _response_text(kind: str, **content: Any) -> bytes:
    place = {"item_id": "m", "output_index": 0, "content_index": 0, "sequence_number": 1}
    piece = _data({"type": f"response.{kind}.delta", "delta": "Hel", "logprobs": [], **place})
    done = {"type": "response.output_item.done", "output_index": 0, "item": _said(**content), "sequence_number": 2}
    return piece + _data(done)


def _stop(reason: str) -> bytes:
    return _typed(
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )


_MESSAGE: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
}
_USAGE = {"input_tokens": 3, "output_tokens": 1}
_TEXT = {"type": "text", "text": ""}
_TOO_LONG_AT_OPENAI = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
_TOO_LONG_AT_GOOGLE = "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."

PROVIDERS = {
    "anthropic": Provider(
        open=lambda url, silence: AnthropicModel(
            **_options("anthropic:m", "anthropic", "claude-sonnet-5"), api_key="k", base_url=url, silence=silence
        ),
        start=_typed({"type": "message_start", "message": {**_MESSAGE, "usage": _USAGE}}),
        text=_typed(
            {"type": "content_block_start", "index": 0, "content_block": _TEXT},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
            {"type": "content_block_stop", "index": 0},
        ),
        end=_stop("end_turn"),
        refusal=_stop("refusal"),
        bad_json=_data('{"type": "content_block_st', "content_block_start"),
        inside=_typed(_anthropic_error("overloaded_error")),
        overloaded=(529, _anthropic_error("overloaded_error")),
        limited=(429, _anthropic_error("rate_limit_error")),
        too_long=(400, _anthropic_error("invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum")),
        no_credit=(400, _anthropic_error("invalid_request_error", "Your credit balance is too low to go on.")),
    ),
    "openai chat": Provider(
        open=lambda url, silence: OpenAIChatModel(
            **_options("deepseek:m", "deepseek", "m"), api_key="k", base_url=f"{url}/v1", silence=silence
        ),
        text=_chunk(content="Hel"),
        end=_chunk("stop") + _data("[DONE]"),
        refusal=_chunk("content_filter") + _data("[DONE]"),
        bad_json=_data('{"choices": ['),
        inside=_data({"error": {"message": "because", "code": 503}}),
        overloaded=(503, _openai_error("server_is_overloaded")),
        limited=(429, _openai_error("rate_limit_exceeded")),
        too_long=(400, _openai_error("context_length_exceeded", _TOO_LONG_AT_OPENAI)),
        no_credit=(429, _openai_error("insufficient_quota", "You exceeded your current quota.")),
    ),
    "openai responses": Provider(
        open=lambda url, silence: OpenAIResponsesModel(
            **_options("openai:m", "openai", "gpt-5.6"), api_key="k", base_url=f"{url}/v1", silence=silence
        ),
        text=_response_text("output_text", type="output_text", text="Hel", annotations=[]),
        refused_text=_response_text("refusal", type="refusal", refusal="Hel"),
        end=_response("completed"),
        refusal=_response("completed", _said(type="refusal", refusal="")),
        bad_json=_data('{"type": '),
        inside=_response("failed", error={"code": "server_is_overloaded", "message": "because"}),
        overloaded=(503, _openai_error("server_is_overloaded")),
        limited=(429, _openai_error("rate_limit_exceeded")),
        too_long=(400, _openai_error("context_length_exceeded", _TOO_LONG_AT_OPENAI)),
        no_credit=(429, _openai_error("insufficient_quota", "You exceeded your current quota.")),
    ),
    "gemini": Provider(
        open=lambda url, silence: GeminiModel(
            **_options("gemini:m", "gemini", "gemini-3-pro"), api_key="k", base_url=url, silence=silence
        ),
        text=_candidate({"text": "Hel"}),
        end=_candidate(finish="STOP"),
        refusal=_candidate(finish="SAFETY"),
        bad_json=_data('{"candidates": ['),
        inside=_data(_google_error(503, "UNAVAILABLE")),
        overloaded=(503, _google_error(503, "UNAVAILABLE", "The model is overloaded.")),
        limited=(429, _google_error(429, "RESOURCE_EXHAUSTED")),
        too_long=(400, _google_error(400, "INVALID_ARGUMENT", _TOO_LONG_AT_GOOGLE)),
        no_credit=(402, _google_error(402, "FAILED_PRECONDITION", "Billing is off.")),
    ),
    "bedrock": Provider(
        open=lambda url, silence: BedrockModel(
            **_options("bedrock:m", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            endpoint_url=url,
            silence=silence,
        ),
        start=framed_event("messageStart", {"role": "assistant"}),
        text=framed_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}}),
        end=framed_event("messageStop", {"stopReason": "end_turn"}),
        refusal=framed_event("messageStop", {"stopReason": "guardrail_intervened"}),
        bad_json=framed_event("contentBlockDelta", {"contentBlockIndex": 0})[:-5] + b"12345",
        inside=framed_exception("serviceUnavailableException", "because"),
        overloaded=(429, {"message": "Too many requests", "__type": "ThrottlingException"}),
        limited=(429, {"message": "because", "__type": "TooManyRequestsException"}),
        too_long=(400, {"message": "prompt is too long: 9000 tokens > 8192 maximum", "__type": "ValidationException"}),
        no_credit=(402, {"message": "The account is suspended.", "__type": "PaymentRequired"}),
        stream_type="application/vnd.amazon.eventstream",
        error_type=lambda body: str(body["__type"]),
    ),
}


@pytest.fixture(params=PROVIDERS, autouse=True)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Provider:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", "/nonexistent"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
    ):
        monkeypatch.setenv(name, value)
    return PROVIDERS[request.param]


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What a server waits for that has gone silent; set when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def send(exchange: Exchange, provider: Provider, *pieces: bytes, last: bool = True) -> None:
    """A stream in HTTP chunks, so that its end can be told from a cut."""
    exchange.protocol_version = "HTTP/1.1"
    exchange.close_connection = True
    exchange.send_response(200)
    exchange.send_header("Content-Type", provider.stream_type)
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    for piece in pieces:
        if piece:
            exchange.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            exchange.wfile.flush()
    if last:
        exchange.wfile.write(b"0\r\n\r\n")


def refuse(
    loopback: Loopback, provider: Provider, told: tuple[int, Any], headers: Mapping[str, str] | None = None
) -> None:
    status, body = told

    def answer(exchange: Exchange) -> None:
        text = json.dumps(body).encode()
        exchange.send_response(status)
        more = {"Content-Type": "application/json", "Content-Length": str(len(text)), **(headers or {})}
        if kind := provider.error_type(body):
            more["x-amzn-ErrorType"] = kind
        for name, value in more.items():
            exchange.send_header(name, value)
        exchange.end_headers()
        exchange.wfile.write(text)

    loopback.answer = answer


def stream(loopback: Loopback, provider: Provider, *pieces: bytes) -> None:
    loopback.answer = lambda exchange: send(exchange, provider, provider.start, *pieces)


async def ask(loopback: Loopback, provider: Provider, silence: float = 20.0) -> tuple[list[str], Finished]:
    model = provider.open(loopback.url, silence)
    said: list[str] = []
    try:
        events: AsyncGenerator[ReplyEvent, None] = model.stream(model.encode(WINDOW))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    said.append(event.text)
                else:
                    return said, event
    finally:
        await model.close()
    raise AssertionError("the stream ended without Finished")


async def failure(loopback: Loopback, provider: Provider, silence: float = 20.0) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(loopback, provider, silence)
    error = caught.value
    assert "\n" not in str(error)
    assert str(error).startswith(error.reason)
    # No SDK has asked again on its own.
    assert len(loopback.seen) == 1
    return error


async def test_a_reply_without_a_fault_arrives(loopback: Loopback, provider: Provider) -> None:
    stream(loopback, provider, provider.text, provider.end)
    said, finished = await ask(loopback, provider)
    assert (said, finished.message.text, finished.stop) == (["Hel"], "Hel", StopReason.END)


async def test_an_overloaded_provider(loopback: Loopback, provider: Provider) -> None:
    refuse(loopback, provider, provider.overloaded)
    error = await failure(loopback, provider)
    assert (type(error), error.retryable, error.retry_after) == (Overloaded, True, None)


async def test_a_rate_limit_says_when_to_come_back(loopback: Loopback, provider: Provider) -> None:
    refuse(loopback, provider, provider.limited, {"Retry-After": "7"})
    error = await failure(loopback, provider)
    assert (type(error), error.retryable, error.retry_after) == (RateLimited, True, 7.0)
    assert str(error).endswith("try again in 7 s")


async def test_an_account_without_credit_is_not_asked_again(loopback: Loopback, provider: Provider) -> None:
    refuse(loopback, provider, provider.no_credit, {"Retry-After": "7"})
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (ModelUnavailable, False)
    assert "add credit" in str(error)


async def test_a_window_that_is_too_long(loopback: Loopback, provider: Provider) -> None:
    refuse(loopback, provider, provider.too_long)
    error = await failure(loopback, provider)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit, error.retryable) == (9000, 8192, False)


async def test_a_server_that_never_answers(loopback: Loopback, provider: Provider, released: threading.Event) -> None:
    def answer(exchange: Exchange) -> None:
        released.wait(20)

    loopback.answer = answer
    error = await failure(loopback, provider, SILENCE)
    assert (type(error), error.retryable) == (ModelTimeout, True)
    released.set()


async def test_a_server_that_falls_silent_in_the_middle(
    loopback: Loopback, provider: Provider, released: threading.Event
) -> None:
    def answer(exchange: Exchange) -> None:
        send(exchange, provider, provider.start, provider.text, last=False)
        released.wait(20)

    loopback.answer = answer
    assert type(await failure(loopback, provider, SILENCE)) is ModelTimeout
    released.set()


async def test_a_connection_that_is_cut_in_the_middle(loopback: Loopback, provider: Provider) -> None:
    def answer(exchange: Exchange) -> None:
        send(exchange, provider, provider.start, provider.text, last=False)

    loopback.answer = answer
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (ConnectionLost, True)


async def test_a_connection_that_is_cut_before_the_answer(loopback: Loopback, provider: Provider) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.connection.shutdown(socket.SHUT_RDWR)

    loopback.answer = answer
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (ConnectionLost, True)


async def test_an_error_inside_the_stream(loopback: Loopback, provider: Provider) -> None:
    for pieces in ((provider.inside,), (provider.text, provider.inside)):
        loopback.seen.clear()
        stream(loopback, provider, *pieces)
        error = await failure(loopback, provider)
        assert (type(error), error.retryable) == (Overloaded, True)
        assert "because" in str(error)


@pytest.mark.parametrize("garbage", [b"\xff\xfe\x00\x9f" * 40, b"<html>\n\nGateway\n\n</html>\n\n" * 9, b"\n" * 200])
async def test_bytes_that_are_no_stream(loopback: Loopback, provider: Provider, garbage: bytes) -> None:
    stream(loopback, provider, garbage)
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (MalformedReply, True)


async def test_an_event_that_cannot_be_read(loopback: Loopback, provider: Provider) -> None:
    stream(loopback, provider, provider.text, provider.bad_json, provider.end)
    assert type(await failure(loopback, provider)) is MalformedReply


async def test_a_stream_that_ends_without_its_end(loopback: Loopback, provider: Provider) -> None:
    stream(loopback, provider, provider.text)
    assert type(await failure(loopback, provider)) is MalformedReply
    loopback.seen.clear()
    loopback.answer = lambda exchange: send(exchange, provider)
    assert type(await failure(loopback, provider)) is MalformedReply


async def test_an_empty_reply(loopback: Loopback, provider: Provider) -> None:
    stream(loopback, provider, provider.end)
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (MalformedReply, True)
    assert "empty reply" in str(error)


async def test_a_refusal_in_words_is_a_reply_that_says_so(loopback: Loopback, provider: Provider) -> None:
    # OpenAI marks the words; everywhere else the end does.
    pieces = (provider.refused_text, provider.end) if provider.refused_text else (provider.text, provider.refusal)
    stream(loopback, provider, *pieces)
    said, finished = await ask(loopback, provider)
    assert (said, finished.stop) == (["Hel"], StopReason.REFUSAL)


async def test_a_refusal_without_a_word_is_not_asked_again(loopback: Loopback, provider: Provider) -> None:
    stream(loopback, provider, provider.refusal)
    error = await failure(loopback, provider)
    assert (type(error), error.retryable) == (RequestRefused, False)
    assert "refuses to answer" in str(error)


async def test_a_provider_that_recovers_answers_after_the_wait(loopback: Loopback, provider: Provider) -> None:
    refuse(loopback, provider, provider.limited, {"Retry-After": "7"})
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        stream(loopback, provider, provider.text, provider.end)

    model = RetryingModel(provider.open(loopback.url, 20.0), sleep=sleep)
    seen: list[StreamEvent] = [event async for event in model.stream(model.encode(WINDOW))]
    await model.close()
    assert isinstance(seen[0], Retrying)
    assert (seen[0].seconds, seen[0].attempt, waits) == (7.0, 1, [7.0])
    assert "takes no more requests for now" in seen[0].reason
    assert "try again" not in seen[0].reason
    assert seen[1] == TextDelta("Hel")
    assert isinstance(seen[2], Finished)
    assert len(loopback.seen) == 2
