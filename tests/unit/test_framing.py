"""Framing: how the notification center enters the list of messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import RULE, Section
from frontmind.window.framing import FramedMessage, Origin, frame, with_fresh_sections
from frontmind.window.window import Window
from frontmind.working_memory.composer import HEADER

CENTER = f"{HEADER}\n{RULE}\n<datetime_section>\nnoon\n</datetime_section>\n{RULE}"
CALL = Message(Role.ASSISTANT, (ToolCall("c1", "search", "{}"),))
RESULT = Message(Role.USER, (ToolResult("c1", "found"),))

said = st.text(min_size=1).filter(lambda text: bool(text.strip()))
exchanges = st.lists(st.tuples(said, said), max_size=4)
steps = st.integers(0, 3)


def window(
    history: tuple[Message, ...] = (), *, center: str = CENTER, turn: tuple[Message, ...] = (user("q"),)
) -> Window:
    return Window("P", "", history, center, turn)


@pytest.mark.requirement("SEED-2")
@pytest.mark.requirement("SEED-6")
def test_history_rule_notification_center_and_user_message_stand_in_this_order() -> None:
    assert frame(window((user("a"), assistant("b")))) == (
        FramedMessage(user("a"), Origin.HISTORY),
        FramedMessage(assistant("b"), Origin.HISTORY),
        FramedMessage(user(RULE), Origin.RULE),
        FramedMessage(assistant(CENTER), Origin.NOTIFICATION),
        FramedMessage(user("q"), Origin.TURN),
    )


@pytest.mark.requirement("SEED-6")
def test_the_rule_is_a_message_of_the_user_and_the_section_begins_with_its_header() -> None:
    rule, center = (item.message for item in frame(window())[:2])
    assert (rule.role, rule.text) == (Role.USER, "\u2550" * 60)
    assert center.role is Role.ASSISTANT
    assert center.text.startswith("NOTIFICATION CENTER\n")


@pytest.mark.requirement("SEED-10")
def test_an_empty_notification_center_adds_no_message() -> None:
    assert frame(window((user("a"), assistant("b")), center="")) == (
        FramedMessage(user("a"), Origin.HISTORY),
        FramedMessage(assistant("b"), Origin.HISTORY),
        FramedMessage(user("q"), Origin.TURN),
    )


@pytest.mark.requirement("RULE-6")
def test_in_a_tool_loop_the_notification_center_stays_where_it_was() -> None:
    first = window((user("a"), assistant("b")))
    second = first.extended(CALL, RESULT)
    assert frame(second)[: len(frame(first))] == frame(first)
    assert [item.origin for item in frame(second)[-3:]] == [Origin.TURN] * 3


@settings(deadline=None, max_examples=100)
@given(exchanges, st.sampled_from([CENTER, ""]), steps)
def test_roles_always_alternate_from_the_user_to_the_user(talk: list[tuple[str, str]], center: str, loops: int) -> None:
    history = tuple(message for asked, answered in talk for message in (user(asked), assistant(answered)))
    made = window(history, center=center, turn=(user("q"), *(CALL, RESULT) * loops))
    messages = [item.message for item in frame(made)]
    assert [message.role for message in messages] == [
        Role.USER if index % 2 == 0 else Role.ASSISTANT for index in range(len(messages))
    ]
    assert messages[-1].role is Role.USER
    origins = [item.origin for item in frame(made)]
    assert origins.count(Origin.NOTIFICATION) == origins.count(Origin.RULE) == (1 if center else 0)
    assert tuple(item.message for item in frame(made) if item.origin is Origin.HISTORY) == history


@pytest.mark.requirement("RULE-6")
def test_sections_that_changed_in_the_turn_are_said_again_behind_the_results() -> None:
    fresh = Section("active_reminders", "<active_reminders>\nnone\n</active_reminders>", "notification", False)
    said_again = with_fresh_sections(RESULT, [fresh])
    assert said_again == Message(Role.USER, (*RESULT.parts, Text(fresh.content)))
    assert with_fresh_sections(RESULT, []) == RESULT


def test_fresh_sections_never_join_a_message_of_the_assistant() -> None:
    with pytest.raises(ValueError, match="user's side"):
        with_fresh_sections(CALL, [])
