"""Normalising: any list of messages becomes a history that can be sent, and nothing but emptiness is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Part, Text, ToolCall, ToolResult, part_text
from frontmind.window.normalise import OPENING_PLACEHOLDER, normalise, split_at_turn
from frontmind.window.window import Window

CALL = ToolCall("c1", "search", '{"q": "tea"}')
RESULT = ToolResult("c1", "found")

ids = st.sampled_from(["c1", "c2", "c3"])
drafts = st.lists(
    st.tuples(
        st.sampled_from(Role),
        st.lists(
            st.one_of(
                st.builds(Text, st.sampled_from(["", " ", "\n\t", "a", "b "])),
                st.builds(ToolCall, ids, st.just("search"), st.just("{}")),
                st.builds(ToolResult, ids, st.sampled_from(["", "found"])),
            ),
            max_size=4,
        ),
    ),
    max_size=10,
)


def tagged(part: Part, tag: int) -> Part:
    """The part with a number in it by which it is found again."""
    if isinstance(part, Text):
        return Text(f"{part.text}#{tag}#") if part.text.strip() else part
    if isinstance(part, ToolCall):
        return ToolCall(part.id, part.name, f'{{"tag": "#{tag}#"}}')
    assert isinstance(part, ToolResult)
    return ToolResult(part.call_id, f"{part.text}#{tag}#")


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any messages at all, each part that is not blank with a number of its own."""
    numbers = iter(range(1000))
    return [Message(role, tuple(tagged(part, next(numbers)) for part in parts)) for role, parts in draw(drafts)]


def content(part: Part) -> str:
    return part.arguments if isinstance(part, ToolCall) else part_text(part)


def tags(parts: Sequence[Part]) -> list[int]:
    return [int(tag) for part in parts for tag in re.findall(r"#(\d+)#", content(part))]


def parts_of(messages: Sequence[Message]) -> list[Part]:
    return [part for message in messages for part in message.parts]


def call_ids(message: Message) -> list[str]:
    return [part.id for part in message.parts if isinstance(part, ToolCall)]


def result_ids(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, ToolResult)]


def check_alternation(messages: Sequence[Message]) -> None:
    assert [message.role for message in messages] == [
        Role.USER if index % 2 == 0 else Role.ASSISTANT for index in range(len(messages))
    ]


def check_pairs(messages: Sequence[Message]) -> None:
    """Each call is answered at the beginning of the very next message, and each result answers such a call."""
    waiting: list[str] = []
    for message in messages:
        if message.role is Role.USER:
            assert not call_ids(message)
            assert sorted(result_ids(message)) == sorted(waiting)
            assert all(isinstance(part, ToolResult) for part in message.parts[: len(waiting)])
            waiting = []
        else:
            assert not result_ids(message)
            waiting = call_ids(message)
            assert len(set(waiting)) == len(waiting)
    assert waiting == []


@pytest.mark.requirement("CLI-2")
@pytest.mark.requirement("RULE-4")
@settings(deadline=None, max_examples=150)
@given(conversations())
def test_any_messages_become_alternating_ones_with_calls_and_results_in_pairs(messages: list[Message]) -> None:
    result = normalise(messages)
    check_alternation(result.messages)
    check_pairs(result.messages)
    assert all(message.parts for message in result.messages)
    assert all(part.text.strip() for part in parts_of(result.messages) if isinstance(part, Text))


@settings(deadline=None, max_examples=150)
@given(conversations())
def test_nothing_is_lost_but_what_is_blank_and_the_order_stays(messages: list[Message]) -> None:
    kept = parts_of(normalise(messages).messages)
    assert sorted(tags(kept)) == tags(parts_of(messages))
    # Only results move: to the beginning of their message.
    others = tags([part for part in kept if not isinstance(part, ToolResult)])
    assert others == sorted(others)
    assert sum(part != Text(OPENING_PLACEHOLDER) for part in kept) == len(tags(kept))


@settings(deadline=None, max_examples=150)
@given(conversations())
def test_each_speaker_keeps_what_he_said(messages: list[Message]) -> None:
    def said(by: Role, among: Sequence[Message]) -> list[int]:
        return sorted(tags(parts_of([message for message in among if message.role is by])))

    for role in Role:
        assert said(role, normalise(messages).messages) == said(role, messages)


