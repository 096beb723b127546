"""From stored turns to the history, and which turns leave it when it no longer fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.history import Continuum, read_turns
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.records import Turn, TurnState
from frontmind.window.window import Window

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def turn(number: int, state: TurnState = TurnState.DONE, *, size: int = 0) -> Turn:
    asked = START + timedelta(minutes=10 * number)
    accepted = Turn(number, "main", number, 1, state, user(f"q{number}" + "x" * size), asked)
    if state is not TurnState.DONE:
        return accepted
    return replace(accepted, reply=assistant(f"a{number}" + "y" * size), answered_at=asked + timedelta(minutes=1))


def turns(states: str) -> list[Turn]:
    """Turns by letters: done, open, refused."""
    return [
        turn(number, TurnState({"d": "done", "o": "open", "r": "refused"}[s])) for number, s in enumerate(states, 1)
    ]


def texts(messages: Sequence[Message]) -> list[list[str]]:
    return [message.text.split("\n\n") for message in messages]


def waiting(continuum: Continuum) -> list[str]:
    return Message(Role.USER, continuum.unanswered).text.split("\n\n") if continuum.unanswered else []


@pytest.mark.parametrize(
    ("states", "history", "unanswered"),
    [
        ("", [], []),
        ("d", [["q1"], ["a1"]], []),
        ("dd", [["q1"], ["a1"], ["q2"], ["a2"]], []),
        ("o", [], ["q1"]),
        ("oo", [], ["q1", "q2"]),
        ("od", [["q1", "q2"], ["a2"]], []),
        ("dood", [["q1"], ["a1"], ["q2", "q3", "q4"], ["a4"]], []),
        ("do", [["q1"], ["a1"]], ["q2"]),
        ("r", [], []),
        ("drd", [["q1"], ["a1"], ["q3"], ["a3"]], []),
        ("ord", [["q1", "q3"], ["a3"]], []),
        ("dro", [["q1"], ["a1"]], ["q3"]),
    ],
)
def test_unanswered_messages_join_the_next_one_and_refused_ones_are_not_sent(
    states: str, history: list[list[str]], unanswered: list[str]
) -> None:
    continuum = read_turns(turns(states))
    assert texts(continuum.history) == history
    assert waiting(continuum) == unanswered


@pytest.mark.parametrize(
    ("states", "start", "history", "unanswered"),
    [
        ("ddd", 3, [["q3"], ["a3"]], []),
        ("ddd", 4, [], []),
        ("odd", 3, [["q3"], ["a3"]], []),
        ("dod", 3, [["q2", "q3"], ["a3"]], []),
        ("dodd", 4, [["q4"], ["a4"]], []),
        ("doo", 4, [], ["q2", "q3"]),
    ],
)
def test_answered_turns_before_the_start_are_left_out_and_waiting_messages_never_are(
    states: str, start: int, history: list[list[str]], unanswered: list[str]
) -> None:
    continuum = read_turns(turns(states), window_start=start)
    assert texts(continuum.history) == history
    assert waiting(continuum) == unanswered


def test_the_newest_answered_turn_is_known_also_when_it_left_the_window() -> None:
    stored = turns("ddor")
    assert read_turns(stored).last_done == stored[1]
    assert read_turns(stored, window_start=9).last_done == stored[1]
    assert read_turns(turns("oor")).last_done is None


@pytest.mark.parametrize(("states", "minutes"), [("d", 11), ("dd", 21), ("do", 20), ("dr", 20)])
def test_the_previous_message_is_the_newest_that_was_stored(states: str, minutes: int) -> None:
    assert read_turns(turns(states)).previous_message_at == START + timedelta(minutes=minutes)


def test_without_turns_there_is_no_previous_message() -> None:
    assert read_turns([]) == Continuum((), (), (), None, None)


states_of = st.text(st.sampled_from("dor"), max_size=12)


@settings(deadline=None, max_examples=200)
@given(states_of, st.integers(1, 14))
def test_the_history_always_makes_a_valid_window(states: str, start: int) -> None:
    continuum = read_turns(turns(states), window_start=start)
    current = Message(Role.USER, (*continuum.unanswered, *user("now").parts))
    Window("", "", continuum.history, "", (current,))


@pytest.mark.requirement("RULE-1")
@settings(deadline=None, max_examples=200)
@given(states_of, st.sampled_from("dor"))
def test_a_further_turn_never_changes_the_history_before_it(states: str, new: str) -> None:
    before = read_turns(turns(states)).history
    after = read_turns(turns(states + new)).history
    assert after[: len(before)] == before


@settings(deadline=None, max_examples=200)
@given(states_of)
def test_every_message_that_was_not_refused_is_there_once_and_in_order(states: str) -> None:
    continuum = read_turns(turns(states))
    asked = [text for message in continuum.history[::2] for text in message.text.split("\n\n")]
    assert asked + waiting(continuum) == [f"q{number}" for number, state in enumerate(states, 1) if state != "r"]


# --- fit ---------------------------------------------------------------------------------------------------------


def test_turns_leave_in_one_large_step_to_half_of_the_room() -> None:
    stored = [turn(number, size=148) for number in range(1, 11)]
    # Each turn has 300 characters, about 100 tokens; 1000 of room 900 are 550 more than half of it.
    assert window_start_to_fit(stored, start=1, tokens=1000, room=900) == 7


def test_only_turns_in_the_window_count() -> None:
    stored = [turn(number, size=148) for number in range(1, 11)]
    # Six turns of about 100 tokens beside 400 others: 250 of the 500 that are left may stay.
    assert window_start_to_fit(stored, start=5, tokens=1000, room=900) == 9
    assert window_start_to_fit(stored, start=5, tokens=1000, room=400) == 11


def test_when_one_message_alone_is_too_large_all_answered_turns_leave() -> None:
    assert window_start_to_fit(turns("dddo"), start=1, tokens=10_000, room=100) == 4


@pytest.mark.parametrize(("states", "start"), [("", 1), ("o", 1), ("oro", 1), ("ddo", 3)])
def test_without_an_answered_turn_in_the_window_nothing_can_leave(states: str, start: int) -> None:
    assert window_start_to_fit(turns(states), start=start, tokens=100, room=10) is None


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(TurnState), st.integers(0, 2000)), max_size=12),
    st.integers(1, 13),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_the_start_moves_forward_to_the_turn_after_an_answered_one(
    drafts: list[tuple[TurnState, int]], start: int, room: int, surplus: int
) -> None:
    stored = [turn(number, state, size=size) for number, (state, size) in enumerate(drafts, 1)]
    moved = window_start_to_fit(stored, start=start, tokens=room + surplus, room=room)
    answered = [item.number for item in stored if item.state is TurnState.DONE and item.number >= start]
    if moved is None:
        assert not answered
    else:
        assert moved > start
        assert moved - 1 in answered


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 2000), min_size=1, max_size=12), st.integers(1, 3000))
def test_leaving_out_again_and_again_comes_to_an_end(sizes: list[int], room: int) -> None:
    stored = [turn(number, size=size) for number, size in enumerate(sizes, 1)]
    start: int | None = 1
    rounds = 0
    while start is not None:
        rounds += 1
        assert rounds <= len(stored) + 1
        start = window_start_to_fit(stored, start=start, tokens=room + 1, room=room)
