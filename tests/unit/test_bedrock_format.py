"""Bedrock's two formats: what is written, what is read back, and that both agree with recorded requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from frontmind.errors import UsageError
from frontmind.providers.decoding.bedrock import ConverseDecoder, InvokeDecoder
from frontmind.providers.encoding.bedrock import ConverseDialect, converse_arguments
from frontmind.providers.encoding.encode import encode_window, window_choice
from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.profiles.resolve import parse_overrides, resolve_profile
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult
from frontmind.values.section import RULE
from frontmind.values.tool import Tool
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.framing import closed
from frontmind.window.window import Window
from support import SHARED_DATA

CLAUDE = resolve_profile(
    "bedrock",
    "anthropic.claude-sonnet-4-5-20250929-v1:0",
    parse_overrides("inputs=image/png+application/pdf+text/plain"),
)
INVOKE = resolve_profile(
    "bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", parse_overrides("wire=bedrock_invoke,markers=cache_control")
)
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YQ=="}}
POINT = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}
CALL = Message(Role.ASSISTANT, (Text("I look."), ToolCall("c1", "look", '{"a":1}'), ToolCall("c2", "now", "")))
RESULTS = Message(Role.USER, (Text("well?"), ToolResult("c1", "a cat"), ToolResult("c2", "", is_error=True)))
PDF = "JVBERi0="
RECORDED = SHARED_DATA / "cache" / "recorded_requests.jsonl"


def window(history: Sequence[Message] = (), turn: Sequence[Message] = (user("q"),), **more: Any) -> Window:
    return Window("cached", "uncached", history, more.pop("center", ""), tuple(turn), **more)


def converse(made: Window) -> dict[str, Any]:
    return encode_window(made, CLAUDE, max_output_tokens=9)


def said(*parts: Part, role: Role = Role.USER) -> Message:
    return Message(role, parts)


def content(made: Window, index: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = converse(made)["messages"][index]["content"]
    return blocks


def without_points(value: Any) -> Any:
    if isinstance(value, list):
        return [without_points(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    if isinstance(value, dict):
        return {key: without_points(item) for key, item in value.items()}
    return value


# --- Writing Converse --------------------------------------------------------------------------------------------


def test_cache_points_stand_behind_what_they_close_and_the_section_behind_them() -> None:
    history = (user("a"), assistant("b"), user("c"), assistant("d"))
    assert converse(window(history, center="N")) == {
        "modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "inferenceConfig": {"maxTokens": 9},
        "system": [{"text": "cached"}, HOUR, {"text": "uncached"}],
        "messages": [
            {"role": "user", "content": [{"text": "a"}]},
            {"role": "assistant", "content": [{"text": "b"}, POINT]},
            {"role": "user", "content": [{"text": "c"}]},
            {"role": "assistant", "content": [{"text": "d"}, POINT]},
            {"role": "user", "content": [{"text": f"{RULE}\nN"}, {"text": "q"}]},
        ],
    }


def test_a_tool_result_stands_first_and_an_empty_one_still_says_something() -> None:
    assert content(window((user("a"), CALL, RESULTS, assistant("b"))), 2) == [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "a cat"}]}},
        {"toolResult": {"toolUseId": "c2", "content": [{"text": "(no output)"}], "status": "error"}},
        {"text": "well?"},
    ]


def test_called_tools_are_declared_when_the_window_has_none() -> None:
    made = window((user("a"), CALL, RESULTS, assistant("b")))
    names = [tool["toolSpec"]["name"] for tool in converse(made)["toolConfig"]["tools"]]
    assert names == ["look", "now"]
    declared = converse(replace(made, tools=(Tool("see", description="sees"),)))["toolConfig"]
    assert declared == {
        "tools": [{"toolSpec": {"name": "see", "description": "sees", "inputSchema": {"json": {"type": "object"}}}}]
    }
    assert "toolConfig" not in converse(window())


def test_no_cache_point_follows_reasoning_or_a_document() -> None:
    reasoning = Thinking("r", "bedrock_converse", '{"reasoningContent":{"reasoningText":{"signature":"s","text":"r"}}}')
    ended = said(reasoning, Text("b"), reasoning, role=Role.ASSISTANT)
    # Reasoning that nothing follows is of a reply that was cut off, and Claude refuses it there.
    assert content(window((user("a"), ended)), 1) == [json.loads(reasoning.data), {"text": "b"}, POINT]
    spoken = {"role": "assistant", "content": [{"text": "b"}, json.loads(reasoning.data)]}
    marked = ConverseDialect().marked(spoken, "5m", CLAUDE)
    assert marked is not None
    assert marked["content"] == [{"text": "b"}, POINT, json.loads(reasoning.data)]
    step = window((), (user("a"), CALL, RESULTS))
    with_file = replace(step.turn[2], parts=(*step.turn[2].parts, Document("application/pdf", PDF)))
    blocks = content(window((), (*step.turn[:2], with_file)), 2)
    assert [next(iter(block)) for block in blocks] == ["toolResult", "toolResult", "text", "cachePoint", "document"]


def test_blank_text_is_left_out_but_goes_back_where_a_request_had_it() -> None:
    made = window((), (said(Text("a"), Text(" \n")),))
    assert content(made, 0) == [{"text": "a"}]
    foreign = [{"role": "user", "content": [{"text": "a"}, {"text": "\n"}]}]
    read = ConverseDecoder().request({"messages": foreign})
    assert converse(window((), read.messages))["messages"] == foreign


def test_another_format_s_reasoning_is_left_out() -> None:
    ended = said(Thinking("r", "anthropic", '{"type":"thinking"}'), Text("b"), role=Role.ASSISTANT)
    assert content(window((user("a"), ended)), 1) == [{"text": "b"}, POINT]


def test_no_two_documents_of_a_request_have_one_name_and_each_keeps_its_own() -> None:
    def names(request: dict[str, Any]) -> list[str]:
        blocks = [block for message in request["messages"] for block in message["content"]]
        return [block["document"]["name"] for block in blocks if "document" in block]

    first = said(Document("application/pdf", PDF, name="my_report.pdf"), Document("application/pdf", PDF), Text("x"))
    second = said(Document("text/plain", "YQ==", name="My report.pdf"), Document("text/plain", "YQ=="), Text("y"))
    third = said(Document("application/pdf", PDF, name="my_report.pdf"), Text("z"))
    made = window((first, assistant("b")), (second,))
    assert names(converse(made)) == ["my-report-pdf", "Document 2", "My report-pdf", "Document 4"]
    later = replace(made, history=closed(made, assistant("c"), window_choice(made, CLAUDE)), turn=(third,))
    assert names(converse(later)) == [*names(converse(made)), "my-report-pdf (2)"]


def test_an_id_that_converse_refuses_is_replaced_the_same_way_in_call_and_result() -> None:
    call = said(ToolCall("fc|x y", "look", "{}"), role=Role.ASSISTANT)
    request = converse(window((), (user("a"), call, said(ToolResult("fc|x y", "r")))))
    made = request["messages"][1]["content"][0]["toolUse"]["toolUseId"]
    assert made == request["messages"][2]["content"][0]["toolResult"]["toolUseId"]
    assert made.startswith("call_")
    assert made.replace("_", "").isalnum()


def test_addresses_are_refused_but_those_of_s3() -> None:
    with pytest.raises(UsageError, match=r"message 0 behind the history.*s3://"):
        converse(window((), (said(Image("image/png", url="https://example.org/a.png"), Text("x")),)))
    sent = content(window((), (said(Image("image/png", url="s3://b/a.png"), Text("x")),)), 0)
    assert sent[0] == {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/a.png"}}}}


def test_only_bytes_become_bytes_and_the_stored_request_stays_as_it_is() -> None:
    call = said(ToolCall("c1", "look", '{"image":{"source":{"bytes":"YQ=="}}}'), role=Role.ASSISTANT)
    result = said(ToolResult("c1", "r", attachments=(Image("image/png", "YWI="),)), Document("text/plain", "Yg=="))
    request = converse(window((), (user("a"), call, result)))
    before = canonical_json(request)
    sent = converse_arguments(request)
    assert sent["messages"][1]["content"][0]["toolUse"]["input"] == {"image": {"source": {"bytes": "YQ=="}}}
    assert sent["messages"][2]["content"][0]["toolResult"]["content"][1]["image"]["source"]["bytes"] == b"ab"
    document = next(block for block in sent["messages"][2]["content"] if "document" in block)
    assert document["document"]["source"] == {"bytes": b"b"}
    hidden = {"reasoningContent": {"redactedContent": base64.b64encode(b"secret").decode()}}
    sent = converse_arguments({"messages": [{"role": "assistant", "content": [hidden]}]})
    assert sent["messages"][0]["content"] == [{"reasoningContent": {"redactedContent": b"secret"}}]
    assert canonical_json(request) == before


# --- Reading Converse --------------------------------------------------------------------------------------------


def test_a_request_is_read_back_and_written_again_to_the_same_bytes() -> None:
    reasoning = Thinking("r", "bedrock_converse", '{"reasoningContent":{"reasoningText":{"signature":"s","text":"r"}}}')
    history = (
        said(Image("image/png", "YQ=="), Document("application/pdf", PDF, name="a"), Text("a")),
        said(reasoning, *CALL.parts, role=Role.ASSISTANT),
        RESULTS,
        said(
            ProviderBlock("bedrock_converse", '{"citationsContent":{"citations":[],"content":[{"text":"b"}]}}', "b"),
            role=Role.ASSISTANT,
        ),
    )
    request = converse(window(history, tools=(Tool("look", description="looks", strict=True), Tool("now"))))
    read = ConverseDecoder().request(request)
    assert read.model == CLAUDE.model
    assert read.system == ("cached", "uncached")
    assert read.rest == {"inferenceConfig": {"maxTokens": 9}}
    again = Window(*read.system, read.messages[:-1], "", read.messages[-1:], tools=read.tools)
    assert canonical_json(encode_window(again, CLAUDE, max_output_tokens=1, extra=read.rest)) == canonical_json(request)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"json": {"n": 1}}]},
        {"content": [{"text": "one"}, {"text": "two"}, {"image": {"format": "png", "source": {"bytes": "YQ=="}}}]},
        {"content": [{"image": {"format": "png", "source": {"bytes": "YQ=="}}}, {"text": "behind"}]},
        {"content": [{"text": "one"}], "status": "success"},
        {"content": [{"searchResult": {"title": "t", "source": "s", "content": [{"text": "found"}]}}]},
    ],
    ids=["json", "texts", "picture first", "status", "search"],
)
def test_a_result_is_written_again_as_it_came(result: dict[str, Any]) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", **result}}]},
    ]
    read = ConverseDecoder().request({"messages": messages})
    (part,) = read.messages[2].parts
    assert isinstance(part, ToolResult)
    assert part.text.strip()
    written = converse(window((), read.messages))["messages"]
    assert canonical_json(without_points(written)) == canonical_json(messages)
    # Another format says its text and sends its files.
    request = encode_window(window((), read.messages), INVOKE, max_output_tokens=9)
    (block,) = request["body"]["messages"][2]["content"]
    block.pop("cache_control", None)
    text = [{"type": "text", "text": part.text}]
    assert block["content"] == (part.text if not part.attachments else [*text, PICTURE])


def test_the_documents_of_a_result_that_goes_back_as_it_came_keep_their_names() -> None:
    document = {"document": {"name": "plan", "format": "pdf", "source": {"bytes": PDF}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [document, {"text": "behind"}]}}]},
    ]
    read = ConverseDecoder().request({"messages": messages})
    later = said(*read.messages[2].parts, Document("application/pdf", PDF, name="plan"), Text("b"))
    sent = without_points(converse(window((), (*read.messages[:2], later)))["messages"][2]["content"])
    assert sent[0] == messages[2]["content"][0]
    assert sent[1]["document"]["name"] == "plan (2)"


def test_reasoning_that_was_cut_off_before_its_signature_is_left_out() -> None:
    cut = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    signed = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
    hidden = {"reasoningContent": {"redactedContent": "YQ=="}}
    content = [signed, hidden, {"text": "a"}, cut]
    body = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "max_tokens"}
    kinds = [type(part) for part in ConverseDecoder().reply(body).message.parts]
    assert kinds == [Thinking, Thinking, Text]


def test_a_server_s_count_is_read_as_the_user_says_that_it_is_meant() -> None:
    usage = {"inputTokens": 30, "outputTokens": 2, "cacheReadInputTokens": 10}
    assert ConverseDecoder().usage(usage, UsageMeaning.TOTAL) == Usage(30, 10, 0, 2)
    assert ConverseDecoder().usage(usage) == Usage(40, 10, 0, 2)


def test_the_tool_choice_survives_beside_the_tools() -> None:
    body = {**converse(window(tools=(Tool("look"),))), "modelId": "m"}
    body["toolConfig"] = {**body["toolConfig"], "toolChoice": {"auto": {}}}
    read = ConverseDecoder().request(body)
    again = encode_window(window(tools=read.tools), CLAUDE, max_output_tokens=9, extra=read.rest)
    assert again["toolConfig"] == body["toolConfig"]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("tool_use", StopReason.TOOL_CALLS),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("guardrail_intervened", StopReason.REFUSAL),
        ("content_filtered", StopReason.REFUSAL),
        ("something_new", StopReason.END),
        (None, None),
    ],
)
def test_the_reason_for_stopping_is_read(reason: str | None, stop: StopReason | None) -> None:
    body = {"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": reason}
    assert ConverseDecoder().reply(body).stop is stop


def test_written_tokens_are_told_by_their_lifetime() -> None:
    usage = {
        "inputTokens": 3,
        "outputTokens": 2,
        "cacheReadInputTokens": 10,
        "cacheWriteInputTokens": 30,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 20}, {"ttl": "5m", "inputTokens": 10}],
    }
    expected = Usage(43, 10, 30, 2, written_by_ttl=(("5m", 10), ("1h", 20)))
    assert ConverseDecoder().usage(usage) == expected
    assert ConverseDecoder().usage({"inputTokens": 3}) is None


def test_a_tool_that_the_provider_runs_is_no_call_of_ours() -> None:
    block = {"toolUse": {"toolUseId": "t", "name": "web", "input": {}, "type": "server_tool_use"}}
    body = {"output": {"message": {"role": "assistant", "content": [block]}}, "stopReason": "end_turn"}
    (part,) = ConverseDecoder().reply(body).message.parts
    assert isinstance(part, ProviderBlock)
    assert json.loads(part.data) == block


def test_citations_and_cut_off_calls_of_a_stream_are_kept() -> None:
    assembler = ConverseDecoder().assembler()
    events: list[dict[str, Any]] = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "so"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"citation": {"title": "t"}}}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "look"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a'}}}},
        {"messageStop": {"stopReason": "max_tokens"}},
    ]
    assert [assembler.add(event) for event in events] == ["so", "", "", "", ""]
    reply = ConverseDecoder().reply(assembler.body())
    cited, call = reply.message.parts
    assert isinstance(cited, ProviderBlock)
    assert cited.text == "so"
    assert call == ToolCall("t", "look", '{"arguments":"{\\"a"}')
    assert reply.stop is StopReason.LENGTH


# --- InvokeModel -------------------------------------------------------------------------------------------------


def test_invoke_model_takes_claude_s_body_without_the_model_in_it() -> None:
    request = encode_window(window((user("a"), assistant("b"))), INVOKE, max_output_tokens=9)
    assert request.keys() == {"modelId", "body"}
    assert request["body"]["anthropic_version"] == "bedrock-2023-05-31"
    assert request["body"].keys() == {"anthropic_version", "max_tokens", "system", "messages"}
    assert request["body"]["messages"][1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    read = InvokeDecoder().request(request)
    again = Window(read.system[0], read.system[1], read.messages[:-1], "", read.messages[-1:])
    assert encode_window(again, INVOKE, max_output_tokens=1, extra=read.rest) == request
    assert read.model == INVOKE.model


def test_invoke_model_takes_claude_s_own_blocks_back() -> None:
    block = '{"id":"s","input":{},"name":"web_search","type":"server_tool_use"}'
    ended = said(ProviderBlock("anthropic", block), Text("b"), role=Role.ASSISTANT)
    request = encode_window(window((user("a"), ended)), INVOKE, max_output_tokens=9)
    assert request["body"]["messages"][1]["content"][0] == json.loads(block)


# --- Recorded ----------------------------------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    if not RECORDED.exists():
        pytest.skip("the recorded requests are not in this checkout")
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if "bedrock-runtime" in row["uri"]]


@pytest.mark.requirement("WIRE-2")
def test_recorded_requests_are_written_again_without_a_changed_byte() -> None:
    rows = recorded()
    assert len(rows) >= 6
    for row in rows:
        read = ConverseDecoder().request(row["request"])
        system = read.system[0] if read.system else ""
        made = Window(system, "", read.messages[:-1], "", read.messages[-1:], tools=read.tools)
        again = encode_window(made, CLAUDE, max_output_tokens=1, extra=read.rest)
        del again["modelId"]
        assert canonical_json(without_points(again)) == canonical_json(without_points(row["request"]))


def test_recorded_usage_is_read_to_the_recorded_totals() -> None:
    rows = recorded()
    for row in rows:
        figures = row["usage"]
        usage = ConverseDecoder().usage(figures)
        assert usage is not None
        assert usage.input + usage.output == figures["totalTokens"]
        assert (usage.cached, usage.written) == (figures["cacheReadInputTokens"], figures["cacheWriteInputTokens"])
        assert usage.fresh == figures["inputTokens"]
    assert sum(len(row["usage"].get("cacheDetails", ())) for row in rows) > 0
