"""The two OpenAI formats: what is sent is what the SDK's types say, and what comes is read into the same values."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from frontmind.errors import UsageError
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.decoding.reply import DecodedRequest, Reply
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.profile import MarkerKind, Profile, UsageMeaning, Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import (
    Document,
    Image,
    Notice,
    Part,
    ProviderBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
)
from frontmind.values.section import PLACEMENT_NOTIFICATION, RULE, Author, Section
from frontmind.values.tool import ProviderTool, Tool
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.normalise import normalise, split_at_turn
from frontmind.window.window import Window
from support import SHARED_DATA

RESPONSES, CHAT = DECODERS[Wire.OPENAI_RESPONSES], DECODERS[Wire.OPENAI_CHAT]
EXPLICIT = {"mode": "explicit"}
PIXEL = Image("image/png", "aGk=")
PAPER = Document("application/pdf", "aGk=")
# The APIs refuse bytes without a name.
NAMED = Document("application/pdf", "aGk=", "", "document.pdf")
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA=="}
THOUGHT = Thinking("", "openai_responses", canonical_json(REASONING).decode())
CALL = ToolCall("call_1", "look", '{"q": "a"}')
LOOK = Tool("look", '{"properties":{},"type":"object"}', "Looks.")
TIME = Section("time", "<time>9:15</time>", PLACEMENT_NOTIFICATION, cache_policy=False, author=Author.APPLICATION)


def profile(name: str, **facts: object) -> Profile:
    provider, _, model = name.partition(":")
    return resolve_profile(provider, model, facts)


NEW, OLD = profile("openai:gpt-5.6"), profile("openai:gpt-5.5")
NEW_CHAT = profile("openai:gpt-5.6", wire=Wire.OPENAI_CHAT)
CLAUDE = profile("openrouter:anthropic/claude-sonnet-4.6", inputs=frozenset({"image/png", "application/pdf"}))
DEEPSEEK = profile("deepseek:deepseek-chat")
COMPATIBLE = profile("compatible:tiny")
HISTORY = (
    Message(Role.USER, (Text("see"), PIXEL, PAPER)),
    Message(Role.ASSISTANT, (THOUGHT, Text("I look."), CALL)),
    Message(Role.USER, (ToolResult("call_1", "found", attachments=(PIXEL,)), Text("and?"))),
    assistant("It is a pixel."),
)


def window(*turn: Message, history: tuple[Message, ...] = (), framing: Framing | None = None, **more: Any) -> Window:
    choice = None if framing is None else FramingChoice(framing)
    given: dict[str, Any] = {"sections": (TIME,), "tools": (LOOK,), "framing": choice, **more}
    return Window("Be kind.", "Be brief.", history, "CENTER", turn or (user("q"),), **given)


def encode(made: Window, model: Profile) -> dict[str, Any]:
    return encode_window(made, model, max_output_tokens=100)


@cache
def adapter(wire: Wire) -> TypeAdapter[Any]:
    if wire is Wire.OPENAI_RESPONSES:
        return TypeAdapter(ResponseCreateParamsStreaming)
    return TypeAdapter(CompletionCreateParamsStreaming)


def plain(value: Any) -> Any:
    """The value with every lazily checked list checked."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def assert_accepted(request: Mapping[str, Any], wire: Wire) -> None:
    """The SDK's own types know every key and every value of the request: an unknown key would be gone afterwards."""
    sent = {**request, "stream": True}
    assert plain(adapter(wire).validate_python(sent)) == sent


def breakpoints(value: Any) -> int:
    return json.dumps(value).count('"prompt_cache_breakpoint"')


# --- requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [NEW, OLD], ids=["5.6", "5.5"])
@pytest.mark.parametrize("framing", sorted({Framing(item) for item in OLD.framings}))
def test_a_whole_conversation_is_what_the_sdk_calls_a_responses_request(model: Profile, framing: Framing) -> None:
    first = window(user("q"), history=HISTORY, framing=framing, conversation="main")
    step = first.extended(
        Message(Role.ASSISTANT, (replace(CALL, id="call_2"),)), Message(Role.USER, (ToolResult("call_2", "x"),))
    )
    for made in (first, step):
        request = encode(made, model)
        assert_accepted(request, Wire.OPENAI_RESPONSES)
        assert (request["store"], request["include"]) == (False, ["reasoning.encrypted_content"])
        assert len(request["prompt_cache_key"]) == 32


