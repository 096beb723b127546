"""Requests of every format become the same kind of layout."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from frontmind.assistant.explanation import Background
from frontmind.assistant.looking_ahead import Preview
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.cachelab.prediction import predict
from frontmind.cachelab.prefixes import Prefixes
from frontmind.cli.show import window_json
from frontmind.continuum.history import read_turns
from frontmind.errors import UsageError
from frontmind.events import TurnContext
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import select_model
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.reading import SAVED_WINDOW, Hints, allowed_of, is_request, read_request
from frontmind.values.message import user
from frontmind.values.section import HEADER, RULE
from frontmind.values.tool import ProviderTool, Tool
from frontmind.window.difference import Kind, compare
from frontmind.window.layout import Area, Block, Layout, Marker, take_apart
from frontmind.window.lint import lint
from frontmind.window.window import Window
from support import START, shared

EPHEMERAL = {"type": "ephemeral"}
CENTER = "\n".join(
    (
        HEADER,
        RULE,
        "<datetime_section>\nnow\n</datetime_section>\n",
        "<active_reminders>\nbuy tea\n</active_reminders>",
        RULE,
    )
)

ANTHROPIC: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 10,
    "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
    "system": [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"b": 1, "a": 2}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]},
    ],
}
CONVERSE: dict[str, Any] = {
    "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {}}}}, {"cachePoint": {"type": "default"}}]
    },
    "system": [{"text": "You help."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": [{"text": "hello"}, {"cachePoint": {"type": "default"}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}},
            ],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "seen"}]}}]},
    ],
}
CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.5",
    "instructions": "You help.",
    "tools": [{"type": "function", "name": "look", "parameters": {}}],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    ],
}
GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "You help."}]},
    "tools": [{"functionDeclarations": [{"name": "look", "parameters": {}}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "hello"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"id": "c1", "name": "look", "args": {"some_key": 1}}, "thoughtSignature": "s"},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"out": "seen"}}}]},
    ],
}
ALL = {
    Wire.ANTHROPIC: ANTHROPIC,
    Wire.BEDROCK_CONVERSE: CONVERSE,
    Wire.OPENAI_CHAT: CHAT,
    Wire.OPENAI_RESPONSES: RESPONSES,
    Wire.GEMINI: GEMINI,
}


def kinds(layout: Layout) -> list[tuple[str, str]]:
    return [(block.role, block.kind) for block in layout.blocks]


def at(layout: Layout, place: str) -> Block:
    return next(block for block in layout.blocks if block.place == place)


@pytest.mark.parametrize("wire", ALL, ids=str)
def test_a_tool_loop_reads_the_same_in_every_format(wire: Wire) -> None:
    layout = read_request(ALL[wire])
    result_role = "tool" if wire in (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES) else "user"
    assert layout.wire == wire
    assert kinds(layout) == [
        ("tools", "tool"),
        ("system", "text"),
        ("user", "text"),
        ("assistant", "thinking"),
        ("assistant", "tool_use"),
        (result_role, "tool_result"),
    ]
    assert [block.call_id for block in layout.blocks[-2:]] == ["c1", "c1"]
    assert layout.blocks[0].name == layout.blocks[-2].name == "look"
    assert [block.text for block in layout.blocks[1:3]] == ["You help.", "hello"]
    assert [block.area for block in layout.blocks[:3]] == [Area.TOOLS, Area.SYSTEM, Area.MESSAGES]


def test_places_say_where_a_block_stands() -> None:
    assert [block.place for block in read_request(ANTHROPIC).blocks] == [
        "tools[0]",
        "system[0]",
        "messages[0].content[0]",
        "messages[1].content[0]",
        "messages[1].content[1]",
        "messages[2].content[0]",
    ]


def test_the_provider_and_the_model_are_known_from_the_body_or_from_what_stands_beside_it() -> None:
    def who(body: Any, hints: Hints | None = None) -> tuple[str, str]:
        layout = read_request(body, hints or Hints())
        return layout.provider, layout.model

    assert who(ANTHROPIC) == ("anthropic", "claude-sonnet-4-5")
    assert who(CONVERSE)[0] == "bedrock"
    assert who(CHAT) == ("openai", "gpt-4o")
    assert who(CHAT | {"model": "deepseek-chat"}) == ("deepseek", "deepseek-chat")
    assert who(CHAT | {"model": "anthropic/claude-sonnet-4.6"})[0] == "openrouter"
    assert who(CHAT | {"model": "qwen3"})[0] == "compatible"
    assert who(GEMINI, Hints("https://g/v1beta/models/gemini-2.5-flash:generateContent")) == (
        "gemini",
        "gemini-2.5-flash",
    )
    plain = {key: value for key, value in CONVERSE.items() if key != "modelId"}
    assert who(plain, Hints("https://b/model/claude%3A0/converse")) == ("bedrock", "claude:0")


def test_markers_are_read_and_are_no_part_of_the_bytes() -> None:
    marked, plain = read_request(ANTHROPIC), read_request(ANTHROPIC | {"system": "You help."})
    assert at(marked, "system[0]").marker == Marker("cache_control", "1h")
    assert at(plain, "system[0]").marker is None
    assert at(marked, "system[0]").key == at(plain, "system[0]").key
    converse = read_request(CONVERSE)
    assert [block.marker for block in converse.blocks[:3]] == [
        Marker("cachePoint", "5m"),
        Marker("cachePoint", "1h"),
        Marker("cachePoint", "5m"),
    ]
    assert b"cache" not in b"".join(block.data for block in (*marked.blocks, *converse.blocks))


def test_a_marker_inside_a_tool_result_is_the_results_own() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "seen"}]}
    inside = {**result, "content": [{"type": "text", "text": "seen", "cache_control": EPHEMERAL}]}
    bodies = [
        {**ANTHROPIC, "messages": [*ANTHROPIC["messages"][:2], {"role": "user", "content": [item]}]}
        for item in (inside, {**result, "content": "seen"})
    ]
    one, two = (read_request(body).blocks[-1] for body in bodies)
    assert one.marker == Marker("cache_control", "5m")
    assert one.key == two.key


def test_a_key_of_a_tools_arguments_is_no_marker() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"cache_control": {"type": "x"}}}
    body = ANTHROPIC | {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]}
    block = read_request(body).blocks[-1]
    assert block.marker is None
    assert b"cache_control" in block.data


@pytest.mark.parametrize("wire", [Wire.ANTHROPIC, Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES])
def test_a_string_and_a_list_of_that_one_text_are_the_same_block(wire: Wire) -> None:
    key = "input" if wire is Wire.OPENAI_RESPONSES else "messages"
    kind = "input_text" if wire is Wire.OPENAI_RESPONSES else "text"
    as_text = {**ALL[wire], key: [{"role": "user", "content": "hello"}]}
    as_list = {**ALL[wire], key: [{"role": "user", "content": [{"type": kind, "text": "hello"}]}]}
    assert read_request(as_text).blocks[-1].key == read_request(as_list).blocks[-1].key


def test_the_order_of_keys_changes_no_bytes() -> None:
    turned = json.loads(json.dumps(ANTHROPIC, sort_keys=True))
    assert [block.data for block in read_request(turned).blocks] == [
        block.data for block in read_request(ANTHROPIC).blocks
    ]


def test_both_spellings_of_gemini_are_one() -> None:
    snake = {
        "model": "gemini-2.5-pro",
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"function_call": {"id": "c1", "name": "look", "args": {"some_key": 1}}, "thought_signature": "s"},
                ],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"id": "c1", "name": "look", "response": {"out": "seen"}}}],
            },
        ],
        "config": {
            "system_instruction": "You help.",
            "tools": [{"function_declarations": [{"name": "look", "parameters": {}}]}],
        },
    }
    assert [block.key for block in read_request(snake).blocks] == [block.key for block in read_request(GEMINI).blocks]


def test_an_invoke_model_call_is_read_like_its_body() -> None:
    inner = {key: value for key, value in ANTHROPIC.items() if key != "model"}
    inner["anthropic_version"] = "bedrock-2023-05-31"
    for body in (inner, json.dumps(inner)):
        layout = read_request({"modelId": "anthropic.claude-sonnet-4-5", "body": body})
        assert (layout.wire, layout.provider, layout.model) == (
            Wire.BEDROCK_INVOKE,
            "bedrock",
            "anthropic.claude-sonnet-4-5",
        )
        assert [block.key for block in layout.blocks] == [block.key for block in read_request(ANTHROPIC).blocks]


@pytest.mark.parametrize("separate", [True, False], ids=["block of its own", "one text with the question"])
def test_the_sections_of_a_notification_center_are_named(separate: bool) -> None:
    text = f"{RULE}\n{CENTER}"
    content = (
        [{"type": "text", "text": text}, {"type": "text", "text": "question"}] if separate else f"{text}\n\nquestion"
    )
    blocks = read_request(ANTHROPIC | {"messages": [{"role": "user", "content": content}]}).conversation
    assert [(block.name, block.in_center) for block in blocks] == [
        ("notification_center", True),
        ("datetime_section", True),
        ("active_reminders", True),
        ("notification_center", True),
        ("", False),
    ]
    assert blocks[-1].text == "question"


def test_a_line_that_somebody_wrote_is_no_part_of_a_notification_center() -> None:
    def conversation(*messages: tuple[str, str]) -> list[bool]:
        body = ANTHROPIC | {"messages": [{"role": role, "content": text} for role, text in messages]}
        return [block.in_center for block in read_request(body).conversation]

    assert conversation(("user", RULE), ("assistant", "hello"), ("user", RULE)) == [False, False, False]
    assert conversation(("user", RULE), ("assistant", RULE), ("user", "question")) == [False, False, False]
    opened = conversation(("user", RULE), ("assistant", CENTER), ("user", "question"))
    assert opened == [True, True, True, True, True, False]


def test_the_elements_of_a_system_text_are_named_and_those_of_a_users_text_are_not() -> None:
    text = "<base_prompt>\nYou help.\n</base_prompt>\n\n<domaindoc>\n<p>x</p>\n</domaindoc>"
    layout = read_request(ANTHROPIC | {"system": text, "messages": [{"role": "user", "content": text}]})
    assert [block.name for block in layout.blocks] == ["look", "base_prompt", "domaindoc", ""]
    assert [block.place for block in layout.blocks[1:3]] == ["system[0]", "system[0]"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        f"before\n\n{RULE}\n{CENTER}\n\nafter",
        f"{CENTER}\n",
        RULE,
        "<a>\nx\n</a>\n\n\n<b>unclosed",
        "text\n<a>\n</a>\n",
    ],
)
def test_a_text_that_is_taken_apart_loses_nothing(text: str) -> None:
    for elements in (True, False):
        pieces = take_apart(text, elements=elements)
        assert pieces
        assert "".join(piece.text for piece in pieces) == text


def test_a_turn_scoped_message_is_known_as_one() -> None:
    message = {
        "role": "system",
        "content": [{"type": "text", "text": "now"}],
        "clear_at": "next_user_message",
    }
    body = ANTHROPIC | {"messages": [{"role": "user", "content": "q"}, message]}
    assert [block.cleared for block in read_request(body).conversation] == [False, True]


def test_a_saved_window_reads_as_a_layout() -> None:
    saved = {
        "model": "anthropic:claude-sonnet-5",
        "sections": [
            {"name": "base_prompt", "placement": "system", "cache_policy": True, "content": "You help."},
            {"name": "datetime_section", "placement": "notification", "cache_policy": False, "content": "now"},
        ],
        "system": {"cached": "You help.", "uncached": ""},
        "notification_center": CENTER,
        "messages": [
            {"role": "user", "origin": "rule", "text": RULE},
            {"role": "assistant", "origin": "notification", "text": CENTER},
            {"role": "user", "origin": "turn", "text": "question"},
        ],
    }
    layout = read_request(saved)
    assert (layout.wire, layout.provider, layout.model) == (SAVED_WINDOW, "anthropic", "claude-sonnet-5")
    assert [block.name for block in layout.blocks] == [
        "base_prompt",
        "notification_center",
        "notification_center",
        "datetime_section",
        "active_reminders",
        "notification_center",
        "",
    ]


def test_saved_windows_with_other_tools_are_moved() -> None:
    def saved(*tools: dict[str, Any]) -> Layout:
        message = {"role": "user", "origin": "turn", "text": "question"}
        return read_request(
            {"model": "echo", "sections": [], "notification_center": "", "messages": [message], "tools": list(tools)}
        )

    look = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    search = {"name": "search", "wire": "anthropic", "data": {"type": "web_search"}}
    one = saved(look, search)
    assert [(block.area, block.name) for block in one.blocks[:2]] == [(Area.TOOLS, "look"), (Area.TOOLS, "search")]
    assert compare(one, saved(look, search)).kind is Kind.EXTENDED
    for other in (saved({**look, "description": "Sees."}, search), saved(look), saved()):
        assert compare(one, other).kind is Kind.MOVED


def test_a_shown_window_has_its_tools() -> None:
    tools = (
        Tool("look", '{"type": "object"}', "Looks."),
        Tool("remind", strict=True),
        ProviderTool("search", "anthropic", '{"type": "web_search"}'),
    )
    window = Window("You help.", "", (), "", (user("question"),), tools=tools)
    selection = select_model(parse_model_name("echo"))
    built = BuiltWindow(window, TurnContext("main", 1, START), read_turns([]), ())
    prediction = predict("echo", Prefixes(Layout("", "", "", ())), (), selection.profile, START)
    shown: Any = window_json(
        Preview(built, {"messages": []}, Layout("", "", "", ()), prediction, Background()), selection
    )
    assert shown["tools"] == [
        {"name": "look", "description": "Looks.", "parameters": {"type": "object"}, "tokens": 8},
        {"name": "remind", "description": None, "parameters": {"type": "object"}, "strict": True, "tokens": 7},
        {"name": "search", "wire": "anthropic", "data": {"type": "web_search"}, "tokens": 6},
    ]
    assert [block.name for block in read_request(shown).blocks] == ["look", "remind", "search", ""]


@pytest.mark.parametrize(
    "value",
    [None, 7, [], {}, {"messages": "x"}, {"role": "user", "content": "hi"}, {"prompt": "hello"}],
    ids=repr,
)
def test_what_is_no_request_is_refused_with_what_to_pass(value: Any) -> None:
    assert not is_request(value)
    with pytest.raises(UsageError, match=r"pass the body|no JSON object"):
        read_request(value)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (ANTHROPIC | {"messages": [{"role": "user", "content": 5}]}, r"messages\[0\].content"),
        (ANTHROPIC | {"messages": ["hi"]}, r"messages\[0\]"),
        (ANTHROPIC | {"tools": {}, "system": 5}, "system"),
        (GEMINI | {"contents": [{"role": "user"}]}, r"contents\[0\].parts"),
        (RESPONSES | {"input": [5]}, r"input\[0\]"),
        (CONVERSE | {"messages": [{"role": "user", "content": "hi"}]}, r"messages\[0\].content"),
        ({"modelId": "m", "body": "{"}, "InvokeModel"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_out_of_shape_is_named(body: Any, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        read_request(body)


JUNK: tuple[Any, ...] = (None, True, 5, -1.5, "", "x", [], [None], [[]], {}, {"a": 1}, {"type": "text"}, {"type": []})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@pytest.mark.parametrize("wire", ALL, ids=str)
def test_whatever_stands_in_the_place_of_a_value_the_request_is_read_or_refused(wire: Wire) -> None:
    read = refused = 0
    for path in places(ALL[wire]):
        for junk in JUNK:
            body = copy.deepcopy(ALL[wire])
            inner: Any = body
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = junk
            try:
                layout = read_request(body)
            except UsageError:
                refused += 1
                continue
            read += 1
            lint([layout], [allowed_of(layout)])
            compare(layout, read_request(ALL[wire]))
    assert read > 100
    assert refused > 20


def test_every_recorded_request_is_read_in_its_format() -> None:
    lines = shared("cache", "recorded_requests.jsonl").read_text(encoding="utf-8").splitlines()
    wires: dict[str, int] = {}
    for line in lines:
        row = json.loads(line)
        layout = read_request(row["request"], Hints(row["uri"], row["model"] or ""))
        assert layout.blocks
        assert layout.model
        wires[layout.wire] = wires.get(layout.wire, 0) + 1
    assert wires == {
        Wire.ANTHROPIC: 14,
        Wire.BEDROCK_CONVERSE: 6,
        Wire.OPENAI_CHAT: 10,
        Wire.OPENAI_RESPONSES: 2,
        Wire.GEMINI: 3,
    }
