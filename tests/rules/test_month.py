"""Days of conversations with a moving clock: what is cold, what the manifest says, which fact wins, what it costs."""

from __future__ import annotations

import asyncio
from itertools import groupby

import pytest

from benchmarks.month import MODEL, Played, comparison, play_all
from benchmarks.month_scenario import FACTS
from frontmind.assistant.report import TurnReport
from frontmind.trinkets.markup import Element, parse
from frontmind.values.tokens import estimate_tokens

DAYS = 8
"""More than twenty sessions, so that the manifest is full."""


@pytest.fixture(scope="module")
def layouts() -> list[Played]:
    """Frontmind, everything kept, the rolling window."""
    return [played for _, played in asyncio.run(play_all(DAYS))]


@pytest.fixture(scope="module")
def frontmind(layouts: list[Played]) -> Played:
    return layouts[0]


def children(report: TurnReport, name: str) -> tuple[Element, ...]:
    sections = [item for item in report.window.sections if item.name == name]
    bodies = [parse(section.content).body for section in sections]
    return tuple(element for body in bodies if isinstance(body, tuple) for element in body)


@pytest.mark.requirement("SEGMENT-1")
def test_no_pause_has_more_than_one_cold_request(frontmind: Played) -> None:
    assert frontmind.pauses > DAYS * 3
    for item in frontmind.metered:
        if item.is_cold:
            assert item.idle is not None
            assert item.idle > frontmind.lifetime


def test_segments_leave_only_where_the_cache_is_gone_and_the_next_request_reads_them(frontmind: Played) -> None:
    moved = [index for index, report in enumerate(frontmind.reports) if report.left_out]
    assert len(moved) > DAYS
    for index in moved:
        idle = frontmind.metered[index].idle
        assert idle is not None
        assert idle > frontmind.lifetime
        assert not frontmind.reports[index].was_full
        following = frontmind.metered[index + 1]
        if following.idle is not None and following.idle <= frontmind.lifetime:
            assert not following.is_cold
    changes = [
        index
        for index in range(1, len(frontmind.openings))
        if frontmind.openings[index] != frontmind.openings[index - 1]
    ]
    assert changes == moved


def test_the_window_stays_small_however_long_the_conversation_is(frontmind: Played) -> None:
    first, last = frontmind.metered[: len(frontmind.metered) // 3], frontmind.metered[-len(frontmind.metered) // 3 :]
    # The manifest fills in the first days; the history does not grow.
    assert max(item.usage.input for item in last) < 1.5 * max(item.usage.input for item in first)
    assert all(estimate_tokens(opening.summary) <= 1500 for opening in frontmind.openings)


def test_the_manifest_has_every_session_with_its_times_and_turns(frontmind: Played) -> None:
    sessions = [list(group) for _, group in groupby(frontmind.said, key=lambda item: item.session)]
    assert [segment.turns for segment in frontmind.segments] == [len(session) for session in sessions]
    count, *shown = children(frontmind.reports[-1], "conversation_manifest")
    assert count.body == f"{len(sessions) - 13} earlier"
    expected = [
        (str(number), f"{session[0].at:%Y-%m-%d %H:%M}", f"{session[-1].at:%H:%M}", str(len(session)))
        for number, session in enumerate(sessions, 1)
    ]
    told = [tuple(item.attributes.get(name) for name in ("number", "from", "to", "turns")) for item in shown]
    assert told[:-1] == expected[-13:-1]
    assert told[-1] == (*expected[-1][:2], "now", None)
    assert all(str(item.body).strip() for item in shown)
    for item, session in zip(shown[:-1], sessions[-13:-1], strict=True):
        # An extract: the title is what the person said in this very session.
        assert any(str(item.body).rstrip("…") in message.text for message in session)


def test_what_the_window_holds_is_marked_in_the_manifest(frontmind: Played) -> None:
    shown = children(frontmind.reports[-1], "conversation_manifest")[1:]
    start = frontmind.openings[-1].start
    by_number = {str(segment.number): segment for segment in frontmind.segments}
    for item in shown:
        segment = by_number[item.attributes["number"]]
        assert ("in_window" in item.attributes) == (segment.last >= start)


@pytest.mark.requirement("MEMORY-1")
def test_the_newest_fact_wins_and_what_was_before_says_so(frontmind: Played) -> None:
    surfaced = told_before = 0
    for place, item in enumerate(frontmind.said):
        if not item.asks:
            continue
        newest, *older = [fact.memory for fact in reversed(FACTS) if fact.subject == item.asks]
        found = children(frontmind.reports[place], "relevant_memories")
        held = [element.body for element in found if element.name == "memory"]
        assert not set(older) & set(held)
        before = [element for element in found if element.name == "before"]
        assert all(element.attributes["observed"] < element.attributes["superseded"] for element in before)
        surfaced += newest in held
        told_before += any(element.body in older for element in before)
    # By words alone: not each question has enough of them in common with its answer.
    assert surfaced >= 2
    assert told_before >= 1


def test_a_month_costs_less_than_keeping_everything_and_than_a_rolling_window(layouts: list[Played]) -> None:
    frontmind, everything, rolling = layouts
    assert frontmind.cost < everything.cost
    assert frontmind.cost < rolling.cost
    assert sum(item.is_cold for item in rolling.metered) > 2 * sum(item.is_cold for item in frontmind.metered)
    table = comparison([("a", frontmind), ("b", everything), ("c", rolling)])
    assert MODEL.startswith("anthropic:")
    assert len(table.splitlines()) == 5