def test_the_sdks_types_would_notice_a_wrong_key() -> None:
    request = encode(window(), NEW)
    with pytest.raises(AssertionError):
        assert_accepted({**request, "unheard_of": 1}, Wire.OPENAI_RESPONSES)


@pytest.mark.parametrize("framing", sorted({Framing(item) for item in NEW_CHAT.framings}))
def test_a_whole_conversation_is_what_the_sdk_calls_a_chat_request(framing: Framing) -> None:
    history = (HISTORY[0], Message(Role.ASSISTANT, (Text("I look."), CALL)), *HISTORY[2:])
    request = encode(window(user("q"), history=history, framing=framing), NEW_CHAT)
    assert_accepted(request, Wire.OPENAI_CHAT)
    assert "max_completion_tokens" in request


def test_the_items_of_a_responses_request_stand_in_their_order() -> None:
    request = encode(window(user("q"), history=HISTORY, framing=Framing.DEVELOPER), OLD)
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}
    paper = {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,aGk="}
    found = [{"type": "input_text", "text": "found"}, image]
    system, *items, operator = request["input"]
    assert system["content"] == [
        {"type": "input_text", "text": "Be kind."},
        {"type": "input_text", "text": "Be brief."},
    ]
    assert items == [
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, image, paper]},
        REASONING,
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"q": "a"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": found},
        {"role": "user", "content": [{"type": "input_text", "text": "and?"}]},
        {"role": "assistant", "content": "It is a pixel."},
        {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
    ]
    assert (system["role"], operator["role"]) == ("developer", "developer")
    assert TIME.content in operator["content"][0]["text"]


def test_reasoning_that_only_the_servers_memory_could_read_is_left_out() -> None:
    bare = Thinking("", "openai_responses", '{"id":"rs_1","type":"reasoning","summary":[]}')
    other = Thinking("", "anthropic", '{"type":"thinking"}')
    history = (user("a"), Message(Role.ASSISTANT, (bare, other, Text("b"))))
    items = encode(window(history=history), NEW)["input"]
    assert [item.get("role", item.get("type")) for item in items] == [
        "developer",
        "user",
        "assistant",
        "user",
        "developer",
    ]


def test_the_automatic_breakpoint_is_kept_where_the_user_message_stays_as_it_is() -> None:
    request = encode(window(user("q"), history=HISTORY, framing=Framing.DEVELOPER), NEW)
    assert "prompt_cache_options" not in request
    assert request["input"][0]["content"][0]["prompt_cache_breakpoint"] == EXPLICIT
    assert breakpoints(request) == 2


@pytest.mark.parametrize("model", [NEW, NEW_CHAT], ids=["responses", "chat"])
def test_explicit_breakpoints_stand_behind_durable_user_messages_only(model: Profile) -> None:
    history = (user("a"), assistant("b"), user("c"), assistant("d"))
    request = encode(window(user("q"), history=history, framing=Framing.USER_TEXT), model)
    system, *said = request.get("input") or request["messages"]
    assert request["prompt_cache_options"] == EXPLICIT
    marked = [item["content"][-1]["text"] for item in said if breakpoints(item)]
    assert marked == ["a", "c"]
    assert [breakpoints(part) for part in system["content"]] == [1, 0]


@pytest.mark.parametrize("model", [NEW, NEW_CHAT], ids=["responses", "chat"])
def test_a_tool_loop_is_marked_at_its_newest_results_and_nothing_before_changes(model: Profile) -> None:
    made = window(user("q"), history=(user("a"), assistant("b")), framing=Framing.USER_TEXT)
    for number in range(3):
        earlier = encode(made, model)
        call = ToolCall(f"call_{number}", "look", "{}")
        made = made.extended(Message(Role.ASSISTANT, (call,)), Message(Role.USER, (ToolResult(call.id, f"r{number}"),)))
        later = encode(made, model)
        key = "input" if "input" in later else "messages"
        before = without_markers(earlier[key])
        assert without_markers(later[key])[: len(before)] == before
    items = later[key]
    assert [breakpoints(item) for item in items if "r2" in json.dumps(item) or "r1" in json.dumps(item)] == [1, 1]
    assert breakpoints(items) == 4
    assert_accepted(later, model.wire)


