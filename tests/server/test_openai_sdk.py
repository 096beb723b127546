"""The official openai SDK, unchanged, against a real server on a loopback port: Chat Completions and Responses."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import openai
import platformdirs
import pytest
from openai.types.chat import ChatCompletionMessageParam

from frontmind.errors import ModelError, RateLimited
from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Request, StopReason
from frontmind.server.limits import Limits
from frontmind.values.message import Message, user
from frontmind.values.parts import Image, ToolResult
from frontmind.values.records import TurnState
from server.compat_bench import Clients, CountedModel, FailingModel, HeldModel, clients, counting, messages_of, tools_of
from support import calling, playing, texts

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415408d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
MODEL: Final = "frontmind"


def ask(text: str) -> ChatCompletionMessageParam:
    return {"role": "user", "content": text}


def answer(text: str | None) -> ChatCompletionMessageParam:
    return {"role": "assistant", "content": text}


async def say(c: Clients, *messages: ChatCompletionMessageParam, **more: Any) -> str:
    reply = await c.openai.chat.completions.create(messages=messages, model=MODEL, **more)
    return reply.choices[0].message.content or ""


@pytest.mark.requirement("WEB-9")
async def test_a_chat_completion_has_the_reply_and_is_stored_once() -> None:
    async with clients(counting()) as c:
        reply = await c.openai.chat.completions.create(messages=[ask("Hello")], model=MODEL)
        assert reply.choices[0].message.content == "Reply 1, in words."
        assert reply.choices[0].finish_reason == "stop"
        assert reply.id.startswith("chatcmpl-")
        assert reply.model == "frontmind"
        assert await c.said(await c.only()) == [("Hello", "Reply 1, in words.")]


@pytest.mark.requirement("WEB-10")
async def test_a_conversation_that_is_sent_again_each_time_is_stored_once() -> None:
    async with clients(counting()) as c:
        history: list[ChatCompletionMessageParam] = []
        for number in range(1, 6):
            history.append(ask(f"Question {number}"))
            history.append(answer(await say(c, *history)))
        assert await c.said(await c.only()) == [
            (f"Question {number}", f"Reply {number}, in words.") for number in range(1, 6)
        ]
        assert len(await c.store.turns(await c.only())) == 5


@pytest.mark.requirement("WEB-9")
async def test_a_streamed_completion_has_role_text_finish_and_counts_in_this_order() -> None:
    async with clients(CountedModel(counting())) as c:
        stream = await c.openai.chat.completions.create(
            messages=[ask("Hello")], stream=True, stream_options={"include_usage": True}, model=MODEL
        )
        chunks = [chunk async for chunk in stream]
        assert chunks[0].choices[0].delta.role == "assistant"
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Reply 1, in words."
        assert [c.choices[0].finish_reason for c in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
        assert chunks[-1].choices == []
        usage = chunks[-1].usage
        assert usage is not None and usage.prompt_tokens_details is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 7, 107)
        assert usage.prompt_tokens_details.cached_tokens == 60
        assert len({chunk.id for chunk in chunks}) == 1


async def test_a_stream_says_no_counts_unless_it_is_asked_for_them() -> None:
    async with clients(counting()) as c:
        stream = await c.openai.chat.completions.create(messages=[ask("Hello")], stream=True, model=MODEL)
        chunks = [chunk async for chunk in stream]
        assert all(chunk.usage is None and chunk.choices for chunk in chunks)


@pytest.mark.parametrize(
    ("stop", "finish"),
    [(StopReason.END, "stop"), (StopReason.LENGTH, "length"), (StopReason.REFUSAL, "content_filter")],
)
async def test_a_completion_says_why_it_ended(stop: StopReason, finish: str) -> None:
    model = CountedModel(counting())
    model.stop = stop
    async with clients(model) as c:
        reply = await c.openai.chat.completions.create(messages=[ask("Hello")], model=MODEL)
        assert reply.choices[0].finish_reason == finish


@pytest.mark.requirement("WEB-11")
async def test_the_client_s_system_prompt_and_tools_reach_the_model() -> None:
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "Arr."

    async with clients(script) as c:
        system: ChatCompletionMessageParam = {"role": "system", "content": "Speak like a pirate."}
        developer: ChatCompletionMessageParam = {"role": "developer", "content": "Never mention parrots."}
        await say(c, system, developer, ask("Hello"), tools=[WEATHER])
        assert await c.said(await c.only()) == [("Hello", "Arr.")]
        prompt = texts(messages_of(seen[-1])[0])
        assert "Speak like a pirate.\n\nNever mention parrots." in prompt
        assert "weather" in tools_of(seen[-1])
        await say(c, system, ask("Hello"), answer("Arr."), ask("And now?"), tools=[WEATHER], tool_choice="none")
        assert "weather" not in tools_of(seen[-1])


@pytest.mark.requirement("WEB-9")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_of_the_client_is_called_and_its_result_goes_on_with_the_turn(streamed: bool) -> None:
    script: list[str | Message] = [
        calling(("weather", {"city": "Oslo"}), said="I look."),
        "It rains.",
        "For days.",
    ]
    async with clients(script) as c:
        history: list[ChatCompletionMessageParam] = [ask("How is the weather in Oslo?")]
        message = await called(c, history, streamed=streamed)
        (call,) = message["tool_calls"]
        assert call["function"] == {"name": "weather", "arguments": '{"city":"Oslo"}'}
        assert message["content"] == "I look."
        history.append(message)  # type: ignore[arg-type]
        history.append({"role": "tool", "tool_call_id": call["id"], "content": "rain, 4 degrees"})
        assert await say(c, *history, tools=[WEATHER]) == "It rains."
        history.append(answer("It rains."))
        assert await say(c, *history, ask("Still?"), tools=[WEATHER]) == "For days."
        first, second = await c.line(await c.only())
        assert (first.number, second.number) == (1, 2)
        assert first.steps[0].results is not None
        assert "rain, 4 degrees" in str(first.steps[0].results.parts[0])
        assert first.reply is not None and first.reply.text == "It rains."


async def called(c: Clients, history: list[ChatCompletionMessageParam], *, streamed: bool) -> dict[str, Any]:
    """The assistant's message with its calls, as the client sends it back."""
    if not streamed:
        reply = await c.openai.chat.completions.create(messages=history, tools=[WEATHER], model=MODEL)
        assert reply.choices[0].finish_reason == "tool_calls"
        return reply.choices[0].message.model_dump(exclude_none=True)
    async with c.openai.chat.completions.stream(messages=history, tools=[WEATHER], model=MODEL) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    message = final.choices[0].message.model_dump(exclude_none=True)
    for call in message["tool_calls"]:
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    return message


