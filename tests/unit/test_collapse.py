"""Which closed segments leave the window at a natural break, and what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.continuum.collapse import (
    CARRY_OVER,
    EARLIER_SEGMENTS,
    LEAST_LEAVING,
    SUMMARY_BUDGET,
    Earlier,
    collapsed_start,
    earlier_segments,
    left_segments,
    turn_tokens,
)
from frontmind.continuum.history import next_segment, read_turns
from frontmind.trinkets.markup import Element, parse
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text
from frontmind.values.records import Turn, TurnState
from frontmind.values.tokens import estimate_tokens

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)


def turn(number: int, segment: int, tokens: int = 0, state: TurnState = TurnState.DONE) -> Turn:
    at = START + timedelta(hours=2 * segment, minutes=number)
    accepted = Turn(number, "main", number, segment, state, user("u" * 2 * tokens), at)
    return replace(accepted, reply=assistant("a" * 2 * tokens), answered_at=at) if state is TurnState.DONE else accepted


def turns(*segments: Sequence[int]) -> list[Turn]:
    """Answered turns of these sizes in tokens, segment by segment."""
    sizes = [(segment, size) for segment, group in enumerate(segments, 1) for size in group]
    return [turn(number, segment, size) for number, (segment, size) in enumerate(sizes, 1)]


@pytest.mark.parametrize(
    ("stored", "segment", "start"),
    [
        # All that is closed leaves but the newest that fit.
        (turns([3000], [1000], [900]), 4, 2),
        (turns([3000], [1000], [1100]), 4, 3),
        (turns([800], [800], [800], [800]), 5, 3),
        # Of a newest one that does not fit its end stays.
        (turns([900, 900, 900]), 2, None),
        (turns([1100, 900, 900]), 2, 2),
        (turns([2500]), 2, 2),
        (turns([900], [2500, 500]), 3, 3),
        # The present segment always stays.
        (turns([3000], [4000]), 2, 2),
        (turns([4000]), 1, None),
        # What would leave is too little.
        (turns([1000], [2000]), 3, None),
        (turns([1001], [2000]), 3, 2),
        (turns([500], [500]), 3, None),
        ([], 1, None),
    ],
)
def test_closed_segments_leave_but_those_that_are_carried_over(
    stored: list[Turn], segment: int, start: int | None
) -> None:
    assert collapsed_start(stored, start=1, segment=segment) == start


def test_only_what_is_in_the_window_counts() -> None:
    stored = turns([3000], [3000], [100])
    assert collapsed_start(stored, start=2, segment=4) == 3
    assert collapsed_start(stored, start=3, segment=4) is None


def test_messages_that_wait_go_along_whatever_leaves() -> None:
    stored = [turn(1, 1, 3000), turn(2, 1, 0, TurnState.OPEN), turn(3, 1, 0, TurnState.OPEN), turn(4, 2, 10)]
    start = collapsed_start(stored, start=1, segment=3)
    # Right behind the last answered turn that leaves: the messages that went along with turn 4 are read with it.
    assert start == 2
    assert collapsed_start(stored[:3], start=1, segment=2) == 2


groups = st.lists(st.lists(st.integers(0, 1500), min_size=1, max_size=6), max_size=6)


@settings(deadline=None, max_examples=300)
@given(groups, st.integers(0, 2))
def test_what_leaves_is_worth_it_and_what_stays_is_whole_or_the_end_of_one_segment(
    segments: list[list[int]], behind: int
) -> None:
    stored = turns(*segments)
    asking = len(segments) + behind
    start = collapsed_start(stored, start=1, segment=asking)
    if start is None:
        return
    left = [item for item in stored if item.number < start]
    kept = [item for item in stored if item.number >= start and item.segment < asking]
    assert sum(map(turn_tokens, left)) > LEAST_LEAVING
    assert sum(map(turn_tokens, kept)) <= CARRY_OVER
    assert all(item.segment < asking for item in left)
    cut = {item.segment for item in left} & {item.segment for item in kept}
    assert cut <= {left[-1].segment}
    if cut:
        assert {item.segment for item in kept} == cut
    # What was done once is not done again.
    assert collapsed_start(stored, start=start, segment=asking) is None


def test_the_segments_that_left_are_named_once_their_last_turn_has() -> None:
    stored = turns([1, 1], [1, 1], [1])
    assert left_segments(stored, 1, 4) == (1,)
    assert left_segments(stored, 4, 5) == (2,)
    assert left_segments(stored, 1, 5) == (1, 2)
    assert left_segments(stored, 1, 1) == ()


@pytest.mark.parametrize(("minutes", "expected"), [(59, 7), (60, 8), (-90, 7)])
def test_the_next_segment_begins_after_the_pause(minutes: int, expected: int) -> None:
    newest = turn(3, 7)
    now = (newest.answered_at or START) + timedelta(minutes=minutes)
    assert next_segment([newest], now, pause=HOUR) == expected
    assert next_segment([], now, pause=HOUR) == 1


def test_a_clock_that_was_ahead_hides_no_pause_before_the_next_segment() -> None:
    before, ahead = turn(3, 7), replace(turn(4, 8), asked_at=START + timedelta(days=3650), answered_at=None)
    now = before.answered_at or START
    assert next_segment([before, ahead], now + timedelta(minutes=59), pause=HOUR) == 8
    assert next_segment([before, ahead], now + timedelta(minutes=60), pause=HOUR) == 9


def earlier(number: int, text: str = "User: We talk.", title: str = "Talk", *, extract: bool = True) -> Earlier:
    since = START + timedelta(days=number)
    return Earlier(number, since, since + HOUR, title, text, extract, is_whole=True)


def children(text: str) -> tuple[Element, ...]:
    element = parse(text)
    assert element.name == EARLIER_SEGMENTS
    assert isinstance(element.body, tuple)
    return element.body


def test_each_segment_is_told_with_its_times_and_whether_it_is_an_extract() -> None:
    first, second = children(earlier_segments([earlier(1), earlier(2, extract=False)], BERLIN))
    assert first.attributes == {
        "number": "1",
        "from": "2026-12-01 10:00",
        "to": "2026-12-01 11:00",
        "title": "Talk",
        "extract": "true",
    }
    assert first.body == "User: We talk."
    assert "extract" not in second.attributes


def test_the_end_of_a_segment_that_is_still_sent_is_said() -> None:
    (only,) = children(earlier_segments([replace(earlier(1), is_whole=False)], BERLIN))
    assert only.attributes["still_sent"] == "its end"


def test_the_newest_have_room_and_the_older_ones_are_counted() -> None:
    text = earlier_segments([earlier(number, "word " * 100) for number in range(1, 41)], BERLIN)
    count, *shown = children(text)
    assert estimate_tokens(text) <= SUMMARY_BUDGET
    assert count.body == f"{40 - len(shown)} earlier"
    assert [child.attributes["number"] for child in shown] == [str(41 - len(shown) + i) for i in range(len(shown))]
    assert len(shown) >= 5


def test_in_a_small_budget_the_newest_is_there_by_its_title_or_all_are_counted() -> None:
    both = [earlier(1), earlier(2, "word " * 500, title="Trains")]
    count, newest = children(earlier_segments(both, BERLIN, budget=200))
    assert (count.body, newest.body, newest.attributes["title"]) == ("1 earlier", "", "Trains")
    (count,) = children(earlier_segments(both, BERLIN, budget=5))
    assert count.body == "2 earlier"


def test_where_nothing_has_left_nothing_is_said() -> None:
    assert earlier_segments([], BERLIN) == ""


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.text(st.characters(codec=None)), st.text(st.characters(codec=None))), min_size=1))
def test_no_text_can_end_the_element(said: list[tuple[str, str]]) -> None:
    told = [earlier(number, text, title) for number, (title, text) in enumerate(said, 1)]
    shown = [child for child in children(earlier_segments(told, BERLIN)) if child.name == "segment"]
    for item, child in zip(told[len(told) - len(shown) :], shown, strict=True):
        assert child.attributes["title"] == item.title
        assert child.body in (item.text, "")


# --- in the history ----------------------------------------------------------------------------------------------


def test_the_summary_stands_in_front_of_the_first_message_that_is_sent_and_of_no_other() -> None:
    stored = turns([1], [1], [1])
    continuum = read_turns(stored, window_start=2, summary="S")
    assert continuum.history[0].parts[0] == Text("S")
    assert [part for message in continuum.history for part in message.parts].count(Text("S")) == 1
    assert continuum.opening == ()
    assert len(continuum.history) == 4


def test_where_no_turn_is_sent_it_waits_for_the_message_and_stays_in_front_of_it() -> None:
    stored = turns([1], [1])
    asking = turn(3, 3, 5, TurnState.OPEN)
    before = read_turns([*stored, asking], window_start=3, summary="S")
    assert (before.history, before.opening, before.unanswered) == ((), (Text("S"),), asking.user.parts)
    after = read_turns([*stored, turn(3, 3, 5)], window_start=3, summary="S")
    assert after.history[0] == Message(Role.USER, (*before.opening, *before.unanswered))
    assert after.opening == ()