def test_no_more_breakpoints_than_the_profile_allows() -> None:
    history = (user("a"), assistant("b"), user("c"), assistant("d"))
    for most in (1, 2, 3):
        model = profile("openai:gpt-5.6", max_markers=most)
        for framing in (Framing.USER_TEXT, Framing.DEVELOPER):
            request = encode(window(user("q"), history=history, framing=framing), model)
            implicit = "prompt_cache_options" not in request
            assert 1 <= breakpoints(request) + implicit <= most


def test_older_models_are_sent_no_breakpoint() -> None:
    for framing in (Framing.USER_TEXT, Framing.DEVELOPER):
        request = encode(window(user("q"), history=HISTORY, framing=framing), OLD)
        assert breakpoints(request) == 0
        assert "prompt_cache_options" not in request


def test_openrouter_takes_markers_on_texts_of_system_history_and_tools() -> None:
    made = window(
        user("q"), history=(user("a"), assistant("b"), Message(Role.USER, (Text("c"), PIXEL)), assistant("d"))
    )
    step = made.extended(Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (ToolResult("call_1", "x"),)))
    system, *said = encode(step, CLAUDE)["messages"]
    assert [part.get("cache_control") for part in system["content"]] == [{"type": "ephemeral", "ttl": "1h"}, None]
    assert [message["role"] for message in said if "cache_control" in json.dumps(message)] == ["assistant", "tool"]
    assert said[-1]["content"] == [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]


def test_a_picture_at_the_end_leaves_the_marker_to_the_text_in_front_of_it() -> None:
    made = window(Message(Role.USER, (Text("c"), PIXEL)), framing=Framing.APPEND, sections=(), tools=())
    *_, said = encode(made, CLAUDE)["messages"]
    assert ["cache_control" in part for part in said["content"]] == [False, True, False]


def test_servers_of_which_little_is_known_get_plain_strings() -> None:
    made = window(Message(Role.USER, (Text("one"), Text("two"))), history=(user("a"), assistant("b")))
    messages = encode(made, COMPATIBLE)["messages"]
    assert messages[0] == {"role": "system", "content": "Be kind.\n\nBe brief."}
    assert messages[-1] == {"role": "user", "content": "one\n\ntwo"}
    assert all(isinstance(message["content"], str) for message in messages)


def test_a_text_of_the_formats_own_is_not_lost_in_a_plain_string() -> None:
    cited = ProviderBlock("openai_chat", '{"type":"text","text":"cited","annotations":[]}', "cited")
    made = window(Message(Role.USER, (Text("one"), cited)))
    assert encode(made, COMPATIBLE)["messages"][-1]["content"] == "one\n\ncited"


def test_a_picture_is_never_lost_in_a_plain_string() -> None:
    model = profile("compatible:tiny", inputs=frozenset({"image/png"}))
    for wire, kind in ((Wire.OPENAI_CHAT, "image_url"), (Wire.OPENAI_RESPONSES, "input_image")):
        request = encode(window(Message(Role.USER, (Text("c"), PIXEL))), replaced(model, wire))
        said = (request.get("messages") or request["input"])[-1]
        assert said["content"][-1]["type"] == kind


def replaced(model: Profile, wire: Wire) -> Profile:
    return resolve_profile(model.provider, model.model, {"wire": wire, "inputs": model.inputs})


def test_deepseek_gets_its_reasoning_back_and_an_empty_one_where_the_model_wrote_nothing() -> None:
    thought = Thinking("Hm.", "openai_chat:reasoning_content", '{"reasoning_content":"Hm."}')
    history = (user("a"), Message(Role.ASSISTANT, (thought, Text("b"))), user("c"), assistant("imported"))
    messages = encode(window(history=history, framing=Framing.ASSISTANT), DEEPSEEK)["messages"]
    said = [
        (message["content"], message["reasoning_content"]) for message in messages if "reasoning_content" in message
    ]
    assert said == [("b", "Hm."), ("imported", ""), ("CENTER", "")]
    assert [message["role"] for message in messages].count("assistant") == 3


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        (DEEPSEEK, {"reasoning_content"}),
        (CLAUDE, {"reasoning_details", "reasoning"}),
        (NEW_CHAT, set()),
        (COMPATIBLE, set()),
        (profile("ollama:qwen3"), set()),
    ],
    ids=["deepseek", "openrouter", "openai", "compatible", "ollama"],
)
def test_reasoning_goes_back_only_to_a_server_of_the_kind_that_said_it(model: Profile, kept: set[str]) -> None:
    spoken: list[dict[str, Any]] = [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning_details": [{"text": "Hm."}]},
    ]
    thoughts = [reply_of(completion(content="b", **said)).message.parts[0] for said in spoken]
    history = (user("a"), Message(Role.ASSISTANT, (*thoughts, Text("b"))))
    request = encode(window(history=history, framing=Framing.USER_TEXT), model)
    (said,) = [message for message in request["messages"] if message["role"] == "assistant"]
    assert said.keys() - {"role", "content"} == kept
    assert {thought.wire for thought in thoughts if isinstance(thought, Thinking)} == {
        "openai_chat:reasoning_content",
        "openai_chat:reasoning",
        "openai_chat:reasoning_details",
    }