async def test_the_assistant_s_own_tools_run_inside_a_reply_and_beside_the_client_s() -> None:
    script: list[str | Message] = [
        calling(("list_reminders", {}), said="Let me see."),
        calling(("weather", {"city": "Oslo"}), ("list_reminders", {}), said="Nothing is due."),
        calling(("weather", {"city": "Rome"})),
        "Rain and sun.",
        "You are welcome.",
    ]
    async with clients(script) as c:
        history: list[Any] = [ask("What is due, and how is the weather?")]
        for number, (said, result) in enumerate((("Let me see.\n\nNothing is due.", "rain"), (None, "sun"))):
            message = await called(c, history, streamed=bool(number))
            assert (message.get("content") or None) == said
            (call,) = message["tool_calls"]
            assert call["function"]["name"] == "weather"
            history += [message, {"role": "tool", "tool_call_id": call["id"], "content": result}]
        assert await say(c, *history, tools=[WEATHER]) == "Rain and sun."
        await say(c, *history, answer("Rain and sun."), ask("Thanks"), tools=[WEATHER])
        first, second = await c.store.turns(await c.only())
        assert [len(step.results.parts) if step.results else 0 for step in first.steps] == [1, 2, 1]
        assert first.reply is not None and first.reply.text == "Rain and sun."
        assert second.user.text == "Thanks"


