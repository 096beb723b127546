"""The Bedrock client: the real boto3 against a loopback server that answers in Amazon's event stream framing."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import sys
import threading
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias
from urllib.parse import unquote

import pytest

from frontmind.errors import (
    ModelError,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    UsageError,
    WindowTooLarge,
)
from frontmind.providers.bedrock import BedrockModel
from frontmind.providers.profiles.resolve import choose_framing, parse_overrides, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Text, Thinking, ToolCall
from frontmind.values.usage import Usage
from frontmind.window.window import Window
from providers.loopback import Exchange, Loopback

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NAME = f"bedrock:{MODEL}"
NOWHERE = "http://127.0.0.1:9"
INVOKE = {"wire": "bedrock_invoke", "markers": "cache_control"}
Event: TypeAlias = tuple[str, dict[str, Any]]
REQUEST: Request = {
    "modelId": MODEL,
    "inferenceConfig": {"maxTokens": 20},
    "messages": [{"role": "user", "content": [{"text": "Hello?"}]}],
}
USAGE = {
    "inputTokens": 3,
    "outputTokens": 2,
    "totalTokens": 35,
    "cacheReadInputTokens": 10,
    "cacheWriteInputTokens": 20,
}
METADATA: Event = ("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}})
END: list[Event] = [
    ("contentBlockStop", {"contentBlockIndex": 0}),
    ("messageStop", {"stopReason": "end_turn"}),
    METADATA,
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_MAX_ATTEMPTS", "3"),
        ("AWS_CONFIG_FILE", "/nonexistent"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
    ):
        monkeypatch.setenv(name, value)
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def framed(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of application/vnd.amazon.eventstream: lengths, headers, payload, each part with its checksum."""
    packed = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack("!I", zlib.crc32(message))


def event(kind: str, body: Mapping[str, Any]) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return framed(headers, json.dumps(body).encode())


def exception(kind: str, message: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return framed(headers, json.dumps({"message": message}).encode())


def chunk(inner: Mapping[str, Any]) -> bytes:
    return event("chunk", {"bytes": base64.b64encode(json.dumps(inner).encode()).decode()})


def delta(index: int, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": body}


def send(exchange: Exchange, *messages: bytes, last: bool = True) -> None:
    """Answer in HTTP chunks, as Amazon does: boto3 reads an answer without them only as a whole."""
    exchange.protocol_version = "HTTP/1.1"
    exchange.close_connection = True
    exchange.send_response(200)
    exchange.send_header("Content-Type", "application/vnd.amazon.eventstream")
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    for message in messages:
        exchange.wfile.write(f"{len(message):x}\r\n".encode() + message + b"\r\n")
        exchange.wfile.flush()
    if last:
        exchange.wfile.write(b"0\r\n\r\n")


def streaming(loopback: Loopback, *messages: bytes) -> None:
    loopback.answer = lambda exchange: send(exchange, *messages)


def converse(loopback: Loopback, *events: tuple[str, Mapping[str, Any]]) -> None:
    start = event("messageStart", {"role": "assistant"})
    streaming(loopback, start, *(event(kind, body) for kind, body in events))


def model_at(url: str, **facts: str) -> BedrockModel:
    overrides = parse_overrides(",".join(f"{name}={value}" for name, value in facts.items()))
    profile = resolve_profile("bedrock", MODEL, overrides)
    return BedrockModel(profile, name=NAME, framing=choose_framing(profile), max_output_tokens=20, endpoint_url=url)


async def ask(url: str, request: Request = REQUEST, **facts: str) -> tuple[list[str], Finished]:
    model = model_at(url, **facts)
    pieces: list[str] = []
    try:
        async for item in model.stream(request):
            if isinstance(item, TextDelta):
                pieces.append(item.text)
            else:
                return pieces, item
    finally:
        await model.close()
    raise AssertionError("the stream ended without Finished")


async def failure(url: str, request: Request = REQUEST) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(url, request)
    assert "\n" not in str(caught.value)
    assert caught.value.model == NAME
    return caught.value


def refuse(loopback: Loopback, status: int, code: str, message: str) -> None:
    def answer(exchange: Exchange) -> None:
        body = json.dumps({"message": message}).encode()
        exchange.send_response(status)
        exchange.send_header("Content-Type", "application/json")
        exchange.send_header("Content-Length", str(len(body)))
        exchange.send_header("x-amzn-ErrorType", code)
        exchange.end_headers()
        exchange.wfile.write(body)

    loopback.answer = answer


# --- Replies -----------------------------------------------------------------------------------------------------


async def test_text_comes_in_pieces_and_the_whole_reply_last(loopback: Loopback) -> None:
    converse(loopback, delta(0, {"text": "Hel"}), delta(0, {"text": "lo."}), *END)
    pieces, finished = await ask(loopback.url)
    assert pieces == ["Hel", "lo."]
    assert finished == Finished(assistant("Hello."), Usage(33, 10, 20, 2), StopReason.END)


async def test_the_request_is_sent_as_it_is_stored(loopback: Loopback) -> None:
    converse(loopback, delta(0, {"text": "Hi"}), *END)
    await ask(loopback.url)
    seen = loopback.seen[0]
    assert unquote(seen.path) == f"/model/{MODEL}/converse-stream"
    assert json.loads(seen.body) == {key: value for key, value in REQUEST.items() if key != "modelId"}
    assert "Credential=AKIDEXAMPLE/" in seen.headers["authorization"]


async def test_a_picture_reaches_the_server_with_the_bytes_that_it_had(loopback: Loopback) -> None:
    converse(loopback, delta(0, {"text": "A dot."}), *END)
    model = model_at(loopback.url)
    picture = "iVBORw0KGgo="
    shown = Message(Role.USER, (Image("image/png", picture), Text("what?")))
    request = model.encode(Window("s", "", (), "", (shown,)))
    await model.close()
    await ask(loopback.url, request)
    sent = json.loads(loopback.seen[0].body)
    assert sent["messages"][0]["content"][0] == {"image": {"format": "png", "source": {"bytes": picture}}}
    assert request["messages"] == sent["messages"]


async def test_reasoning_and_calls_are_put_together_from_their_pieces(loopback: Loopback) -> None:
    start = {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "look"}}}
    converse(
        loopback,
        delta(0, {"reasoningContent": {"text": "I "}}),
        delta(0, {"reasoningContent": {"text": "think"}}),
        delta(0, {"reasoningContent": {"signature": "c2ln"}}),
        ("contentBlockStart", start),
        delta(1, {"toolUse": {"input": '{"b":'}}),
        delta(1, {"toolUse": {"input": ' "x"}'}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "tool_use"}),
        METADATA,
    )
    pieces, finished = await ask(loopback.url)
    assert pieces == []
    assert finished.message.parts == (
        Thinking(
            "I think",
            "bedrock_converse",
            '{"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"I think"}}}',
        ),
        ToolCall("t1", "look", '{"b":"x"}'),
    )
    assert finished.stop is StopReason.TOOL_CALLS