def test_invented_ids_of_two_replies_are_never_the_same() -> None:
    calls = [{"function": {"name": "look", "arguments": "{}"}}] * 2

    def ids(**more: Any) -> list[str]:
        read = CHAT.reply({**completion(content=None, tool_calls=calls), **more})
        return [part.id for part in read.message.parts if isinstance(part, ToolCall)]

    first, second = ids(id="chatcmpl-1"), ids(id="chatcmpl-2")
    counted = ids(usage={"prompt_tokens": 9, "completion_tokens": 1})
    assert len({*first, *second, *counted}) == 6
    assert first == ids(id="chatcmpl-1")


def test_the_invented_ids_of_a_stream_are_those_of_its_own_reply() -> None:
    def streamed_id(reply_id: str) -> str:
        piece = chunk(tool_calls=[{"function": {"name": "look", "arguments": "{}"}}])
        _, read = streamed([{**piece, "id": reply_id}, chunk("stop")], CHAT)
        assert read.stop is StopReason.TOOL_CALLS
        return next(part.id for part in read.message.parts if isinstance(part, ToolCall))

    assert streamed_id("chatcmpl-1") == streamed_id("chatcmpl-1") != streamed_id("chatcmpl-2")


def test_a_tool_message_of_several_texts_goes_back_as_it_came() -> None:
    texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    sent = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": texts},
    ]
    read = CHAT.request({"model": "m", "messages": sent})
    assert isinstance(result := read.messages[2].parts[0], ToolResult)
    assert (result.text, result.wire) == ("one\n\ntwo", "openai_chat")
    made = Window("", "", (), "", read.messages)
    old = profile("openai:gpt-5.5", wire=Wire.OPENAI_CHAT)
    assert encode(made, old)["messages"] == sent
    assert encode(made, COMPATIBLE)["messages"][2]["content"] == "one\n\ntwo"
    assert encode(made, OLD)["input"][-1] == {"type": "function_call_output", "call_id": "c1", "output": result.text}


def test_one_text_in_a_tool_message_is_plain_text_however_it_was_sent() -> None:
    for content in ("noon", [{"type": "text", "text": "noon"}]):
        message = {"role": "tool", "tool_call_id": "c1", "content": content}
        assert CHAT.request({"messages": [message]}).messages[0].parts == (ToolResult("c1", "noon"),)


def test_an_output_with_parts_that_no_value_holds_goes_back_as_it_came() -> None:
    output = [
        {"type": "input_text", "text": "one"},
        {"type": "input_file", "file_id": "file_1"},
        {"type": "input_text", "text": "two"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
    ]
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": output},
    ]
    read = RESPONSES.request({"model": "gpt-5.5", "input": items})
    assert isinstance(result := read.messages[2].parts[0], ToolResult)
    assert result.text == "one\n\n(a part of the format openai_responses)\n\ntwo"
    assert result.attachments == (PIXEL,)
    assert encode(Window("", "", (), "", read.messages), OLD)["input"] == items


def test_a_phase_stays_with_its_own_text() -> None:
    def text(said: str) -> dict[str, Any]:
        return {"type": "output_text", "text": said, "annotations": []}

    read = reply_of(response(message(text(" "), phase="commentary"), message(text("Hi"))))
    assert again(read.message.parts, NEW) == [{"role": "assistant", "content": "Hi"}]
    phase = Thinking("", "openai_responses", '{"phase":"commentary"}')
    looked = ProviderBlock("openai_responses", '{"type":"web_search_call","id":"w"}', "")
    items = again((phase, looked, Text("Hi")), NEW)
    assert items[-1] == {"role": "assistant", "content": "Hi"}


