"""Importing: conversations as the Anthropic and OpenAI APIs take them, and clear words for everything else."""

from __future__ import annotations

import json
import re
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.continuum.importing import ImportedConversation, import_conversation
from frontmind.errors import UsageError
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Document, Image, Text, Thinking, ToolCall, ToolResult
from frontmind.values.tool import Tool
from frontmind.window.canonical import canonical_json
from frontmind.window.normalise import split_at_turn
from frontmind.window.window import Window
from support import selected

THINKING = Thinking("hm", "anthropic", '{"signature":"s","thinking":"hm","type":"thinking"}')


def imported(data: object) -> ImportedConversation:
    return import_conversation(json.dumps(data), source="talk.json")


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        import_conversation(text, source="talk.json")
    message = str(caught.value)
    assert "talk.json" in message
    assert "\n" not in message
    return message


def said(role: str, content: object, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


@pytest.mark.requirement("CLI-2")
def test_plain_role_and_content_messages_are_taken_as_they_are() -> None:
    result = imported([said("user", "hello"), said("assistant", "hi"), said("user", "bye\n")])
    assert result == ImportedConversation("", (user("hello"), assistant("hi"), user("bye\n")), ())


@pytest.mark.requirement("CLI-2")
@pytest.mark.requirement("RULE-4")
def test_an_anthropic_request_with_tools_thinking_images_and_markers_is_taken() -> None:
    result = imported(
        {
            "model": "claude",
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                said("user", [{"type": "text", "text": "look"}, {"type": "image", "source": {"data": "..."}}]),
                said(
                    "assistant",
                    [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {"b": 1, "a": "é"}},
                    ],
                ),
                said(
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": [{"type": "text", "text": "a cat"}, {"type": "image", "source": {}}],
                        },
                        {"type": "text", "text": "well?", "cache_control": {"type": "ephemeral"}},
                    ],
                ),
                said("assistant", [{"type": "tool_use", "id": "t2", "name": "now", "input": {}}]),
                said("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "no clock", "is_error": True}]),
                said("assistant", "A cat."),
            ],
        }
    )
    assert result.system == "Be brief."
    assert result.messages == (
        user("look", "(image)"),
        Message(Role.ASSISTANT, (THINKING, Text("I look."), ToolCall("t1", "look", '{"a": "é", "b": 1}'))),
        Message(Role.USER, (ToolResult("t1", "a cat\n\n(image)"), Text("well?"))),
        Message(Role.ASSISTANT, (ToolCall("t2", "now", "{}"),)),
        Message(Role.USER, (ToolResult("t2", "no clock", is_error=True),)),
        assistant("A cat."),
    )
    assert result.changes == (
        "message 1, part 2 is of the type 'image': named in its place",
        "message 3, part 2 is of the type 'image': named in its place",
    )