@settings(deadline=None, max_examples=150)
@given(conversations())
def test_what_was_normalised_needs_no_change_and_what_was_changed_is_said(messages: list[Message]) -> None:
    result = normalise(messages)
    again = normalise(result.messages)
    assert (again.messages, again.changes) == (result.messages, ())
    assert (result.changes == ()) == (result.messages == tuple(messages))
    assert all("\n" not in change for change in result.changes)


@pytest.mark.requirement("RULE-4")
@settings(deadline=None, max_examples=150)
@given(conversations(), st.booleans())
def test_a_window_can_always_be_made_of_history_and_turn(messages: list[Message], with_new: bool) -> None:
    normalised = normalise(messages).messages
    history, turn = split_at_turn(normalised, user("new #999#") if with_new else None)
    if with_new:
        assert tags(turn[-1].parts)[-1] == 999
    if turn:
        made = Window("", "", history, "", turn)
        check_pairs(made.history)
        check_pairs(made.turn)
    else:
        assert not with_new
        check_alternation(history)
        check_pairs(history)
    everything = [*parts_of(history), *parts_of(turn)]
    assert everything == [*parts_of(normalised), *(user("new #999#").parts if with_new else ())]


def test_a_valid_conversation_is_left_as_it_is() -> None:
    messages = (
        user("a"),
        Message(Role.ASSISTANT, (Text("let me look"), CALL)),
        Message(Role.USER, (RESULT, Text("and hurry"))),
        assistant("b"),
    )
    assert normalise(messages).messages == messages
    assert normalise(messages).changes == ()
    assert normalise(()).messages == ()


def test_messages_of_one_role_are_joined() -> None:
    result = normalise([user("a"), user("b", "c"), assistant("d"), assistant("e"), assistant("f")])
    assert result.messages == (user("a", "b", "c"), assistant("d", "e", "f"))
    assert result.changes == (
        "1 message(s) of the user followed another of the same role: joined to it",
        "2 message(s) of the assistant followed another of the same role: joined to it",
    )


def test_an_empty_message_is_left_out_and_its_neighbours_meet() -> None:
    result = normalise([user("a"), assistant(" "), user("b"), Message(Role.ASSISTANT, ()), assistant("c", "")])
    assert result.messages == (user("a", "b"), assistant("c"))
    assert result.changes == (
        "message 2 (assistant) is empty: left out",
        "message 4 (assistant) is empty: left out",
        "message 5 (assistant) has empty texts: left out",
        "1 message(s) of the user followed another of the same role: joined to it",
    )


def test_a_conversation_that_the_assistant_begins_gets_a_user_message_that_says_so() -> None:
    result = normalise([assistant("hello"), user("hi")])
    assert result.messages == (user("(The conversation begins with the assistant.)"), assistant("hello"), user("hi"))
    assert result.changes == ("it begins with the assistant: a user message that says so was put in front",)


@pytest.mark.requirement("RULE-4")
def test_results_stand_in_front_of_the_text_of_their_message() -> None:
    call = Message(Role.ASSISTANT, (CALL, ToolCall("c2", "note", "{}")))
    apart = normalise(
        [user("a"), call, user("wait"), Message(Role.USER, (RESULT,)), Message(Role.USER, (ToolResult("c2", "ok"),))]
    )
    assert apart.messages[2] == Message(Role.USER, (RESULT, ToolResult("c2", "ok"), Text("wait")))
    mixed = normalise([user("a"), call, Message(Role.USER, (Text("wait"), RESULT, ToolResult("c2", "ok")))])
    assert mixed.messages == apart.messages
    assert mixed.changes == ("message 3 has something in front of a tool result: put behind it",)


