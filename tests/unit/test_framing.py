"""Framing: how the notification center enters the list of messages, in each of the five ways."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.trinkets.markup import Element, parse
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Notice, Text, Thinking, ToolCall, ToolResult, Voice
from frontmind.values.section import (
    HEADER,
    PLACEMENT_NOTIFICATION,
    RULE,
    Author,
    Section,
    render_notification_center,
)
from frontmind.values.tool import Tool
from frontmind.window.choice import ClosedThinking, Framing, FramingChoice
from frontmind.window.framing import FramedMessage, Origin, closed, frame, noticed_turn
from frontmind.window.window import Window

CALL = Message(Role.ASSISTANT, (ToolCall("c1", "search", "{}"),))
RESULT = Message(Role.USER, (ToolResult("c1", "found"),))
FRAMINGS = list(Framing)

said = st.text(min_size=1).filter(lambda text: bool(text.strip()))
exchanges = st.lists(st.tuples(said, said), max_size=4)
steps = st.integers(0, 3)


def looked(times: int) -> tuple[Message, ...]:
    """Calls of a tool and their results."""
    return tuple(
        message
        for number in range(times)
        for message in (
            Message(Role.ASSISTANT, (ToolCall(f"c{number}", "search", "{}"),)),
            Message(Role.USER, (ToolResult(f"c{number}", "found"),)),
        )
    )


def section(name: str, text: str, author: Author = Author.OTHERS) -> Section:
    return Section(name, f"<{name}>\n{text}\n</{name}>", PLACEMENT_NOTIFICATION, False, author)


def clock(text: str) -> Section:
    return section("datetime_section", text, Author.APPLICATION)


NOON, MEMORY = clock("noon"), section("relevant_memories", "likes tea")
CENTER = render_notification_center([NOON, MEMORY])


def window(
    history: tuple[Message, ...] = (),
    *,
    sections: tuple[Section, ...] = (NOON, MEMORY),
    turn: tuple[Message, ...] = (user("q"),),
) -> Window:
    return Window("P", "", history, render_notification_center(sections), turn, sections)


def framed(made: Window, framing: Framing) -> list[tuple[str, str]]:
    """Who says what, message by message."""
    return [
        (item.voice.value, "\n\n".join(str(getattr(part, "text", part)) for part in item.parts))
        for item in frame(made, FramingChoice(framing))
    ]


# --- assistant ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SEED-2")
@pytest.mark.requirement("SEED-6")
def test_history_rule_notification_center_and_user_message_stand_in_this_order() -> None:
    assert frame(window((user("a"), assistant("b")))) == (
        FramedMessage(Voice.USER, (Text("a"),), Origin.HISTORY),
        FramedMessage(Voice.ASSISTANT, (Text("b"),), Origin.HISTORY),
        FramedMessage(Voice.USER, (Text("\u2550" * 60),), Origin.RULE),
        FramedMessage(Voice.ASSISTANT, (Text(CENTER),), Origin.NOTIFICATION),
        FramedMessage(Voice.USER, (Text("q"),), Origin.TURN),
    )
    assert CENTER.startswith("NOTIFICATION CENTER\n")


@pytest.mark.requirement("SEED-10")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_an_empty_notification_center_adds_nothing(framing: Framing) -> None:
    bare = window((user("a"), assistant("b")), sections=())
    assert framed(bare, framing) == [("user", "a"), ("assistant", "b"), ("user", "q")]


@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_in_a_tool_loop_the_notification_center_stays_where_it_was(framing: Framing) -> None:
    first = window((user("a"), assistant("b")))
    second = first.extended(CALL, RESULT)
    assert framed(second, framing)[: len(framed(first, framing))] == framed(first, framing)


@settings(deadline=None, max_examples=100)
@given(exchanges, st.booleans(), steps, st.sampled_from(FRAMINGS))
def test_roles_alternate_and_the_operator_speaks_only_behind_a_user_message(
    talk: list[tuple[str, str]], empty: bool, loops: int, framing: Framing
) -> None:
    history = tuple(message for asked, answered in talk for message in (user(asked), assistant(answered)))
    made = window(history, sections=() if empty else (NOON, MEMORY), turn=(user("q"), *looked(loops)))
    items = frame(made, FramingChoice(framing))
    spoken = [item.voice for item in items if item.voice is not Voice.OPERATOR]
    assert spoken == [Voice.USER if index % 2 == 0 else Voice.ASSISTANT for index in range(len(spoken))]
    assert spoken[-1] is Voice.USER
    assert items[0].voice is Voice.USER
    for before, item in pairwise(items):
        if item.voice is Voice.OPERATOR:
            assert before.voice is Voice.USER
    assert tuple(item.parts for item in items if item.origin is Origin.HISTORY) == tuple(m.parts for m in history)


# --- what each framing sends -------------------------------------------------------------------------------------


def test_user_text_puts_the_section_between_rules_in_front_of_the_question() -> None:
    assert framed(window(), Framing.USER_TEXT) == [("user", f"{RULE}\n{CENTER}\n\nq")]
    parts = frame(window(), FramingChoice(Framing.USER_TEXT))[0].parts
    assert [type(part) for part in parts] == [Notice, Text]


@pytest.mark.requirement("SEED-12")
@pytest.mark.parametrize("framing", [Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT])
def test_only_the_application_s_own_words_are_said_with_the_operator_s_authority(framing: Framing) -> None:
    kept = "\n".join((RULE, HEADER, RULE, MEMORY.content, RULE))
    assert framed(window(), framing) == [
        ("user", f"{kept}\n\nq"),
        ("operator", render_notification_center([NOON])),
    ]


def test_a_center_without_its_sections_is_never_said_with_authority() -> None:
    bare = Window("P", "", (), CENTER, (user("q"),))
    assert framed(bare, Framing.SYSTEM_CLEAR_AT) == [("user", f"{RULE}\n{CENTER}\n\nq")]
    assert framed(bare, Framing.APPEND) == [("user", f"{RULE}\n{CENTER}\n\nq")]


def talk(framing: Framing, *turns: tuple[Section, ...]) -> list[Window]:
    """The windows of a conversation, each made from the one before it."""
    windows = [window(sections=turns[0])]
    for number, sections in enumerate(turns[1:], start=1):
        history = closed(windows[-1], assistant(f"a{number}"), FramingChoice(framing))
        windows.append(Window("P", "", history, render_notification_center(sections), (user(f"q{number}"),), sections))
    return windows


def test_append_says_a_section_again_only_when_it_changed_and_says_when_it_is_gone() -> None:
    tea = section("relevant_memories", "likes coffee")
    windows = talk(Framing.APPEND, (NOON, MEMORY), (clock("one"), MEMORY), (clock("one"), tea), (clock("one"),))
    notices = [
        [part.text for part in noticed_turn(made, FramingChoice(Framing.APPEND))[0].parts if isinstance(part, Notice)]
        for made in windows
    ]
    assert [NOON.content in "".join(texts) for texts in notices] == [True, False, False, False]
    assert [MEMORY.content in "".join(texts) for texts in notices] == [True, False, False, False]
    assert [clock("one").content in "".join(texts) for texts in notices] == [False, True, False, False]
    assert [tea.content in "".join(texts) for texts in notices] == [False, False, True, False]
    assert "<relevant_memories>\nNothing any more.\n</relevant_memories>" in notices[3][0]
    last = framed(windows[-1], Framing.APPEND)
    assert [voice for voice, _ in last] == ["user", "assistant"] * 3 + ["user"]
    assert last[0] == framed(windows[0], Framing.APPEND)[0]


def test_a_section_that_said_nothing_new_adds_no_text_at_all() -> None:
    windows = talk(Framing.APPEND, (MEMORY,), (MEMORY,))
    assert framed(windows[1], Framing.APPEND)[-1] == ("user", "q1")


def test_a_turn_scoped_system_message_is_sent_again_as_it_was_for_ever() -> None:
    windows = talk(Framing.SYSTEM_CLEAR_AT, (NOON,), (clock("one"),), (clock("two"),))
    assert framed(windows[2], Framing.SYSTEM_CLEAR_AT) == [
        ("user", "q"),
        ("operator", render_notification_center([NOON])),
        ("assistant", "a1"),
        ("user", "q1"),
        ("operator", render_notification_center([clock("one")])),
        ("assistant", "a2"),
        ("user", "q2"),
        ("operator", render_notification_center([clock("two")])),
    ]


def test_a_developer_message_is_gone_from_the_next_request() -> None:
    windows = talk(Framing.DEVELOPER, (NOON,), (clock("one"),))
    assert framed(windows[1], Framing.DEVELOPER) == [
        ("user", "q"),
        ("assistant", "a1"),
        ("user", "q1"),
        ("operator", render_notification_center([clock("one")])),
    ]


@pytest.mark.requirement("RULE-2")
@pytest.mark.parametrize("framing", [Framing.ASSISTANT, Framing.USER_TEXT])
def test_a_section_that_slides_is_in_no_later_history(framing: Framing) -> None:
    windows = talk(framing, (NOON, MEMORY), (NOON, MEMORY), (NOON, MEMORY))
    text = "".join(text for _, text in framed(windows[2], framing))
    assert text.count("NOTIFICATION CENTER") == 1
    assert windows[2].history == (user("q"), assistant("a1"), user("q1"), assistant("a2"))


# --- inside a turn -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_section_that_changed_in_the_turn_is_said_again_behind_the_results(framing: Framing) -> None:
    milk = section("relevant_memories", "takes milk")
    second = window().extended(CALL, RESULT, changed=[milk])
    before, after = framed(window(), framing), framed(second, framing)
    assert after[: len(before)] == before
    assert after[len(before) + 1] == ("user", f"{RESULT.parts[0].text}\n\n{RULE}\n{milk.content}\n{RULE}")  # type: ignore[union-attr]


def test_tool_results_clear_a_turn_scoped_message_so_it_is_said_again_behind_each_of_them() -> None:
    steps = looked(3)
    second = window().extended(*steps[:2])
    third = second.extended(*steps[2:4], changed=[clock("one")]).extended(*steps[4:])
    operator = [text for voice, text in framed(third, Framing.SYSTEM_CLEAR_AT) if voice == "operator"]
    noon, one = render_notification_center([NOON]), render_notification_center([clock("one")])
    assert operator == [noon, noon, one, one]
    assert [text for voice, text in framed(third, Framing.DEVELOPER) if voice == "operator"] == [noon, one]


@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("framing", [Framing.APPEND, Framing.SYSTEM_CLEAR_AT])
def test_what_was_said_in_a_tool_loop_stays_where_everything_stays(framing: Framing) -> None:
    loop = window().extended(CALL, RESULT, changed=[section("relevant_memories", "takes milk")])
    history = closed(loop, assistant("done"), FramingChoice(framing))
    following = Window("P", "", history, CENTER, (user("next"),), (NOON, MEMORY))
    assert framed(following, framing)[: len(framed(loop, framing))] == framed(loop, framing)


@pytest.mark.parametrize("framing", [Framing.ASSISTANT, Framing.USER_TEXT])
def test_what_was_said_in_a_tool_loop_is_gone_where_the_section_slides(framing: Framing) -> None:
    loop = window().extended(CALL, RESULT, changed=[MEMORY])
    assert closed(loop, assistant("done"), FramingChoice(framing)) == (user("q"), CALL, RESULT, assistant("done"))


@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_section_that_is_gone_after_a_step_is_said_to_be_gone_once(framing: Framing) -> None:
    steps = looked(3)
    second = window().extended(*steps[:2], changed=[section_without_text("relevant_memories")])
    third = second.extended(*steps[2:4], changed=[section_without_text("relevant_memories")])
    gone = "<relevant_memories>\nNothing any more.\n</relevant_memories>"
    assert [text.count(gone) for voice, text in framed(third, framing) if "found" in text] == [1, 0]
    back = third.extended(*steps[4:], changed=[MEMORY])
    assert MEMORY.content in framed(back, framing)[-1 if framing is not Framing.SYSTEM_CLEAR_AT else -2][1]


@pytest.mark.parametrize("framing", [Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT])
def test_the_application_s_own_section_can_be_gone_too(framing: Framing) -> None:
    second = window(sections=(NOON,)).extended(*looked(1), changed=[section_without_text("datetime_section", own=True)])
    behind = [text for voice, text in framed(second, framing) if voice == "operator"][1:]
    if framing is Framing.DEVELOPER:
        assert ["Nothing any more." in text for text in behind] == [True]
    else:
        assert behind == []


def section_without_text(name: str, *, own: bool = False) -> Section:
    return Section(name, "", PLACEMENT_NOTIFICATION, False, Author.APPLICATION if own else Author.OTHERS)


@pytest.mark.parametrize("framing", [Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT])
def test_changing_to_a_framing_with_authority_tells_nobody_that_the_time_is_gone(framing: Framing) -> None:
    history = closed(window(), assistant("a"), FramingChoice(Framing.APPEND))
    following = Window("P", "", history, CENTER, (user("next"),), (NOON, MEMORY))
    sent = framed(following, framing)
    assert "Nothing any more." not in "".join(text for _, text in sent)
    # And back again: the text that stands in the history already is not said twice.
    again = closed(following, assistant("b"), FramingChoice(framing))
    last = Window("P", "", again, CENTER, (user("last"),), (NOON, MEMORY))
    assert "Nothing any more." not in framed(last, Framing.APPEND)[-1][1]
    evening = Window("P", "", again, CENTER, (user("last"),), (clock("evening"), MEMORY))
    assert clock("evening").content in framed(evening, Framing.APPEND)[-1][1]


@pytest.mark.parametrize("framing", [Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT])
def test_what_still_stands_in_the_history_is_said_to_be_gone_when_the_operator_falls_silent(framing: Framing) -> None:
    history = closed(window(), assistant("a"), FramingChoice(Framing.APPEND))
    ten = Window("P", "", history, CENTER, (user("b"),), (clock("ten"), MEMORY))
    silent = Window("P", "", closed(ten, assistant("c"), FramingChoice(framing)), CENTER, (user("d"),), (MEMORY,))
    last = [text for voice, text in framed(silent, framing) if voice == "user"][-1]
    assert "<datetime_section>\nNothing any more.\n</datetime_section>" in last


# --- reasoning ---------------------------------------------------------------------------------------------------


def test_the_reasoning_of_closed_turns_is_left_out_where_it_would_be_checked_and_of_the_open_turn_never() -> None:
    thinking = Thinking("hm", "anthropic", '{"type":"thinking","thinking":"hm","signature":"s"}')
    closed_turn = (user("a"), Message(Role.ASSISTANT, (thinking, Text("b"))))
    call = Message(Role.ASSISTANT, (thinking, *CALL.parts))
    made = window(closed_turn, turn=(user("q"), call, RESULT))
    sent = frame(made, FramingChoice(Framing.ASSISTANT, closed_thinking=ClosedThinking.SENT))
    left_out = frame(made, FramingChoice(Framing.ASSISTANT, closed_thinking=ClosedThinking.LEFT_OUT))
    assert [thinking in item.parts for item in sent] == [False, True, False, False, False, True, False]
    assert [thinking in item.parts for item in left_out] == [False, False, False, False, False, True, False]


def with_thinking(text: str) -> Message:
    data = f'{{"signature":"s","thinking":"{text}","type":"thinking"}}'
    return Message(Role.ASSISTANT, (Thinking(text, "anthropic", data), Text("b")))


def sends_thinking(made: Window, framing: Framing = Framing.SYSTEM_CLEAR_AT) -> bool:
    choice = FramingChoice(framing, closed_thinking=ClosedThinking.BOUND)
    return any(isinstance(part, Thinking) for item in frame(made, choice) for part in item.parts)


@pytest.mark.requirement("FRAME-2")
def test_reasoning_is_sent_again_only_while_nothing_in_front_of_it_has_changed() -> None:
    bound = FramingChoice(Framing.SYSTEM_CLEAR_AT, closed_thinking=ClosedThinking.BOUND)
    history = closed(window(), with_thinking("hm"), bound)
    following = Window("P", "", history, CENTER, (user("next"),), (NOON, MEMORY))
    assert sends_thinking(following)
    assert not sends_thinking(following, Framing.APPEND), "another framing"
    assert not sends_thinking(replace(following, cached_system="another")), "another system prompt"
    assert not sends_thinking(replace(following, tools=(Tool("look"),))), "another tool"
    longer = closed(following, assistant("c"), bound)
    assert not sends_thinking(replace(following, history=longer[2:])), "the beginning is gone"
    assert sends_thinking(replace(following, history=longer))
    unknown = (user("a"), with_thinking("hm"))
    assert not sends_thinking(replace(following, history=unknown)), "nobody noted what was in front of it"


def test_the_sections_of_a_center_are_read_back_from_it() -> None:
    assert parse(MEMORY.content) == Element("relevant_memories", "likes tea")