@pytest.mark.requirement("CLI-2")
@pytest.mark.requirement("RULE-4")
def test_an_openai_request_with_tools_images_and_developer_messages_is_taken() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b":1, "a":2}'}}
    other = {"id": "c2", "type": "function", "function": {"name": "now", "arguments": ""}}
    result = imported(
        [
            said("system", "Be brief."),
            said("developer", [{"type": "text", "text": "And kind."}]),
            said("user", [{"type": "input_text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]),
            said("assistant", None, tool_calls=[call, other]),
            said("tool", "a cat", tool_call_id="c1"),
            said("tool", [{"type": "text", "text": "noon"}], tool_call_id="c2"),
            said("assistant", [{"type": "output_text", "text": "A cat at noon."}], tool_calls=None),
        ]
    )
    assert result.system == "Be brief.\n\nAnd kind."
    assert result.messages == (
        user("look", "(image_url)"),
        # The arguments stay byte for byte as the model wrote them.
        Message(Role.ASSISTANT, (ToolCall("c1", "look", '{"b":1, "a":2}'), ToolCall("c2", "now", ""))),
        Message(Role.USER, (ToolResult("c1", "a cat"), ToolResult("c2", "noon"))),
        assistant("A cat at noon."),
    )
    assert result.changes == (
        "message 3, part 2 is of the type 'image_url': named in its place",
        "1 message(s) of the user followed another of the same role: joined to it",
    )


@pytest.mark.requirement("CLI-2")
def test_a_system_message_inside_the_conversation_is_sent_as_the_users_and_said() -> None:
    result = imported([said("user", "a"), said("assistant", "b"), said("system", "be kind"), said("user", "c")])
    assert result.system == ""
    assert result.messages == (user("a"), assistant("b"), user("(system message) be kind", "c"))
    assert result.changes[0] == "message 3 is a system message inside the conversation: sent as the user's"


def test_pictures_and_files_of_either_api_come_along() -> None:
    result = imported(
        [
            said(
                "user",
                [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}, "title": "b"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "c.pdf"},
                ],
            )
        ]
    )
    assert result.messages[0].parts == (
        Image("image/png", "aGk="),
        Document("application/pdf", url="https://a/b.pdf", name="b"),
        Image("image/jpeg", "aGk="),
        Document("application/pdf", "aGk=", name="c.pdf"),
    )
    assert result.changes == ()


def test_the_tools_of_a_request_come_along() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    function = {"type": "function", "function": {"name": "look", "parameters": schema}}
    plain = {"name": "now", "description": "tells the time", "input_schema": {"type": "object"}}
    result = imported({"messages": [said("user", "a")], "tools": [function, plain, {"type": "web", "name": "web"}]})
    assert result.tools == (
        Tool("look", '{"properties":{"q":{"type":"string"}},"type":"object"}'),
        Tool("now", '{"type":"object"}', "tells the time"),
    )
    assert "has no name" in refusal(json.dumps({"messages": [said("user", "a")], "tools": [{"type": "web"}]}))
    assert "same name" in refusal(json.dumps({"messages": [said("user", "a")], "tools": [plain, plain]}))


def test_an_image_in_the_system_text_is_named_in_its_place() -> None:
    result = imported({"system": [{"type": "image"}], "messages": [said("user", "a")]})
    assert result.system == "(image)"
    assert result.changes == ("the system text, part 1 is of the type 'image': named in its place",)


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize(
    "arguments", ['{"q": ', "[1]", '"x"', "NaN", '{"q": NaN}', '{"q": 1e999}', None, {"q": 1}, "9" * 5000]
)
def test_a_tool_call_with_broken_arguments_is_kept_as_text_with_its_result(arguments: object) -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": arguments}}
    result = imported(
        [said("user", "a"), said("assistant", "b", tool_calls=[call]), said("tool", "x", tool_call_id="c1")]
    )
    assert result.messages == (
        user("a"),
        assistant("b", f"(call of the tool look with {arguments})"),
        user("(result of a tool: x)"),
    )
    assert result.changes == (
        "message 2 has a tool call with broken arguments: kept as text",
        "message 3 has a tool result without its call: kept as text",
    )


def test_the_changes_name_the_messages_by_their_place_in_the_file() -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    messages = [said("user", ""), said("user", "a"), said("assistant", "b", tool_calls=[call])]
    expected = (
        "message {} (user) is empty: left out",
        "message {} has a tool call without its result: kept as text",
    )
    assert imported(messages).changes == (expected[0].format(1), expected[1].format(3))
    assert imported({"system": "s", "messages": messages}).changes == (expected[0].format(1), expected[1].format(3))
    leading = [said("system", "s"), said("developer", "d"), *messages]
    assert imported(leading).changes == (expected[0].format(3), expected[1].format(5))


def test_what_stands_beside_the_content_is_kept_or_named() -> None:
    data = "data:image/png;base64,aGk="
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    picture = [{"type": "text", "text": "seen"}, {"type": "image_url", "image_url": {"url": data}}]
    result = imported(
        [
            said("user", "q"),
            said("assistant", "I look.", tool_calls=[call], reasoning_content="Hm."),
            said("tool", picture, tool_call_id="c1"),
            said("assistant", None, refusal="No.", reasoning_details=[{"text": "So."}], reasoning="So."),
            said("user", "why?"),
            said("assistant", [{"type": "refusal", "refusal": "Because."}], audio={"id": "a"}, reasoning=7),
        ]
    )
    hm = Thinking("Hm.", "openai_chat:reasoning_content", '{"reasoning_content":"Hm."}')
    so = Thinking("So.", "openai_chat:reasoning_details", '{"reasoning_details":[{"text":"So."}]}')
    assert result.messages == (
        user("q"),
        Message(Role.ASSISTANT, (hm, Text("I look."), ToolCall("c1", "look", "{}"))),
        Message(Role.USER, (ToolResult("c1", "seen", attachments=(Image("image/png", "aGk="),)),)),
        Message(Role.ASSISTANT, (so, Text("No."))),
        user("why?"),
        assistant("Because."),
    )
    assert result.changes == ("message 6 has reasoning: left out", "message 6 has audio: left out")


def test_reasoning_that_nobody_signed_is_left_out_and_said() -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    result = imported([said("user", "q"), said("assistant", [thought, {"type": "text", "text": "a"}])])
    assert result.messages == (user("q"), assistant("a"))
    assert result.changes == ("message 2, part 1 is reasoning without a signature: left out",)


def test_a_text_among_the_parts_may_be_a_plain_string() -> None:
    assert imported([said("user", ["a", {"type": "text", "text": "b"}])]).messages == (user("a", "b"),)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("text", "talk.json is not a JSON list of role/content messages"),
        ({}, "talk.json is not a JSON list of role/content messages"),
        ({"messages": {}}, "talk.json is not a JSON list of role/content messages"),
        ([], "talk.json has no messages"),
        ({"system": "s", "messages": []}, "talk.json has no messages"),
        ([said("system", "s")], "talk.json has no messages"),
        ([said("user", " "), said("assistant", [])], "all messages of talk.json are empty"),
        ([said("user", "a"), "b"], "message 2 of talk.json is not an object"),
        ([said("user", "a"), said("bot", "b")], "message 2 of talk.json has the unknown role 'bot'"),
        ([{"content": "a"}], "message 1 of talk.json has the unknown role None"),
        ([said("user", 5)], "message 1 of talk.json has a content that is neither a text nor a list of parts"),
        ([said("user", [5])], "message 1 of talk.json part 1 is not an object with a type"),
        ([said("user", ["a", {"text": "b"}])], "message 1 of talk.json part 2 is not an object with a type"),
        ([said("user", [{"type": "text"}])], "message 1 of talk.json part 1 is a text part without a text"),
        (
            [said("user", "a"), said("assistant", [{"type": "tool_use", "name": "n"}])],
            "message 2 of talk.json has a tool part without id",
        ),
        (
            [said("assistant", [{"type": "tool_use", "id": "c1", "name": ""}])],
            "message 1 of talk.json has a tool part without name",
        ),
        ([said("user", [{"type": "tool_result"}])], "message 1 of talk.json has a tool part without tool_use_id"),
        ([said("user", "a"), said("tool", "x")], "message 2 of talk.json is a tool message without tool_call_id"),
        ([said("assistant", "a", tool_calls={"id": 1})], "message 1 of talk.json has tool_calls that are not a list"),
        ([said("assistant", "a", tool_calls=[1])], "message 1 of talk.json has a tool call without a function"),
        (
            [said("assistant", "a", tool_calls=[{"function": {"name": "n"}}])],
            "message 1 of talk.json has a tool part without id",
        ),
        (
            {"system": 5, "messages": [said("user", "a")]},
            "the system text of talk.json has a content that is neither a text nor a list of parts",
        ),
        ({"system": "s", "messages": [said("user", "a"), 5]}, "message 2 of talk.json is not an object"),
    ],
)
def test_every_refusal_names_the_file_and_the_message(data: object, complaint: str) -> None:
    assert refusal(json.dumps(data)).startswith(complaint)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        '[{"role": "user", "content": "a"}',
        '[{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {"x": NaN}}]}]',
        '[{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {"x": 1e999}}]}]',
        f'[{{"role": "user", "content": {"9" * 5000}}}]',
        "[" * 100_000,
    ],
    ids=lambda text: text[-30:],
)
def test_what_is_not_json_is_refused_by_name(text: str) -> None:
    assert refusal(text).startswith("talk.json is not valid JSON (")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5)
