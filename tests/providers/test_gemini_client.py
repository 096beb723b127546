"""The Gemini client: the real google-genai SDK against a loopback server."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from google.genai import types

from frontmind.errors import (
    ModelError,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    UsageError,
    WindowTooLarge,
)
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.gemini import GeminiModel
from frontmind.providers.profiles.resolve import choose_framing, parse_overrides, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Text, Thinking, ToolCall, ToolResult
from frontmind.values.tool import Tool
from frontmind.values.usage import Usage
from frontmind.window.window import Window
from providers.loopback import Exchange, Loopback

NAME = "gemini:gemini-3-pro"
NOWHERE = "http://127.0.0.1:9"
REQUEST: Request = {
    "model": "gemini-3-pro",
    "generationConfig": {"maxOutputTokens": 20},
    "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
}
USAGE = {"promptTokenCount": 30, "cachedContentTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "responseId": "r1", **more}


def model_at(url: str | None, *, key: str | None = "key", facts: str = "") -> GeminiModel:
    profile = resolve_profile("gemini", "gemini-3-pro", parse_overrides(facts))
    return GeminiModel(
        profile, name=NAME, framing=choose_framing(profile), max_output_tokens=20, api_key=key, base_url=url
    )


async def ask(url: str, request: Request = REQUEST) -> tuple[list[str], Finished]:
    model = model_at(url)
    pieces: list[str] = []
    try:
        async for event in model.stream(request):
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            else:
                return pieces, event
    finally:
        await model.close()
    raise AssertionError("the stream ended without Finished")


async def failure(url: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(url)
    assert "\n" not in str(caught.value)
    assert caught.value.model == NAME
    return caught.value


def refuse(loopback: Loopback, code: int, status: str, message: str, **more: Any) -> None:
    loopback.answer_with(code, {"error": {"code": code, "status": status, "message": message, **more}})


async def test_text_comes_in_pieces_and_the_whole_reply_last(loopback: Loopback) -> None:
    loopback.stream(chunk({"text": "Hel"}), chunk({"text": "lo."}, finish="STOP", usageMetadata=USAGE))
    pieces, finished = await ask(loopback.url)
    assert pieces == ["Hel", "lo."]
    assert finished == Finished(assistant("Hello."), Usage(30, 10, 0, 7), StopReason.END)


async def test_the_request_is_sent_as_it_is_stored(loopback: Loopback) -> None:
    loopback.stream(chunk({"text": "Hi"}, finish="STOP"))
    call = ToolCall("c1", "look_at", '{"some_key":1.0}', "+/+/")
    shown = Message(Role.USER, (Image("image/png", "+/+/"), Text("what?")))
    results = Message(Role.USER, (ToolResult("c1", "a cat"),))
    history = (shown, Message(Role.ASSISTANT, (call,)), results, assistant("a cat"))
    tools = (Tool("look_at", '{"type":"object","properties":{"some_key":{"type":"number"}}}', "looks"),)
    model = model_at(loopback.url)
    request = model.encode(Window("cached", "uncached", history, "", (user("and now?"),), tools=tools))
    await model.close()
    await ask(loopback.url, request)
    seen = loopback.seen[0]
    assert json.loads(seen.body) == {key: value for key, value in request.items() if key != "model"}
    assert seen.path.endswith("/models/gemini-3-pro:streamGenerateContent?alt=sse")
    assert seen.headers["x-goog-api-key"] == "key"
    assert len(loopback.seen) == 1


def test_the_sdk_s_own_request_types_take_the_request() -> None:
    call = ToolCall("c1", "look", '{"a":1}', "c2ln")
    history = (
        user("a"),
        Message(Role.ASSISTANT, (call,)),
        Message(Role.USER, (ToolResult("c1", "r"),)),
        assistant("b"),
    )
    turn = (Message(Role.USER, (Image("image/png", "YQ=="), Text("q"))),)
    profile = resolve_profile("gemini", "gemini-3-pro")
    request = encode_window(Window("s", "", history, "N", turn, tools=(Tool("look"),)), profile, max_output_tokens=9)
    contents = [types.Content.model_validate_json(json.dumps(content)) for content in request["contents"]]
    assert [content.role for content in contents] == ["user", "model", "user", "model", "user"]
    settings = {key: request[key] for key in ("systemInstruction", "tools")} | request["generationConfig"]
    config = types.GenerateContentConfig.model_validate_json(json.dumps(settings))
    assert config.max_output_tokens == 9


async def test_reasoning_signatures_and_calls_come_back_as_parts(loopback: Loopback) -> None:
    loopback.stream(
        chunk({"text": "I think", "thought": True}),
        chunk({"text": "Let me see."}),
        chunk({"functionCall": {"name": "look", "args": {"b": "x"}}, "thoughtSignature": "c2ln"}),
        chunk(finish="STOP", usageMetadata=USAGE),
    )
    pieces, finished = await ask(loopback.url)
    assert pieces == ["Let me see."]
    thinking, text, call = finished.message.parts
    assert thinking == Thinking("I think", "gemini", '{"text":"I think","thought":true}')
    assert text == Text("Let me see.")
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments, call.signature) == ("look", '{"b":"x"}', "c2ln")
    assert finished.stop is StopReason.TOOL_CALLS


async def test_closing_the_stream_ends_the_call_at_the_server(loopback: Loopback) -> None:
    gone, closing = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(chunk({"text": "Hi"}))
        closing.wait(10)
        exchange.connection.settimeout(10)
        if exchange.connection.recv(1) == b"":
            gone.set()

    loopback.answer = answer
    model = model_at(loopback.url)
    stream: AsyncGenerator[StreamEvent, None] = model.stream(REQUEST)
    async with aclosing(stream):
        assert await anext(stream) == TextDelta("Hi")
    closing.set()
    assert await asyncio.to_thread(gone.wait, 10)
    await model.close()


async def test_a_refused_request_says_why_and_with_which_status(loopback: Loopback) -> None:
    refuse(loopback, 400, "INVALID_ARGUMENT", "Bad\n argument.")
    error = await failure(loopback.url)
    assert type(error) is RequestRefused
    assert error.status == 400
    assert "refused the request (Bad argument.)" in str(error)


async def test_a_window_that_is_too_large_has_both_sizes(loopback: Loopback) -> None:
    said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    refuse(loopback, 400, "INVALID_ARGUMENT", said)
    error = await failure(loopback.url)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (1200000, 1048576)


async def test_a_blocked_prompt_is_a_refused_request(loopback: Loopback) -> None:
    loopback.stream({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE})
    error = await failure(loopback.url)
    assert type(error) is RequestRefused
    assert "SAFETY" in str(error)


@pytest.mark.parametrize(
    ("code", "status", "kind", "words"),
    [
        (401, "UNAUTHENTICATED", ModelUnavailable, "refused the key"),
        (403, "PERMISSION_DENIED", ModelUnavailable, "refused the key"),
        (404, "NOT_FOUND", ModelUnavailable, "was not found"),
        (429, "RESOURCE_EXHAUSTED", RateLimited, "takes no more requests for now"),
        (503, "UNAVAILABLE", Overloaded, "is overloaded"),
    ],
)
async def test_each_status_says_what_to_do(
    loopback: Loopback, code: int, status: str, kind: type[ModelError], words: str
) -> None:
    refuse(loopback, code, status, "so it is")
    error = await failure(loopback.url)
    assert type(error) is kind
    assert f"{words} (so it is)" in str(error)


async def test_a_wrong_key_is_told_from_a_wrong_argument(loopback: Loopback) -> None:
    refuse(loopback, 400, "INVALID_ARGUMENT", "API key not valid.", details=[{"reason": "API_KEY_INVALID"}])
    assert isinstance(await failure(loopback.url), ModelUnavailable)


async def test_an_error_inside_the_stream_is_the_same_error(loopback: Loopback) -> None:
    loopback.stream(chunk({"text": "Hi"}), {"error": {"code": 429, "status": "X", "message": "slow down"}})
    assert "takes no more requests for now (slow down)" in str(await failure(loopback.url))


async def test_a_stream_that_ends_too_early_is_an_error(loopback: Loopback) -> None:
    loopback.stream(chunk({"text": "Hi"}))
    assert "broke off in the middle" in str(await failure(loopback.url))


@pytest.mark.parametrize(
    "event", ["no JSON", {"candidates": 5}, {"candidates": [{"content": {"parts": [{"text": 7}]}}]}]
)
async def test_another_server_s_answer_is_an_error(loopback: Loopback, event: Any) -> None:
    loopback.stream(event)
    assert "sent what is no reply of this API" in str(await failure(loopback.url))


async def test_without_a_server_the_model_cannot_be_reached() -> None:
    error = await failure(NOWHERE)
    assert isinstance(error, ModelUnavailable)
    assert "cannot reach" in str(error)


def test_without_a_key_it_says_which_one_is_missing() -> None:
    with pytest.raises(ModelUnavailable, match="GEMINI_API_KEY"):
        model_at(None, key=None)


@pytest.mark.parametrize("name", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
async def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "from-the-environment")
    await model_at(None, key=None).close()


async def test_another_server_is_not_sent_the_environment_s_key(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    loopback.stream(chunk({"text": "Hi"}, finish="STOP"))
    model = model_at(loopback.url, key=None)
    assert [event async for event in model.stream(REQUEST)]
    await model.close()
    assert "secret" not in json.dumps(dict(loopback.seen[0].headers)) + loopback.seen[0].path


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'frontmind\[gemini\]'"):
        model_at(NOWHERE)


def test_another_wire_format_is_refused() -> None:
    with pytest.raises(UsageError, match="openai_chat"):
        model_at(NOWHERE, facts="wire=openai_chat")