def test_a_reply_with_calls_stops_for_them_whatever_the_server_says() -> None:
    item = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert reply_of(response(item)).stop is StopReason.TOOL_CALLS
    assert reply_of(completion("stop", tool_calls=[call])).stop is StopReason.TOOL_CALLS
    assert reply_of({**response(item), **cut}).stop is StopReason.LENGTH


def test_a_server_s_count_is_read_as_the_user_says_that_it_is_meant() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 20}}
    assert CHAT.usage(usage, UsageMeaning.UNMARKED) == Usage(30, 20, 0, 2)
    assert CHAT.usage(usage, UsageMeaning.TOTAL) == CHAT.usage(usage) == Usage(10, 20, 0, 2)


@pytest.mark.parametrize("model", [NEW, NEW_CHAT], ids=["responses", "chat"])
def test_bytes_that_are_no_base64_are_refused_by_their_place(model: Profile) -> None:
    files = (Document("text/plain", "hello!"), Document("text/plain", "aGk"), Image("image/png", "aGk=\n"))
    for file in files:
        with pytest.raises(UsageError, match=r"message 0 behind the history, part 1: the bytes of a .* no base64"):
            encode(window(Message(Role.USER, (Text("q"), file)), framing=Framing.USER_TEXT), model)
    result = ToolResult("call_1", "x", attachments=(Image("image/png", "é"),))
    made = window(user("q"), Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (result,)), framing=Framing.USER_TEXT)
    with pytest.raises(UsageError, match="message 2 behind the history, part 0: the bytes of a image/png"):
        encode(made, model)


def test_a_block_of_another_format_that_says_nothing_visible_is_left_out() -> None:
    blank = ProviderBlock("anthropic", '{"type":"odd"}', " \n")
    for model in (NEW, NEW_CHAT):
        request = encode(window(Message(Role.USER, (Text("q"), blank)), framing=Framing.APPEND), model)
        assert "odd" not in (written := json.dumps(request))
        assert " \\n" not in written


@pytest.mark.parametrize("model", [NEW, CLAUDE], ids=["responses", "chat"])
def test_a_picture_that_the_assistant_said_is_refused_by_its_place(model: Profile) -> None:
    history = (user("a"), Message(Role.ASSISTANT, (Text("b"), PIXEL)))
    with pytest.raises(UsageError, match="message 1 of the history, part 1: the assistant cannot say a file"):
        encode(window(history=history), model)


@pytest.mark.parametrize("model", [NEW, NEW_CHAT], ids=["responses", "chat"])
def test_a_tool_of_another_format_is_refused_by_name(model: Profile) -> None:
    with pytest.raises(UsageError, match="the tool 'search' is one of the format gemini"):
        encode(window(tools=(ProviderTool("search", "gemini", "{}"),)), model)


# --- replies -----------------------------------------------------------------------------------------------------


def reply_of(body: Mapping[str, Any]) -> Reply:
    return (RESPONSES if "status" in body else CHAT).reply(body)


def response(*output: Mapping[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"object": "response", "status": status, "output": list(output), **more}


def message(*blocks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": list(blocks), **more}


def completion(finish: str | None = "stop", **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish}]}


def again(parts: tuple[Part, ...], model: Profile) -> list[Any]:
    """How a reply is given back in the next request."""
    request = encode(window(user("q"), history=(user("a"), Message(Role.ASSISTANT, parts))), model)
    items: list[Any] = request.get("messages") or request["input"]
    first = next(index for index, item in enumerate(items) if item.get("role") == "user")
    last = next(index for index in range(first + 1, len(items)) if items[index].get("role") == "user")
    return items[first + 1 : last]


def test_a_response_is_read_in_its_order_and_given_back_byte_for_byte() -> None:
    text = {"type": "output_text", "text": "Hi", "annotations": []}
    read = reply_of(response(REASONING, message(text, phase="final_answer")))
    assert read.message.text == "Hi"
    assert read.stop is StopReason.END
    items = again(read.message.parts, NEW)
    assert items == [REASONING, {"role": "assistant", "content": "Hi", "phase": "final_answer"}]


def test_a_call_of_a_response_is_a_call() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"q": 1}'}
    assert reply_of(response(item)).message.parts == (ToolCall("call_1", "look", '{"q": 1}'),)


