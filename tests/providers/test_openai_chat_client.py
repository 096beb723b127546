"""The Chat Completions client against a scripted server: replies, failures, and a stream that is closed."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import aclosing
from typing import Any

import pytest

from frontmind.errors import (
    MalformedReply,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    UsageError,
    WindowTooLarge,
)
from frontmind.providers.openai_chat import OpenAIChatModel
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, TextDelta
from frontmind.values.message import assistant
from frontmind.values.parts import Text, Thinking, ToolCall
from frontmind.values.usage import Usage
from providers.loopback import Exchange, Loopback

REQUEST: Request = {
    "model": "tiny",
    "max_tokens": 20,
    "repeat_penalty": 1.1,
    "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello?"}],
}
USAGE = {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32}
NOWHERE = "http://127.0.0.1:9/v1"


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "1", "object": "chat.completion.chunk", "choices": [choice(finish, delta)]}


def choice(finish: str | None, delta: Any) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def usage(**more: Any) -> dict[str, Any]:
    return {"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": {**USAGE, **more}}


def model_at(url: str | None, provider: str = "compatible", **options: Any) -> OpenAIChatModel:
    profile = resolve_profile(provider, "tiny", {"wire": Wire.OPENAI_CHAT})
    return OpenAIChatModel(
        profile,
        name=f"{provider}:tiny",
        framing=choose_framing(profile),
        max_output_tokens=1024,
        base_url=url,
        **options,
    )


async def ask(loopback: Loopback, **options: Any) -> tuple[list[str], Finished]:
    model = model_at(f"{loopback.url}/v1", **options)
    pieces: list[str] = []
    try:
        async for event in model.stream(REQUEST):
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            else:
                return pieces, event
    finally:
        await model.close()
    raise AssertionError("the stream ended without Finished")


async def failure(loopback: Loopback) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(loopback)
    assert "\n" not in str(caught.value)
    assert caught.value.model == "compatible:tiny"
    return caught.value


async def test_text_comes_in_pieces_and_the_whole_reply_last(loopback: Loopback) -> None:
    loopback.stream(
        chunk(role="assistant"), chunk(content="Hel"), chunk(content="lo."), chunk("stop"), usage(), "[DONE]"
    )
    pieces, finished = await ask(loopback)
    assert pieces == ["Hel", "lo."]
    assert finished == Finished(assistant("Hello."), Usage(30, 0, 0, 2), StopReason.END)


async def test_the_request_is_sent_as_it_is_stored(loopback: Loopback) -> None:
    loopback.stream(chunk("stop", content="Hi"), "[DONE]")
    await ask(loopback)
    sent = json.loads(loopback.seen[0].body)
    assert sent == {**REQUEST, "stream": True, "stream_options": {"include_usage": True}}
    assert loopback.seen[0].path == "/v1/chat/completions"


async def test_cached_and_written_tokens_are_reported(loopback: Loopback) -> None:
    details = {"cached_tokens": 16, "cache_write_tokens": 12}
    loopback.stream(chunk("stop", content="Hi"), usage(prompt_tokens_details=details), "[DONE]")
    _, finished = await ask(loopback)
    assert finished.usage == Usage(30, 16, 12, 2)


async def test_without_usage_from_the_server_it_is_an_estimate(loopback: Loopback) -> None:
    loopback.stream(chunk("stop", content="Hello there"), "[DONE]")
    _, finished = await ask(loopback)
    assert finished.usage.estimated
    assert finished.usage.input == 5
    assert finished.usage.output == 3


async def test_tool_calls_are_put_together_by_their_index(loopback: Loopback) -> None:
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": '{"q":'}}
    second = {"index": 1, "id": "b", "type": "function", "function": {"name": "now", "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": ' "x"}'}}
    loopback.stream(
        chunk(content="Let me see."),
        chunk(tool_calls=[first]),
        chunk(tool_calls=[second]),
        chunk(tool_calls=[rest]),
        chunk("tool_calls"),
        usage(),
        "[DONE]",
    )
    _, finished = await ask(loopback)
    assert finished.message.parts == (
        Text("Let me see."),
        ToolCall("a", "look", '{"q": "x"}'),
        ToolCall("b", "now", "{}"),
    )
    assert finished.stop is StopReason.TOOL_CALLS


async def test_calls_without_index_id_or_reason_are_still_calls(loopback: Loopback) -> None:
    calls = [{"function": {"name": "look", "arguments": "{}"}}, {"function": {"name": "now", "arguments": "{}"}}]
    loopback.stream(chunk(tool_calls=calls), chunk("stop"), "[DONE]")
    _, finished = await ask(loopback)
    look, now = finished.message.parts
    assert isinstance(look, ToolCall)
    assert isinstance(now, ToolCall)
    assert [(call.name, call.arguments) for call in (look, now)] == [("look", "{}"), ("now", "{}")]
    assert look.id.startswith("call_")
    assert look.id != now.id
    assert finished.stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("length", StopReason.LENGTH), ("content_filter", StopReason.REFUSAL), ("something_new", StopReason.END)],
)
async def test_the_reason_for_stopping_is_passed_on(loopback: Loopback, reason: str, stop: StopReason) -> None:
    loopback.stream(chunk(content="Hi"), chunk(reason), "[DONE]")
    _, finished = await ask(loopback)
    assert finished.stop is stop


async def test_a_refusal_is_text_with_its_own_reason(loopback: Loopback) -> None:
    loopback.stream(chunk(refusal="I cannot."), chunk("stop"), "[DONE]")
    pieces, finished = await ask(loopback)
    assert pieces == ["I cannot."]
    assert finished.stop is StopReason.REFUSAL


async def test_reasoning_comes_with_the_reply_and_is_not_shown(loopback: Loopback) -> None:
    loopback.stream(chunk(reasoning_content="Hm"), chunk(reasoning_content="m."), chunk("stop", content="Hi"), "[DONE]")
    pieces, finished = await ask(loopback)
    assert pieces == ["Hi"]
    thinking = Thinking("Hmm.", "openai_chat:reasoning_content", '{"reasoning_content":"Hmm."}')
    assert finished.message.parts == (thinking, Text("Hi"))


async def test_a_reply_of_reasoning_alone_is_an_empty_reply(loopback: Loopback) -> None:
    loopback.stream(chunk(reasoning_content="Hmm"), chunk("length"), "[DONE]")
    assert "1024 output tokens" in str(await failure(loopback))


async def test_a_server_that_gave_up_has_broken_off(loopback: Loopback) -> None:
    loopback.stream(chunk(content="Hel"), chunk("insufficient_system_resource"), "[DONE]")
    assert "broke off" in str(await failure(loopback))


async def test_a_stream_of_another_shape_is_an_error(loopback: Loopback) -> None:
    loopback.stream({"choices": "none"}, "[DONE]")
    assert "no reply of this API" in str(await failure(loopback))


def test_a_profile_of_another_format_is_refused() -> None:
    profile = resolve_profile("openai", "gpt-5.6")
    with pytest.raises(UsageError, match="it speaks 'openai_chat'"):
        OpenAIChatModel(profile, name="openai:gpt-5.6", framing=choose_framing(profile), max_output_tokens=10)


async def test_a_choice_without_a_delta_changes_nothing(loopback: Loopback) -> None:
    loopback.stream(chunk(content="Hi"), {"choices": [choice("stop", None)]}, "[DONE]")
    _, finished = await ask(loopback)
    assert finished.message == assistant("Hi")


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_reply_is_an_error(loopback: Loopback, text: str) -> None:
    loopback.stream(chunk(content=text), chunk("stop"), usage(), "[DONE]")
    assert "empty reply" in str(await failure(loopback))


async def test_a_reply_that_is_empty_at_its_limit_names_the_limit(loopback: Loopback) -> None:
    loopback.stream(chunk("length", content=""), "[DONE]")
    assert "1024 output tokens" in str(await failure(loopback))


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_request_will_never_be_taken(loopback: Loopback, status: int) -> None:
    loopback.answer_with(status, {"error": {"message": "roles must\nalternate", "type": "invalid_request_error"}})
    error = await failure(loopback)
    assert isinstance(error, RequestRefused)
    assert error.status == status
    assert "roles must alternate" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9000, "n_ctx": 8192},
        {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"},
    ],
)
async def test_a_window_that_is_too_large_says_how_large(loopback: Loopback, body: dict[str, Any]) -> None:
    loopback.answer_with(400, {"error": body})
    error = await failure(loopback)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (9000, 8192)


async def test_too_large_without_both_sizes_is_a_plain_refusal(loopback: Loopback) -> None:
    said = "max_tokens is too large: 9000. This model's maximum context length is 8192 tokens and yours has 30"
    loopback.answer_with(400, {"error": {"message": said}})
    assert type(await failure(loopback)) is RequestRefused


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "check the API key"), (403, "check the API key"), (404, "check the model's name")]
)
async def test_a_wrong_key_or_name_says_what_to_check(loopback: Loopback, status: int, advice: str) -> None:
    loopback.answer_with(status, {"error": {"message": "no"}})
    error = await failure(loopback)
    assert isinstance(error, ModelUnavailable)
    assert advice in str(error)


@pytest.mark.parametrize(
    ("status", "kind"), [(408, ModelTimeout), (429, RateLimited), (500, ModelError), (503, Overloaded)]
)
async def test_a_failing_server_may_be_asked_again(loopback: Loopback, status: int, kind: type[ModelError]) -> None:
    loopback.answer_with(status, {"error": {"message": "busy"}})
    error = await failure(loopback)
    assert (type(error), error.retryable) == (kind, True)
    assert "try again" in str(error)
    assert len(loopback.seen) == 1


async def test_an_error_inside_the_stream_is_an_error(loopback: Loopback) -> None:
    loopback.stream(chunk(content="Hel"), {"error": {"message": "out of memory"}})
    assert "out of memory" in str(await failure(loopback))


async def test_a_stream_that_stops_in_the_middle_is_an_error(loopback: Loopback) -> None:
    loopback.stream(chunk(content="Hel"))
    assert "broke off" in str(await failure(loopback))


async def test_a_damaged_line_in_the_stream_is_an_error(loopback: Loopback) -> None:
    loopback.stream(chunk(content="Hel"), '{"choices": [')
    assert type(await failure(loopback)) is MalformedReply


async def test_a_connection_that_breaks_in_the_middle_is_an_error(loopback: Loopback) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.send_response(200)
        exchange.send_header("Content-Type", "text/event-stream")
        exchange.send_header("Content-Length", "100000")
        exchange.end_headers()
        exchange.event(chunk(content="Hel"))

    loopback.answer = answer
    assert "broke off" in str(await failure(loopback))


async def test_a_server_that_does_not_run_is_asked_about() -> None:
    model = model_at(NOWHERE)
    with pytest.raises(ModelUnavailable, match=r"cannot reach http://127\.0\.0\.1:9/v1/ .*is the server running"):
        await anext(model.stream(REQUEST))
    await model.close()


async def test_closing_the_stream_early_ends_the_call_at_the_server(loopback: Loopback) -> None:
    gone, over = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        try:
            while not over.wait(0.005):
                exchange.event(chunk(content="more "))
        except OSError:
            gone.set()

    loopback.answer = answer
    model = model_at(f"{loopback.url}/v1")
    try:
        async with aclosing(model.stream(REQUEST)) as events:
            assert await anext(events) == TextDelta("more ")
        assert gone.wait(10)
    finally:
        over.set()
        await model.close()


async def test_no_other_server_is_sent_the_key_for_openai(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    loopback.stream(chunk("stop", content="Hi"), "[DONE]")
    await ask(loopback)
    await ask(loopback, api_key=" my-key\n")
    keys = [seen.headers["authorization"] for seen in loopback.seen]
    assert keys == ["Bearer none", "Bearer my-key"]


async def test_a_server_on_this_machine_is_reached_past_a_proxy(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    loopback.stream(chunk("stop", content="Hi"), "[DONE]")
    assert (await ask(loopback))[0] == ["Hi"]


def test_without_a_key_openai_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="set OPENAI_API_KEY"):
        model_at(None, "openai")


def test_without_the_sdk_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelUnavailable) as caught:
        model_at(NOWHERE)
    assert "pip install 'frontmind[openai]'" in str(caught.value)


async def test_counts_are_estimates_and_no_cache_rule_is_claimed() -> None:
    model = model_at(NOWHERE)
    counted = await model.count_request(REQUEST)
    assert (counted.tokens, counted.exact) == (5, False)
    assert (await model.count_text("eight by")).tokens == 2
    assert await model.expected_cached(REQUEST) is None
    await model.close()
