"""The Anthropic format read back: replies, streams and recorded requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types.beta import MessageCreateParams
from pydantic import TypeAdapter

from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.decoding.anthropic import AnthropicDecoder
from frontmind.providers.encoding.anthropic import CLEAR_AT_BETA, AnthropicDialect
from frontmind.providers.encoding.dialect import Head
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.profile import MarkerKind, Profile, UsageMeaning, Wire
from frontmind.providers.profiles.resolve import choose_framing, parse_overrides, resolve_profile
from frontmind.providers.protocol import Finished, StopReason
from frontmind.providers.reading import read_request
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.framing import frame_history
from frontmind.window.normalise import split_at_turn
from frontmind.window.window import Window
from providers.loopback import Exchange, serving
from providers.validators import anthropic as rules
from support import SHARED_DATA, without_markers

DECODER = AnthropicDecoder()
THINKING = {"type": "thinking", "thinking": "hm", "signature": "Eo4D=="}
HIDDEN = {"type": "redacted_thinking", "data": "AAEC"}
CITED: dict[str, Any] = {"type": "text", "text": "so", "citations": [{"type": "char_location", "cited_text": "s"}]}
CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "é", "a": [1, 2.5, None]}}
USAGE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 418,
    "cache_read_input_tokens": 1111,
    "cache_creation": {"ephemeral_5m_input_tokens": 18, "ephemeral_1h_input_tokens": 400},
    "output_tokens": 33,
}


def reply(content: list[dict[str, Any]], stop: str | None = "end_turn") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "stop_reason": stop, "usage": USAGE}


def rewritten(body: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """The request that is written from what was read of another."""
    read, dialect = DECODER.request(body), AnthropicDialect()
    choice = FramingChoice(Framing.SYSTEM_CLEAR_AT)
    messages = [
        spelled
        for message in read.messages
        for framed in frame_history(message, choice)
        for spelled in dialect.message(framed, profile, "here")
    ]
    (cached, *others) = (*read.system, "")
    extra = {key: value for key, value in read.rest.items() if key != "max_tokens"}
    head = Head(read.model, read.rest.get("max_tokens", 1), cached, "".join(others), tools=read.tools, extra=extra)
    return dialect.request(head, messages, profile)


def test_a_reply_is_read_in_its_order_and_goes_back_byte_for_byte() -> None:
    content = [THINKING, HIDDEN, {"type": "text", "text": "I look."}, CITED, CALL]
    read = DECODER.reply(reply(content, "tool_use"))
    kinds = [type(part) for part in read.message.parts]
    assert kinds == [Thinking, Thinking, Text, ProviderBlock, ToolCall]
    assert read.stop is StopReason.TOOL_CALLS
    (framed,) = frame_history(read.message, FramingChoice(Framing.ASSISTANT))
    (spelled,) = AnthropicDialect().message(framed, resolve_profile("anthropic", "m"), "here")
    assert canonical_json(spelled) == canonical_json({"role": "assistant", "content": content})


def test_the_total_is_the_sum_of_the_three_figures_and_writes_are_told_by_their_lifetime() -> None:
    assert DECODER.usage(USAGE) == Usage(1532, 1111, 418, 33, written_by_ttl=(("5m", 18), ("1h", 400)))
    assert DECODER.usage({"input_tokens": 3, "output_tokens": 1}) == Usage(3, 0, 0, 1)
    assert DECODER.usage({"input_tokens": -3, "output_tokens": 1}) is None
    assert DECODER.usage({"input_tokens": "many", "output_tokens": 1}) is None


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("tool_use", StopReason.TOOL_CALLS),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.PAUSED),
        (None, None),
    ],
)
def test_the_reason_for_stopping_is_read(reason: str | None, stop: StopReason | None) -> None:
    assert DECODER.reply(reply([{"type": "text", "text": "a"}], reason)).stop is stop


def test_a_stream_gives_the_same_reply_as_one_piece() -> None:
    assembler = DECODER.assembler()
    message: dict[str, Any] = {
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": {**USAGE, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {**THINKING, "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "Eo4D=="}},
        {"type": "content_block_stop", "index": 0},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "so"}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "citations_delta", "citation": CITED["citations"][0]},
        },
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {**CALL, "input": {}}},
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"q": "é", '},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '"a": [1, 2.5, null]}'},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 33}},
        {"type": "message_stop"},
    ]
    shown = [assembler.add(event) for event in events]
    assert "".join(shown) == "so"
    assert DECODER.reply(assembler.body()) == DECODER.reply(reply([THINKING, CITED, CALL], "tool_use"))


def test_a_call_that_was_cut_off_in_a_stream_is_kept_as_text_in_an_object() -> None:
    assembler = DECODER.assembler()
    assembler.add({"type": "content_block_start", "index": 0, "content_block": {**CALL, "input": {}}})
    assembler.add(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"q'}}
    )
    (call,) = DECODER.reply(assembler.body()).message.parts
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"arguments": '{"q'}


def test_pictures_files_and_results_of_a_request_are_read_and_written_again() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    pdf = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
        "title": "t",
    }
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é"}}
    odd = {"type": "document", "source": {"type": "file", "file_id": "f"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "r"}, image],
    }
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 1,
        "tools": [
            {"name": "look", "input_schema": {"type": "object"}, "description": "d", "strict": True},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "messages": [
            {"role": "user", "content": [image, pdf, text, odd, {"type": "text", "text": "q"}]},
            {"role": "assistant", "content": [CALL]},
            {"role": "user", "content": [result]},
        ],
    }
    read = DECODER.request(body)
    assert read.messages[0].parts[:3] == (
        Image("image/png", "aGk="),
        Document("application/pdf", "aGk=", name="t"),
        Document("text/plain", "w6k="),
    )
    assert read.messages[2] == Message(Role.USER, (ToolResult("t1", "r", attachments=(Image("image/png", "aGk="),)),))
    assert canonical_json(rewritten(body, resolve_profile("anthropic", "m"))) == canonical_json(body)


SEARCH = {
    "type": "search_result",
    "source": "https://example.org",
    "title": "Cats",
    "content": [{"type": "text", "text": "They purr."}],
}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
MIXED: list[dict[str, Any]] = [
    {"type": "text", "text": "one"},
    {"type": "text", "text": "two"},
    SEARCH,
    PICTURE,
    {"type": "text", "text": "three"},
]


def exchange(*results: Part, reply: tuple[Part, ...] = (ToolCall("t1", "look", "{}"),)) -> list[Message]:
    """A question, a reply, and the results of the calls in it."""
    turn = [user("q"), Message(Role.ASSISTANT, reply)]
    return [*turn, Message(Role.USER, results)] if results else turn


def sent(messages: Sequence[Message], provider: str = "anthropic", **facts: object) -> list[dict[str, Any]]:
    """The messages of an accepted request that ends with them, or with a further question."""
    profile = resolve_profile(provider, "claude-sonnet-4-6", facts)
    history, turn = split_at_turn(messages, None if messages[-1].role is Role.USER else user("and?"))
    framing = FramingChoice(Framing.USER_TEXT)
    request = encode_window(Window("P", "", history, "", turn, framing=framing), profile, max_output_tokens=9)
    body: dict[str, Any] = request.get("body", request)
    problems = rules.validate_invoke(body, model="claude-sonnet-4-6") if "body" in request else rules.validate(body)
    assert problems == []
    written: list[dict[str, Any]] = without_markers(body["messages"])
    return written


INVOKED: dict[str, object] = {"wire": Wire.BEDROCK_INVOKE, "markers": MarkerKind.CACHE_CONTROL}
BOTH = pytest.mark.parametrize(
    ("provider", "facts"), [("anthropic", {}), ("bedrock", INVOKED)], ids=["messages", "invoke"]
)


@BOTH
def test_reasoning_that_nothing_follows_is_not_sent_again(provider: str, facts: dict[str, object]) -> None:
    thought = Thinking("hm", "anthropic", canonical_json(THINKING).decode())
    hidden = Thinking("", "anthropic", canonical_json(HIDDEN).decode())
    said = [{"type": "text", "text": "b"}]
    cut = exchange(reply=(Text("b"), thought, hidden, Text(" ")))
    assert sent(cut, provider, **facts)[1]["content"] == said
    whole = exchange(reply=(thought, Text("b")))
    assert sent(whole, provider, **facts)[1]["content"] == [THINKING, *said]
    calling = exchange(ToolResult("t1", "r"), reply=(Text("b"), thought, ToolCall("t1", "look", "{}")))
    kinds = [block["type"] for block in sent(calling, provider, **facts)[1]["content"]]
    assert kinds == ["text", "thinking", "tool_use"]


@BOTH
def test_a_reply_that_was_cut_off_inside_its_reasoning_can_be_sent_again(
    provider: str, facts: dict[str, object]
) -> None:
    unsigned = {"type": "thinking", "thinking": "hm", "signature": ""}
    body = reply([unsigned, {"type": "text", "text": "b"}, {"type": "thinking", "thinking": "so"}], "max_tokens")
    read = DECODER.reply(body)
    assert read.message.parts == (Text("b"),)
    assert sent([user("q"), read.message], provider, **facts)[1]["content"] == [{"type": "text", "text": "b"}]
    stored = Thinking("hm", "anthropic", canonical_json(unsigned).decode())
    history = exchange(reply=(stored, Text("b")))
    assert sent(history, provider, **facts)[1]["content"] == [{"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    "content",
    [
        MIXED,
        [PICTURE, {"type": "text", "text": "behind"}],
        [{"type": "text", "text": "in a list"}],
        [{"type": "tool_reference", "tool_name": "look"}],
        [],
    ],
    ids=["mixed", "picture first", "a list of one text", "unknown", "nothing"],
)
@pytest.mark.parametrize("is_error", [None, False])
def test_a_result_is_written_again_as_it_came(content: list[dict[str, Any]], is_error: bool | None) -> None:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    block |= {} if is_error is None else {"is_error": is_error}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [block]},
    ]
    body: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": messages}
    written = rewritten(body, resolve_profile("anthropic", "m"))
    assert canonical_json(written) == canonical_json(body)


def test_a_result_of_many_parts_is_readable_for_every_other_format() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [*MIXED[:-1], {**MIXED[-1], "cache_control": {}}]}
    (result,) = DECODER.request({"messages": [{"role": "user", "content": [block]}]}).messages[0].parts
    assert isinstance(result, ToolResult)
    assert result.text == "one\n\ntwo\n\nCats\nhttps://example.org\nThey purr.\n\nthree"
    assert result.attachments == (Image("image/png", "aGk="),)
    assert json.loads(result.data) == {"content": MIXED}
    request = encode_window(
        Window("", "", (), "", tuple(exchange(result))), resolve_profile("gemini", "gemini-3-pro"), max_output_tokens=9
    )
    response, picture = request["contents"][-1]["parts"]
    assert response["functionResponse"]["response"] == {"output": result.text}
    assert picture["inlineData"]["data"] == "aGk="


@BOTH
@pytest.mark.parametrize("text", ["it broke", ""])
@pytest.mark.parametrize("kept", [True, False], ids=["as it came", "made"])
def test_the_files_of_a_failed_result_stand_behind_the_results(
    text: str, kept: bool, provider: str, facts: dict[str, object]
) -> None:
    picture = Image("image/png", "aGk=")
    own = canonical_json({"content": MIXED, "is_error": True}).decode() if kept else ""
    failed = ToolResult("t1", text, is_error=True, attachments=(picture,), wire="anthropic" if kept else "", data=own)
    reply = (ToolCall("t1", "look", "{}"), ToolCall("t2", "look", "{}"))
    content = sent(exchange(failed, ToolResult("t2", "fine"), Text("well?"), reply=reply), provider, **facts)[2][
        "content"
    ]
    moved = ["search_result", "image"] if kept else ["image"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", *moved, "text"]
    assert content[0]["is_error"] is True
    said = [block["text"] for block in content[0]["content"]]
    assert said == (["one", "two", "three"] if kept else [text] if text else [])


def test_an_id_that_the_api_refuses_is_replaced_the_same_way_in_call_and_result() -> None:
    calls = (ToolCall("functions.find:0", "find", "{}"), ToolCall("toolu_1-a", "find", "{}"))
    results = (ToolResult("functions.find:0", "r"), ToolResult("toolu_1-a", "r"))
    _, said, answered = sent(exchange(*results, reply=calls))
    ids = [block["id"] for block in said["content"]]
    assert ids == [block["tool_use_id"] for block in answered["content"]]
    assert ids[0].startswith("call_")
    assert ids[1] == "toolu_1-a"


def test_a_block_of_another_format_that_says_nothing_visible_is_left_out() -> None:
    blank = ProviderBlock("gemini", '{"odd":1}', " \n")
    assert sent(exchange(reply=(Text("b"), blank)))[1]["content"] == [{"type": "text", "text": "b"}]


def test_a_server_that_counts_totals_is_read_as_the_user_says() -> None:
    figures = {**USAGE, "input_tokens": 1532}
    read = DECODER.reply({**reply([{"type": "text", "text": "a"}]), "usage": figures}, UsageMeaning.TOTAL).usage
    assert read is not None
    assert (read.input, read.cached, read.written, read.fresh) == (1532, 1111, 418, 3)
    assert DECODER.usage(USAGE, UsageMeaning.UNMARKED) == DECODER.usage(USAGE)


async def test_a_model_reads_usage_as_its_profile_was_told_to() -> None:
    begun = {"id": "m", "type": "message", "model": "m", **reply([], None), "usage": {**USAGE, "input_tokens": 1532}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 33}},
        {"type": "message_stop"},
    ]

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        for event in events:
            exchange.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    async def asked(facts: str) -> Finished:
        profile = resolve_profile("anthropic", "claude-sonnet-4-6", parse_overrides(facts))
        options: dict[str, Any] = {"name": "m", "framing": choose_framing(profile), "max_output_tokens": 9}
        with serving() as server:
            server.answer = answer
            model = AnthropicModel(profile, **options, api_key="k", base_url=server.url)
            request = model.encode(Window("", "", (), "", (user("q"),)))
            (*_, finished) = [event async for event in model.stream(request)]
            await model.close()
        assert isinstance(finished, Finished)
        return finished

    plain, told = await asked(""), await asked("usage=total")
    assert (plain.usage.input, told.usage.input) == (1532 + 1111 + 418, 1532)
    assert not told.usage.estimated
    assert plain.stop is StopReason.PAUSED


def test_the_sdk_s_request_type_takes_what_is_written() -> None:
    adapter = TypeAdapter(MessageCreateParams)
    written = rewritten(
        {
            "model": "claude-opus-4-8",
            "max_tokens": 9,
            "system": [{"type": "text", "text": "P"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "q"}]},
                {"role": "system", "content": [{"type": "text", "text": "n"}], "clear_at": "next_user_message"},
            ],
        },
        resolve_profile("anthropic", "claude-opus-4-8"),
    )
    adapter.validate_python(written)
    assert written["messages"][1]["clear_at"] == "next_user_message"
    with pytest.raises(ValueError, match="messages"):
        adapter.validate_python({**written, "messages": 7})
    assert CLEAR_AT_BETA.startswith("mid-conversation-system-clear-at")
    assert SdkMessage.model_fields["usage"]


def recorded() -> list[Any]:
    path = SHARED_DATA / "cache" / "recorded_requests.jsonl"
    if not path.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"{path.name} is not here"))]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if "api.anthropic.com" in row["uri"]]


@pytest.mark.requirement("WIRE-2")
@pytest.mark.parametrize("row", recorded())
def test_a_recorded_request_is_read_and_written_again_without_a_changed_byte(row: dict[str, Any]) -> None:
    body = row["request"]
    written = rewritten(body, resolve_profile("anthropic", row["model"]))
    assert [block.key for block in read_request(written).blocks] == [block.key for block in read_request(body).blocks]
    # Every message and tool byte for byte; one system text may be a string or a list of one.
    for part in ("messages", "tools"):
        assert canonical_json(without_markers(written.get(part))) == canonical_json(without_markers(body.get(part)))
    others = body.keys() - {"messages", "tools", "system", "cache_control"}
    assert {key: written[key] for key in others if key in written} == {
        key: body[key] for key in others if key in written
    }
    assert others - written.keys() <= {"max_tokens"}


@pytest.mark.requirement("WIRE-2")
@pytest.mark.parametrize("row", [row for row in recorded() if not isinstance(row, dict) or row["usage"]])
def test_recorded_usage_is_read_to_the_recorded_figures(row: dict[str, Any]) -> None:
    for figures in row["usage"] if isinstance(row["usage"], list) else [row["usage"]]:
        read = DECODER.usage(figures)
        assert read is not None
        assert (read.fresh, read.cached, read.written, read.output) == (
            figures["input_tokens"],
            figures["cache_read_input_tokens"],
            figures["cache_creation_input_tokens"],
            figures["output_tokens"],
        )
        assert sum(dict(read.written_by_ttl).values()) == read.written
