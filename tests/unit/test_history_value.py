"""The history as a value that grows: shared, frozen, and never worked out twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Notice, Text, ToolCall, ToolResult, Voice
from frontmind.window.history import History

CALL = Message(Role.ASSISTANT, (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", "{}")))
RESULTS = Message(Role.USER, (ToolResult("c1", "a"), ToolResult("c2", "b")))


def exchange(number: int) -> tuple[Message, Message]:
    return user(f"q{number}"), assistant(f"a{number}")


def wire(message: Message, index: int) -> list[dict[str, Any]]:
    return [{"index": index, "text": message.text}] * (1 + index % 2)


def test_a_longer_history_leaves_the_one_it_came_from_as_it_was() -> None:
    short = History(exchange(0))
    one, other = short.extended(*exchange(1)), short.extended(*exchange(2))
    assert short == exchange(0)
    assert one == (*exchange(0), *exchange(1))
    assert other == (*exchange(0), *exchange(2))
    assert one != other
    assert hash(one) == hash(History((*exchange(0), *exchange(1))))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12))
def test_growing_in_any_way_is_the_same_as_being_made_at_once(steps: list[tuple[int, bool]]) -> None:
    histories = [History()]
    for at, encodes in steps:
        base = histories[at % len(histories)]
        if encodes:
            base.encoded("k", wire)
            base.said()
        histories.append(base.extended(*exchange(at)))
    for grown in histories:
        fresh = History(grown)
        assert grown == fresh
        assert grown.encoded("k", wire)[0] == fresh.encoded("k", wire)[0]
        assert grown.said() == fresh.said()
        assert list(grown) == [grown[index] for index in range(len(grown))]
        assert grown[-len(grown) :] == tuple(grown)


@pytest.mark.requirement("COST-1")
def test_each_message_is_encoded_once_however_often_the_history_grows() -> None:
    encoded: list[int] = []

    def count(message: Message, index: int) -> list[dict[str, Any]]:
        encoded.append(index)
        return wire(message, index)

    history = History()
    for number in range(20):
        history = history.extended(*exchange(number))
        history.encoded("k", count)
    assert encoded == list(range(40))
    history.encoded("another", count)
    assert len(encoded) == 80


def test_what_is_changed_in_the_returned_list_changes_nothing_in_the_history() -> None:
    history = History(exchange(0))
    taken, _ = history.encoded("k", wire)
    taken.clear()
    assert len(history.encoded("k", wire)[0]) == 3
    assert History().encoded("k", wire)[0] == []


def test_the_last_notice_of_a_section_is_what_was_said_of_it() -> None:
    def told(*sections: tuple[str, str], voice: Voice = Voice.USER) -> Message:
        return Message(Role.USER, (Notice("n", voice, sections), Text("q")))

    history = History((told(("a", "1"), ("b", "1")), assistant("x")))
    longer = history.extended(told(("a", "2")), assistant("y"))
    longest = longer.extended(told(("b", "9"), voice=Voice.OPERATOR), assistant("z"))
    assert longest.said() == {"a": "2", "b": "1"}
    assert longer.said() == {"a": "2", "b": "1"}
    assert history.said() == {"a": "1", "b": "1"}


@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ((user("q"), CALL), "message 1 of the history, part 0: the tool call 'c1' has no result"),
        (
            (user("q"), CALL, user("no"), assistant("a")),
            "message 2 of the history does not answer the tool call 'c1', 'c2'",
        ),
        (
            (user("q"), CALL, Message(Role.USER, (ToolResult("c1", "a"),)), assistant("a")),
            "message 2 of the history does not answer the tool call 'c2'",
        ),
        (
            (user("q"), assistant("a"), RESULTS, assistant("b")),
            "message 2 of the history, part 0: the tool result 'c1' has no call",
        ),
        (
            (user("q"), CALL, Message(Role.USER, (*RESULTS.parts, ToolResult("c1", "again"))), assistant("a")),
            "message 2 of the history, part 2: the tool result 'c1' has no call",
        ),
        (
            (user("q"), Message(Role.ASSISTANT, (ToolCall("c1", "a", ""), ToolCall("c1", "a", "")))),
            "message 1 of the history, part 1: the id 'c1' stands twice",
        ),
        (
            (Message(Role.USER, (ToolCall("c1", "a", ""),)), assistant("a")),
            "message 0 of the history, part 0: a tool call in a user message",
        ),
        ((RESULTS, assistant("a")), "message 0 of the history, part 0: the tool result 'c1' has no call"),
    ],
)
def test_calls_and_results_that_are_no_pairs_are_refused_by_message_and_part(
    messages: tuple[Message, ...], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        History(messages)
    assert said in str(caught.value)
    first = History(exchange(0))
    with pytest.raises(UsageError) as caught:
        first.extended(*messages)
    assert str(caught.value).startswith(f"message {int(said.split()[1]) + 2} of the history")
    assert first == exchange(0)


def test_an_id_of_a_call_is_used_once_in_a_conversation() -> None:
    history = History((user("q"), CALL, RESULTS, assistant("a")))
    with pytest.raises(UsageError, match="message 5 of the history, part 0: the id 'c1' was used"):
        history.extended(user("again"), CALL, RESULTS, assistant("b"))
    with pytest.raises(UsageError, match="message 5 of the history"):
        History((*history, user("again"), CALL, RESULTS, assistant("b")))
    branch = History(exchange(0))
    branch.extended(user("q"), CALL, RESULTS, assistant("a"))
    # What was only said in another continuation is free.
    assert len(branch.extended(user("q"), CALL, RESULTS, assistant("a"))) == 6


def test_only_the_encodings_that_are_used_stay() -> None:
    history = History(exchange(0))
    encoded: list[str] = []

    def encode(name: str) -> None:
        history.encoded(name, lambda message, index: encoded.append(name) or [])  # type: ignore[func-returns-value]

    for name in ("a", "b", "c", "d", "a", "e", "a", "b"):
        encode(name)
    assert [name for number, name in enumerate(encoded) if number % 2 == 0] == ["a", "b", "c", "d", "e", "b"]