async def test_two_calls_at_once_are_answered_together_and_one_result_alone_is_refused() -> None:
    script: list[str | Message] = [
        calling(("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"})),
        "Both.",
    ]
    async with clients(script) as c:
        message = await called(c, [ask("Compare")], streamed=False)
        first, second = message["tool_calls"]
        results: list[Any] = [
            {"role": "tool", "tool_call_id": first["id"], "content": "rain"},
            {"role": "tool", "tool_call_id": second["id"], "content": "sun"},
        ]
        with pytest.raises(openai.BadRequestError, match="missing"):
            await say(c, ask("Compare"), message, results[0], tools=[WEATHER])  # type: ignore[arg-type]
        assert await say(c, ask("Compare"), message, *reversed(results), tools=[WEATHER]) == "Both."  # type: ignore[arg-type]
        (turn,) = await c.line(await c.only())
        results_kept = turn.steps[0].results
        assert results_kept is not None
        told = [part.text for part in results_kept.parts if isinstance(part, ToolResult)]
        assert [text.splitlines()[-1] for text in told] == ["rain", "sun"]


async def test_results_find_their_turn_after_a_restart_of_the_server(tmp_path: Any) -> None:
    db = str(tmp_path / "mind.db")
    async with clients([calling(("weather", {"city": "Oslo"}))], db=db) as c:
        message = await called(c, [ask("Weather?")], streamed=False)
    async with clients(["It rains."], db=db) as c:
        result: Any = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"}
        assert await say(c, ask("Weather?"), message, result, tools=[WEATHER]) == "It rains."  # type: ignore[arg-type]
        assert len(await c.store.turns(await c.only())) == 1


async def test_regenerating_behind_results_asks_anew_with_the_results_in_words() -> None:
    seen: list[Request] = []
    replies: Iterator[str | Message] = iter((calling(("weather", {"city": "Oslo"})), "It rains.", "It pours."))

    def script(request: Request) -> str | Message:
        seen.append(request)
        return next(replies)

    async with clients(script) as c:
        message = await called(c, [ask("Weather?")], streamed=False)
        result: Any = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain, 4 degrees"}
        assert await say(c, ask("Weather?"), message, result, tools=[WEATHER]) == "It rains."  # type: ignore[arg-type]
        assert await say(c, ask("Weather?"), message, result, tools=[WEATHER]) == "It pours."  # type: ignore[arg-type]
        assert "rain, 4 degrees" in texts(messages_of(seen[-1])[-1])
        (turn,) = await c.line(await c.only())
        assert turn.reply is not None and turn.reply.text == "It pours."


@pytest.mark.requirement("WEB-9")
async def test_a_picture_reaches_the_store_and_the_model() -> None:
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "A dot."

    async with clients(playing("anthropic:claude-sonnet-4-5", script)) as c:
        parts: Any = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "high"}},
        ]
        assert await say(c, {"role": "user", "content": parts}) == "A dot."
        (turn,) = await c.line(await c.only())
        assert Image("image/png", PIXEL) in turn.user.parts
        assert PIXEL in str(messages_of(seen[-1])[-1]["content"])
        await say(c, {"role": "user", "content": parts}, answer("A dot."), ask("Which colour?"))
        assert len(await c.store.turns(await c.only())) == 2


@pytest.mark.requirement("WEB-9")
async def test_a_response_is_found_again_by_its_id() -> None:
    async with clients(counting()) as c:
        first = await c.openai.responses.create(input="One", model=MODEL)
        assert first.output_text == "Reply 1, in words."
        second = await c.openai.responses.create(input="Two", previous_response_id=first.id, model=MODEL)
        third = await c.openai.responses.create(input="Three", previous_response_id=second.id, model=MODEL)
        assert third.status == "completed"
        assert third.previous_response_id == second.id
        assert [said for said, _ in await c.said(await c.only())] == ["One", "Two", "Three"]
        # Behind the first again: what came after it is another branch.
        other = await c.openai.responses.create(input="Two, please", previous_response_id=first.id, model=MODEL)
        assert [said for said, _ in await c.said(await c.only())] == ["One", "Two, please"]
        assert other.conversation is not None and other.conversation.id == await c.only()
        back = await c.openai.responses.create(input="Four", previous_response_id=third.id, model=MODEL)
        assert [said for said, _ in await c.said(await c.only())] == ["One", "Two", "Three", "Four"]
        assert back.output_text == "Reply 5, in words."