@pytest.mark.parametrize(
    ("body", "stop"),
    [
        (response(), StopReason.END),
        (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), StopReason.LENGTH),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), StopReason.REFUSAL),
        (response(message({"type": "refusal", "refusal": "No."})), StopReason.REFUSAL),
        (response(status="failed"), None),
        (response(status="in_progress"), None),
        (completion("length"), StopReason.LENGTH),
        (completion("content_filter"), StopReason.REFUSAL),
        (completion("tool_calls"), StopReason.TOOL_CALLS),
        (completion("stop", refusal="No."), StopReason.REFUSAL),
        (completion("error"), None),
        (completion(None), None),
        ({"choices": []}, None),
    ],
)
def test_why_it_stopped_is_read_in_one_meaning(body: dict[str, Any], stop: StopReason | None) -> None:
    assert reply_of(body).stop is stop


def test_a_refusal_is_text() -> None:
    assert reply_of(response(message({"type": "refusal", "refusal": "No."}))).message.text == "No."
    assert reply_of(completion(refusal="No.")).message.text == "No."


def test_openrouters_signed_reasoning_goes_back_as_it_came() -> None:
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "index": 0, "format": "anthropic"}]
    read = reply_of(completion(content="Hi", reasoning="Hm.", reasoning_details=details))
    thought = read.message.parts[0]
    assert isinstance(thought, Thinking)
    assert thought.text == "Hm."
    (item,) = again(read.message.parts, profile("openrouter:openai/gpt-5"))
    assert item == {"role": "assistant", "content": "Hi", "reasoning_details": details}


# --- streams -----------------------------------------------------------------------------------------------------


def streamed(events: Iterable[Mapping[str, Any]], decoder: Any) -> tuple[str, Reply]:
    assembler = decoder.assembler()
    return "".join(assembler.add(event) for event in events), decoder.reply(assembler.body())


def test_the_events_of_a_response_make_the_same_reply_as_its_json() -> None:
    said = message({"type": "output_text", "text": "Hello", "annotations": []})
    usage = {"input_tokens": 9, "output_tokens": 3}
    whole = response(REASONING, said, usage=usage)
    for last in (whole, {**whole, "output": []}):
        events: list[Any] = [
            {"type": "response.created", "response": response(status="in_progress")},
            {"type": "response.output_item.added", "output_index": 0, "item": {**REASONING, "encrypted_content": ""}},
            {"type": "response.output_item.done", "output_index": 1, "item": said},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "lo"},
            {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
            {"type": "response.completed", "response": last},
        ]
        assert streamed(events, RESPONSES) == ("Hello", RESPONSES.reply(whole))


def test_a_response_without_its_end_has_not_stopped() -> None:
    events = [{"type": "response.created", "response": response(status="in_progress")}]
    assert streamed(events, RESPONSES)[1].stop is None


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_the_pieces_of_signed_reasoning_are_put_together() -> None:
    def piece(**detail: Any) -> dict[str, Any]:
        return chunk(content="", reasoning_details=[{"type": "reasoning.text", "index": 0, **detail}])

    locked = {"type": "reasoning.encrypted", "data": "eA==", "index": 1}
    events = [
        piece(text="H"),
        piece(text="m.", format="anthropic"),
        piece(signature="c2ln", format=None),
        chunk(reasoning_details=[locked]),
        chunk(reasoning_details=[locked]),
        chunk("stop", content="Hi"),
    ]
    shown, read = streamed(events, CHAT)
    assert shown == "Hi"
    joined = {"type": "reasoning.text", "index": 0, "text": "Hm.", "format": "anthropic", "signature": "c2ln"}
    assert isinstance(thought := read.message.parts[0], Thinking)
    assert json.loads(thought.data) == {"reasoning_details": [joined, locked, locked]}
    assert thought.text == "Hm."


def test_reasoning_that_comes_as_parts_of_the_content_is_not_shown() -> None:
    blocks = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
    assert streamed([chunk("stop", content=blocks)], CHAT)[0] == "Hi"


