"""The encoders: exact requests for small windows, in each wire format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.encoding.local import encode_local
from frontmind.providers.encoding.text import wire_json, wire_text
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Part, Text, ToolCall, ToolResult
from frontmind.values.section import RULE
from frontmind.window.canonical import canonical_json
from frontmind.window.normalise import normalise, split_at_turn
from frontmind.window.window import Window
from support import marker_places

MARKER = {"type": "ephemeral"}
LONG_MARKER = {"type": "ephemeral", "ttl": "1h"}
CENTER = f"NOTIFICATION CENTER\n{RULE}\n<a>\nb\n</a>\n{RULE}"

CALLS = Message(Role.ASSISTANT, (Text("I look."), ToolCall("c1", "look", '{"b":1,"a":"é"}'), ToolCall("c2", "now", "")))
RESULTS = Message(Role.USER, (ToolResult("c1", "a cat"), ToolResult("c2", "no clock", is_error=True), Text("well?")))


def window(
    *,
    system: tuple[str, str] = ("cached", "uncached"),
    history: tuple[Message, ...] = (user("a"), assistant("b")),
    center: str = CENTER,
    turn: tuple[Message, ...] = (user("q"),),
) -> Window:
    return Window(*system, history, center, turn)


def anthropic(made: Window) -> dict[str, Any]:
    return encode_window(made, resolve_profile("anthropic", "claude"), max_output_tokens=99)


def openai(made: Window) -> dict[str, Any]:
    return encode_window(made, resolve_profile("compatible", "gpt"), max_output_tokens=99)


def local(made: Window) -> dict[str, Any]:
    return encode_local(made, resolve_profile("local", ""), max_output_tokens=99)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# --- Anthropic ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SEED-2")
@pytest.mark.requirement("SEED-8")
def test_anthropic_marks_the_cached_system_text_and_the_end_of_the_history_and_nothing_else() -> None:
    assert anthropic(window()) == {
        "model": "claude",
        "max_tokens": 99,
        "system": [{"type": "text", "text": "cached", "cache_control": LONG_MARKER}, text("uncached")],
        "messages": [
            {"role": "user", "content": [text("a")]},
            {"role": "assistant", "content": [{"type": "text", "text": "b", "cache_control": MARKER}]},
            {"role": "user", "content": [text(RULE)]},
            {"role": "assistant", "content": [text(CENTER)]},
            {"role": "user", "content": [text("q")]},
        ],
    }


@pytest.mark.requirement("SEED-8")
def test_anthropic_marks_no_message_when_there_is_no_history() -> None:
    request = anthropic(window(history=()))
    assert marker_places(request) == [("system", 0, 0)]
    assert [message["content"] for message in request["messages"]] == [[text(RULE)], [text(CENTER)], [text("q")]]


@pytest.mark.requirement("SEED-8")
def test_anthropic_never_marks_what_changes_every_turn() -> None:
    assert marker_places(anthropic(window(system=("", "uncached")))) == [("messages", 1, 0)]
    assert marker_places(anthropic(window(system=("", ""), history=()))) == []


def test_anthropic_leaves_out_what_is_empty() -> None:
    bare = anthropic(window(system=("", ""), history=(), center=""))
    assert bare == {"model": "claude", "max_tokens": 99, "messages": [{"role": "user", "content": [text("q")]}]}
    assert anthropic(window(system=("", "u")))["system"] == [text("u")]


@pytest.mark.requirement("RULE-4")
def test_anthropic_takes_calls_as_objects_and_results_in_front_of_the_text() -> None:
    request = anthropic(window(system=("", ""), history=(user("a"), CALLS, RESULTS, assistant("b", "c")), center=""))
    assert request["messages"][1:4] == [
        {
            "role": "assistant",
            "content": [
                text("I look."),
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": "é", "b": 1}},
                {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "a cat"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no clock", "is_error": True},
                text("well?"),
            ],
        },
        {"role": "assistant", "content": [text("b"), {"type": "text", "text": "c", "cache_control": MARKER}]},
    ]


@pytest.mark.requirement("SEED-8")
def test_anthropic_s_loop_tail_is_marked_while_tools_run_and_the_newest_two_ends_of_it_stay() -> None:
    first = window()
    steps = [first]
    for number in range(3):
        call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "look", "{}"),))
        steps.append(steps[-1].extended(call, Message(Role.USER, (ToolResult(f"c{number}", "a cat"),))))
    assert [marker_places(anthropic(step)) for step in steps] == [
        [("system", 0, 0), ("messages", 1, 0)],
        [("system", 0, 0), ("messages", 1, 0), ("messages", 6, 0)],
        [("system", 0, 0), ("messages", 1, 0), ("messages", 6, 0), ("messages", 8, 0)],
        [("system", 0, 0), ("messages", 1, 0), ("messages", 8, 0), ("messages", 10, 0)],
    ]


@pytest.mark.requirement("SEED-8")
def test_anthropic_s_end_of_the_turn_before_is_marked_again_so_that_no_look_back_misses_it() -> None:
    exchanges = tuple(message for n in range(9) for message in (user(f"q{n}"), assistant(f"a{n}")))
    looked = (user("q"), CALLS, RESULTS, assistant("done"))
    assert marker_places(anthropic(window(history=exchanges))) == [
        ("system", 0, 0),
        ("messages", 15, 0),
        ("messages", 17, 0),
    ]
    assert marker_places(anthropic(window(history=exchanges + looked))) == [
        ("system", 0, 0),
        ("messages", 17, 0),
        ("messages", 21, 0),
    ]


@pytest.mark.parametrize("arguments", ['{"q": ', "[1]", '"x"', "null", '{"q": NaN}', '{"q": 1e999}', "[" * 100_000])
def test_anthropic_gets_an_object_also_where_a_model_wrote_broken_arguments(arguments: str) -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c1", "look", arguments),))
    result = Message(Role.USER, (ToolResult("c1", "a cat"),))
    request = anthropic(window(turn=(user("q"), call, result)))
    assert request["messages"][-2]["content"][0]["input"] == {"arguments": arguments}
    canonical_json(request)


@pytest.mark.requirement("RULE-5")
def test_anthropic_gets_no_blank_text_and_no_marker_on_one() -> None:
    # Case C12: a blank text beside a call, and one at the end of the history.
    call = Message(Role.ASSISTANT, (Text(""), ToolCall("c1", "look", "{}")))
    result = Message(Role.USER, (ToolResult("c1", "a cat"), Text(" ")))
    request = anthropic(window(history=(user("a", ""), call, result, assistant("b", "\n"))))
    assert [block["type"] for message in request["messages"][:4] for block in message["content"]] == [
        "text",
        "tool_use",
        "tool_result",
        "text",
    ]
    assert marker_places(request) == [("system", 0, 0), ("messages", 3, 0)]


# --- OpenAI Chat Completions and the local engine ----------------------------------------------------------------


@pytest.mark.requirement("SEED-2")
def test_openai_gets_plain_strings_and_one_system_message() -> None:
    assert openai(window()) == {
        "model": "gpt",
        "max_tokens": 99,
        "messages": [
            {"role": "system", "content": "cached\n\nuncached"},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": RULE},
            {"role": "assistant", "content": CENTER},
            {"role": "user", "content": "q"},
        ],
    }


@pytest.mark.parametrize(("system", "content"), [(("c", ""), "c"), (("", "u"), "u")])
def test_openai_joins_only_the_system_texts_that_there_are(system: tuple[str, str], content: str) -> None:
    assert openai(window(system=system))["messages"][0] == {"role": "system", "content": content}


def test_openai_gets_no_system_message_when_there_is_no_system_text() -> None:
    assert openai(window(system=("", ""), history=(), center=""))["messages"] == [{"role": "user", "content": "q"}]


def test_openai_s_newer_models_get_the_limit_under_its_newer_name() -> None:
    profile = resolve_profile("openai", "gpt-5.5", {"wire": Wire.OPENAI_CHAT})
    request = encode_window(window(), profile, max_output_tokens=99)
    assert request["max_completion_tokens"] == 99
    assert "max_tokens" not in request


@pytest.mark.requirement("RULE-4")
def test_openai_gets_calls_and_results_as_messages_of_their_own_and_arguments_byte_for_byte() -> None:
    silent = Message(Role.ASSISTANT, (ToolCall("c3", "look", "{}"),))
    result = Message(Role.USER, (ToolResult("c3", ""),))
    request = openai(
        window(
            system=("", ""),
            history=(user("a"), CALLS, RESULTS, assistant("b")),
            center="",
            turn=(user("q"), silent, result),
        )
    )
    assert request["messages"] == [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b":1,"a":"é"}'}},
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": ""}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
        {"role": "tool", "tool_call_id": "c2", "content": "no clock"},
        {"role": "user", "content": "well?"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c3", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c3", "content": ""},
    ]


def test_several_texts_of_a_message_are_one_string_for_openai() -> None:
    assert openai(window(turn=(user("a", "b"),)))["messages"][-1] == {"role": "user", "content": "a\n\nb"}


def test_the_local_engine_gets_the_same_messages_and_its_sampling() -> None:
    request = local(window())
    assert request["messages"] == openai(window())["messages"]
    assert {key: value for key, value in request.items() if key != "messages"} == {
        "model": "local",
        "max_tokens": 99,
        "temperature": 0.2,
        "top_p": 0.9,
        "repeat_penalty": 1.1,
        "dry_multiplier": 0.8,
        "dry_allowed_length": 24,
        "dry_penalty_last_n": 4096,
        "seed": 0,
    }


# --- every format ------------------------------------------------------------------------------------------------

any_text = st.text(st.characters(codec=None), max_size=8)
json_arguments = st.dictionaries(any_text, any_text | st.integers() | st.lists(any_text, max_size=2), max_size=2)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, any_text),
    st.builds(ToolCall, st.sampled_from(["c1", "c\ud800"]), any_text, json_arguments.map(json.dumps) | any_text),
    st.builds(ToolResult, st.sampled_from(["c1", "c\ud800"]), any_text, st.booleans()),
)
conversations = st.lists(
    st.builds(Message, st.sampled_from(Role), st.lists(parts, max_size=4).map(tuple[Part, ...])), max_size=8
)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    history, turn = split_at_turn(normalise(draw(conversations)).messages, user("now"))
    return Window(draw(any_text), draw(any_text), history, draw(any_text), turn)


@settings(deadline=None, max_examples=200)
@given(windows())
def test_every_request_is_json_that_utf_8_can_carry(made: Window) -> None:
    for request in (anthropic(made), openai(made), local(made)):
        wire = json.dumps(request, ensure_ascii=False).encode("utf-8")
        assert json.loads(wire) == request
        assert json.loads(canonical_json(request)) == request


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=100)
@given(windows())
def test_encoding_changes_nothing_and_gives_the_same_again(made: Window) -> None:
    for encode in (anthropic, openai):
        first = encode(made)
        spoiled = encode(made)
        spoiled["messages"].clear()
        assert encode(made) == first


@pytest.mark.parametrize(
    ("given_text", "sent"),
    [
        ("plain \U0001f600 é\n", "plain \U0001f600 é\n"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        ("", ""),
    ],
    ids=ascii,
)
def test_lone_surrogates_are_replaced_and_pairs_become_their_character(given_text: str, sent: str) -> None:
    assert wire_text(given_text) == sent
    assert wire_json({given_text: [given_text, 1, None, {"x": given_text}]}) == {sent: [sent, 1, None, {"x": sent}]}
    spoken = window(system=(given_text, ""), turn=(user(f"{given_text}!"),))
    assert openai(spoken)["messages"][-1]["content"] == f"{sent}!"
    assert anthropic(spoken)["messages"][-1]["content"] == [text(f"{sent}!")]


@settings(deadline=None, max_examples=200)
@given(any_text)
def test_replacing_twice_is_replacing_once(given_text: str) -> None:
    once = wire_text(given_text)
    once.encode("utf-8")
    assert wire_text(once) == once


# --- estimates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éé", 1), ("日本", 2), ("\ud800", 1)],
    ids=ascii,
)
def test_a_token_is_estimated_for_each_four_bytes(given_text: str, tokens: int) -> None:
    assert estimate_tokens(given_text) == tokens


def test_the_estimate_of_a_request_counts_its_texts_and_not_the_json_around_them() -> None:
    made = window(
        system=("s" * 40, ""), history=(user("a" * 40), assistant("b" * 40)), center="", turn=(user("q" * 40),)
    )
    assert estimate_request(anthropic(made)) == estimate_request(openai(made)) == 40
    assert estimate_request({"model": "m", "max_tokens": 5, "messages": []}) == 0


def test_the_estimate_of_a_request_counts_calls_and_results() -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c" * 400, "look", '{"q":"' + "x" * 33 + '"}'),))
    result = Message(Role.USER, (ToolResult("c" * 400, "r" * 40),))
    made = window(system=("", ""), history=(), center="", turn=(user("q" * 40), call, result))
    # 10 for the question, 1 for the name, 11 for the arguments, 10 for the result.
    assert estimate_request(openai(made)) == 32
    assert estimate_request(anthropic(made)) == 32


def test_a_picture_counts_as_one_and_keys_of_a_schema_as_text() -> None:
    picture: dict[str, Any] = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "x" * 400_000},
    }
    assert estimate_request({"messages": [{"role": "user", "content": [picture]}]}) == 1000
    schema: dict[str, Any] = {"type": "object", "properties": {"url": {"type": "string"}, "data": {"type": "string"}}}
    assert 10 < estimate_request({"tools": [{"name": "look", "input_schema": schema}]}) < 40
    call: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "look", "input": {"data": "x" * 100_000}}
    assert 25_000 <= estimate_request({"messages": [{"role": "assistant", "content": [call]}]}) < 25_100


def test_a_schema_that_is_nested_deeper_than_the_stack_is_refused_or_written_and_never_a_crash() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(UsageError, match="too deeply"):
        wire_json(deep)
    flat: Any = "x"
    for _ in range(300):
        flat = {"a": flat}
    assert wire_json(flat) == flat