async def test_a_response_nobody_knows_is_an_error() -> None:
    async with clients(counting()) as c:
        with pytest.raises(openai.BadRequestError) as caught:
            await c.openai.responses.create(input="One", previous_response_id="resp_0", model=MODEL)
        assert caught.value.code == "previous_response_not_found"
        assert await c.names() == []


@pytest.mark.requirement("WEB-9")
async def test_the_events_of_a_response_come_in_order_and_add_up() -> None:
    async with clients([calling(("weather", {"city": "Oslo"}), said="I look.")]) as c:
        tool: Any = {"type": "function", **WEATHER["function"], "strict": False}
        async with c.openai.responses.stream(input="Weather?", tools=[tool], model=MODEL) as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response()
        assert [event.sequence_number for event in events] == list(range(len(events)))
        kinds = [event.type.removeprefix("response.") for event in events]
        assert [kind for kind, _ in itertools.groupby(kinds)] == [
            *("created", "in_progress", "output_item.added", "content_part.added"),
            "output_text.delta",
            *("output_text.done", "content_part.done", "output_item.done"),
            *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
            *("output_item.done", "completed"),
        ]
        assert final.output_text == "I look."
        assert final.output[1].type == "function_call"
        assert final.output[1].arguments == '{"city":"Oslo"}'


@pytest.mark.parametrize("with_history", [False, True])
async def test_results_of_tools_go_on_with_a_response(with_history: bool) -> None:
    async with clients([calling(("weather", {"city": "Oslo"})), "It rains.", "Still."]) as c:
        tools: Any = [{"type": "function", **WEATHER["function"]}]
        first = await c.openai.responses.create(input="Weather?", tools=tools, model=MODEL)
        call = first.output[0]
        assert call.type == "function_call"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        items: Any = [result]
        link: dict[str, str] = {"previous_response_id": first.id}
        if with_history:
            items, link = [{"role": "user", "content": "Weather?"}, call.to_dict(), result], {}
        second = await c.openai.responses.create(input=items, tools=tools, model=MODEL, **link)  # type: ignore[call-overload]
        assert second.output_text == "It rains."
        if with_history:
            items = [*items, *(item.to_dict() for item in second.output), {"role": "user", "content": "Now?"}]
        else:
            items, link = "Now?", {"previous_response_id": second.id}
        third = await c.openai.responses.create(input=items, tools=tools, model=MODEL, **link)  # type: ignore[call-overload]
        assert third.output_text == "Still."
        assert [said for said, _ in await c.said(await c.only())] == ["Weather?", "Now?"]
        assert len(await c.store.turns(await c.only())) == 2


async def test_a_response_that_was_cut_short_says_so() -> None:
    model = CountedModel(counting())
    model.stop = StopReason.LENGTH
    async with clients(model) as c:
        whole = await c.openai.responses.create(input="One", model=MODEL)
        assert (whole.status, whole.incomplete_details and whole.incomplete_details.reason) == (
            "incomplete",
            "max_output_tokens",
        )
        assert whole.usage is not None and whole.usage.input_tokens_details.cached_tokens == 60
        stream = await c.openai.responses.create(input="One", stream=True, model=MODEL)
        assert [event.type async for event in stream][-1] == "response.incomplete"


async def test_a_header_names_the_conversation_and_the_reply_says_its_name() -> None:
    async with clients(counting()) as c:
        named = {"Frontmind-Conversation": "caf%C3%A9"}
        for text in ("One", "Two"):
            raw = await c.openai.chat.completions.with_raw_response.create(
                messages=[ask(text)], extra_headers=named, model=MODEL
            )
            assert raw.headers["Frontmind-Conversation"] == "caf%C3%A9"
        assert [said for said, _ in await c.said("café")] == ["One", "Two"]
        response = await c.openai.responses.create(input="Three", conversation="café", model=MODEL)
        assert response.conversation is not None and response.conversation.id == "café"
        assert [said for said, _ in await c.said("café")] == ["One", "Two", "Three"]


