"""The two models that need nothing: one shows what it was sent, the other says what it was given."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import ModelError, UsageError
from frontmind.providers.echo import EchoModel
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Finished, Model, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.providers.scripted import ScriptedModel, read_script
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall
from frontmind.values.section import RULE
from frontmind.window.canonical import digest
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.window import Window


def window(message: str = "q", *, history: tuple[Message, ...] = ()) -> Window:
    return Window("P", "", history, "CENTER", (user(message),))


async def heard(events: AsyncIterator[StreamEvent]) -> tuple[list[str], Finished]:
    """The pieces of a reply, and its end, which comes exactly once and last."""
    pieces: list[str] = []
    finished: Finished | None = None
    async for event in events:
        assert finished is None
        if isinstance(event, TextDelta):
            pieces.append(event.text)
        elif isinstance(event, Finished):
            finished = event
    assert finished is not None
    return pieces, finished


async def ask(model: Model, made: Window | None = None) -> Finished:
    pieces, finished = await heard(model.stream(model.encode(made or window())))
    assert "".join(pieces) == finished.message.text
    return finished


@pytest.mark.parametrize("make", [EchoModel, lambda: ScriptedModel(["hello"])], ids=["echo", "scripted"])
async def test_a_model_that_needs_nothing_counts_by_estimate_and_expects_nothing_from_a_cache(
    make: Callable[[], Model],
) -> None:
    model = make()
    request = model.encode(window("q" * 40))
    counted = await model.count_request(request)
    assert counted.tokens > 10
    assert not counted.exact
    assert await model.count_text("abcde") == TokenCount(2, exact=False)
    assert await model.expected_cached(request) == 0
    finished = await ask(model, window("q" * 40))
    assert finished.usage.input == counted.tokens
    assert finished.usage.output == (await model.count_text(finished.message.text)).tokens
    assert (finished.usage.cached, finished.usage.written, finished.usage.estimated) == (0, 0, True)
    await model.close()


@pytest.mark.parametrize(("make", "framing"), [(EchoModel, "append"), (partial(ScriptedModel, ["a"]), "user_text")])
async def test_a_profile_and_a_framing_of_ones_own_are_used(make: Callable[..., Model], framing: str) -> None:
    profile = resolve_profile("openai", "gpt-5.5", {"framing": Framing.APPEND})
    model = make(profile=profile, framing=FramingChoice(Framing(framing)))
    sent: Any = model.encode(window())
    assert (model.profile, model.framing.framing.value) == (profile, framing)
    assert sent["model"] == "gpt-5.5"
    assert [part["text"] for part in sent["input"][-1]["content"]] == [f"{RULE}\nCENTER", "q"]


# --- echo --------------------------------------------------------------------------------------------------------


async def test_the_echo_is_the_request_as_json_with_its_markers() -> None:
    made = window("what do you see?", history=(user("a"), assistant("b")))
    finished = await ask(EchoModel(), made)
    assert finished.stop is StopReason.END
    assert json.loads(finished.message.text) == encode_window(made, resolve_profile("echo", ""), max_output_tokens=1024)
    assert finished.message.text.count('"cache_control"') == 2
    assert finished.message == assistant(finished.message.text)


async def test_an_echoed_request_shows_its_limit() -> None:
    assert json.loads((await ask(EchoModel(max_output_tokens=7))).message.text)["max_tokens"] == 7


async def test_an_earlier_echo_is_named_by_its_hash_and_the_request_itself_stays_whole() -> None:
    model = EchoModel()

    async def shown_after(message: str) -> tuple[str, str]:
        """An echo, and how it is shown in the echo after it."""
        reply = (await ask(model, window(message))).message
        made = window("again", history=(user(message), reply))
        sent: Any = model.encode(made)
        assert sent["messages"][1]["content"][0]["text"] == reply.text
        shown = json.loads((await ask(model, made)).message.text)
        return reply.text, shown["messages"][1]["content"][0]["text"]

    first, named = await shown_after("one")
    assert named == f"[echo, {len(first)} characters, sha256 {digest(first.encode())[:12]}]"
    assert named != (await shown_after("two"))[1]


async def test_echoes_do_not_grow_exponentially_over_a_conversation() -> None:
    history: tuple[Message, ...] = ()
    sizes = []
    for number in range(10):
        reply = (await ask(EchoModel(), window(f"message {number}", history=history))).message
        history = (*history, user(f"message {number}"), reply)
        sizes.append(len(reply.text))
    growth = [later - earlier for earlier, later in pairwise(sizes)]
    # Once all markers stand, every turn adds the same: its question, and the name of one more echo.
    assert max(growth[2:]) - min(growth[2:]) <= 10
    assert sizes[-1] < 10 * sizes[0]


# --- scripted ----------------------------------------------------------------------------------------------------


async def test_the_replies_come_in_their_order_and_then_it_says_that_there_are_no_more() -> None:
    model = ScriptedModel(["one", "two"], name="scripted:talk.json")
    assert (await ask(model)).message == assistant("one")
    assert (await ask(model)).message == assistant("two")
    with pytest.raises(ModelError, match="no reply left") as caught:
        await ask(model)
    assert caught.value.model == "scripted:talk.json"


async def test_a_function_makes_the_reply_from_the_request() -> None:
    def count(request: Request) -> str:
        messages: Any = request["messages"]
        return f"{len(messages)} messages, the last is {messages[-1]['content']}"

    assert (await ask(ScriptedModel(count))).message.text == "4 messages, the last is q"


async def test_a_text_is_streamed_word_by_word() -> None:
    pieces, _ = await heard(ScriptedModel(["Hello dear  friend"]).stream({}))
    assert pieces == ["Hello ", "dear ", " ", "friend"]


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=30))
async def test_the_pieces_of_a_stream_are_the_reply(text: str) -> None:
    assert (await ask(ScriptedModel([text]))).message == assistant(text)


async def test_a_message_may_carry_tool_calls_and_the_reason_says_so() -> None:
    message = Message(Role.ASSISTANT, (Text("I look."), ToolCall("c1", "look", "{}")))
    finished = await ask(ScriptedModel([message]))
    assert finished.message == message
    assert finished.stop is StopReason.TOOL_CALLS
    assert (await ask(ScriptedModel(["x"]))).stop is StopReason.END


def test_its_limits_and_its_wire_format_are_as_they_were_given() -> None:
    model = ScriptedModel([], context_limit=500, max_output_tokens=7)
    assert (model.context_limit, model.max_output_tokens) == (500, 7)
    assert model.encode(window()) == encode_window(window(), resolve_profile("scripted", ""), max_output_tokens=7)


def test_a_script_is_a_json_list_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text('["one", "zwei Grüße"]', encoding="utf-8")
    assert read_script(path) == ["one", "zwei Grüße"]


def test_an_object_in_a_script_is_a_reply_with_its_calls_numbered(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    calls = '[{"name": "add", "arguments": {"b": 2, "a": "ü"}}, {"name": "list"}]'
    path.write_text(f'[{{"text": "One moment.", "calls": {calls}}}, {{"calls": {calls}}}, {{"text": "Done."}}, {{}}]')
    called = (ToolCall("c1", "add", '{"a":"ü","b":2}'), ToolCall("c2", "list", "{}"))
    assert read_script(path) == [
        Message(Role.ASSISTANT, (Text("One moment."), *called)),
        Message(Role.ASSISTANT, called),
        assistant("Done."),
        assistant(""),
    ]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ('{"txt": "a"}', "item 2 of .* has the key 'txt'; the keys are text and calls"),
        ('{"text": 5}', "item 2 of .*: text must be a text in quotes"),
        ('{"calls": {}}', "item 2 of .*: calls must be a list such as"),
        ('{"calls": ["a"]}', "item 2 of .*, call 1 must be an object such as"),
        ('{"calls": [{"name": "a"}, {"arguments": {}}]}', "item 2 of .*, call 2: name must be the name of a tool"),
        ('{"calls": [{"name": ""}]}', "item 2 of .*, call 1: name must be the name of a tool"),
        ('{"calls": [{"name": "a", "arguments": "{}"}]}', "item 2 of .*, call 1: arguments must be an object"),
        ('{"calls": [{"name": "a", "args": {}}]}', "item 2 of .*, call 1 has the key 'args'"),
        ("null", "item 2 of .* is neither a text nor an object"),
        ('{"calls": [{"name": "a", "arguments": {"b": NaN}}]}', "is not valid JSON"),
    ],
)
def test_an_item_of_a_script_that_cannot_be_used_is_named(item: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(f'["one", {item}]')
    with pytest.raises(UsageError, match=reason) as caught:
        read_script(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"a": "b"}', b'"text"', b"[1]", b'["a", null]', b"\xff\xfe", b"[" * 100_000],
    ids=lambda content: ascii(content[:12]),
)
def test_a_script_that_is_something_else_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="JSON list of texts") as caught:
        read_script(path)
    assert str(path) in str(caught.value)


@pytest.mark.requirement("CLI-1")
def test_a_script_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_script(tmp_path / "missing.json")
    with pytest.raises(UsageError, match="cannot read the script"):
        read_script(tmp_path)