KEYS = (
    "role",
    "content",
    "type",
    "text",
    "id",
    "name",
    "input",
    "tool_use_id",
    "tool_call_id",
    "tool_calls",
    "function",
)
roles = st.sampled_from(["user", "assistant", "user", "assistant", "system", "developer", "tool"])
words = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "developer",
        "tool",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "image",
        "{}",
        "",
    ]
)
anything = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


def blocks(content: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Parts that are nearly right."""
    return st.fixed_dictionaries(
        {"type": words},
        optional={
            "text": words,
            "id": words,
            "name": words,
            "input": anything,
            "tool_use_id": words,
            "content": content,
            "is_error": scalars,
        },
    )


contents = st.recursive(
    words | st.none(), lambda inner: st.lists(words | blocks(inner) | scalars, max_size=3), max_leaves=6
)
calls = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": words, "arguments": words | scalars})}, optional={"id": words}
)
messages = st.fixed_dictionaries(
    {"role": roles | roles | roles | words},
    optional={"content": contents, "tool_calls": st.lists(calls, max_size=2) | scalars, "tool_call_id": words},
)
files = st.one_of(
    st.text(max_size=30),
    anything.map(json.dumps),
    st.lists(messages, max_size=5).map(json.dumps),
    st.fixed_dictionaries({"messages": st.lists(messages, max_size=4)}, optional={"system": contents}).map(json.dumps),
)


def check_that_it_can_be_sent(result: ImportedConversation) -> None:
    history, turn = split_at_turn(result.messages, user("and now?"))
    window = Window(result.system, "", history, "", turn)
    for name in ("anthropic:m", "openai:m", "gemini:m", "bedrock:m", "compatible:m@http://127.0.0.1:9/v1"):
        try:
            request = selected(name).encode(window)
        except UsageError as error:
            # A picture that the model does not take: named by its message and part.
            assert re.search(r"message \d+ .*, part \d+: ", str(error))
        else:
            assert json.loads(canonical_json(request)) == request


@pytest.mark.requirement("CLI-1")
@settings(deadline=None, max_examples=400)
@given(files)
def test_any_text_is_either_refused_in_words_or_can_be_sent(text: str) -> None:
    try:
        result = import_conversation(text, source="talk.json")
    except UsageError as error:
        assert "talk.json" in str(error)
        assert "\n" not in str(error)
    else:
        check_that_it_can_be_sent(result)


any_text = st.sampled_from(["", " ", "a", "b\n"]) | st.text(st.characters(codec=None), max_size=8)
ids = st.sampled_from(["c1", "c2"])
objects = st.dictionaries(
    any_text, any_text | st.floats(allow_nan=False, allow_infinity=False) | st.integers(), max_size=2
)
text_parts = st.fixed_dictionaries({"type": st.just("text"), "text": any_text})
parts = st.lists(
    st.one_of(
        any_text,
        text_parts,
        st.fixed_dictionaries(
            {"type": st.just("tool_use"), "id": ids, "name": st.just("look"), "input": objects},
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("tool_result"),
                "tool_use_id": ids,
                "content": any_text | st.lists(text_parts, max_size=2),
            },
            optional={"is_error": st.booleans()},
        ),
        st.sampled_from([{"type": "thinking", "thinking": "hm"}, {"type": "image"}, {"type": "input_file"}]),
    ),
    max_size=3,
)
well_formed = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": any_text | parts}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": any_text}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.none() | any_text,
            "tool_calls": st.lists(
                st.fixed_dictionaries(
                    {
                        "id": ids,
                        "function": st.fixed_dictionaries(
                            {"name": st.just("look"), "arguments": objects.map(json.dumps) | any_text}
                        ),
                    }
                ),
                max_size=2,
            ),
        }
    ),
)


@pytest.mark.requirement("CLI-2")
@settings(deadline=None, max_examples=300)
@given(st.lists(well_formed, max_size=8))
def test_well_formed_messages_in_any_order_can_be_sent(messages: list[dict[str, object]]) -> None:
    check_that_it_can_be_sent(imported([*messages, said("user", "last")]))


letters = st.text(string.ascii_letters + " \n", min_size=1).filter(lambda text: bool(text.strip()))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), letters), min_size=1, max_size=8))
def test_every_text_of_a_plain_conversation_is_there_in_its_order(talk: list[tuple[str, str]]) -> None:
    result = imported([said(role, text) for role, text in talk])
    kept = [
        (message.role.value, part.text)
        for message in result.messages
        for part in message.parts
        if isinstance(part, Text)
    ]
    assert kept[-len(talk) :] == talk