@pytest.mark.parametrize(
    ("more", "code", "param"),
    [
        ({"n": 2}, "unsupported", "n"),
        ({"logprobs": True}, "unsupported", "logprobs"),
        ({"modalities": ["text", "audio"], "audio": {"voice": "a", "format": "wav"}}, "unsupported", "audio"),
        ({"response_format": {"type": "json_object"}}, "unsupported", "response_format"),
        ({"tools": [{"type": "web_search"}]}, "unsupported", "tools[0]"),
        ({"tools": [WEATHER], "tool_choice": "required"}, "unsupported", "tool_choice"),
        ({"tools": [WEATHER, WEATHER]}, "invalid_request", "tools"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "invalid_request", "tools[0].name"),
        ({"tools": {"a": 1}}, "invalid_request", "tools"),
        ({"stream": "yes"}, "invalid_request", "stream"),
        ({"messages": []}, "invalid_request", "messages"),
        ({"messages": "hi"}, "invalid_request", "messages"),
        ({"messages": [3]}, "invalid_request", "messages[0]"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "invalid_request", "messages[0]"),
        ({"messages": [{"role": "user", "content": "  "}]}, "invalid_request", "messages"),
        ({"messages": [{"role": "user", "content": 3}]}, "invalid_request", "messages[0]"),
        ({"messages": [ask("a"), answer("b")]}, "unsupported", "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
            "unsupported",
            "messages[0].content[0]",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "ftp://x"}}]}]},
            "invalid_request",
            "messages[0].content[0]",
        ),
    ],
)
async def test_what_cannot_be_answered_is_said_with_its_place(more: dict[str, Any], code: str, param: str) -> None:
    async with clients(counting()) as c:
        with pytest.raises(openai.BadRequestError) as caught:
            await c.openai.chat.completions.create(**{"messages": [ask("Hello")], "model": MODEL, **more})
        assert (caught.value.code, caught.value.param) == (code, param)
        assert await c.names() == []


async def test_settings_of_a_model_are_taken_and_change_nothing() -> None:
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "Fine."

    async with clients(script) as c:
        settings: Any = {
            "temperature": 0.1,
            "top_p": 0.5,
            "max_tokens": 5,
            "stop": ["x"],
            "seed": 7,
            "user": "u",
            "metadata": {"a": "b"},
            "service_tier": "auto",
            "presence_penalty": 1,
            "response_format": {"type": "text"},
        }
        await say(c, ask("Hello"), **settings)
        await say(c, ask("Hello"))
        assert seen[0] == seen[1]


async def test_unknown_models_are_not_found() -> None:
    async with clients(counting()) as c:
        with pytest.raises(openai.NotFoundError) as caught:
            await c.openai.chat.completions.create(model="gpt-9", messages=[ask("Hello")])
        assert caught.value.code == "model_not_found"
        assert [model.id async for model in c.openai.models.list()] == ["frontmind", "scripted"]
        assert (await c.openai.models.retrieve("scripted")).id == "scripted"
        with pytest.raises(openai.NotFoundError):
            await c.openai.models.retrieve("gpt-9")


async def test_keys_open_only_what_is_their_owner_s() -> None:
    async with clients(counting(), people=("anna", "ben")) as c:
        first = await c.openai.responses.create(input="Hello", model=MODEL)
        ben = c.openai.with_options(api_key=c.served.keys["ben"])
        with pytest.raises(openai.BadRequestError) as caught:
            await ben.responses.create(input="And?", previous_response_id=first.id, model=MODEL)
        assert caught.value.code == "previous_response_not_found"
        await ben.chat.completions.create(messages=[ask("Hello"), answer(first.output_text), ask("And?")], model=MODEL)
        assert len(await c.served.store.of("anna").conversations()) == 1
        (his,) = await c.served.store.of("ben").conversations()
        assert his.turns == 2
        with pytest.raises(openai.AuthenticationError):
            await c.openai.with_options(api_key="fm_wrong").chat.completions.create(
                messages=[ask("Hello")], model=MODEL
            )


