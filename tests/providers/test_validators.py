"""The validators refuse what the providers refuse: each rule is broken once in a body that is good without it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from providers.validators import anthropic, bedrock, gemini, openai_chat, openai_responses

Json: TypeAlias = Any
Break: TypeAlias = Callable[[Json], object]

SYSTEM_MESSAGE = {
    "role": "system",
    "content": [{"type": "text", "text": "It is late."}],
    "clear_at": "next_user_message",
}
MARKER = {"type": "ephemeral"}


def anthropic_body() -> Json:
    return {
        "model": "claude-opus-4-8",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {**MARKER, "ttl": "1h"}}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "tool_use", "id": "call_1", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "a cat", "cache_control": MARKER},
                    {"type": "text", "text": "Well?"},
                ],
            },
            copy.deepcopy(SYSTEM_MESSAGE),
        ],
    }


ANTHROPIC: dict[str, tuple[Break, str]] = {
    "an_unknown_key": (lambda b: b.update(betas=[]), "betas: extra inputs"),
    "no_limit": (lambda b: b.pop("max_tokens"), "max_tokens"),
    "no_model": (lambda b: b.pop("model"), "model: field required"),
    "no_messages": (lambda b: b.update(messages=[]), "at least one message"),
    "an_unknown_role": (lambda b: b["messages"][0].update(role="developer"), "is not one of"),
    "the_assistant_first": (lambda b: b["messages"][0].update(role="assistant"), "first message"),
    "an_empty_message": (lambda b: b["messages"][0].update(content=[]), "must have content"),
    "blank_text": (lambda b: b["messages"][0]["content"][0].update(text=" \n"), "blank"),
    "a_blank_string": (lambda b: b["messages"][0].update(content=" "), "blank"),
    "blank_system_text": (lambda b: b["system"][0].update(text=""), "system.0"),
    "a_call_by_the_user": (
        lambda b: b["messages"][0]["content"].append({"type": "tool_use", "id": "x", "name": "look", "input": {}}),
        "cannot stand in a user message",
    ),
    "a_call_with_arguments_as_text": (lambda b: b["messages"][1]["content"][1].update(input="{}"), "must be an object"),
    "a_call_with_an_odd_id": (lambda b: b["messages"][1]["content"][1].update(id="call 1"), "does not match"),
    "a_call_without_result": (lambda b: b["messages"][2]["content"].pop(0), "has no result"),
    "a_result_without_call": (
        lambda b: b["messages"][2]["content"][0].update(tool_use_id="call_9"),
        "has no call in the message before",
    ),
    "text_before_a_result": (lambda b: b["messages"][2]["content"].reverse(), "must stand first"),
    "a_call_id_twice": (
        lambda b: b["messages"][1]["content"].append({"type": "tool_use", "id": "call_1", "name": "look", "input": {}}),
        "unique",
    ),
    "an_image_in_an_error": (
        lambda b: b["messages"][2]["content"][0].update(
            is_error=True, content=[{"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}]
        ),
        "all content must be text",
    ),
    "an_image_of_a_strange_type": (
        lambda b: b["messages"][0]["content"].append(
            {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AAAA"}}
        ),
        "not a valid source",
    ),
    "thinking_without_signature": (lambda b: b["messages"][1]["content"][0].pop("signature"), "signature"),
    "thinking_at_the_end": (lambda b: b["messages"][1]["content"].reverse(), "cannot be thinking"),
    "a_marker_on_thinking": (
        lambda b: b["messages"][1]["content"][0].update(cache_control=MARKER),
        "cannot be set for thinking",
    ),
    "a_marker_on_empty_text": (
        lambda b: b["messages"][0]["content"][0].update(text="", cache_control=MARKER),
        "cannot be set for empty text",
    ),
    "a_marker_of_another_type": (
        lambda b: b["messages"][2]["content"][0].update(cache_control={"type": "persistent"}),
        "ephemeral marker",
    ),
    "a_marker_of_an_unknown_lifetime": (
        lambda b: b["messages"][2]["content"][0].update(cache_control={**MARKER, "ttl": "2h"}),
        "ttl is '2h'",
    ),
    "five_markers": (
        lambda b: b["messages"][2]["content"].extend(
            {"type": "text", "text": "More.", "cache_control": MARKER} for _ in range(3)
        ),
        "at most 4",
    ),
    "automatic_caching_beside_four_markers": (
        lambda b: (
            b["messages"][2]["content"].extend(
                {"type": "text", "text": "More.", "cache_control": MARKER} for _ in range(2)
            ),
            b.update(cache_control=MARKER),
        ),
        "at most 4",
    ),
    "a_longer_lifetime_behind_a_shorter": (
        lambda b: (
            b["system"][0].update(cache_control=MARKER)
            or b["messages"][2]["content"][0].update(cache_control={**MARKER, "ttl": "1h"})
        ),
        "longer ttl",
    ),
    "a_marker_on_a_system_message": (
        lambda b: b["messages"][3]["content"][0].update(cache_control=MARKER),
        "a system message cannot have cache_control",
    ),
    "a_system_message_for_an_older_model": (
        lambda b: b.update(model="claude-sonnet-4-6"),
        "not supported on this model",
    ),
    "a_system_message_before_the_user": (
        lambda b: b["messages"].append({"role": "user", "content": "And?"}),
        "cannot stand before a user message",
    ),
    "a_system_message_behind_the_assistant": (
        lambda b: b["messages"].insert(3, {"role": "assistant", "content": "A cat."}),
        "must follow a user message",
    ),
    "an_image_in_a_system_message": (
        lambda b: b["messages"][3]["content"].append({"type": "image", "source": {}}),
        "cannot stand in a system message",
    ),
    "clear_at_of_an_unknown_value": (lambda b: b["messages"][3].update(clear_at="tomorrow"), "is unknown"),
    "clear_at_on_a_user_message": (
        lambda b: b["messages"][2].update(clear_at="next_user_message"),
        "only permitted on system messages",
    ),
    "a_trailing_assistant_message": (
        lambda b: b["messages"].__setitem__(3, {"role": "assistant", "content": "A"}),
        "trailing assistant message",
    ),
    "trailing_white_space_of_the_assistant": (
        lambda b: b["messages"].__setitem__(3, {"role": "assistant", "content": "A "}),
        "trailing whitespace",
    ),
    "two_tools_of_one_name": (lambda b: b["tools"].append(b["tools"][0]), "names must be unique"),
    "a_tool_of_a_list": (lambda b: b["tools"][0].update(input_schema={"type": "array"}), "must be 'object'"),
    "a_tool_with_a_space": (lambda b: b["tools"][0].update(name="look up"), "does not match the pattern"),
    "a_marked_deferred_tool": (
        lambda b: b["tools"][0].update(defer_loading=True, cache_control={**MARKER, "ttl": "1h"}),
        "deferred",
    ),
}


def _anthropic(body: Json) -> list[str]:
    return anthropic.validate(body, betas=frozenset({anthropic.CLEAR_AT_BETA}))


def test_a_good_messages_body_is_accepted() -> None:
    assert _anthropic(anthropic_body()) == []


@pytest.mark.parametrize("name", ANTHROPIC)
def test_the_messages_api_refuses(name: str) -> None:
    refuses(_anthropic, anthropic_body(), *ANTHROPIC[name])


def refuses(validate: Callable[[Json], list[str]], body: Json, broken: Break, fragment: str) -> None:
    """The body is good, and with this change it is refused in these words."""
    assert not any(fragment in problem for problem in validate(body))
    broken(body)
    assert any(fragment in problem for problem in validate(body)), validate(body)


def test_a_turn_scoped_message_needs_the_beta_header() -> None:
    assert any("needs the beta header" in problem for problem in anthropic.validate(anthropic_body()))


def test_an_older_model_takes_a_trailing_assistant_message() -> None:
    body = anthropic_body()
    body["model"] = "claude-sonnet-4-5"
    body["messages"][3] = {"role": "assistant", "content": "A"}
    assert _anthropic(body) == []


def invoke_body() -> Json:
    body = anthropic_body()
    del body["model"], body["messages"][3]
    return {"anthropic_version": "bedrock-2023-05-31", **body}


INVOKE: dict[str, tuple[Break, str]] = {
    "a_model_in_the_body": (lambda b: b.update(model="x"), "model: extra inputs"),
    "no_version": (lambda b: b.pop("anthropic_version"), "anthropic_version"),
    "a_system_message": (lambda b: b["messages"].append(copy.deepcopy(SYSTEM_MESSAGE)), "not available on Bedrock"),
    "blank_text": (lambda b: b["messages"][0]["content"][0].update(text=""), "blank"),
}


def _invoke(body: Json) -> list[str]:
    return anthropic.validate_invoke(body, model="us.anthropic.claude-opus-4-8-v1:0")


def test_a_good_invoke_body_is_accepted() -> None:
    assert _invoke(invoke_body()) == []


@pytest.mark.parametrize("name", INVOKE)
def test_invoke_model_refuses(name: str) -> None:
    refuses(_invoke, invoke_body(), *INVOKE[name])


POINT = {"cachePoint": {"type": "default"}}


def converse_body() -> Json:
    return {
        "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "inferenceConfig": {"maxTokens": 100},
        "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]},
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Look."},
                    {"document": {"format": "pdf", "name": "A letter (1)", "source": {"bytes": "AAAA"}}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                    {"toolUse": {"toolUseId": "call_1", "name": "look", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "call_1", "content": [{"text": "a cat"}]}},
                    copy.deepcopy(POINT),
                    {"text": "Well?"},
                ],
            },
        ],
    }


CONVERSE: dict[str, tuple[Break, str]] = {
    "an_unknown_key": (lambda b: b.update(max_tokens=1), "max_tokens: extra inputs"),
    "no_messages": (lambda b: b.update(messages=[]), "at least one message"),
    "no_tokens": (lambda b: b["inferenceConfig"].update(maxTokens=0), "maxTokens"),
    "a_system_message": (lambda b: b["messages"][0].update(role="system"), "must alternate"),
    "two_user_messages_in_a_row": (
        lambda b: b["messages"].append({"role": "user", "content": [{"text": "And?"}]}),
        "must alternate",
    ),
    "a_trailing_assistant_message": (
        lambda b: b["messages"].append({"role": "assistant", "content": [{"text": "A"}]}),
        "must end with a user message",
    ),
    "an_empty_message": (lambda b: b["messages"][0].update(content=[]), "content is empty"),
    "blank_text": (lambda b: b["messages"][0]["content"][0].update(text=" "), "blank"),
    "blank_system_text": (lambda b: b["system"][0].update(text=""), "system.0"),
    "a_block_of_two_members": (lambda b: b["messages"][0]["content"][0].update(POINT), "exactly one"),
    "a_block_with_a_type": (
        lambda b: b["messages"][0]["content"].append({"type": "text", "text": "Hm."}),
        "exactly one",
    ),
    "an_image_of_the_assistant": (
        lambda b: b["messages"][1]["content"].append({"image": {"format": "png", "source": {"bytes": "AAAA"}}}),
        "cannot stand in a assistant message",
    ),
    "an_image_of_a_strange_format": (
        lambda b: b["messages"][0]["content"].append({"image": {"format": "image/png", "source": {"bytes": "AAAA"}}}),
        "valid format",
    ),
    "a_call_without_result": (lambda b: b["messages"][2]["content"].pop(0), "has no result"),
    "a_result_without_call": (
        lambda b: b["messages"][2]["content"][0]["toolResult"].update(toolUseId="x"),
        "has no call in the message before",
    ),
    "text_before_a_result": (lambda b: b["messages"][2]["content"].reverse(), "must stand first"),
    "a_blank_result": (
        lambda b: b["messages"][2]["content"][0]["toolResult"].update(content=[{"text": ""}]),
        "blank",
    ),
    "a_result_as_a_string": (
        lambda b: b["messages"][2]["content"][0]["toolResult"].update(content="a cat"),
        "must be a list",
    ),
    "a_strange_result": (
        lambda b: b["messages"][2]["content"][0]["toolResult"].update(content=[{"type": "text"}]),
        "cannot stand in a tool result",
    ),
    "a_result_of_an_unknown_status": (
        lambda b: b["messages"][2]["content"][0]["toolResult"].update(status="failed"),
        "status",
    ),
    "a_call_with_an_odd_id": (
        lambda b: b["messages"][1]["content"][1]["toolUse"].update(toolUseId="call 1"),
        "does not match",
    ),
    "a_call_with_arguments_as_text": (
        lambda b: b["messages"][1]["content"][1]["toolUse"].update(input="{}"),
        "must be an object",
    ),
    "tool_blocks_without_tools": (lambda b: b.pop("toolConfig"), "toolConfig: must be there"),
    "an_empty_list_of_tools": (lambda b: b["toolConfig"].update(tools=[]), "at least one"),
    "a_tool_of_a_list": (
        lambda b: b["toolConfig"]["tools"][0]["toolSpec"].update(inputSchema={"json": {"type": "array"}}),
        "must be 'object'",
    ),
    "a_tool_without_words": (lambda b: b["toolConfig"]["tools"][0]["toolSpec"].update(description=""), "description"),
    "reasoning_without_text": (
        lambda b: b["messages"][1]["content"][0].update(reasoningContent={}),
        "neither reasoningText",
    ),
    "a_document_with_a_dot": (
        lambda b: b["messages"][0]["content"][1]["document"].update(name="letter.pdf"),
        "document's name",
    ),
    "a_document_with_two_spaces": (
        lambda b: b["messages"][0]["content"][1]["document"].update(name="a  letter"),
        "document's name",
    ),
    "a_document_without_words": (lambda b: b["messages"][0]["content"].pop(0), "needs a text"),
    "two_documents_of_one_name": (
        lambda b: b["messages"][0]["content"].append(copy.deepcopy(b["messages"][0]["content"][1])),
        "one name",
    ),
    "a_point_with_nothing_before": (
        lambda b: b["messages"][0]["content"].insert(0, copy.deepcopy(POINT)),
        "nothing in front",
    ),
    "two_points_in_a_row": (lambda b: b["messages"][2]["content"].insert(1, copy.deepcopy(POINT)), "behind cachePoint"),
    "a_point_on_thinking": (
        lambda b: b["messages"][1]["content"].insert(1, copy.deepcopy(POINT)),
        "behind reasoningContent",
    ),
    "a_point_of_another_type": (
        lambda b: b["messages"][2]["content"][1]["cachePoint"].update(type="ephemeral"),
        "unknown type",
    ),
    "a_longer_lifetime_behind_a_shorter": (
        lambda b: (
            b["system"][1]["cachePoint"].update(ttl="5m"),
            b["messages"][2]["content"][1]["cachePoint"].update(ttl="1h"),
        ),
        "longer ttl",
    ),
    "five_points": (
        lambda b: [b["messages"][2]["content"].extend([{"text": "More."}, copy.deepcopy(POINT)]) for _ in range(3)],
        "at most 4",
    ),
}


def _converse(body: Json) -> list[str]:
    return bedrock.validate(body, model="us.anthropic.claude-opus-4-8-v1:0")


def test_a_good_converse_body_is_accepted() -> None:
    assert _converse(converse_body()) == []


@pytest.mark.parametrize("name", CONVERSE)
def test_converse_refuses(name: str) -> None:
    refuses(_converse, converse_body(), *CONVERSE[name])


def responses_body() -> Json:
    return {
        "model": "gpt-5.6-sol",
        "max_output_tokens": 100,
        "store": False,
        "prompt_cache_key": "a" * 32,
        "prompt_cache_options": {"mode": "explicit"},
        "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}],
        "input": [
            {"role": "developer", "content": "Be kind."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look.", "prompt_cache_breakpoint": {"mode": "explicit"}},
                ],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"role": "user", "content": "Now."},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "a cat"},
        ],
    }


RESPONSES: dict[str, tuple[Break, str]] = {
    "an_unknown_key": (lambda b: b.update(messages=[]), "messages: extra inputs"),
    "no_model": (lambda b: b.pop("model"), "model"),
    "too_few_tokens": (lambda b: b.update(max_output_tokens=8), "at least 16"),
    "a_long_cache_key": (lambda b: b.update(prompt_cache_key="a" * 65), "at most 64"),
    "blank_instructions": (lambda b: b.update(instructions=" "), "instructions"),
    "no_input": (lambda b: b.update(input=[]), "at least one item"),
    "an_unknown_item": (lambda b: b["input"].append({"type": "tool_use"}), "is unknown"),
    "an_unknown_role": (lambda b: b["input"][3].update(role="tool"), "is unknown"),
    "a_blank_string": (lambda b: b["input"][3].update(content=" "), "blank"),
    "blank_text": (lambda b: b["input"][2]["content"][0].update(text=""), "blank"),
    "an_empty_message": (lambda b: b["input"][2].update(content=[]), "must not be empty"),
    "generated_text_of_the_user": (lambda b: b["input"][1]["content"][0].update(type="output_text"), "is not one of"),
    "given_text_of_the_assistant": (lambda b: b["input"][2]["content"][0].update(type="input_text"), "is not one of"),
    "an_image_without_address": (
        lambda b: b["input"][1]["content"].append({"type": "input_image"}),
        "no valid image_url",
    ),
    "a_file_without_data": (
        lambda b: b["input"][1]["content"].append({"type": "input_file", "filename": "a.pdf"}),
        "neither data nor address",
    ),
    "a_file_without_name": (
        lambda b: b["input"][1]["content"].append(
            {"type": "input_file", "file_data": "data:application/pdf;base64,AAAA"}
        ),
        "needs a filename",
    ),
    "a_call_without_output": (lambda b: b["input"].pop(6), "no tool output found"),
    "an_output_without_call": (lambda b: b["input"][6].update(call_id="x"), "no tool call found"),
    "an_output_before_its_call": (lambda b: b["input"].insert(5, b["input"].pop(6)), "no tool call found"),
    "a_call_id_twice": (lambda b: b["input"].insert(6, b["input"][5]), "stands twice"),
    "a_message_between_call_and_output": (
        lambda b: b["input"].insert(6, {"role": "user", "content": "And?"}),
        "between a call and its output",
    ),
    "arguments_as_an_object": (lambda b: b["input"][5].update(arguments={}), "arguments are not valid"),
    "a_call_with_a_strange_id": (lambda b: b["input"][5].update(id="call_1"), "begins with 'fc'"),
    "a_message_with_a_strange_id": (lambda b: b["input"][2].update(id="1"), "begins with 'msg'"),
    "a_long_call_id": (
        lambda b: [b["input"][index].update(call_id="c" * 65) for index in (5, 6)],
        "1 to 64 characters",
    ),
    "an_output_as_an_object": (lambda b: b["input"][6].update(output={}), "must be a text"),
    "reasoning_without_its_item": (lambda b: b["input"].insert(3, b["input"].pop(4)), "required following item"),
    "reasoning_without_its_id": (lambda b: b["input"][4].pop("id"), "needs its id"),
    "reasoning_without_its_content": (lambda b: b["input"][4].pop("encrypted_content"), "encrypted_content"),
    "a_tool_without_strict": (lambda b: b["tools"][0].pop("strict"), "strict"),
    "an_open_strict_tool": (lambda b: b["tools"][0].update(strict=True), "a strict schema"),
    "a_breakpoint_on_generated_text": (
        lambda b: b["input"][2]["content"][0].update(prompt_cache_breakpoint={"mode": "explicit"}),
        "cannot stand on output_text",
    ),
    "a_breakpoint_on_a_tool": (
        lambda b: b["tools"][0].update(prompt_cache_breakpoint={"mode": "explicit"}),
        "not on tools",
    ),
    "a_breakpoint_on_a_message": (
        lambda b: b["input"][3].update(prompt_cache_breakpoint={"mode": "explicit"}),
        "on no part",
    ),
    "a_breakpoint_for_an_older_model": (lambda b: b.update(model="gpt-5.5"), "not supported by this model"),
    "an_unknown_mode": (lambda b: b["prompt_cache_options"].update(mode="auto"), "mode: unknown"),
    "an_unknown_mode_of_a_breakpoint": (
        lambda b: b["input"][1]["content"][0]["prompt_cache_breakpoint"].update(mode="auto"),
        "mode is explicit",
    ),
    "five_breakpoints": (lambda b: b["input"][1]["content"].extend(b["input"][1]["content"] * 4), "at most 4"),
}


def test_a_good_responses_body_is_accepted() -> None:
    assert openai_responses.validate(responses_body()) == []


@pytest.mark.parametrize("name", RESPONSES)
def test_the_responses_api_refuses(name: str) -> None:
    refuses(openai_responses.validate, responses_body(), *RESPONSES[name])


def chat_body() -> Json:
    return {
        "model": "gpt-5.6-sol",
        "max_completion_tokens": 100,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Look.", "prompt_cache_breakpoint": {"mode": "explicit"}}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "a cat"},
            {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
            {"role": "user", "content": "And?"},
        ],
    }


CHAT: dict[str, tuple[Break, str]] = {
    "an_unknown_key": (lambda b: b.update(session_id="x"), "session_id: extra inputs"),
    "the_old_limit": (lambda b: b.update(max_tokens=1), "use max_completion_tokens"),
    "no_model": (lambda b: b.pop("model"), "model"),
    "no_messages": (lambda b: b.update(messages=[]), "at least one"),
    "an_unknown_role": (lambda b: b["messages"][0].update(role="function"), "unknown to this server"),
    "blank_content": (lambda b: b["messages"][5].update(content=""), "blank"),
    "blank_text": (lambda b: b["messages"][4]["content"][0].update(text=" "), "blank"),
    "an_empty_list": (lambda b: b["messages"][4].update(content=[]), "must not be empty"),
    "nothing_without_calls": (lambda b: b["messages"][4].update(content=None), "beside tool_calls only"),
    "an_image_of_the_assistant": (
        lambda b: b["messages"][4]["content"].append({"type": "image_url", "image_url": {"url": "https://a.example"}}),
        "is not one of",
    ),
    "an_image_without_address": (
        lambda b: b["messages"][1]["content"].append({"type": "image_url", "image_url": "https://a.example"}),
        "no valid address",
    ),
    "a_file_without_data": (lambda b: b["messages"][1]["content"].append({"type": "file", "file": {}}), "no data"),
    "calls_of_the_user": (lambda b: b["messages"][5].update(tool_calls=[]), "only an assistant message"),
    "arguments_as_an_object": (
        lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
        "must be a string",
    ),
    "a_call_without_a_type": (lambda b: b["messages"][2]["tool_calls"][0].pop("type"), "not a valid function call"),
    "a_call_without_result": (lambda b: b["messages"].pop(3), "was not answered"),
    "a_last_call_without_result": (lambda b: b["messages"].__delitem__(slice(3, None)), "has no tool message"),
    "a_result_elsewhere": (lambda b: b["messages"].insert(4, b["messages"].pop(3)), "must follow the tool_calls"),
    "a_result_without_call": (lambda b: b["messages"][3].update(tool_call_id="x"), "must follow the tool_calls"),
    "a_result_without_id": (lambda b: b["messages"][3].pop("tool_call_id"), "tool_call_id"),
    "a_call_id_twice": (
        lambda b: b["messages"][2]["tool_calls"].append(b["messages"][2]["tool_calls"][0]),
        "one id",
    ),
    "a_trailing_assistant_message": (lambda b: b["messages"].pop(), "ends with an assistant message"),
    "nobody_who_asks": (lambda b: b["messages"].__delitem__(slice(1, None)), "no message of the user"),
    "a_tool_of_a_list": (
        lambda b: b["tools"][0]["function"].update(parameters={"type": "array"}),
        "an object's schema",
    ),
    "a_tool_without_type": (lambda b: b["tools"][0].pop("type"), "not a valid function"),
    "a_marker_for_claude": (
        lambda b: b["messages"][1]["content"][0].update(cache_control=MARKER),
        "cache_control: unknown",
    ),
    "a_breakpoint_on_generated_text": (
        lambda b: b["messages"][4]["content"][0].update(prompt_cache_breakpoint={"mode": "explicit"}),
        "generated text",
    ),
    "a_breakpoint_on_a_message": (
        lambda b: b["messages"][5].update(prompt_cache_breakpoint={"mode": "explicit"}),
        "on no part",
    ),
    "a_breakpoint_for_an_older_model": (lambda b: b.update(model="gpt-5.5"), "not supported by this model"),
    "five_breakpoints": (lambda b: b["messages"][1]["content"].extend(b["messages"][1]["content"] * 4), "at most 4"),
}


def test_a_good_chat_body_is_accepted() -> None:
    assert openai_chat.validate(chat_body()) == []


@pytest.mark.parametrize("name", CHAT)
def test_chat_completions_refuse(name: str) -> None:
    refuses(openai_chat.validate, chat_body(), *CHAT[name])


def server_body(server: openai_chat.Server) -> Json:
    body = chat_body()
    body["max_tokens"] = body.pop("max_completion_tokens")
    body["messages"][1]["content"] = "Look."
    body["messages"][4]["content"] = "A cat."
    return body | ({"session_id": "s"} if server.session else {})


@pytest.mark.parametrize("server", [openai_chat.DEEPSEEK, openai_chat.OPENROUTER, openai_chat.TEMPLATED])
def test_a_good_body_is_accepted_by_the_other_servers(server: openai_chat.Server) -> None:
    assert openai_chat.validate(server_body(server), server) == []


SERVERS: dict[str, tuple[openai_chat.Server, Break, str]] = {
    "openrouter_without_a_session": (openai_chat.OPENROUTER, lambda b: b.pop("session_id"), "session_id"),
    "openrouter_with_five_markers": (
        openai_chat.OPENROUTER,
        lambda b: b["messages"][1].update(
            content=[{"type": "text", "text": "Look.", "cache_control": MARKER} for _ in range(5)]
        ),
        "at most 4",
    ),
    "openrouter_with_a_marker_on_a_message": (
        openai_chat.OPENROUTER,
        lambda b: b["messages"][1].update(cache_control=MARKER),
        "on no part",
    ),
    "openrouter_with_a_longer_lifetime_behind_a_shorter": (
        openai_chat.OPENROUTER,
        lambda b: b["messages"][1].update(
            content=[
                {"type": "text", "text": "Look.", "cache_control": marker}
                for marker in (MARKER, {**MARKER, "ttl": "1h"})
            ]
        ),
        "longer ttl",
    ),
    "deepseek_with_a_developer": (
        openai_chat.DEEPSEEK,
        lambda b: b["messages"][0].update(role="developer"),
        "unknown to this server",
    ),
    "a_template_with_a_list": (
        openai_chat.TEMPLATED,
        lambda b: b["messages"][1].update(content=[{"type": "text", "text": "Look."}]),
        "a plain string",
    ),
    "a_template_with_two_user_messages": (
        openai_chat.TEMPLATED,
        lambda b: b["messages"].append({"role": "user", "content": "And?"}),
        "two user messages",
    ),
    "a_template_with_a_late_system_message": (
        openai_chat.TEMPLATED,
        lambda b: b["messages"].append({"role": "system", "content": "It is late."}),
        "no system message in a conversation",
    ),
    "a_template_with_the_assistant_first": (
        openai_chat.TEMPLATED,
        lambda b: b["messages"].pop(1),
        "begins with the user",
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_refuses(name: str) -> None:
    server, broken, fragment = SERVERS[name]
    refuses(lambda body: openai_chat.validate(body, server), server_body(server), broken, fragment)


def gemini_body() -> Json:
    call = {"functionCall": {"name": "look", "args": {}, "id": "c1"}, "thoughtSignature": "c2ln"}
    return {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "generationConfig": {"maxOutputTokens": 100},
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": {"type": "object"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [{"text": "Hm.", "thought": True}, call]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "look", "id": "c1", "response": {"result": "a cat"}}}],
            },
        ],
    }


GEMINI: dict[str, tuple[Break, str]] = {
    "an_unknown_key": (lambda b: b.update(messages=[]), "messages: extra inputs"),
    "no_contents": (lambda b: b.update(contents=[]), "is not specified"),
    "the_role_of_the_assistant": (lambda b: b["contents"][1].update(role="assistant"), "valid role"),
    "the_model_first": (lambda b: b["contents"].pop(0), "first turn"),
    "the_model_last": (
        lambda b: b["contents"].append({"role": "model", "parts": [{"text": "A cat."}]}),
        "must end with a turn of the user",
    ),
    "no_parts": (lambda b: b["contents"][0].update(parts=[]), "must not be empty"),
    "an_empty_part": (lambda b: b["contents"][0]["parts"].append({}), "one initialized field"),
    "a_part_with_a_type": (lambda b: b["contents"][0]["parts"][0].update(type="text"), "extra inputs"),
    "empty_text": (lambda b: b["contents"][0]["parts"][0].update(text=""), "the text is empty"),
    "a_blank_instruction": (lambda b: b["systemInstruction"]["parts"][0].update(text=" "), "systemInstruction"),
    "no_tokens": (lambda b: b["generationConfig"].update(maxOutputTokens=0), "maxOutputTokens"),
    "a_picture_without_type": (lambda b: b["contents"][0]["parts"][1]["inlineData"].pop("mimeType"), "mimeType"),
    "a_call_of_the_user": (
        lambda b: b["contents"][0]["parts"].append({"functionCall": {"name": "look"}}),
        "cannot stand in a turn of the user",
    ),
    "a_picture_of_the_model": (
        lambda b: b["contents"][1]["parts"].append(b["contents"][0]["parts"][1]),
        "cannot stand in a turn of the model",
    ),
    "arguments_as_text": (lambda b: b["contents"][1]["parts"][1]["functionCall"].update(args="{}"), "args"),
    "a_response_as_text": (
        lambda b: b["contents"][2]["parts"][0]["functionResponse"].update(response="a cat"),
        "must be an object",
    ),
    "a_response_without_call": (lambda b: b["contents"].pop(1), "right after a function call turn"),
    "a_call_without_response": (lambda b: b["contents"].pop(), "have no response"),
    "a_missing_response": (
        lambda b: b["contents"][1]["parts"].append({"functionCall": {"name": "look"}}),
        "1 function responses to 2",
    ),
    "a_response_of_another_name": (
        lambda b: b["contents"][2]["parts"][0]["functionResponse"].update(name="listen"),
        "are not those of the calls",
    ),
    "a_response_of_another_id": (
        lambda b: b["contents"][2]["parts"][0]["functionResponse"].update(id="c9"),
        "is that of no call",
    ),
    "a_call_behind_the_model": (
        lambda b: b["contents"].insert(1, {"role": "model", "parts": [{"text": "I look."}]}),
        "right after a turn of the user",
    ),
    "a_call_without_signature": (lambda b: b["contents"][1]["parts"][1].pop("thoughtSignature"), "thoughtSignature"),
    "a_signature_that_is_none": (
        lambda b: b["contents"][1]["parts"][1].update(thoughtSignature="a signature"),
        "is not base64",
    ),
    "a_tool_with_a_space": (lambda b: b["tools"][0]["functionDeclarations"][0].update(name="look up"), "is not valid"),
    "a_tool_with_two_schemas": (
        lambda b: b["tools"][0]["functionDeclarations"][0].update(parameters={}),
        "exclude each other",
    ),
    "a_marker": (lambda b: b["contents"][0]["parts"][0].update(cache_control=MARKER), "cache_control: unknown name"),
}


def _gemini(body: Json) -> list[str]:
    return gemini.validate(body, model="gemini-3-pro")


def test_a_good_gemini_body_is_accepted() -> None:
    assert _gemini(gemini_body()) == []


@pytest.mark.parametrize("name", GEMINI)
def test_gemini_refuses(name: str) -> None:
    refuses(_gemini, gemini_body(), *GEMINI[name])


def test_an_older_gemini_takes_a_call_without_signature() -> None:
    body = gemini_body()
    del body["contents"][1]["parts"][1]["thoughtSignature"]
    assert gemini.validate(body, model="gemini-2.5-flash") == []