@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize(
    ("messages", "expected", "change"),
    [
        (
            [user("a"), Message(Role.ASSISTANT, (Text("b"), CALL)), user("c")],
            (user("a"), assistant("b", '(call of the tool search with {"q": "tea"})'), user("c")),
            "message 2 has a tool call without its result: kept as text",
        ),
        (
            [user("a"), assistant("b"), Message(Role.USER, (RESULT, Text("c")))],
            (user("a"), assistant("b"), user("(result of a tool: found)", "c")),
            "message 3 has a tool result without its call: kept as text",
        ),
        (
            [user("a"), Message(Role.ASSISTANT, (RESULT,))],
            (user("a"), assistant("(result of a tool: found)")),
            "message 2 has a tool result without its call: kept as text",
        ),
        (
            [Message(Role.USER, (CALL,)), assistant("b")],
            (user('(call of the tool search with {"q": "tea"})'), assistant("b")),
            "message 1 has a tool call without its result: kept as text",
        ),
    ],
)
def test_a_call_or_result_without_the_other_is_kept_as_text(
    messages: list[Message], expected: tuple[Message, ...], change: str
) -> None:
    result = normalise(messages)
    assert result.messages == expected
    assert result.changes == (change,)


def test_a_call_id_that_was_used_before_is_renamed_in_call_and_result() -> None:
    again = (Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (RESULT,)))
    taken = (
        Message(Role.ASSISTANT, (replace(CALL, id="c1_2"),)),
        Message(Role.USER, (replace(RESULT, call_id="c1_2"),)),
    )
    normalised = normalise([user("a"), *again, *again, *taken, *again, assistant("b")])
    ids = [part.id for message in normalised.messages for part in message.parts if isinstance(part, ToolCall)]
    answers = [
        part.call_id for message in normalised.messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert ids == answers == ["c1", "c1_2", "c1_2_2", "c1_3"]
    assert normalised.changes == tuple(
        f"message {number} has a tool call id that was used before: renamed" for number in (4, 6, 8)
    )
    # A conversation that goes on keeps the ids that it had.
    assert normalise([user("a"), *again, *again]).messages == normalised.messages[:5]
    Window("", "", normalised.messages, "", (user("c"),))


def test_two_calls_of_one_id_in_a_message_are_answered_in_their_order() -> None:
    calls = Message(Role.ASSISTANT, (CALL, replace(CALL, name="read")))
    results = Message(Role.USER, (RESULT, replace(RESULT, text="read")))
    (_, called, answered) = normalise([user("a"), calls, results]).messages
    assert called.parts == (CALL, replace(CALL, id="c1_2", name="read"))
    assert answered.parts == (RESULT, replace(RESULT, call_id="c1_2", text="read"))
    (_, called, answered) = normalise([user("a"), calls, Message(Role.USER, (RESULT,))]).messages
    assert called.parts[0] == CALL
    assert isinstance(called.parts[1], Text)


def test_a_result_that_comes_after_the_next_answer_no_longer_counts() -> None:
    result = normalise(
        [user("a"), Message(Role.ASSISTANT, (CALL,)), user("b"), assistant("c"), Message(Role.USER, (RESULT,))]
    )
    assert not any(isinstance(part, ToolCall | ToolResult) for part in parts_of(result.messages))
    assert len(result.changes) == 2


def test_the_changes_count_from_the_number_that_the_caller_gives() -> None:
    messages = [user(""), user("a"), Message(Role.ASSISTANT, (CALL,))]
    assert normalise(messages, first=5).changes == (
        "message 5 (user) is empty: left out",
        "message 7 has a tool call without its result: kept as text",
    )


@pytest.mark.parametrize(
    ("messages", "new", "history", "turn"),
    [
        ([], None, 0, 0),
        ([], user("n"), 0, 1),
        ([user("a")], None, 0, 1),
        ([user("a")], user("n"), 0, 1),
        ([user("a"), assistant("b")], None, 2, 0),
        ([user("a"), assistant("b")], user("n"), 2, 1),
        ([user("a"), assistant("b"), user("c")], None, 2, 1),
        ([user("a"), Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (RESULT,))], None, 0, 3),
        (
            [user("a"), assistant("b"), user("c"), Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (RESULT,))],
            None,
            2,
            3,
        ),
        ([user("a"), Message(Role.ASSISTANT, (CALL,)), Message(Role.USER, (RESULT,)), assistant("b")], None, 4, 0),
    ],
)
def test_the_turn_begins_with_the_user_message_that_has_no_plain_answer(
    messages: list[Message], new: Message | None, history: int, turn: int
) -> None:
    divided = split_at_turn(messages, new)
    assert (len(divided[0]), len(divided[1])) == (history, turn)


def test_a_new_message_joins_one_that_waits_for_its_answer() -> None:
    assert split_at_turn([user("a")], user("n")) == ((), (user("a", "n"),))