async def test_a_body_that_is_too_large_or_no_json_is_refused_in_the_api_s_shape() -> None:
    async with clients(counting(), limits=Limits(body_bytes=2000)) as c, httpx2.AsyncClient() as http:
        with pytest.raises(openai.APIStatusError) as caught:
            await say(c, ask("x" * 3000))
        assert caught.value.status_code == 413
        url = f"{c.address}/v1/chat/completions"
        for body in (b"{", b'"text"', b"\xff\xfe", b"[" * 900 + b"]" * 900, b'{"model": NaN}'):
            reply = await http.post(url, content=body, headers={"Content-Type": "application/json"})
            assert reply.status_code == 400
            assert reply.json()["error"]["code"] == "invalid_json"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failure_before_any_text_is_a_status_and_the_message_is_not_kept_twice(streamed: bool) -> None:
    errors = [ModelError("it broke", model="scripted", retryable=False), RateLimited("slow down", model="scripted")]
    async with clients(FailingModel(counting(), errors)) as c:
        for _ in errors:
            with pytest.raises((openai.InternalServerError, openai.RateLimitError)):
                await c.openai.chat.completions.create(messages=[ask("Hello")], stream=streamed, model=MODEL)
        assert await say(c, ask("Hello")) == "Reply 1, in words."
        assert await c.said(await c.only()) == [("Hello", "Reply 1, in words.")]


async def test_a_failure_in_the_middle_of_a_stream_is_an_error_and_a_retry_takes_its_place() -> None:
    errors = [ModelError("it broke", model="scripted", retryable=False)]
    async with clients(FailingModel(lambda _: "One two three.", [], behind=2)) as c:
        first = await say(c, ask("Hello"))
        model = c.served.hub.model
        assert isinstance(model, FailingModel)
        model._errors += errors
        asked = [ask("Hello"), answer(first), ask("More")]
        stream = await c.openai.chat.completions.create(messages=asked, stream=True, model=MODEL)
        heard = ""
        with pytest.raises(openai.APIError, match="it broke"):
            async for chunk in stream:
                heard += chunk.choices[0].delta.content or ""
        assert heard == "One two "
        await say(c, *asked)
        assert await c.said(await c.only()) == [("Hello", "One two three."), ("More", "One two three.")]
        # A client that keeps the half reply goes on behind it.
        model._errors += errors
        more = [*asked, answer("One two three."), ask("And?")]
        stream = await c.openai.chat.completions.create(messages=more, stream=True, model=MODEL)
        with pytest.raises(openai.APIError):
            async for _ in stream:
                pass
        await say(c, *more, answer("One two"), ask("Go on"))
        said = [said for said, _ in await c.said(await c.only())]
        assert said == ["Hello", "More", "And?", "Go on"]
        assert len(await c.store.turns(await c.only())) == 5


async def test_a_client_that_goes_away_in_the_middle_leaves_a_turn_that_is_stored() -> None:
    held = asyncio.Event()
    async with clients(HeldModel(lambda _: "One two three.", held)) as c:
        stream = await c.openai.chat.completions.create(messages=[ask("Hello")], stream=True, model=MODEL)
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        await stream.close()
        held.set()
        reply = c.served.hub.reply(c.served.person(), await c.only(), 1)
        assert reply is not None
        await reply.report()
        assert await c.said(await c.only()) == [("Hello", "One two three.")]


async def test_a_client_may_ask_that_the_turn_stops_when_it_goes_away() -> None:
    async with clients(HeldModel(lambda _: "One two three.", asyncio.Event())) as c:
        stream = await c.openai.chat.completions.create(
            messages=[ask("Hello")], stream=True, extra_headers={"Frontmind-On-Disconnect": "stop"}, model=MODEL
        )
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        await stream.close()
        reply = c.served.hub.reply(c.served.person(), await c.only(), 1)
        assert reply is not None
        await reply.finished()
        (turn,) = await c.line(await c.only())
        assert (turn.state, turn.interrupted) == (TurnState.DONE, True)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_that_somebody_stops_is_answered_with_what_was_said(streamed: bool) -> None:
    async with clients(HeldModel(lambda _: "One two three.", asyncio.Event()), retries=2) as c:
        asked = asyncio.create_task(say_streamed(c) if streamed else say(c, ask("Hello")))
        model = c.served.hub.model
        assert isinstance(model, HeldModel)
        await model.spoke.wait()
        reply = c.served.hub.running(c.served.person(), await c.only())
        assert reply is not None
        reply.stop()
        assert await asked == "One "
        assert await c.said(await c.only()) == [("Hello", "One ")]


