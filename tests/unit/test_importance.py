"""How important memories are: more by each day of use, less by each active day, and not by the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.recall.importance import HALF_LIFE_DAYS, importance, importances
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.memories import Memory, MemoryChanges, MemoryOrigin, NewMemory
from frontmind.values.message import user
from support import BERLIN, START

FIRST = date(2026, 1, 1)
HALF_LIFE = int(HALF_LIFE_DAYS)


def days(count: int) -> list[date]:
    return [FIRST + timedelta(days=number) for number in range(count)]


def observed(day: date, origin: MemoryOrigin = MemoryOrigin.EXTRACTED, confidence: float = 1.0) -> Memory:
    at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return Memory(1, "You prefer tea", at, at, origin, confidence=confidence)


def test_a_fresh_memory_that_is_sure_counts_one_half_and_an_unsure_one_less() -> None:
    assert importance(observed(FIRST), (), days(1), UTC) == pytest.approx(1 / 2)
    assert importance(observed(FIRST, confidence=0.5), (), days(1), UTC) == pytest.approx(1 / 3)


def test_after_the_half_life_it_stands_for_half() -> None:
    assert importance(observed(FIRST), (), days(1 + HALF_LIFE), UTC) == pytest.approx(1 / 3)


def test_each_day_of_use_makes_it_more_important_and_the_same_day_counts_once() -> None:
    there = days(10)
    figures = [
        importance(observed(FIRST), [there[day] for day in used], there, UTC) for used in ((), (4,), (4, 5), (4, 5, 9))
    ]
    assert figures == sorted(set(figures))
    once, thrice = (importance(observed(FIRST), [there[4]] * times, there, UTC) for times in (1, 3))
    assert once == thrice


def test_the_later_use_counts_more() -> None:
    there = days(40)
    late, early = (importance(observed(FIRST), [there[day]], there, UTC) for day in (39, 9))
    assert late > early


def test_uses_between_two_active_days_count_as_one_on_the_first() -> None:
    there = [FIRST, FIRST + timedelta(days=100), FIRST + timedelta(days=101)]
    between = [FIRST + timedelta(days=number) for number in range(1, 100)]
    assert importance(observed(FIRST), between, there, UTC) == importance(observed(FIRST), [FIRST], there, UTC)


def test_what_the_person_asked_to_keep_never_falls_below_one_half() -> None:
    assert importance(observed(FIRST, MemoryOrigin.PERSON), (), days(3000), UTC) == 0.5


@given(st.sets(st.dates(FIRST, FIRST + timedelta(days=59))), st.integers(60, 200), st.floats(0, 1))
def test_it_lies_between_0_and_1_and_falls_with_every_active_day(
    used: set[date], there: int, confidence: float
) -> None:
    memory = observed(FIRST, confidence=confidence)
    today, tomorrow = (importance(memory, used, days(count), UTC) for count in (there, there + 1))
    assert 0 <= tomorrow <= today < 1


@pytest.mark.requirement("MEMORY-2")
async def test_three_months_without_a_message_change_nothing() -> None:
    store = SqliteStore.open(IN_MEMORY)
    new = NewMemory("You prefer tea", START, MemoryOrigin.EXTRACTED)
    (kept,) = await store.add_memories([new], START)

    async def write(days_later: int) -> float:
        at = START + timedelta(days=days_later)
        await store.begin_turn("main", user("hello"), at, segment_pause=timedelta(hours=1))
        return (await importances(store, [kept], at))[kept.id]

    await write(0)
    await store.note_memory_uses([kept.id], START)
    before = await write(1)
    # Nobody writes for three months: the figure is the same all the time, and one active day later by one day's worth.
    assert (await importances(store, [kept], START + timedelta(days=91)))[kept.id] == before
    after_holiday = await write(92)
    strength = 2 * 0.5 ** (2 / HALF_LIFE_DAYS)
    assert after_holiday == pytest.approx(strength / (1 + strength))
    assert after_holiday < before
    await store.close()


@pytest.mark.requirement("MEMORY-2")
async def test_a_file_with_many_days_and_a_clock_that_was_ahead_let_no_memory_fade() -> None:
    store = SqliteStore.open(IN_MEMORY)
    mine, other = await store.add_memories(
        [NewMemory(text, START, MemoryOrigin.EXTRACTED) for text in ("You prefer tea", "You swim")], START
    )
    await store.begin_turn("main", user("hello"), START, segment_pause=timedelta(hours=1))
    before = await importances(store, [mine, other], START)
    future = tuple((other.id, START.date() + timedelta(days=number)) for number in range(1, 10_001))
    await store.change_memories(MemoryChanges(uses=future), START)
    await store.begin_turn("main", user("hello"), START + timedelta(days=3650), segment_pause=timedelta(hours=1))
    assert await importances(store, [mine, other], START) == before
    past = tuple((other.id, START.date() - timedelta(days=number)) for number in range(1, 10_001))
    await store.change_memories(MemoryChanges(uses=past), START)
    after = await importances(store, [mine, other], START)
    assert after[mine.id] == before[mine.id]
    assert after[other.id] < 0.67
    await store.close()


async def test_the_day_of_an_observation_is_the_persons() -> None:
    # Half past midnight in Berlin is still the day before in UTC.
    at = datetime(2026, 5, 2, 0, 30, tzinfo=BERLIN)
    memory = Memory(1, "x", at.astimezone(UTC), at, MemoryOrigin.EXTRACTED)
    there = [date(2026, 5, 1), date(2026, 5, 2)]
    assert importance(memory, (), there, BERLIN) == pytest.approx(1 / 2)
    assert importance(memory, (), there, UTC) < 1 / 2
