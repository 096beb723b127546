"""Gemini's format: what is written, what is read back, and that both agree with recorded requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from frontmind.errors import UsageError
from frontmind.providers.decoding.gemini import GeminiDecoder
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.encoding.gemini import GeminiDialect
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult, Voice
from frontmind.values.section import RULE
from frontmind.values.tool import ProviderTool, Tool
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.framing import FramedMessage, Origin
from frontmind.window.window import Window
from support import SHARED_DATA

PROFILE = resolve_profile("gemini", "gemini-3-pro")
RECORDED = SHARED_DATA / "cache" / "recorded_requests.jsonl"


def said(*parts: Part, role: Role = Role.USER) -> Message:
    return Message(role, parts)


CALLS = said(
    ToolCall("c1", "look", '{"b":1}', signature="c2ln"), ToolCall("gemini_call_0", "now", "{}"), role=Role.ASSISTANT
)
RESULTS = said(Text("well?"), ToolResult("gemini_call_0", "no clock", is_error=True), ToolResult("c1", "a cat"))


def window(history: Sequence[Message] = (), turn: Sequence[Message] = (user("q"),), **more: Any) -> Window:
    return Window("cached", "uncached", history, more.pop("center", ""), tuple(turn), **more)


def encoded(made: Window) -> dict[str, Any]:
    return encode_window(made, PROFILE, max_output_tokens=9)


def reply(*parts: dict[str, Any], finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


# --- Writing -----------------------------------------------------------------------------------------------------


def test_the_section_is_a_part_of_its_own_in_front_of_the_question() -> None:
    assert encoded(window((user("a"), assistant("b")), center="N")) == {
        "model": "gemini-3-pro",
        "generationConfig": {"maxOutputTokens": 9},
        "systemInstruction": {"parts": [{"text": "cached"}, {"text": "uncached"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"text": "b"}]},
            {"role": "user", "parts": [{"text": f"{RULE}\nN"}, {"text": "q"}]},
        ],
    }


@pytest.mark.parametrize("in_history", [True, False])
def test_a_tool_result_stands_first_and_has_the_name_of_its_call(in_history: bool) -> None:
    loop = (user("a"), CALLS, RESULTS)
    made = window((*loop, assistant("b"))) if in_history else window((), loop)
    assert encoded(made)["contents"][1:3] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "c1", "name": "look", "args": {"b": 1}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "a cat"}}},
                {"functionResponse": {"name": "now", "response": {"error": "no clock"}}},
                {"text": "well?"},
            ],
        },
    ]


def test_what_was_sent_stays_as_it_was_when_the_history_grows() -> None:
    loop = window((), (user("a"), CALLS, RESULTS))
    later = window((user("a"), CALLS, RESULTS, assistant("b")), (user("c"),))
    assert encoded(later)["contents"][:3] == encoded(loop)["contents"]


def test_an_object_that_a_tool_gave_back_is_sent_as_an_object() -> None:
    made = window((), (user("a"), CALLS, said(ToolResult("c1", '{"n": 1}'), ToolResult("gemini_call_0", "{no"))))
    responses = [part["functionResponse"]["response"] for part in encoded(made)["contents"][2]["parts"]]
    assert responses == [{"n": 1}, {"output": "{no"}]


def test_files_are_data_or_addresses_and_those_of_results_follow_them() -> None:
    picture, text = Image("image/png", url="https://e.org/a.png"), Document("text/plain", "YQ==", name="a.txt")
    only = said(ToolCall("c1", "look", "{}"), role=Role.ASSISTANT)
    made = window((), (said(picture, text, Text("a")), only, said(ToolResult("c1", "r", attachments=(text,)))))
    contents = encoded(made)["contents"]
    inline = {"inlineData": {"mimeType": "text/plain", "data": "YQ=="}}
    address = {"fileData": {"mimeType": "image/png", "fileUri": "https://e.org/a.png"}}
    assert contents[0]["parts"] == [address, inline, {"text": "a"}]
    assert [next(iter(part)) for part in contents[2]["parts"]] == ["functionResponse", "inlineData"]


def test_tools_are_declared_with_their_schema_as_it_is() -> None:
    search = ProviderTool("googleSearch", "gemini", '{"googleSearch":{}}')
    made = window(tools=(search, Tool("look", '{"type":"object"}', "looks"), Tool("now")))
    assert encoded(made)["tools"] == [
        {
            "functionDeclarations": [
                {"name": "look", "description": "looks", "parametersJsonSchema": {"type": "object"}},
                {"name": "now", "parametersJsonSchema": {"type": "object"}},
            ]
        },
        {"googleSearch": {}},
    ]
    with pytest.raises(UsageError, match="anthropic"):
        encoded(window(tools=(ProviderTool("x", "anthropic", "{}"),)))


def test_an_operator_s_message_is_refused_with_its_place() -> None:
    said_by_operator = FramedMessage(Voice.OPERATOR, (Text("now"),), Origin.TURN)
    with pytest.raises(UsageError, match="message 1 behind the history: Gemini has no messages of the operator"):
        GeminiDialect().message(said_by_operator, PROFILE, "message 1 behind the history")


# --- Reading -----------------------------------------------------------------------------------------------------


def test_a_request_is_read_back_and_written_again_to_the_same_bytes() -> None:
    history = (
        said(Image("image/png", "YQ=="), Document("application/pdf", "JVBERi0="), Text("a")),
        CALLS,
        said(ToolResult("c1", '{"n":1}'), ToolResult("gemini_call_0", "no clock", is_error=True), Text("well?")),
        said(Text("b"), Thinking("", "gemini", '{"thoughtSignature":"+/+/"}'), Text("c"), role=Role.ASSISTANT),
    )
    tools = (Tool("look", description="looks"), ProviderTool("googleSearch", "gemini", '{"googleSearch":{}}'))
    request = encoded(window(history, tools=tools))
    assert request["contents"][3]["parts"] == [{"text": "b", "thoughtSignature": "+/+/"}, {"text": "c"}]
    read = GeminiDecoder().request(request)
    assert read.model == "gemini-3-pro"
    assert read.system == ("cached", "uncached")
    assert read.rest == {"generationConfig": {"maxOutputTokens": 9}}
    again = Window(*read.system, read.messages[:-1], "", read.messages[-1:], tools=read.tools)
    rewritten = encode_window(again, PROFILE, max_output_tokens=1, extra=read.rest)
    assert canonical_json(rewritten) == canonical_json(request)


@pytest.mark.parametrize(
    "response",
    [
        {"output": "a"},
        {"output": '{"a":1}'},
        {"output": 1},
        {"error": "a"},
        {"error": {"a": 1}},
        {"result": "a"},
        {"output": "a", "more": 1},
    ],
)
def test_every_response_of_a_function_is_written_again_as_it_was(response: dict[str, Any]) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]},
    ]
    messages = GeminiDecoder().request({"contents": contents}).messages
    assert encoded(Window("", "", (), "", messages))["contents"] == contents


def test_results_without_an_id_find_their_calls_by_name_and_order() -> None:
    calls = [{"functionCall": {"name": name, "args": {"n": n}}} for n, name in enumerate(("f", "g", "f"))]
    results = [{"functionResponse": {"name": name, "response": {"output": name}}} for name in ("f", "g", "f")]
    contents = [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": calls}]
    contents.append({"role": "user", "parts": results})
    messages = GeminiDecoder().request({"contents": contents}).messages
    made = [part.id for part in messages[1].parts if isinstance(part, ToolCall)]
    assert len(set(made)) == 3
    assert [part.call_id for part in messages[2].parts if isinstance(part, ToolResult)] == made
    assert encoded(Window("", "", (), "", messages))["contents"] == contents


def test_a_call_without_an_id_gets_the_same_one_each_time_and_another_in_another_reply() -> None:
    def made(response_id: str) -> str:
        body = reply({"functionCall": {"name": "f", "args": {}}}, responseId=response_id)
        (part,) = GeminiDecoder().reply(body).message.parts
        assert isinstance(part, ToolCall)
        return part.id

    assert made("r1") == made("r1") != made("r2")


def test_a_signed_text_is_text_for_everybody_and_goes_back_with_its_signature() -> None:
    parts = [{"text": "b", "thoughtSignature": "+/+/"}]
    message = GeminiDecoder().reply(reply(*parts)).message
    assert message.text == "b"
    assert encoded(window((user("a"), message)))["contents"][1]["parts"] == parts
    other = resolve_profile("anthropic", "claude-sonnet-4-5")
    sent = encode_window(window((user("a"), message)), other, max_output_tokens=9)["messages"][1]["content"]
    assert [block["text"] for block in sent] == ["b"]


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "I think", "thought": True}, {"text": "b"}],
        [{"text": "b"}, {"text": "", "thoughtSignature": "c2ln"}],
        [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": "b"}],
    ],
)
def test_what_only_gemini_knows_goes_back_as_it_came(parts: list[dict[str, Any]]) -> None:
    message = GeminiDecoder().reply(reply(*parts)).message
    assert encoded(window((user("a"), message)))["contents"][1]["parts"] == parts


def test_a_stream_gives_the_same_reply_as_one_piece() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}
    assembler = GeminiDecoder().assembler()
    events = [
        reply({"text": "I ", "thought": True}, finish=None, responseId="r"),
        reply({"text": "think", "thought": True}, finish=None, responseId="r"),
        reply({"text": "Hel"}, finish=None, responseId="r", usageMetadata={"promptTokenCount": 3}),
        reply({"text": "lo"}, call, finish=None, responseId="r"),
        reply(finish="STOP", responseId="r", usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 2}),
    ]
    assert [assembler.add(event) for event in events] == ["", "", "Hel", "lo", ""]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    whole = reply({"text": "I think", "thought": True}, {"text": "Hello"}, call, responseId="r", usageMetadata=usage)
    assert GeminiDecoder().reply(assembler.body()) == GeminiDecoder().reply(whole)
    (thinking, text, _) = GeminiDecoder().reply(whole).message.parts
    assert isinstance(thinking, Thinking)
    assert text == Text("Hello")


def test_texts_are_not_joined_across_a_signature() -> None:
    parts = [{"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"}, {"text": "c"}]
    assembler = GeminiDecoder().assembler()
    assert "".join(assembler.add(reply(part, finish=None)) for part in parts) == "abc"
    assert assembler.body()["candidates"][0]["content"]["parts"] == parts


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", StopReason.END),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("SAFETY", StopReason.REFUSAL),
        ("PROHIBITED_CONTENT", StopReason.REFUSAL),
        ("SOMETHING_NEW", StopReason.END),
        (None, None),
    ],
)
def test_the_reason_for_stopping_is_read(reason: str | None, stop: StopReason | None) -> None:
    assert GeminiDecoder().reply(reply({"text": "a"}, finish=reason)).stop is stop


def test_a_reply_with_calls_stops_for_them() -> None:
    read = GeminiDecoder().reply(reply({"functionCall": {"name": "look", "args": {}}}))
    assert read.stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    "more",
    [
        {"parts": [{"inlineData": {"mimeType": "image/png", "data": "YQ=="}}]},
        {"parts": [{"inlineData": {"mimeType": "audio/mp3", "data": "YQ=="}}]},
        {"willContinue": True},
    ],
    ids=["picture", "sound", "unfinished"],
)
def test_a_result_with_more_than_a_response_is_written_again_as_it_came(more: dict[str, Any]) -> None:
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"output": "r"}, **more}}],
        },
    ]
    read = GeminiDecoder().request({"contents": contents})
    assert canonical_json(encoded(window((), read.messages))["contents"]) == canonical_json(contents)
    assert isinstance(result := read.messages[2].parts[0], ToolResult)
    assert result.text.startswith("r")
    assert (result.attachments == (Image("image/png", "YQ=="),)) is ("image" in str(more))


def test_a_block_of_another_format_that_says_nothing_visible_is_left_out() -> None:
    blank = ProviderBlock("anthropic", '{"type":"odd"}', " \n")
    assert encoded(window((), (said(Text("a"), blank),)))["contents"][0]["parts"] == [{"text": "a"}]


def test_a_blocked_prompt_is_a_refusal() -> None:
    assert GeminiDecoder().reply({"promptFeedback": {"blockReason": "SAFETY"}}).stop is StopReason.REFUSAL


def test_the_prompt_s_count_holds_the_cached_tokens_and_reasoning_is_output() -> None:
    usage = {
        "promptTokenCount": 30,
        "cachedContentTokenCount": 10,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 5,
        "toolUsePromptTokenCount": 4,
    }
    assert GeminiDecoder().usage(usage) == Usage(34, 10, 0, 7)
    assert GeminiDecoder().usage({"totalTokenCount": 3}) is None


def test_an_unknown_kind_of_block_is_kept() -> None:
    (part,) = GeminiDecoder().reply(reply({"somethingNew": 1})).message.parts
    assert part == ProviderBlock("gemini", '{"somethingNew":1}')


# --- Recorded ----------------------------------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    if not RECORDED.exists():
        pytest.skip("the recorded requests are not in this checkout")
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if "generativelanguage" in row["uri"]]


@pytest.mark.requirement("WIRE-2")
def test_recorded_requests_are_written_again_without_a_changed_byte() -> None:
    rows = recorded()
    assert len(rows) >= 3
    for row in rows:
        read = GeminiDecoder().request(row["request"])
        system = read.system[0] if read.system else ""
        made = Window(system, "", read.messages[:-1], "", read.messages[-1:], tools=read.tools)
        again = encode_window(made, PROFILE, max_output_tokens=1, extra={"generationConfig": {}, **read.rest})
        again["model"] = read.model
        kept = {key: value for key, value in again.items() if value}
        assert canonical_json(kept) == canonical_json({key: value for key, value in row["request"].items() if value})


def test_recorded_usage_is_read_to_the_recorded_totals() -> None:
    read = 0
    for row in recorded():
        figures = row["usage"]
        usage = GeminiDecoder().usage(figures)
        if "promptTokenCount" in figures:
            assert usage is not None
            assert usage.input + usage.output == figures["totalTokenCount"]
            assert usage.cached == figures["cachedContentTokenCount"]
            read += 1
    assert read >= 2