async def say_streamed(c: Clients) -> str:
    stream = await c.openai.chat.completions.create(model=MODEL, messages=[ask("Hello")], stream=True)
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].choices[0].finish_reason == "stop"
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


async def test_a_request_that_is_sent_again_because_nothing_was_heard_is_not_asked_twice() -> None:
    held = asyncio.Event()
    attempts: list[str] = []

    async def release(request: httpx2.Request) -> None:
        attempts.append(request.headers["x-stainless-retry-count"])
        if len(attempts) == 2:
            held.set()

    async with (
        clients(HeldModel(counting(), held)) as c,
        httpx2.AsyncClient(event_hooks={"request": [release]}) as http,
    ):
        patient = c.openai.with_options(http_client=http, max_retries=1, timeout=httpx2.Timeout(20, read=1))
        reply = await patient.chat.completions.create(messages=[ask("Hello")], model=MODEL)
        assert attempts == ["0", "1"]
        assert reply.choices[0].message.content == "Reply 1, in words."
        assert await c.said(await c.only()) == [("Hello", "Reply 1, in words.")]
        # Heard to its end, the same words are a new question.
        again = {"X-Stainless-Retry-Count": "1"}
        assert await say(c, ask("Hello"), extra_headers=again) == "Reply 2, in words."
        assert len(await c.names()) == 2


async def test_a_request_that_is_sent_again_while_it_waits_for_its_turn_is_said_once_and_not_where_all_gave_up() -> (
    None
):
    held = asyncio.Event()
    named = {"Frontmind-Conversation": "plans"}
    async with clients(HeldModel(counting(), held)) as c:
        model = c.served.hub.model
        assert isinstance(model, HeldModel)
        first = asyncio.create_task(say(c, ask("First"), extra_headers=named))
        await model.spoke.wait()
        impatient = c.openai.with_options(max_retries=2, timeout=httpx2.Timeout(20, read=0.3))
        with pytest.raises(openai.APITimeoutError):
            await impatient.chat.completions.create(messages=[ask("Nobody waits")], model=MODEL, extra_headers=named)
        while c.served.hub.waiting(c.served.person(), "plans") > 1:
            await asyncio.wait({first}, timeout=0.01)

        async def send(attempt: int) -> str:
            return await say(c, ask("Second"), extra_headers={**named, "X-Stainless-Retry-Count": str(attempt)})

        attempts = []
        for attempt in range(3):
            attempts.append(asyncio.create_task(send(attempt)))
            while c.served.hub.waiting(c.served.person(), "plans") < 2:
                await asyncio.wait({first}, timeout=0.01)
        # The line of the first attempt breaks.
        attempts[0].cancel()
        await asyncio.wait({attempts[0]})
        held.set()
        await first
        assert await attempts[1] == await attempts[2] == "Reply 2, in words."
        assert await c.said("plans") == [("First", "Reply 1, in words."), ("Second", "Reply 2, in words.")]
        assert len(await c.store.turns("plans")) == 2


async def test_a_key_of_the_client_stands_for_its_request_also_when_that_was_answered() -> None:
    async with clients(counting()) as c:
        for key, expected in (("k1", 1), ("k1", 1), ("k2", 2), ("k1", 1)):
            header = {"Idempotency-Key": key, "Frontmind-Conversation": "plans"}
            assert await say(c, ask("Pay"), extra_headers=header) == f"Reply {expected}, in words."
        assert len(await c.store.turns("plans")) == 2


async def test_branches_of_one_history_at_the_same_time_do_not_see_each_other() -> None:
    sent: list[Request] = []
    together = asyncio.Event()
    script = counting()

    def reply(request: Request) -> str:
        sent.append(request)
        return script(request)

    async with clients(HeldModel(reply, together)) as c:
        together.set()
        first = await say(c, ask("Q1"))
        together.clear()
        branches = [f"BRANCH-{name}" for name in "abcd"]
        asked = [asyncio.create_task(say(c, ask("Q1"), answer(first), ask(branch))) for branch in branches]
        name = await c.only()
        while c.served.hub.waiting(c.served.person(), name) < len(branches):
            await asyncio.wait(asked, timeout=0.01)
        together.set()
        await asyncio.gather(*asked)
        seen = [[each for each in branches if each in str(messages_of(request))] for request in sent[1:]]
        assert sorted(seen) == [[branch] for branch in branches]
        assert all(first in str(messages_of(request)) for request in sent[1:])
        assert len(await c.line(name)) == 2