async def test_hidden_reasoning_comes_as_bytes_and_is_kept_as_base64(loopback: Loopback) -> None:
    pieces = [delta(0, {"reasoningContent": {"redactedContent": "YQ=="}})] * 2
    converse(loopback, *pieces, delta(1, {"text": "Hi"}), *END)
    _, finished = await ask(loopback.url)
    hidden = Thinking("", "bedrock_converse", '{"reasoningContent":{"redactedContent":"YWE="}}')
    assert finished.message.parts == (hidden, Text("Hi"))


async def test_invoke_model_sends_claude_s_body_and_reads_claude_s_events(loopback: Loopback) -> None:
    usage = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 20}
    streaming(
        loopback,
        chunk({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}}),
        chunk({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        chunk({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
        chunk({"type": "content_block_stop", "index": 0}),
        chunk({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        chunk({"type": "message_stop"}),
    )
    model = model_at(loopback.url, **INVOKE)
    request = model.encode(Window("s", "", (), "", (user("hello"),)))
    await model.close()
    pieces, finished = await ask(loopback.url, request, **INVOKE)
    assert pieces == ["Hi"]
    assert finished == Finished(assistant("Hi"), Usage(33, 10, 20, 2), StopReason.END)
    assert unquote(loopback.seen[0].path) == f"/model/{MODEL}/invoke-with-response-stream"
    assert json.loads(loopback.seen[0].body) == request["body"]


# --- The end of a call -------------------------------------------------------------------------------------------


async def test_closing_the_stream_ends_the_call_at_the_server(loopback: Loopback) -> None:
    gone = threading.Event()
    closing = threading.Event()

    def answer(exchange: Exchange) -> None:
        send(exchange, event("messageStart", {"role": "assistant"}), event(*delta(0, {"text": "Hi"})), last=False)
        closing.wait(10)
        # The other side has closed: nothing comes any more.
        exchange.connection.settimeout(10)
        if exchange.connection.recv(1) == b"":
            gone.set()

    loopback.answer = answer
    model = model_at(loopback.url)
    async with aclosing(_generator(model)) as stream:
        assert await anext(stream) == TextDelta("Hi")
    closing.set()
    assert await asyncio.to_thread(gone.wait, 10)
    await model.close()


async def test_a_cancelled_call_ends_while_the_server_is_silent_and_leaves_no_thread(loopback: Loopback) -> None:
    started, release = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        send(exchange, event("messageStart", {"role": "assistant"}), event(*delta(0, {"text": "Hi"})), last=False)
        started.set()
        release.wait(20)

    loopback.answer = answer
    model = model_at(loopback.url)
    try:
        task = asyncio.create_task(_drain(model))
        assert await asyncio.to_thread(started.wait, 10)
        threads = [thread for thread in threading.enumerate() if thread.name == "frontmind-bedrock"]
        assert len(threads) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        await asyncio.to_thread(threads[0].join, 10)
        assert not threads[0].is_alive()
    finally:
        release.set()
        await model.close()


async def test_the_event_loop_goes_on_while_boto3_waits(loopback: Loopback) -> None:
    arrived, release = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        arrived.set()
        assert release.wait(10)
        send(exchange, *(event(kind, body) for kind, body in (delta(0, {"text": "Hi"}), *END)))

    loopback.answer = answer
    asking = asyncio.create_task(ask(loopback.url))
    assert await asyncio.to_thread(arrived.wait, 10)
    release.set()
    pieces, _ = await asking
    assert pieces == ["Hi"]


def _generator(model: BedrockModel) -> AsyncGenerator[StreamEvent, None]:
    return model.stream(REQUEST)


async def _drain(model: BedrockModel) -> None:
    async with aclosing(_generator(model)) as stream:
        async for _ in stream:
            pass


# --- Failures ----------------------------------------------------------------------------------------------------


async def test_a_refused_request_says_why_and_with_which_status(loopback: Loopback) -> None:
    refuse(loopback, 400, "ValidationException", "Messages can't\n contain that.")
    error = await failure(loopback.url)
    assert isinstance(error, RequestRefused)
    assert error.status == 400
    assert "refused the request (Messages can't contain that.)" in str(error)


async def test_a_window_that_is_too_large_has_both_sizes(loopback: Loopback) -> None:
    refuse(loopback, 400, "ValidationException", "prompt is too long: 215000 tokens > 200000 maximum")
    error = await failure(loopback.url)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (215000, 200000)


async def test_too_long_without_sizes_says_so(loopback: Loopback) -> None:
    refuse(loopback, 400, "ValidationException", "Input is too long for requested model.")
    error = await failure(loopback.url)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (None, None)


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        (403, "AccessDeniedException", ModelUnavailable, "refused the key"),
        (403, "UnrecognizedClientException", ModelUnavailable, "refused the key"),
        (404, "ResourceNotFoundException", ModelUnavailable, "was not found"),
        (429, "ThrottlingException", Overloaded, "is overloaded"),
        (400, "ServiceQuotaExceededException", RateLimited, "takes no more requests for now"),
        (500, "InternalServerException", ModelError, "failed"),
    ],
)
async def test_each_status_says_what_to_do(
    loopback: Loopback, status: int, code: str, kind: type[ModelError], words: str
) -> None:
    refuse(loopback, status, code, "so it is")
    error = await failure(loopback.url)
    assert type(error) is kind
    assert f"{words} (so it is)" in str(error)
    assert len(loopback.seen) == 1


async def test_an_error_inside_the_stream_is_the_same_error(loopback: Loopback) -> None:
    streaming(loopback, event(*delta(0, {"text": "Hi"})), exception("throttlingException", "slow down"))
    assert "is overloaded (slow down)" in str(await failure(loopback.url))
    streaming(loopback, exception("validationException", "no such thing"))
    error = await failure(loopback.url)
    assert isinstance(error, RequestRefused)
    assert error.status is None


async def test_a_stream_that_ends_too_early_is_an_error(loopback: Loopback) -> None:
    converse(loopback, delta(0, {"text": "Hi"}))
    assert "broke off in the middle" in str(await failure(loopback.url))


async def test_a_connection_that_breaks_inside_the_stream_is_an_error(loopback: Loopback) -> None:
    half = event(*delta(0, {"text": "Hi"}))

    def answer(exchange: Exchange) -> None:
        send(exchange, half, last=False)
        exchange.wfile.write(b"ff\r\nabc")

    loopback.answer = answer
    assert "the connection to bedrock:" in str(await failure(loopback.url))


async def test_a_damaged_stream_is_an_error(loopback: Loopback) -> None:
    damaged = bytearray(event(*delta(0, {"text": "Hi"})))
    damaged[-6] ^= 1
    streaming(loopback, bytes(damaged))
    assert "sent what is no reply of this API" in str(await failure(loopback.url))


async def test_what_boto3_itself_refuses_is_a_refused_request(loopback: Loopback) -> None:
    error = await failure(loopback.url, {**REQUEST, "messages": [{"role": "user", "content": [{"text": 5}]}]})
    assert isinstance(error, RequestRefused)
    assert loopback.seen == []


async def test_data_that_is_no_base64_is_refused_before_anything_is_sent(loopback: Loopback) -> None:
    content: Any = [{"image": {"format": "png", "source": {"bytes": "%%%"}}}]
    error = await failure(loopback.url, {**REQUEST, "messages": [{"role": "user", "content": content}]})
    assert isinstance(error, RequestRefused)
    assert loopback.seen == []


async def test_without_a_server_the_model_cannot_be_reached() -> None:
    error = await failure(NOWHERE)
    assert isinstance(error, ModelUnavailable)
    assert "cannot reach" in str(error)


def test_without_a_key_it_says_which_ones_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ModelUnavailable, match="AWS_ACCESS_KEY_ID"):
        model_at(NOWHERE)


def test_without_a_region_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(ModelUnavailable, match="AWS_REGION"):
        model_at(NOWHERE)


def test_without_boto3_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'frontmind\[bedrock\]'"):
        model_at(NOWHERE)


def test_another_wire_format_is_refused() -> None:
    with pytest.raises(UsageError, match="openai_chat"):
        model_at(NOWHERE, wire="openai_chat", markers="none", max_markers="0", look_back="none")
