"""The official anthropic SDK, unchanged, against a real server on a loopback port."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import Any, Final

import anthropic
import httpx2
import platformdirs
import pytest
from anthropic.types import MessageParam, ToolParam

from frontmind.errors import ModelError
from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Request, StopReason
from frontmind.server.limits import Limits
from frontmind.values.message import Message
from frontmind.values.parts import Document, Image, ToolResult
from server.compat_bench import (
    Clients,
    CountedModel,
    FailingModel,
    HeldModel,
    clients,
    counting,
    messages_of,
    tools_of,
)
from support import calling, playing, texts

MODEL: Final = "frontmind"
CLAUDE: Final = "anthropic:claude-sonnet-4-5"
WEATHER: ToolParam = {
    "name": "weather",
    "description": "The weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def ask(text: str) -> MessageParam:
    return {"role": "user", "content": text}


def answer(text: str) -> MessageParam:
    return {"role": "assistant", "content": text}


async def say(c: Clients, *messages: MessageParam, **more: Any) -> str:
    reply = await c.anthropic.messages.create(model=MODEL, max_tokens=100, messages=messages, **more)
    assert reply.content[0].type == "text"
    return str(reply.content[0].text)


@pytest.mark.requirement("WEB-9")
async def test_a_message_has_the_reply_and_is_stored_once() -> None:
    async with clients(CountedModel(counting())) as c:
        reply = await c.anthropic.messages.create(model=MODEL, max_tokens=100, messages=[ask("Hello")])
        assert [block.type for block in reply.content] == ["text"]
        assert reply.id.startswith("msg_")
        assert (reply.role, reply.stop_reason) == ("assistant", "end_turn")
        usage = reply.usage
        assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (10, 60, 30)
        assert usage.output_tokens == 7
        assert await c.said(await c.only()) == [("Hello", "Reply 1, in words.")]


@pytest.mark.requirement("WEB-10")
async def test_a_conversation_that_is_sent_again_each_time_is_stored_once() -> None:
    async with clients(counting()) as c:
        history: list[MessageParam] = []
        for number in range(1, 6):
            history.append(ask(f"Question {number}"))
            text = await say(c, *history)
            # Clients send back what they were given, as a text or as a list of blocks.
            history.append(answer(text) if number % 2 else {"role": "assistant", "content": [block(text)]})
        assert await c.said(await c.only()) == [
            (f"Question {number}", f"Reply {number}, in words.") for number in range(1, 6)
        ]
        assert len(await c.store.turns(await c.only())) == 5


def block(text: str) -> Any:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


@pytest.mark.requirement("WEB-9")
async def test_a_stream_has_its_events_in_order_and_adds_up() -> None:
    async with clients(CountedModel(counting())) as c:
        stream = await c.anthropic.messages.create(model=MODEL, max_tokens=9, messages=[ask("Hello")], stream=True)
        kinds = [event.type async for event in stream]
        assert [kind for kind, _ in itertools.groupby(kinds)] == [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        async with c.anthropic.messages.stream(model=MODEL, max_tokens=9, messages=[ask("Hello")]) as helper:
            heard = "".join([text async for text in helper.text_stream])
            final = await helper.get_final_message()
        assert heard == "Reply 2, in words."
        assert (final.stop_reason, final.usage.input_tokens, final.usage.cache_read_input_tokens) == (
            "end_turn",
            10,
            60,
        )


async def test_a_stream_pings_as_the_api_does() -> None:
    async with clients(counting()) as c, httpx2.AsyncClient() as http:
        body = {"model": MODEL, "max_tokens": 9, "stream": True, "messages": [ask("Hello")]}
        reply = await http.post(f"{c.address}/v1/messages", json=body)
        assert reply.headers["content-type"].startswith("text/event-stream")
        frames = [frame.split("\n") for frame in reply.text.strip().split("\n\n")]
        assert [frame[0] for frame in frames[:3]] == [
            "event: message_start",
            "event: ping",
            "event: content_block_start",
        ]
        assert all(json.loads(data[6:])["type"] == event[7:] for event, data in frames)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [(StopReason.END, "end_turn"), (StopReason.LENGTH, "max_tokens"), (StopReason.REFUSAL, "refusal")],
)
async def test_a_message_says_why_it_ended(stop: StopReason, reason: str) -> None:
    model = CountedModel(counting())
    model.stop = stop
    async with clients(model) as c:
        reply = await c.anthropic.messages.create(model=MODEL, max_tokens=9, messages=[ask("Hello")])
        assert reply.stop_reason == reason


@pytest.mark.requirement("WEB-11")
async def test_the_client_s_system_prompt_and_tools_reach_the_model() -> None:
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "Arr."

    async with clients(script) as c:
        system: Any = [block("Speak like a pirate."), block("Never mention parrots.")]
        await say(c, ask("Hello"), system=system, tools=[WEATHER], tool_choice={"type": "auto"})
        prompt = texts(messages_of(seen[-1])[0])
        assert "Speak like a pirate." in prompt and "Never mention parrots." in prompt
        assert "weather" in tools_of(seen[-1])
        await say(c, ask("Hello"), system="Be brief.", tools=[WEATHER], tool_choice={"type": "none"})
        assert "weather" not in tools_of(seen[-1])


@pytest.mark.requirement("WEB-9")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_of_the_client_is_called_and_its_result_goes_on_with_the_turn(streamed: bool) -> None:
    script: list[str | Message] = [
        calling(("weather", {"city": "Oslo"}), said="I look."),
        "It rains in Oslo.",
        "Yes, for days.",
    ]
    async with clients(script) as c:
        asked: Any = {"model": MODEL, "max_tokens": 100, "tools": [WEATHER], "messages": [ask("Weather in Oslo?")]}
        if streamed:
            async with c.anthropic.messages.stream(**asked) as stream:
                message = await stream.get_final_message()
        else:
            message = await c.anthropic.messages.create(**asked)
        assert message.stop_reason == "tool_use"
        text, call = message.content
        assert text.type == "text" and text.text == "I look."
        assert call.type == "tool_use" and (call.name, call.input) == ("weather", {"city": "Oslo"})
        content: Any = [part.model_dump(include={"type", "text", "id", "name", "input"}) for part in message.content]
        result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "rain"}]}
        history: list[MessageParam] = [
            ask("Weather in Oslo?"),
            {"role": "assistant", "content": content},
            {"role": "user", "content": [result, {"type": "text", "text": "In one sentence."}]},
        ]
        assert await say(c, *history, tools=[WEATHER]) == "It rains in Oslo."
        history.append(answer("It rains in Oslo."))
        assert await say(c, *history, ask("Still?"), tools=[WEATHER]) == "Yes, for days."
        first, second = await c.store.turns(await c.only())
        assert (first.user.text, second.user.text) == ("Weather in Oslo?", "Still?")
        results = first.steps[0].results
        assert results is not None
        (told,) = [part for part in results.parts if isinstance(part, ToolResult)]
        assert "rain" in told.text and "In one sentence." in told.text


async def test_a_failed_tool_is_told_as_one() -> None:
    script: list[str | Message] = [calling(("weather", {"city": "Oslo"})), "I cannot know."]
    async with clients(script) as c:
        message = await c.anthropic.messages.create(
            model=MODEL, max_tokens=9, messages=[ask("Weather?")], tools=[WEATHER]
        )
        (call,) = message.content
        assert call.type == "tool_use"
        used: Any = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
        failed: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "no network", "is_error": True}
        history: list[MessageParam] = [
            ask("Weather?"),
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [failed]},
        ]
        await say(c, *history, tools=[WEATHER])
        (turn,) = await c.store.turns(await c.only())
        assert turn.steps[0].results is not None
        assert any(isinstance(part, ToolResult) and part.is_error for part in turn.steps[0].results.parts)


@pytest.mark.requirement("WEB-9")
async def test_pictures_and_documents_reach_the_store() -> None:
    data = base64.b64encode(b"%PDF-1.4 test").decode()
    async with clients(playing(CLAUDE, lambda _: "Seen.")) as c:
        parts: Any = [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": data},
                "title": "plan.pdf",
                "citations": {"enabled": True},
            },
            {"type": "text", "text": "What are these?"},
        ]
        await say(c, {"role": "user", "content": parts})
        (turn,) = await c.line(await c.only())
        assert Image("image/png", "iVBORw0KGgo=") in turn.user.parts
        assert Document("application/pdf", data, "", "plan.pdf") in turn.user.parts


@pytest.mark.parametrize(
    "more",
    [
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"system": 3},
        {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%%"}}
                    ],
                }
            ]
        },
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [WEATHER], "tool_choice": {"type": "any"}},
        {"messages": [ask("a"), answer("The answer is")]},
    ],
)
async def test_what_cannot_be_answered_is_a_bad_request_in_the_api_s_shape(more: dict[str, Any]) -> None:
    async with clients(counting()) as c:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await c.anthropic.messages.create(**{"model": MODEL, "max_tokens": 9, "messages": [ask("Hello")], **more})
        body: Any = caught.value.body
        assert body["type"] == "error"
        assert body["error"]["type"] == "invalid_request_error"
        assert body["error"]["code"] in ("unsupported", "invalid_request")
        assert await c.names() == []


async def test_keys_models_and_sizes_are_refused_in_the_api_s_shape() -> None:
    async with clients(counting(), people=("anna",), limits=Limits(body_bytes=5000)) as c:
        with pytest.raises(anthropic.NotFoundError) as unknown:
            await c.anthropic.messages.create(model="claude-9", max_tokens=9, messages=[ask("Hello")])
        assert error_of(unknown.value) == ("not_found_error", "model_not_found")
        with pytest.raises(anthropic.RequestTooLargeError) as large:
            await say(c, ask("x" * 6000))
        assert error_of(large.value) == ("request_too_large", "too_large")
        with pytest.raises(anthropic.AuthenticationError) as key:
            await c.anthropic.with_options(api_key="fm_wrong").messages.create(
                model=MODEL, max_tokens=9, messages=[ask("Hello")]
            )
        assert error_of(key.value) == ("authentication_error", "unauthorized")
        assert await say(c, ask("Hello")) == "Reply 1, in words."


def error_of(error: anthropic.APIStatusError) -> tuple[str, str]:
    body: Any = error.body
    return body["error"]["type"], body["error"]["code"]


async def test_models_are_listed_and_tokens_counted() -> None:
    async with clients(counting()) as c:
        assert [model.id async for model in c.anthropic.models.list()] == ["frontmind", "scripted"]
        assert (await c.anthropic.models.retrieve("frontmind")).type == "model"
        short = await c.anthropic.messages.count_tokens(model=MODEL, messages=[ask("Hello")])
        long = await c.anthropic.messages.count_tokens(
            model=MODEL, messages=[ask("Hello " * 100)], system="Be brief.", tools=[WEATHER]
        )
        assert 0 < short.input_tokens < long.input_tokens
        assert await c.names() == []


async def test_a_failure_is_a_status_before_any_text_and_an_event_behind_it() -> None:
    failing = FailingModel(lambda _: "One two three.", [ModelError("it broke", model="scripted", retryable=False)])
    async with clients(failing) as c:
        with pytest.raises(anthropic.InternalServerError):
            async with c.anthropic.messages.stream(model=MODEL, max_tokens=9, messages=[ask("Hello")]) as stream:
                await stream.get_final_message()
        failing._errors.append(ModelError("it broke", model="scripted", retryable=False))
        failing._behind = 2
        heard = ""
        with pytest.raises(anthropic.APIStatusError, match="it broke"):
            async with c.anthropic.messages.stream(model=MODEL, max_tokens=9, messages=[ask("Hello")]) as stream:
                async for text in stream.text_stream:
                    heard += text
        assert heard == "One two "
        assert await c.said(await c.only()) == [("Hello", "One two ")]


async def test_a_client_that_goes_away_in_the_middle_leaves_a_turn_that_is_stored() -> None:
    held = asyncio.Event()
    async with clients(HeldModel(lambda _: "One two three.", held)) as c:
        async with c.anthropic.messages.stream(model=MODEL, max_tokens=9, messages=[ask("Hello")]) as stream:
            async for _ in stream.text_stream:
                break
        held.set()
        reply = c.served.hub.reply(c.served.person(), await c.only(), 1)
        assert reply is not None
        await reply.report()
        assert await c.said(await c.only()) == [("Hello", "One two three.")]


@pytest.mark.requirement("WEB-10")
async def test_both_sdks_go_on_with_one_conversation() -> None:
    async with clients(counting()) as c:
        first = await say(c, ask("One"))
        second = await c.openai.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "user", "content": "One"},
                {"role": "assistant", "content": first},
                {"role": "user", "content": "Two"},
            ],
        )
        text = second.choices[0].message.content or ""
        await say(c, ask("One"), answer(first), ask("Two"), answer(text), ask("Three"))
        assert [said for said, _ in await c.said(await c.only())] == ["One", "Two", "Three"]


@pytest.mark.timeout(600)
async def test_the_local_model_answers_the_sdk() -> None:
    engine = Engine(default_model_path(platformdirs.user_cache_path("frontmind")))
    profile = resolve_profile("local", "")
    model = LocalModel(engine, profile=profile, framing=choose_framing(profile), max_output_tokens=16)
    try:
        async with clients(model) as c:
            first = await say(c, ask("Say hello."))
            asked: list[MessageParam] = [ask("Say hello."), answer(first), ask("And again?")]
            async with c.anthropic.messages.stream(model=MODEL, max_tokens=16, messages=asked) as stream:
                heard = "".join([text async for text in stream.text_stream])
                final = await stream.get_final_message()
            assert heard.strip()
            assert (final.usage.cache_read_input_tokens or 0) > 0
            said = await c.said(await c.only())
            assert [question for question, _ in said] == ["Say hello.", "And again?"]
            assert said[1][1].strip() == heard.strip()
            counted = await c.anthropic.messages.count_tokens(model=MODEL, messages=asked)
            assert counted.input_tokens > 5
    finally:
        await model.close()