async def test_a_server_that_ends_notes_the_threads_of_the_turns_that_it_lets_finish(tmp_path: Any) -> None:
    db, held = str(tmp_path / "mind.db"), asyncio.Event()
    async with clients(HeldModel(counting(), held), db=db) as c:
        impatient = c.openai.with_options(max_retries=0, timeout=httpx2.Timeout(20, read=0.3))
        with pytest.raises(openai.APITimeoutError):
            await impatient.chat.completions.create(messages=[ask("Hello")], model=MODEL)
        ending = asyncio.create_task(c.served.hub.shut_down(30))
        await asyncio.wait({ending}, timeout=0.01)
        held.set()
        await ending
    async with clients(lambda _: "Next.", db=db) as c:
        await say(c, ask("Hello"), answer("Reply 1, in words."), ask("More"))
        assert await c.said(await c.only()) == [("Hello", "Reply 1, in words."), ("More", "Next.")]


async def test_prompts_for_titles_are_answered_and_leave_no_conversation() -> None:
    title = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: Hello\n</chat_history>"
    async with clients(counting()) as c:
        first = await say(c, ask("Hello"))
        assert await say(c, ask(title)) == "Reply 2, in words."
        header = {"Frontmind-Task": "follow_up_generation", "Frontmind-Conversation": await c.only()}
        assert await say(c, ask("What could be asked next?"), extra_headers=header) == "Reply 3, in words."
        unfilled = {"Frontmind-Task": "{{TASK}}", "Frontmind-Conversation": "{{CHAT_ID}}"}
        await say(c, ask("Hello"), answer(first), ask("More"), extra_headers=unfilled)
        assert [said for said, _ in await c.said(await c.only())] == ["Hello", "More"]


async def test_a_turn_of_the_page_stays_where_a_client_goes_on_or_edits() -> None:
    async with clients(counting()) as c:
        first = await say(c, ask("One"))
        name = await c.only()
        second = await say(c, ask("One"), answer(first), ask("Two"))
        reply = await c.served.hub.begin(c.served.person(), name, user("From the page"))
        await reply.report()
        await say(c, ask("One"), answer(first), ask("Two, edited"))
        assert [said for said, _ in await c.said(name)] == ["One", "From the page", "Two, edited"]
        await say(c, ask("One"), answer(first), ask("Two"), answer(second), ask("Three"))
        assert [said for said, _ in await c.said(name)] == ["One", "Two", "From the page", "Three"]


@pytest.mark.timeout(600)
async def test_the_local_model_answers_the_sdk() -> None:
    engine = Engine(default_model_path(platformdirs.user_cache_path("frontmind")))
    profile = resolve_profile("local", "")
    model = LocalModel(engine, profile=profile, framing=choose_framing(profile), max_output_tokens=16)
    try:
        async with clients(model) as c:
            first = await c.openai.chat.completions.create(messages=[ask("Say hello.")], model=MODEL)
            content = first.choices[0].message.content
            assert content
            assert first.usage is not None and first.usage.prompt_tokens > 100
            stream = await c.openai.chat.completions.create(
                messages=[ask("Say hello."), answer(content), ask("And again?")],
                stream=True,
                stream_options={"include_usage": True},
                model=MODEL,
            )
            chunks = [chunk async for chunk in stream]
            usage = chunks[-1].usage
            assert usage is not None and usage.prompt_tokens_details is not None
            assert (usage.prompt_tokens_details.cached_tokens or 0) > 0
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            said = await c.said(await c.only())
            assert [asked for asked, _ in said] == ["Say hello.", "And again?"]
            assert said[1][1].strip() == text.strip()
            response = await c.openai.responses.create(input="Say hello.", model=MODEL)
            assert response.output_text
    finally:
        await model.close()