# --- usage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 30, "completion_tokens": 2}, Usage(30, 0, 0, 2)),
        (
            {
                "prompt_tokens": 30,
                "completion_tokens": 2,
                "prompt_cache_hit_tokens": 20,
                "prompt_cache_miss_tokens": 10,
            },
            Usage(30, 20, 0, 2),
        ),
        (
            {"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 16}},
            Usage(30, 16, 0, 2),
        ),
        ({"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(30, 0, 0, 2)),
        ({"prompt_tokens": "many", "completion_tokens": 2}, None),
        ({"prompt_tokens": 30, "completion_tokens": None}, None),
    ],
)
def test_the_usage_of_chat_is_a_total(usage: dict[str, Any], read: Usage | None) -> None:
    assert CHAT.usage(usage) == read


def test_the_usage_of_a_response_is_a_total_and_tells_the_lifetimes() -> None:
    details = {
        "cached_tokens": 10,
        "cache_write_tokens": 15,
        "cache_write_tokens_details": {"ttl_12h_tokens": 0, "ttl_30m_tokens": 15},
    }
    read = RESPONSES.usage({"input_tokens": 30, "input_tokens_details": details, "output_tokens": 2})
    assert read == Usage(30, 10, 15, 2, written_by_ttl=(("30m", 15),))
    assert read.fresh == 5
    assert RESPONSES.usage({"input_tokens": 1}) is None


def test_the_engines_timings_stand_in_for_missing_usage() -> None:
    body = {**completion(content="Hi"), "timings": {"cache_n": 20, "prompt_n": 5, "predicted_n": 3}}
    assert reply_of(body).usage == Usage(25, 20, 0, 3)
    assert reply_of({**body, "usage": {"prompt_tokens": 30, "completion_tokens": 2}}).usage == Usage(30, 0, 0, 2)
    assert reply_of({**body, "timings": {"prompt_n": 5}}).usage is None


# --- requests read back --------------------------------------------------------------------------------------------


def test_a_request_is_read_back_as_what_it_was_made_from() -> None:
    for model in (NEW, OLD):
        made = window(user("q"), history=HISTORY, framing=Framing.DEVELOPER, conversation="main")
        read = RESPONSES.request(encode(made, model))
        assert read.system == ("Be kind.", "Be brief.")
        assert read.tools == (LOOK,)
        assert (read.model, read.rest["max_output_tokens"]) == (model.model, 100)
        *history, turn = read.messages
        assert normalise(history).messages == (Message(Role.USER, (Text("see"), PIXEL, NAMED)), *HISTORY[1:])
        assert isinstance(notice := turn.parts[-1], Notice)
        assert turn.parts[:-1] == (Text("q"),)
        assert notice.voice is Voice.OPERATOR
        assert TIME.content in notice.text


@pytest.mark.parametrize("operator", [Framing.DEVELOPER, Framing.USER_TEXT])
def test_a_chat_request_is_read_back_as_what_it_was_made_from(operator: Framing) -> None:
    other = Thinking("", "openai_chat", '{"prefix":true}')
    history = (HISTORY[0], Message(Role.ASSISTANT, (other, Text("I look."), CALL)), *HISTORY[2:])
    read = CHAT.request(encode(window(user("q"), history=history, framing=operator), NEW_CHAT))
    *earlier, _ = read.messages
    # A picture in a result stands behind it in this format.
    moved = Message(Role.USER, (ToolResult("call_1", "found"), Text("and?"), PIXEL))
    assert normalise(earlier).messages == (
        Message(Role.USER, (Text("see"), PIXEL, NAMED)),
        history[1],
        moved,
        history[3],
    )
    assert read.tools == (LOOK,)


def test_instructions_are_read_as_system_text() -> None:
    read = RESPONSES.request({"model": "m", "instructions": "Be kind.", "input": "Hello"})
    assert (read.system, read.messages) == (("Be kind.",), (user("Hello"),))


def test_what_has_no_value_of_its_own_is_kept_as_it_came() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    approval = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}
    stored = {"type": "input_image", "detail": "low", "image_url": "https://example.org/a.png"}
    items = [
        {"role": "user", "content": [stored, {"type": "input_text", "text": "a"}]},
        search,
        {"role": "assistant", "content": "b"},
        approval,
        {"role": "user", "content": [{"type": "input_text", "text": "c"}]},
    ]
    read = RESPONSES.request({"model": "gpt-5.5", "input": items})
    assert isinstance(block := read.messages[1].parts[0], ProviderBlock)
    assert json.loads(block.data) == search
    history, turn = split_at_turn(normalise(read.messages).messages)
    made = Window("", "", history, "", turn)
    assert encode(made, OLD)["input"] == items


