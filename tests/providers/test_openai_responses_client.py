"""The Responses client, the real SDK against a scripted server: replies, failures, and what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontmind.errors import (
    MalformedReply,
    ModelError,
    ModelUnavailable,
    RateLimited,
    RequestRefused,
    UsageError,
    WindowTooLarge,
)
from frontmind.providers.openai_responses import OpenAIResponsesModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, StopReason, TextDelta
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import Text, Thinking, ToolCall, ToolResult
from frontmind.values.usage import Usage
from frontmind.window.window import Window
from providers.loopback import Exchange, Loopback
from providers.validators import openai_responses
from support import without_markers

REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAAA==",
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"q": "x"}',
    "status": "completed",
}
USAGE = {
    "input_tokens": 4020,
    "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 12},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 4025,
}
WINDOW = Window("Be short.", "", (), "", (user("Hello?"),), conversation="main")


def response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "model": "gpt-5.6", "status": status, "output": list(output), **more}


def said(text: str) -> dict[str, Any]:
    block = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [block]}


def delta(text: str, index: int = 0) -> dict[str, Any]:
    return {
        "type": "response.output_text.delta",
        "item_id": "msg_1",
        "output_index": index,
        "content_index": 0,
        "delta": text,
        "logprobs": [],
        "sequence_number": 1,
    }


def done(item: Any, index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item, "sequence_number": 2}


def ended(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    whole = response(*output, status=status, **more)
    return {"type": f"response.{status}", "response": whole, "sequence_number": 3}


def model_at(url: str, **options: Any) -> OpenAIResponsesModel:
    profile = resolve_profile("openai", "gpt-5.6")
    return OpenAIResponsesModel(
        profile,
        name="openai:gpt-5.6",
        framing=choose_framing(profile),
        max_output_tokens=200,
        base_url=url,
        **options,
    )


async def ask(loopback: Loopback, window: Window = WINDOW, **options: Any) -> tuple[list[str], Finished]:
    model = model_at(f"{loopback.url}/v1", **options)
    pieces: list[str] = []
    try:
        async for event in model.stream(model.encode(window)):
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
    assert caught.value.model == "openai:gpt-5.6"
    return caught.value


async def test_text_comes_in_pieces_and_the_whole_reply_last(loopback: Loopback) -> None:
    reply = said("Hello.")
    loopback.stream(delta("Hel", 1), delta("lo.", 1), done(REASONING), done(reply, 1), ended(usage=USAGE))
    pieces, finished = await ask(loopback)
    assert pieces == ["Hel", "lo."]
    thinking, text = finished.message.parts
    assert text == Text("Hello.")
    assert isinstance(thinking, Thinking)
    assert (thinking.text, json.loads(thinking.data)) == ("Hm.", REASONING)
    assert (finished.usage, finished.stop) == (Usage(4020, 4000, 12, 5), StopReason.END)


async def test_the_request_is_sent_as_it_is_stored_and_the_api_would_take_it(loopback: Loopback) -> None:
    loopback.stream(delta("Hi"), ended(said("Hi")))
    await ask(loopback)
    sent = json.loads(loopback.seen[0].body)
    stored = model_at(loopback.url).encode(WINDOW)
    assert sent == {**stored, "stream": True}
    assert openai_responses.validate(sent) == []
    assert loopback.seen[0].path == "/v1/responses"


async def test_a_reply_with_reasoning_and_calls_goes_back_as_it_came(loopback: Loopback) -> None:
    loopback.stream(done(REASONING), done(CALL, 1), ended(usage=USAGE))
    _, finished = await ask(loopback)
    assert finished.stop is StopReason.TOOL_CALLS
    assert isinstance(finished.message.parts[1], ToolCall)
    step = WINDOW.extended(finished.message, Message(Role.USER, (ToolResult("call_1", "found"),)))
    loopback.stream(delta("Done"), ended(said("Done")))
    await ask(loopback, step)
    sent = json.loads(loopback.seen[1].body)
    assert openai_responses.validate(sent) == []
    assert without_markers(sent["input"][:2]) == without_markers(json.loads(loopback.seen[0].body)["input"])
    assert sent["input"][2] == REASONING
    assert sent["input"][3] == {key: CALL[key] for key in ("type", "call_id", "name", "arguments")}
    assert sent["input"][4]["output"] == [{"type": "input_text", "text": "found"}]


async def test_without_usage_from_the_server_it_is_an_estimate(loopback: Loopback) -> None:
    loopback.stream(delta("Hello there"), ended(said("Hello there")))
    _, finished = await ask(loopback)
    assert finished.usage.estimated
    assert finished.usage.input > 3


async def test_a_reply_ends_at_its_limit(loopback: Loopback) -> None:
    end = ended(said("Hel"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    loopback.stream(delta("Hel"), end)
    assert (await ask(loopback))[1].stop is StopReason.LENGTH


async def test_a_refusal_is_text_with_its_own_reason(loopback: Loopback) -> None:
    item = {**said(""), "content": [{"type": "refusal", "refusal": "I cannot."}]}
    piece = {**delta("I cannot."), "type": "response.refusal.delta"}
    loopback.stream(piece, done(item), ended())
    pieces, finished = await ask(loopback)
    assert (pieces, finished.message.text) == (["I cannot."], "I cannot.")
    assert finished.stop is StopReason.REFUSAL


async def test_a_reply_of_reasoning_alone_is_an_empty_reply(loopback: Loopback) -> None:
    end = ended(REASONING, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    loopback.stream(end)
    assert "empty reply (it stopped at its limit of 200 output tokens)" in str(await failure(loopback))


async def test_events_that_nobody_knows_yet_change_nothing(loopback: Loopback) -> None:
    loopback.stream({"type": "response.brand_new", "response_id": "r"}, delta("Hi"), ended(said("Hi")))
    assert (await ask(loopback))[0] == ["Hi"]


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("server_error", ModelError, "try again"),
        ("rate_limit_exceeded", RateLimited, "try again later"),
        ("invalid_prompt", RequestRefused, "refused the request"),
        ("something_new", ModelError, "try again"),
    ],
)
async def test_a_response_that_fails_says_why(
    loopback: Loopback, code: str, kind: type[ModelError], advice: str
) -> None:
    problem = {"code": code, "message": "because\nof this"}
    named = {"type": "error", "param": None, "sequence_number": 4, **problem}
    for event in (ended(status="failed", error=problem), named, {"type": "error", "error": problem}):
        loopback.stream(delta("Hel"), event)
        error = await failure(loopback)
        assert "because of this" in str(error)
        if "error" not in event:
            assert type(error) is kind
            assert advice in str(error)


async def test_a_failure_without_a_reason_is_still_one(loopback: Loopback) -> None:
    loopback.stream(ended(status="failed", error=None))
    assert "no reason given" in str(await failure(loopback))


@pytest.mark.parametrize("within", [False, True], ids=["as an answer", "within the stream"])
async def test_a_window_that_is_too_large_says_how_large(loopback: Loopback, within: bool) -> None:
    text = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
    problem = {"code": "context_length_exceeded", "message": text}
    if within:
        loopback.stream(ended(status="failed", error=problem))
    else:
        loopback.answer_with(400, {"error": problem})
    error = await failure(loopback)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (9000, 8192)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_request_will_never_be_taken(loopback: Loopback, status: int) -> None:
    loopback.answer_with(status, {"error": {"message": "Unknown\nparameter", "type": "invalid_request_error"}})
    error = await failure(loopback)
    assert isinstance(error, RequestRefused)
    assert (error.status, "Unknown parameter" in str(error)) == (status, True)


async def test_a_wrong_key_says_what_to_check(loopback: Loopback) -> None:
    loopback.answer_with(401, {"error": {"message": "no"}})
    error = await failure(loopback)
    assert isinstance(error, ModelUnavailable)
    assert "check the API key" in str(error)


async def test_a_stream_that_stops_in_the_middle_is_an_error(loopback: Loopback) -> None:
    loopback.stream(delta("Hel"), done(said("Hel")))
    assert "broke off" in str(await failure(loopback))


@pytest.mark.parametrize("event", ['{"type": ', [1], {"type": "response.completed", "response": {"output": 5}}])
async def test_what_is_no_reply_is_an_error(loopback: Loopback, event: Any) -> None:
    loopback.stream(event)
    assert type(await failure(loopback)) is MalformedReply


async def test_a_connection_that_breaks_in_the_middle_is_an_error(loopback: Loopback) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.send_response(200)
        exchange.send_header("Content-Type", "text/event-stream")
        exchange.send_header("Content-Length", "100000")
        exchange.end_headers()
        exchange.event(delta("Hel"))

    loopback.answer = answer
    assert "broke off" in str(await failure(loopback))


async def test_no_other_server_is_sent_the_key_for_openai(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    loopback.stream(delta("Hi"), ended(said("Hi")))
    await ask(loopback)
    await ask(loopback, api_key=" my-key\n")
    assert [seen.headers["authorization"] for seen in loopback.seen] == ["Bearer none", "Bearer my-key"]


def test_a_profile_of_another_format_is_refused() -> None:
    profile = resolve_profile("deepseek", "deepseek-chat")
    with pytest.raises(UsageError, match="it speaks 'openai_responses'"):
        OpenAIResponsesModel(profile, name="deepseek:x", framing=choose_framing(profile), max_output_tokens=10)
