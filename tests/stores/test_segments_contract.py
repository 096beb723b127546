"""What any store promises of segments, their summaries, and where the window of a conversation begins."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import assistant, user
from frontmind.values.records import Completion, SegmentSummary, Sent, Step, Turn, WindowOpening
from frontmind.values.usage import Usage

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SUMMARY = SegmentSummary("Trains", "We spoke of trains.", "", NINE)


async def answered(
    store: Store, text: str, at: datetime, *, conversation: str = "main", opening: WindowOpening | None = None
) -> Turn:
    turn = await store.begin_turn(conversation, user(text), at, segment_pause=HOUR)
    completion = Completion(assistant("ok"), at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {})
    return await store.complete_turn(turn.id, completion if opening is None else replace(completion, opening=opening))


async def test_a_segment_has_its_summary_from_when_it_is_saved_and_its_title(store: Store) -> None:
    await answered(store, "When does the train leave?", NINE)
    await answered(store, "And back?", NINE + HOUR * 3)
    before, _ = await store.segments("main")
    await store.save_summary("main", 1, SUMMARY)
    first, second = await store.segments("main")
    assert (before.summary, before.title) == (None, "When does the train leave?")
    assert (first.summary, first.title) == (SUMMARY, "Trains")
    assert (second.summary, second.title) == (None, "And back?")
    assert [(segment.first, segment.last) for segment in (first, second)] == [(1, 1), (2, 2)]


async def test_a_later_summary_takes_the_place_of_the_earlier_one(store: Store) -> None:
    await answered(store, "a", NINE)
    await store.save_summary("main", 1, SUMMARY)
    written = SegmentSummary("Trains to Rome", "They leave at nine.", "anthropic:m", NINE + HOUR)
    await store.save_summary("main", 1, written)
    (segment,) = await store.segments("main")
    assert segment.summary == written


@pytest.mark.parametrize("text", ["", "\0\n═</segment>", "\ud800 lone", "日本語"])
async def test_every_text_of_a_summary_comes_back(store: Store, text: str) -> None:
    await answered(store, "a", NINE)
    summary = SegmentSummary(text, text, text, NINE)
    await store.save_summary("main", 1, summary)
    (segment,) = await store.segments("main")
    assert segment.summary == summary


@pytest.mark.parametrize(("conversation", "segment"), [("main", 2), ("other", 1), ("main", 0)])
async def test_a_segment_that_is_not_there_has_no_summary(store: Store, conversation: str, segment: int) -> None:
    await answered(store, "a", NINE)
    with pytest.raises(UsageError, match="no segment"):
        await store.save_summary(conversation, segment, SUMMARY)


async def test_a_summary_belongs_to_its_owner_and_its_conversation(store: Store) -> None:
    other = store.of("somebody else")
    for one in (store, other):
        await answered(one, "a", NINE)
        await answered(one, "b", NINE, conversation="second")
    await store.save_summary("main", 1, SUMMARY)
    assert [segment.summary for segment in await store.segments("main")] == [SUMMARY]
    assert [segment.summary for segment in await store.segments("second")] == [None]
    assert [segment.summary for segment in await other.segments("main")] == [None]


async def test_the_newest_segments_are_those_of_all_with_the_largest_numbers(store: Store) -> None:
    for day in range(6):
        await answered(store, f"a{day}", NINE + timedelta(days=day))
        await answered(store, f"b{day}", NINE + timedelta(days=day, minutes=1))
    await store.save_summary("main", 5, SUMMARY)
    for before in (None, 13, 12, 10, 2, 1):
        every = list(await store.segments("main", before=before))
        assert await store.count_segments("main", before=before) == len(every)
        for newest in (1, 2, 5, 9):
            assert list(await store.segments("main", before=before, newest=newest)) == every[-newest:]
    assert list(await store.segments("other", newest=3)) == []
    assert await store.count_segments("other") == 0
    assert await store.of("somebody else").count_segments("main") == 0


async def test_a_segment_of_which_all_was_refused_is_not_among_the_newest(store: Store) -> None:
    await answered(store, "a", NINE)
    refused = await store.begin_turn("main", user("b"), NINE + HOUR * 2, segment_pause=HOUR)
    kept = await store.begin_turn("main", user("c"), NINE + HOUR * 4, segment_pause=HOUR)
    completion = Completion(assistant("ok"), kept.asked_at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {})
    await store.complete_turn(kept.id, replace(completion, refuses=(refused.id,)))
    assert [segment.number for segment in await store.segments("main", newest=2)] == [1, 3]
    assert await store.count_segments("main") == 2


async def test_the_segments_without_summary_are_those_that_nobody_has_summed_up(store: Store) -> None:
    other = store.of("somebody else")
    for one in (store, other):
        for day in range(3):
            await answered(one, f"a{day}", NINE + timedelta(days=day))
    await answered(store, "elsewhere", NINE, conversation="second")
    await store.save_summary("main", 2, SUMMARY)
    await other.save_summary("main", 1, SUMMARY)
    found = await store.segments_without_summary("main")
    assert [(segment.number, segment.title, segment.turns) for segment in found] == [(1, "a0", 1), (3, "a2", 1)]
    assert [segment.number for segment in await store.segments_without_summary("second")] == [1]
    assert list(await store.segments_without_summary("none")) == []


async def test_turns_are_read_from_one_number_to_another_with_their_steps(store: Store) -> None:
    for minute in range(4):
        turn = await store.begin_turn("main", user("a"), NINE + timedelta(minutes=minute), segment_pause=HOUR)
        await store.begin_step(turn.id, Step(assistant("I look."), "0" * 64, "m", Usage(1, 0, 0, 1)), sent=Sent())
    every = list(await store.turns("main"))
    assert [len(turn.steps) for turn in every] == [1, 1, 1, 1]
    for since, until, expected in ((1, 4, every), (2, 3, every[1:3]), (3, None, every[2:]), (1, 0, []), (3, 2, [])):
        assert list(await store.turns("main", since=since, until=until)) == expected


async def test_imported_exchanges_follow_each_other_by_what_was_said_last(store: Store) -> None:
    minutes = [(0, 50), (100, 100), (90, 90), (149, 149), (230, 300), (355, 355)]
    turns = [
        ImportedTurn(
            key=str(asked),
            user=user("q"),
            reply=assistant("a"),
            asked_at=NINE + timedelta(minutes=asked),
            answered_at=NINE + timedelta(minutes=answered),
        )
        for asked, answered in minutes
    ]
    assert await store.import_turns("old", turns[:2], source="x") == 2
    assert await store.import_turns("old", turns, source="x") == 4
    places = [(turn.number, turn.segment) for turn in await store.turns("old")]
    assert places == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2)]


async def test_the_opening_moves_with_a_completed_turn_and_only_forward(store: Store) -> None:
    seen = []
    for minute, opening in enumerate(
        (
            WindowOpening(),
            WindowOpening(3, "<earlier/> \ud800"),
            WindowOpening(3, "another text for the same start"),
            WindowOpening(2, "back"),
            WindowOpening(5, "later"),
        )
    ):
        await answered(store, "a", NINE + timedelta(minutes=minute), opening=opening)
        seen.append(await store.window_opening("main"))
    early, late = WindowOpening(3, "<earlier/> \ud800"), WindowOpening(5, "later")
    assert seen == [WindowOpening(), early, early, early, late]
    assert await store.window_opening("another") == WindowOpening()


async def test_a_turn_that_is_only_begun_moves_nothing(store: Store) -> None:
    await store.begin_turn("main", user("a"), NINE, segment_pause=HOUR)
    assert await store.window_opening("main") == WindowOpening()
