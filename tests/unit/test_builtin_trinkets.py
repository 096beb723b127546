"""The built-in trinkets: exactly what they say for a fixed clock in several zones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.events import EventBus, TrinketContentEvent, TurnContext, UpdateTrinketEvent
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
from frontmind.trinkets.budget import fits
from frontmind.trinkets.markup import Element, parse
from frontmind.trinkets.time import describe_duration, describe_zone
from frontmind.values.due import Urgency, describe_due, urgency_of
from frontmind.values.memories import LinkKind, Memory
from frontmind.values.passages import Hit, Passage, PassageKind, Recollection
from frontmind.values.records import Document, Reminder, Segment, SegmentSummary

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
        self.newest: int | None = None

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]:
        self.asked.append(conversation)
        self.newest = newest
        return self._segments if newest is None else self._segments[-newest:]

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        return len(self._segments)

    async def title_of(self, segment: Segment) -> str:
        return segment.title


def segment(number: int, title: str = "title") -> Segment:
    start = utc(29, 22, 30) + timedelta(hours=number)
    return Segment("main", number, title, start, start + timedelta(minutes=45), turns=2)


async def test_the_manifest_lists_the_segments_with_absolute_times_in_the_zone_of_the_person() -> None:
    source = Segments(segment(1, "The garden & the <fence>"), segment(2, "Trains"))
    assert await said(ManifestTrinket(source), turn(MONDAY)) == (
        "<conversation_manifest>\n"
        '<segment number="1" from="2026-11-30 00:30" to="01:15" turns="2" extract="true">'
        "The garden &amp; the &lt;fence&gt;</segment>\n"
        '<segment number="2" from="2026-11-30 01:30" to="02:15" turns="2" extract="true">Trains</segment>\n'
        "</conversation_manifest>"
    )
    assert source.asked == ["main"]
    assert await said(ManifestTrinket(source), turn(MONDAY + timedelta(hours=5))) == await said(
        ManifestTrinket(source), turn(MONDAY)
    )


async def test_the_manifest_shows_the_newest_segments_and_counts_the_others() -> None:
    source = Segments(*(segment(number) for number in range(1, 26)))
    content = await said(ManifestTrinket(source), turn(MONDAY))
    # Twelve closed ones, and the present one.
    assert source.newest == 13
    count, *lines = content.splitlines()[1:-1]
    numbers = [int(line.partition('number="')[2].partition('"')[0]) for line in lines]
    assert numbers == list(range(14, 26))
    assert count == "<omitted>13 earlier</omitted>"


async def test_the_present_segment_is_listed_as_now_and_says_nothing_that_changes_with_every_turn() -> None:
    context = replace(turn(MONDAY), segment=25)
    segments = [segment(number) for number in range(1, 26)]
    content = await said(ManifestTrinket(Segments(*segments)), context)
    longer = replace(segments[-1], turns=3, ended_at=segments[-1].ended_at + timedelta(minutes=5))
    assert content == await said(ManifestTrinket(Segments(*segments[:-1], longer)), context)
    count, *lines = content.splitlines()[1:-1]
    assert (count, len(lines)) == ("<omitted>12 earlier</omitted>", 13)
    assert lines[-1] == '<segment number="25" from="2026-12-01 00:30" to="now" extract="true">title</segment>'


async def test_the_manifest_says_what_a_model_wrote_and_what_is_in_the_window() -> None:
    written = SegmentSummary("Trains", "We spoke of trains.", "anthropic:m", MONDAY)
    segments = (
        replace(segment(1), first=1, last=4, summary=written),
        replace(segment(2), first=5, last=8, summary=replace(written, author="")),
        replace(segment(3), first=9, last=9, summary=written),
    )
    content = await said(ManifestTrinket(Segments(*segments)), replace(turn(MONDAY), window_start=7))
    first, second, third = content.splitlines()[1:-1]
    assert ("extract" in first, "extract" in second, "extract" in third) == (False, True, False)
    assert "in_window" not in first
    assert 'in_window="its end"' in second
    assert 'in_window="true"' in third


async def test_when_the_manifest_is_too_long_the_oldest_segments_are_left_out() -> None:
    trinket = ManifestTrinket(Segments())
    elements = [Element("segment", "word " * 20, {"number": str(number)}) for number in range(1, 11)]
    kept = trinket.shorten(tuple(elements), 200)
    assert not isinstance(kept, str)
    assert kept[0].name == "omitted"
    assert [item.attributes["number"] for item in kept[1:]] == [str(number) for number in range(12 - len(kept), 11)]
    assert 3 <= len(kept) < 11


async def test_a_conversation_without_segments_has_no_manifest() -> None:
    assert await said(ManifestTrinket(Segments()), turn(MONDAY)) == ""


# --- memory and search -------------------------------------------------------------------------------------------


def memory_of(number: int, text: str, *, why: tuple[str, ...] = (), **more: Any) -> Recollection:
    kept = Memory(number, text, observed_at=utc(1, 23, 30), recorded_at=utc(1, 23, 30), **more)
    passage = Passage(90 + number, PassageKind.MEMORY, number, 0, "", 0, kept.observed_at, text)
    return Recollection(Hit(passage, 0.9, why), kept)


def exchange_of(number: int, text: str) -> Recollection:
    return Recollection(Hit(Passage(number, PassageKind.EXCHANGE, number, 0, "main", 3, utc(2, 12, 0), text), 0.5))


def document_of(name: str, text: str) -> Recollection:
    return Recollection(Hit(Passage(5, PassageKind.DOCUMENT, 1, 0, name, 0, utc(2, 12, 0), text), 0.5))


class Surfacing:
    def __init__(self, *found: Recollection) -> None:
        self._found = found
        self.asked: list[TurnContext] = []

    async def surface(self, context: TurnContext) -> Sequence[Recollection]:
        self.asked.append(context)
        return self._found


async def test_memories_have_their_id_when_they_were_observed_and_why_they_came() -> None:
    source = Surfacing(
        memory_of(4, "You like tea</memory>", why=("words: tea", "similar meaning")),
        exchange_of(34, "User: Tea?\nAssistant: Yes & no."),
        document_of("house", "The kettle is red."),
    )
    context = turn(MONDAY, message="tea", start=7)
    assert await said(ProactiveMemoryTrinket(source), context) == (
        "<relevant_memories>\n"
        '<memory id="m4" observed="2026-11-02 00:30" why="words: tea; similar meaning">You like tea&lt;/memory&gt;'
        "</memory>\n"
        '<exchange id="t34" at="2026-11-02 13:00">User: Tea?\nAssistant: Yes &amp; no.</exchange>\n'
        '<document name="house" at="2026-11-02 13:00">The kettle is red.</document>\n'
        "</relevant_memories>"
    )
    assert source.asked == [context]


async def test_a_superseded_fact_is_told_as_before_with_both_dates() -> None:
    older = Memory(3, "You live in Berlin.", utc(1, 9, 0), utc(1, 9, 0), superseded_by=4, superseded_at=utc(2, 9, 0))
    friend = Memory(9, "Ana lives there too.", utc(1, 9, 0), utc(1, 9, 0))
    found = replace(
        memory_of(4, "You live in Hamburg.", happens_at=utc(5, 8, 0), valid_until=date(2027, 1, 31)),
        linked=((LinkKind.SUPERSEDES, older), (LinkKind.SUPPORTS, friend)),
    )
    assert await said(ProactiveMemoryTrinket(Surfacing(found)), turn(MONDAY, message="where do I live?")) == (
        "<relevant_memories>\n"
        '<memory id="m4" observed="2026-11-02 00:30" happens="2026-11-05 09:00" until="2027-01-31">'
        "You live in Hamburg.</memory>\n"
        '<before id="m3" of="m4" observed="2026-11-01 10:00" superseded="2026-11-02 10:00">'
        "You live in Berlin.</before>\n"
        '<memory id="m9" supports="m4" observed="2026-11-01 10:00">Ana lives there too.</memory>\n'
        "</relevant_memories>"
    )


@pytest.mark.parametrize("message", ["", "  \n"])
async def test_without_a_message_nothing_comes_to_mind(message: str) -> None:
    source = Surfacing(memory_of(4, "x"))
    assert await said(ProactiveMemoryTrinket(source), turn(MONDAY, message=message)) == ""
    assert source.asked == []


async def test_where_nothing_bears_on_the_message_there_is_no_section() -> None:
    assert await said(ProactiveMemoryTrinket(Surfacing()), turn(MONDAY, message="tea")) == ""


async def test_searches_are_shown_as_pending_found_and_failed_in_the_order_in_which_they_began() -> None:
    trinket = GetContextTrinket()
    slow, empty, broken = (trinket.begin(query, MONDAY) for query in ('the "fence"', "sea", "<sky>"))
    following = MONDAY + timedelta(minutes=1)
    assert await said(trinket, turn(following, previous=MONDAY)) == (
        "<context_search_results>\n"
        '<search id="s1" query="the &quot;fence&quot;" state="pending" observed="2026-11-30 09:15">'
        "Still searching; what it finds will stand here.</search>\n"
        '<search id="s2" query="sea" state="pending" observed="2026-11-30 09:15">'
        "Still searching; what it finds will stand here.</search>\n"
        '<search id="s3" query="&lt;sky&gt;" state="pending" observed="2026-11-30 09:15">'
        "Still searching; what it finds will stand here.</search>\n"
        "</context_search_results>"
    )
    trinket.failed(broken, "the index is <gone>", following)
    trinket.found(slow, [memory_of(4, "The fence is green."), exchange_of(2, "User: Fence?")], following)
    trinket.found(empty, [], following)
    shown = await said(trinket, turn(following, previous=MONDAY))
    assert shown == (
        "<context_search_results>\n"
        '<search id="s1" query="the &quot;fence&quot;" state="found" observed="2026-11-30 09:16">\n'
        '<memory id="m4" observed="2026-11-02 00:30">The fence is green.</memory>\n'
        '<exchange id="t2" at="2026-11-02 13:00">User: Fence?</exchange>\n'
        "</search>\n"
        '<search id="s2" query="sea" state="found" observed="2026-11-30 09:16">'
        "Nothing was found outside of this conversation.</search>\n"
        '<search id="s3" query="&lt;sky&gt;" state="failed" observed="2026-11-30 09:16">'
        "The search failed: the index is &lt;gone&gt;</search>\n"
        "</context_search_results>"
    )
    # The same state gives the same bytes, in later turns too.
    assert await said(trinket, turn(following + timedelta(minutes=40), previous=following)) == shown


async def test_searches_leave_when_a_segment_begins_but_those_that_were_made_for_it() -> None:
    trinket = GetContextTrinket()
    early = trinket.begin("early", MONDAY)
    trinket.found(trinket.begin("also early", MONDAY), [memory_of(1, "x")], MONDAY)
    last_reply = MONDAY + timedelta(minutes=5)
    back = last_reply + timedelta(hours=3)
    trinket.found(trinket.begin("made for this", back - timedelta(minutes=2)), [], back - timedelta(minutes=2))
    shown = await said(trinket, turn(back, previous=last_reply))
    assert re.findall('query="([^"]*)"', shown) == ["made for this"]
    # What ends after its search has left stays away.
    trinket.found(early, [memory_of(2, "late")], back)
    assert await said(trinket, turn(back + timedelta(minutes=1), previous=back)) == shown


async def test_in_the_first_turn_a_search_that_was_just_made_is_shown() -> None:
    trinket = GetContextTrinket()
    trinket.begin("tea", MONDAY)
    assert 'query="tea"' in await said(trinket, turn(MONDAY))


async def test_over_its_budget_the_oldest_searches_are_left_out_and_then_the_last_finds() -> None:
    trinket = GetContextTrinket()
    trinket.token_budget = 300
    for number in range(8):
        trinket.found(trinket.begin(f"query {number}", MONDAY), [memory_of(number, "word " * 40)], MONDAY)
    shown = await said(trinket, turn(MONDAY, previous=MONDAY))
    assert re.findall('query="query (.)"', shown) == ["5", "6", "7"]
    assert "<omitted>5 earlier</omitted>" in shown
    trinket.found(trinket.begin("many", MONDAY), [memory_of(number, "word " * 40) for number in range(9)], MONDAY)
    shown = await said(trinket, turn(MONDAY, previous=MONDAY))
    assert re.findall('query="([^"]*)"', shown) == ["many"]
    assert re.findall('memory id="m(.)"', shown) == ["0", "1", "2"]
    assert "<omitted>6 more</omitted>" in shown
    assert fits(parse(shown).body, 300)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=300), max_size=4), st.text(max_size=2000), st.integers(40, 400))
async def test_whatever_was_found_the_section_fits_into_its_budget(found: list[str], query: str, budget: int) -> None:
    trinket = GetContextTrinket()
    trinket.token_budget = budget
    trinket.found(trinket.begin(query, MONDAY), [memory_of(n, text) for n, text in enumerate(found)], MONDAY)
    shown = await said(trinket, turn(MONDAY, previous=MONDAY))
    assert fits(parse(shown).body, budget)


async def test_at_most_twenty_searches_are_kept() -> None:
    trinket = GetContextTrinket()
    for number in range(25):
        trinket.begin(f"query {number}", MONDAY)
    assert [search.query for search in trinket.searches] == [f"query {number}" for number in range(5, 25)]


async def test_search_results_do_not_change_with_the_list_that_was_passed() -> None:
    trinket = GetContextTrinket()
    finds = [memory_of(4, "green")]
    trinket.found(trinket.begin("fence", MONDAY), finds, MONDAY)
    finds.clear()
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
