"""The built-in trinkets: exactly what they say for a fixed clock in several zones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.events import EventBus, TrinketContentEvent, TurnCompletedEvent, TurnContext, UpdateTrinketEvent
from frontmind.trinkets import (
    DomaindocTrinket,
    EventAwareTrinket,
    GetContextTrinket,
    ManifestTrinket,
    ProactiveMemoryTrinket,
    ReminderManager,
    TimeManager,
    ToolDescription,
    ToolGuidanceTrinket,
    ToolHintsTrinket,
)
from frontmind.trinkets.memory import excerpt
from frontmind.trinkets.time import describe_duration, describe_zone
from frontmind.values.due import Urgency, describe_due, urgency_of
from frontmind.values.message import assistant, user
from frontmind.values.records import Document, HitKind, Reminder, SearchHit, Segment
from frontmind.values.usage import Usage

T = TypeVar("T")

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KOLKATA = ZoneInfo("Asia/Kolkata")
AMSTERDAM = ZoneInfo("Europe/Amsterdam")
AUCKLAND = ZoneInfo("Pacific/Auckland")
SHANGHAI = ZoneInfo("Asia/Shanghai")

MONDAY = datetime(2026, 11, 30, 9, 15, tzinfo=BERLIN)


def turn(now: datetime, *, message: str = "", previous: datetime | None = None, start: int = 1) -> TurnContext:
    return TurnContext("main", 1, now, message, previous, start)


async def said(trinket: EventAwareTrinket, context: TurnContext) -> str:
    bus = EventBus()
    heard: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, heard.append)
    detach = trinket.attach(bus)
    assert await bus.publish(UpdateTrinketEvent(trinket.section_name, context)) == ()
    detach()
    (event,) = heard
    assert event.failure is None
    return event.content


# --- time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (MONDAY, "It is Monday, 30 November 2026, 09:15 (Europe/Berlin, UTC+01:00)."),
        (MONDAY.astimezone(NEW_YORK), "It is Monday, 30 November 2026, 03:15 (America/New_York, UTC-05:00)."),
        (MONDAY.astimezone(KOLKATA), "It is Monday, 30 November 2026, 13:45 (Asia/Kolkata, UTC+05:30)."),
        (MONDAY.astimezone(AUCKLAND), "It is Monday, 30 November 2026, 21:15 (Pacific/Auckland, UTC+13:00)."),
        (MONDAY.astimezone(UTC), "It is Monday, 30 November 2026, 08:15 (UTC+00:00)."),
        (MONDAY.astimezone(ZoneInfo("UTC")), "It is Monday, 30 November 2026, 08:15 (UTC, UTC+00:00)."),
        (datetime(2026, 7, 5, 0, 0, tzinfo=BERLIN), "It is Sunday, 5 July 2026, 00:00 (Europe/Berlin, UTC+02:00)."),
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
            "It is Sunday, 25 October 2026, 02:30 (Europe/Berlin, UTC+02:00).",
        ),
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
            "It is Sunday, 25 October 2026, 02:30 (Europe/Berlin, UTC+01:00).",
        ),
    ],
    ids=str,
)
async def test_the_time_is_told_with_weekday_and_zone(now: datetime, line: str) -> None:
    assert await said(TimeManager(), turn(now)) == f"<datetime_section>\n{line}\n</datetime_section>"


async def test_seconds_are_not_told() -> None:
    precise = MONDAY + timedelta(seconds=59, microseconds=999_999)
    assert await said(TimeManager(), turn(precise)) == await said(TimeManager(), turn(MONDAY))


async def test_the_previous_message_is_told_by_how_long_ago_it_was() -> None:
    shanghai = datetime(2026, 9, 7, 9, 56, tzinfo=SHANGHAI)
    evening = datetime(2026, 9, 6, 12, 57, tzinfo=UTC)
    assert await said(TimeManager(), turn(shanghai, previous=evening)) == (
        "<datetime_section>\n"
        "It is Monday, 7 September 2026, 09:56 (Asia/Shanghai, UTC+08:00).\n"
        "The previous message was 12 hours and 59 minutes ago.\n"
        "</datetime_section>"
    )


@pytest.mark.parametrize("zone", [UTC, BERLIN], ids=str)
@pytest.mark.parametrize(
    ("now", "passed"),
    [
        # Clocks went from 02:00 to 03:00, and from 03:00 back to 02:00.
        (datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN), "1 hour"),
        (datetime(2026, 10, 25, 3, 30, tzinfo=BERLIN), "3 hours"),
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), "2 hours"),
    ],
    ids=str,
)
async def test_a_change_of_daylight_saving_does_not_bend_how_long_ago_it_was(
    zone: ZoneInfo, now: datetime, passed: str
) -> None:
    previous = datetime.combine(now.date(), datetime.min.time(), BERLIN) + timedelta(hours=1, minutes=30)
    content = await said(TimeManager(), turn(now, previous=previous.astimezone(zone)))
    assert f"The previous message was {passed} ago." in content


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(seconds=-90), "less than a minute"),
        (timedelta(0), "less than a minute"),
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(seconds=60), "1 minute"),
        (timedelta(minutes=59, seconds=59), "59 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(hours=1, minutes=1), "1 hour and 1 minute"),
        (timedelta(hours=23, minutes=59), "23 hours and 59 minutes"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=1, minutes=5), "1 day and 5 minutes"),
        (timedelta(days=2, hours=3, minutes=4), "2 days and 3 hours"),
        (timedelta(days=400), "400 days"),
    ],
    ids=str,
)
def test_a_duration_is_told_in_its_largest_units(duration: timedelta, words: str) -> None:
    assert describe_duration(duration) == words


def test_a_zone_without_a_name_is_told_by_its_offset() -> None:
    assert describe_zone(datetime.fromisoformat("2026-11-30T09:15-03:30")) == "UTC-03:30"


# --- reminders ---------------------------------------------------------------------------------------------------


class Reminders:
    def __init__(self, *reminders: Reminder) -> None:
        self._reminders = reminders

    async def active_reminders(self) -> Sequence[Reminder]:
        return self._reminders


def reminder(due: datetime | date, *, number: int = 1, text: str = "x", zone: str = "Europe/Berlin") -> Reminder:
    return Reminder(number, text, due, zone, created_at=datetime(2026, 1, 1, tzinfo=UTC))


def utc(day: int, hour: int = 0, minute: int = 0, *, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


async def test_reminders_are_listed_by_when_they_are_due_with_their_urgency() -> None:
    trinket = ReminderManager(
        Reminders(
            reminder(utc(7, 8, 16, month=12), number=1, text="beyond the horizon"),
            reminder(utc(7, 8, 15, month=12), number=2, text="at the horizon"),
            reminder(date(2026, 12, 8), number=3, text="a date beyond the horizon"),
            reminder(date(2026, 12, 7), number=4, text="a date at the horizon"),
            reminder(utc(30, 16, 0), number=5, text="this afternoon"),
            reminder(date(2026, 11, 30), number=6, text="some time today"),
            reminder(utc(30, 8, 15), number=7, text="right now"),
            reminder(utc(29, 23, 30), number=8, text="last night, today in Berlin"),
            reminder(date(2026, 11, 29), number=9, text="yesterday"),
            reminder(utc(30, 23, 30), number=10, text="tomorrow in Berlin"),
        )
    )
    assert await said(trinket, turn(MONDAY)) == (
        "<active_reminders>\n"
        '<reminder id="r9" due="Sun 29 Nov 2026" status="overdue">yesterday</reminder>\n'
        '<reminder id="r6" due="Mon 30 Nov 2026" status="today">some time today</reminder>\n'
        '<reminder id="r8" due="Mon 30 Nov 2026, 00:30" status="overdue">last night, today in Berlin</reminder>\n'
        '<reminder id="r7" due="Mon 30 Nov 2026, 09:15" status="overdue">right now</reminder>\n'
        '<reminder id="r5" due="Mon 30 Nov 2026, 17:00" status="today">this afternoon</reminder>\n'
        '<reminder id="r10" due="Tue 1 Dec 2026, 00:30" status="coming">tomorrow in Berlin</reminder>\n'
        '<reminder id="r4" due="Mon 7 Dec 2026" status="coming">a date at the horizon</reminder>\n'
        '<reminder id="r2" due="Mon 7 Dec 2026, 09:15" status="coming">at the horizon</reminder>\n'
        "</active_reminders>"
    )


async def test_without_urgent_reminders_the_section_is_empty() -> None:
    assert await said(ReminderManager(Reminders()), turn(MONDAY)) == ""
    assert await said(ReminderManager(Reminders(reminder(date(2027, 5, 1)))), turn(MONDAY)) == ""


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=50)
@given(st.permutations(range(1, 6)))
async def test_reminders_due_at_the_same_moment_stand_in_the_order_of_their_ids(order: list[int]) -> None:
    same = utc(30, 16, 0)
    content = await said(ReminderManager(Reminders(*(reminder(same, number=number) for number in order))), turn(MONDAY))
    assert [line.partition('"r')[2].partition('"')[0] for line in content.splitlines()[1:-1]] == list("12345")


def test_a_date_that_was_stored_as_a_date_is_not_due_on_the_evening_before() -> None:
    """Case R3: midnight of the 21st in Amsterdam is still the 20th in UTC."""
    due = reminder(date(2025, 3, 21), zone="Europe/Amsterdam")
    evening = datetime(2025, 3, 20, 23, 0, tzinfo=UTC)
    assert urgency_of(due, datetime(2025, 3, 20, 12, 0, tzinfo=AMSTERDAM)) is Urgency.COMING
    assert urgency_of(due, datetime(2025, 3, 20, 23, 59, tzinfo=AMSTERDAM)) is Urgency.COMING
    assert urgency_of(due, evening.astimezone(AMSTERDAM)) is Urgency.TODAY
    assert urgency_of(due, datetime(2025, 3, 21, 23, 59, tzinfo=AMSTERDAM)) is Urgency.TODAY
    assert urgency_of(due, datetime(2025, 3, 22, 0, 0, tzinfo=AMSTERDAM)) is Urgency.OVERDUE


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, KOLKATA, AUCKLAND, AMSTERDAM], ids=str)
def test_a_date_stays_the_same_date_in_every_zone(zone: ZoneInfo) -> None:
    due = reminder(date(2025, 3, 21), zone="Europe/Amsterdam")
    for hour in (0, 12, 23):
        assert describe_due(due, datetime(2025, 3, 20, hour, 30, tzinfo=zone)) == "Fri 21 Mar 2025"
        assert urgency_of(due, datetime(2025, 3, 20, hour, 30, tzinfo=zone)) is Urgency.COMING
        assert urgency_of(due, datetime(2025, 3, 21, hour, 30, tzinfo=zone)) is Urgency.TODAY


def test_a_moment_is_told_in_the_zone_of_the_person() -> None:
    due = reminder(utc(30, 23, 30))
    assert describe_due(due, MONDAY) == "Tue 1 Dec 2026, 00:30"
    in_new_york = "Mon 30 Nov 2026, 18:30 (Tue 1 Dec 2026, 00:30 Europe/Berlin)"
    assert describe_due(due, MONDAY.astimezone(NEW_YORK)) == in_new_york
    assert urgency_of(due, MONDAY) is Urgency.COMING
    assert urgency_of(due, MONDAY.astimezone(NEW_YORK)) is Urgency.TODAY


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 50 * 365 * 24 * 60).map(
        lambda minutes: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    ),
    st.booleans(),
    st.sampled_from([BERLIN, NEW_YORK, KOLKATA, AUCKLAND]),
)
def test_the_urgency_only_ever_grows_as_time_passes(due: datetime, whole_day: bool, zone: ZoneInfo) -> None:
    order = [None, Urgency.COMING, Urgency.TODAY, Urgency.OVERDUE]
    item = reminder(due.date() if whole_day else due)
    moments = [(due + timedelta(hours=3 * step)).astimezone(zone) for step in range(-72, 24)]
    ranks = [order.index(urgency_of(item, moment)) for moment in moments]
    assert ranks == sorted(ranks)
    assert (ranks[0], ranks[-1]) == (0, 3)


# --- manifest ----------------------------------------------------------------------------------------------------


class Segments:
    def __init__(self, *segments: Segment) -> None:
        self._segments = segments
        self.asked: list[str] = []

    async def segments(self, conversation: str, *, before: int | None = None) -> Sequence[Segment]:
        self.asked.append(conversation)
        return self._segments


def segment(number: int, title: str = "title") -> Segment:
    start = utc(29, 22, 30) + timedelta(hours=number)
    return Segment("main", number, title, start, start + timedelta(minutes=45), turns=2)


async def test_the_manifest_lists_the_segments_with_absolute_times_in_the_zone_of_the_person() -> None:
    source = Segments(segment(1, "The garden & the <fence>"), segment(2, "Trains"))
    assert await said(ManifestTrinket(source), turn(MONDAY)) == (
        "<conversation_manifest>\n"
        '<segment number="1" from="2026-11-30 00:30" to="2026-11-30 01:15">'
        "The garden &amp; the &lt;fence&gt;</segment>\n"
        '<segment number="2" from="2026-11-30 01:30" to="2026-11-30 02:15">Trains</segment>\n'
        "</conversation_manifest>"
    )
    assert source.asked == ["main"]
    assert await said(ManifestTrinket(source), turn(MONDAY + timedelta(hours=5))) == await said(
        ManifestTrinket(source), turn(MONDAY)
    )


async def test_the_manifest_shows_the_newest_twenty_segments() -> None:
    content = await said(ManifestTrinket(Segments(*(segment(number) for number in range(1, 26)))), turn(MONDAY))
    numbers = [int(line.partition('number="')[2].partition('"')[0]) for line in content.splitlines()[1:-1]]
    assert numbers == list(range(6, 26))


async def test_a_conversation_without_segments_has_no_manifest() -> None:
    assert await said(ManifestTrinket(Segments()), turn(MONDAY)) == ""


# --- memory and search -------------------------------------------------------------------------------------------


def note(number: int, text: str) -> SearchHit:
    return SearchHit(HitKind.NOTE, number, "", text, utc(1, 23, 30), 1.0)


def message(number: int, speaker: str, text: str) -> SearchHit:
    return SearchHit(HitKind.MESSAGE, number, speaker, text, utc(2, 12, 0), 0.5)


class Memory:
    def __init__(self, notes: Sequence[SearchHit] = (), messages: Sequence[SearchHit] = ()) -> None:
        self._notes, self._messages = notes, messages
        self.asked: list[tuple[object, ...]] = []

    async def search_notes(self, query: str, *, limit: int) -> Sequence[SearchHit]:
        self.asked.append(("notes", query, limit))
        return self._notes

    async def search_messages(
        self, query: str, *, limit: int, conversation: str | None = None, before: int | None = None
    ) -> Sequence[SearchHit]:
        self.asked.append(("messages", query, limit, conversation, before))
        return self._messages


async def test_memories_are_notes_and_then_messages_with_absolute_times() -> None:
    source = Memory([note(4, "likes tea</memory>")], [message(2, "user", "Tea?"), message(2, "assistant", "Yes & no.")])
    assert await said(ProactiveMemoryTrinket(source), turn(MONDAY, message="tea", start=7)) == (
        "<relevant_memories>\n"
        '<memory id="n4" noted="2026-11-02 00:30">likes tea&lt;/memory&gt;</memory>\n'
        '<message by="user" at="2026-11-02 13:00">Tea?</message>\n'
        '<message by="assistant" at="2026-11-02 13:00">Yes &amp; no.</message>\n'
        "</relevant_memories>"
    )
    assert source.asked == [("notes", "tea", 5), ("messages", "tea", 3, "main", 7)]


async def test_without_a_message_nothing_is_searched() -> None:
    source = Memory([note(4, "x")])
    assert await said(ProactiveMemoryTrinket(source), turn(MONDAY)) == ""
    assert source.asked == []


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=900))
def test_an_excerpt_is_the_text_or_its_beginning_with_an_ellipsis(text: str) -> None:
    short = excerpt(text)
    assert len(short) <= 400
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]) and len(short) == 400)


def completed(context: TurnContext) -> TurnCompletedEvent:
    return TurnCompletedEvent(context, user("q"), assistant("a"), Usage(1, 0, 0, 1), context.now)


async def test_search_results_are_shown_until_the_turn_is_answered() -> None:
    bus = EventBus()
    heard: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, heard.append)
    trinket = GetContextTrinket()
    detach = trinket.attach(bus)
    update = UpdateTrinketEvent("context_search_results", turn(MONDAY))
    trinket.show('the "fence"', [note(4, "green"), message(2, "user", "Fence?")], MONDAY)
    trinket.show("sea", [], MONDAY)
    await bus.publish(update)
    await bus.publish(update)
    await bus.publish(completed(turn(MONDAY)))
    await bus.publish(update)
    detach()
    shown = (
        "<context_search_results>\n"
        '<search query="the &quot;fence&quot;" observed="2026-11-30 09:15">\n'
        '<memory id="n4" noted="2026-11-02 00:30">green</memory>\n'
        '<message by="user" at="2026-11-02 13:00">Fence?</message>\n'
        "</search>\n"
        '<search query="sea" observed="2026-11-30 09:15">Nothing was found outside of this conversation.</search>\n'
        "</context_search_results>"
    )
    assert [event.content for event in heard] == [shown, shown, ""]


async def test_a_detached_search_trinket_no_longer_hears_of_answered_turns() -> None:
    bus = EventBus()
    trinket = GetContextTrinket()
    trinket.attach(bus)()
    trinket.show("sea", [], MONDAY)
    await bus.publish(completed(turn(MONDAY)))
    assert "Nothing was found" in await said(trinket, turn(MONDAY))


async def test_search_results_do_not_change_with_the_list_that_was_passed() -> None:
    trinket = GetContextTrinket()
    hits = [note(4, "green")]
    trinket.show("fence", hits, MONDAY)
    hits.clear()
    assert "green" in await said(trinket, turn(MONDAY))


# --- system sections ---------------------------------------------------------------------------------------------


class Documents:
    def __init__(self, *documents: Document) -> None:
        self._documents = documents

    async def documents(self) -> Sequence[Document]:
        return self._documents


TOOLS = (
    ToolDescription("search", "Searches all conversations."),
    ToolDescription("remind", "Keeps a reminder.", "Write /remind and when.\nThen confirm."),
    ToolDescription("note", "Keeps a note."),
)


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=6)
@given(st.permutations(TOOLS))
async def test_tools_stand_sorted_by_name_whatever_the_order_they_came_in(tools: list[ToolDescription]) -> None:
    assert await said(ToolGuidanceTrinket(tools), turn(MONDAY)) == (
        '<tool_guidance>\n<guide name="remind">Write /remind and when.\nThen confirm.</guide>\n</tool_guidance>'
    )
    assert await said(ToolHintsTrinket(tools), turn(MONDAY)) == (
        "<tool_hints>\nnote: Keeps a note.\nsearch: Searches all conversations.\n</tool_hints>"
    )


@pytest.mark.requirement("RULE-9")
@pytest.mark.parametrize(
    "trinket",
    [
        DomaindocTrinket(Documents(Document("a", "Tea", enabled=True, updated_at=utc(1)))),
        ToolGuidanceTrinket(TOOLS),
        ToolHintsTrinket(TOOLS),
    ],
    ids=lambda trinket: trinket.section_name,
)
async def test_a_system_section_is_the_same_at_every_time_and_in_every_turn(trinket: EventAwareTrinket) -> None:
    early = TurnContext("main", 1, MONDAY, "hello")
    late = TurnContext("main", 9, MONDAY.astimezone(KOLKATA) + timedelta(days=40), "bye", MONDAY, 4)
    assert await said(trinket, early) == await said(trinket, late) != ""