@pytest.mark.parametrize(
    ("decoder", "body"),
    [
        (CHAT, {"messages": [{"role": "narrator", "content": "a"}]}),
        (RESPONSES, {"input": [{"role": "narrator", "content": "a"}]}),
    ],
    ids=["chat", "responses"],
)
def test_an_unknown_role_is_named(decoder: Any, body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="narrator"):
        decoder.request(body)


# --- recorded requests -------------------------------------------------------------------------------------------

RECORDED = SHARED_DATA / "cache" / "recorded_requests.jsonl"
PROVIDERS = {"api.openai.com": "openai", "openrouter.ai": "openrouter", "api.mistral.ai": "compatible"}


def recorded() -> list[Any]:
    if not RECORDED.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"{RECORDED.name} is not there"))]
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["uri"].split("/")[2] in PROVIDERS]


def recorded_profile(row: Mapping[str, Any]) -> Profile:
    wire = Wire.OPENAI_RESPONSES if row["uri"].endswith("/responses") else Wire.OPENAI_CHAT
    # What is sent as one text or as a list of one is the same; a marker needs the list.
    known = {"wire": wire, "plain_content": False, "markers": MarkerKind.NONE, "max_markers": 0, "look_back": None}
    return resolve_profile(PROVIDERS[row["uri"].split("/")[2]], row["model"], known)


def without_markers(value: Any) -> Any:
    if isinstance(value, dict):
        keys = ("cache_control", "prompt_cache_breakpoint")
        return {key: without_markers(item) for key, item in value.items() if key not in keys}
    return [without_markers(item) for item in value] if isinstance(value, list) else value


def comparable(request: Mapping[str, Any]) -> Any:
    """The request without markers, each list of one text as that text."""
    bare = without_markers(copy.deepcopy(dict(request)))
    for item in bare.get("messages") or bare["input"]:
        match item.get("content"):
            case [{"type": "text" | "input_text", "text": text}]:
                item["content"] = text
    return bare


def rebuilt(read: DecodedRequest) -> Window:
    history, turn = split_at_turn(normalise(read.messages).messages)
    framing = FramingChoice(Framing.USER_TEXT)
    return Window("\n\n".join(read.system), "", history, "", turn, tools=read.tools, framing=framing)


@pytest.mark.requirement("WIRE-2")
@pytest.mark.parametrize("row", recorded())
def test_a_recorded_request_is_read_and_written_again_without_a_changed_byte(row: dict[str, Any]) -> None:
    model = recorded_profile(row)
    read = DECODERS[model.wire].request(row["request"])
    written = encode_window(rebuilt(read), model, max_output_tokens=1, extra=read.rest)
    added = {"max_output_tokens", "store", "include", model.max_tokens_key} - row["request"].keys()
    assert comparable({key: value for key, value in written.items() if key not in added}) == comparable(row["request"])


@pytest.mark.parametrize("row", recorded())
def test_recorded_usage_is_read_to_the_recorded_figures(row: dict[str, Any]) -> None:
    usage = row["usage"]
    read = DECODERS[recorded_profile(row).wire].usage(usage)
    assert read is not None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    assert read.input + read.output == usage["total_tokens"]
    assert (read.cached, read.written) == (details["cached_tokens"], details.get("cache_write_tokens", 0))
    assert 0 <= read.fresh <= read.input


def test_the_center_of_a_user_text_stands_between_rules() -> None:
    said = encode(window(framing=Framing.USER_TEXT), NEW)["input"][-1]
    assert [part["text"] for part in said["content"]] == [f"{RULE}\nCENTER", "q"]


def test_a_block_that_says_it_is_a_text_and_has_none_goes_back_as_it_came() -> None:
    odd = ProviderBlock("openai_chat", '{"type":"text"}')
    for name in ("compatible:m@http://127.0.0.1:1/v1", "openai:gpt-4o"):
        profile = replace(resolve_profile(name.partition(":")[0], "m"), wire=Wire.OPENAI_CHAT)
        window = Window("S", "", (), "", (Message(Role.USER, (Text("Hello."), odd)),))
        content = encode_window(window, profile, max_output_tokens=9)["messages"][-1]["content"]
        assert content == [{"type": "text", "text": "Hello."}, {"type": "text"}]
