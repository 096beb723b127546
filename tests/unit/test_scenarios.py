"""The scripted conversations: each has the difficulty that its name promises, and the sections are the real ones."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import cache
from itertools import pairwise

import pytest

from frontmind.cachelab.scenarios import SCENARIOS, scenario_of, write_session
from frontmind.cachelab.session import Session, SessionTurn
from frontmind.errors import UsageError
from frontmind.values.parts import ToolCall
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.values.tokens import estimate_tokens
from frontmind.values.tool import Tool

NAMES = [scenario.name for scenario in SCENARIOS]
LIFETIME = timedelta(minutes=5)


@cache
def written(name: str, seed: int = 1) -> Session:
    return asyncio.run(write_session(scenario_of(name), seed=seed))


def section(turn: SessionTurn, name: str) -> Section:
    return next(section for section in turn.sections if section.name == name)


def texts(session: Session, name: str) -> list[str]:
    return [section(turn, name).state or section(turn, name).content for turn in session.turns]


def tokens(turn: SessionTurn, placement: str) -> int:
    return sum(estimate_tokens(section.content) for section in turn.sections if section.placement == placement)


def pauses(session: Session) -> list[timedelta]:
    moments = [[turn.at, *(step.at for step in turn.steps)] for turn in session.turns]
    return [later[0] - earlier[-1] for earlier, later in pairwise(moments)]


@pytest.mark.parametrize("name", NAMES)
def test_the_static_part_has_about_six_thousand_tokens_and_the_sections_about_eight_hundred(name: str) -> None:
    session = written(name)
    tools = [tool for tool in session.turns[0].tools if isinstance(tool, Tool)]
    offered = sum(estimate_tokens(f"{tool.name}{tool.description}{tool.parameters}") for tool in tools)
    assert 5_700 < tokens(session.turns[0], PLACEMENT_SYSTEM) + offered < 6_400
    changing = [tokens(turn, PLACEMENT_NOTIFICATION) for turn in session.turns]
    assert 700 < sum(changing) / len(changing) < 950


@pytest.mark.parametrize("name", NAMES)
def test_the_static_part_never_changes_and_time_goes_on(name: str) -> None:
    session = written(name)
    static = {
        tuple(section for section in turn.sections if section.placement == PLACEMENT_SYSTEM) for turn in session.turns
    }
    assert len(static) == 1
    moments = [moment for turn in session.turns for moment in (turn.at, *(step.at for step in turn.steps))]
    assert all(earlier < later for earlier, later in pairwise(moments))


@pytest.mark.parametrize("name", NAMES)
def test_only_the_time_is_said_by_the_application(name: str) -> None:
    told = {
        section.name: section.author
        for turn in written(name).turns
        for section in turn.sections
        if section.placement == PLACEMENT_NOTIFICATION
    }
    assert told.keys() >= {"datetime_section", "conversation_manifest", "active_reminders", "relevant_memories"}
    assert {name for name, author in told.items() if author is Author.APPLICATION} == {"datetime_section"}


def test_the_same_seed_gives_the_same_conversation_and_another_one_another() -> None:
    written.cache_clear()
    first = written("tools")
    written.cache_clear()
    assert written("tools") == first
    other = written("tools", seed=2)
    assert [turn.user for turn in other.turns] != [turn.user for turn in first.turns]
    assert pauses(other) != pauses(first)


def test_in_a_chat_the_memories_follow_the_subject_and_otherwise_stay() -> None:
    session = written("chat")
    changes = sum(one != two for one, two in pairwise(texts(session, "relevant_memories")))
    assert len(session.turns) == 30
    assert 5 <= changes <= 20
    assert max(pauses(session)) < LIFETIME


def test_other_memories_surface_in_each_turn() -> None:
    assert all(one != two for one, two in pairwise(texts(written("memories"), "relevant_memories")))


def test_each_turn_calls_fifteen_tools_and_says_the_sections_that_they_changed() -> None:
    session = written("tools")
    assert [len(turn.steps) for turn in session.turns] == [15] * 10
    changed: dict[str, set[str]] = {}
    for step in (step for turn in session.turns for step in turn.steps):
        (call,) = (part for part in step.said.parts if isinstance(part, ToolCall))
        changed.setdefault(call.name, set()).update(section.name for section in step.changed)
    assert "active_reminders" in changed["complete_reminder"]
    assert "context_search_results" in changed["search_context"]
    assert changed["read_notes"] <= {"datetime_section"}


def test_a_day_has_pauses_that_are_longer_than_a_cache_entry_lives() -> None:
    long = [pause for pause in pauses(written("pauses")) if pause > LIFETIME]
    assert 8 <= len(long) <= 20
    assert any(pause > timedelta(hours=1) for pause in long)


def test_closed_segments_leave_where_a_segment_begins_and_a_summary_takes_their_place() -> None:
    session = written("collapse")
    assert len(session.turns) == 300
    moves = [(one, two) for one, two in pairwise(session.turns) if one.start != two.start]
    assert len(moves) > 10
    for before, after in moves:
        assert after.at - before.at > timedelta(hours=1)
        assert after.start > before.start
        assert after.summary.startswith("<earlier_segments")
        assert after.summary != before.summary
    assert not session.turns[0].summary


def test_a_section_whose_trinket_fails_says_so_and_comes_back() -> None:
    session = written("failing")
    away = ["Unavailable since" in text for text in texts(session, "relevant_memories")]
    assert away[7:13] == [True] * 6
    assert not away[6]
    assert not away[13]
    reminders = texts(session, "active_reminders")
    assert "Unavailable since" in reminders[22]
    assert "<reminder" in reminders[22], "the last good text is shown with its time"
    assert "Unavailable" not in reminders[26]


def test_the_date_changes_in_the_middle() -> None:
    session = written("midnight")
    days = [turn.at.date().isoformat() for turn in session.turns]
    assert set(days) == {"2026-11-30", "2026-12-01"}
    assert 8 < days.count("2026-11-30") < 22
    assert "Tuesday, 1 December" in section(session.turns[-1], "datetime_section").content


def test_an_unknown_scenario_is_refused_with_the_names_of_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="'nap'; use one of chat, tools"):
        scenario_of("nap")
