"""What a turn says of the time: to the minute, in real time over midnight and summer time, and where the person is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from frontmind.assistant.report import TurnReport
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.tools.function import tool
from frontmind.trinkets.markup import Element, parse
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing
from frontmind.window.framing import section_digest
from support import BERLIN, EVERY_WAY, Bench, HandClock, bench, calling, playing, remember

NEW_YORK = ZoneInfo("America/New_York")
TOKYO = ZoneInfo("Asia/Tokyo")


def later(clock: HandClock, **duration: float) -> None:
    """Move the clock by real time; `HandClock.advance` moves the hands."""
    moved = clock.moment.astimezone(UTC) + timedelta(**duration)
    clock.moment = moved.astimezone(clock.zone)


def told(report: TurnReport, name: str) -> Element:
    (section,) = [section for section in report.window.sections if section.name == name]
    return parse(section.content)


def lines(report: TurnReport) -> list[str]:
    body = told(report, "datetime_section").body
    assert isinstance(body, str)
    return body.split("\n")


def children(report: TurnReport, name: str) -> Sequence[Element]:
    body = told(report, name).body
    assert not isinstance(body, str)
    return body


def talking(bench_: Bench) -> ScriptedModel:
    assert isinstance(bench_.model, ScriptedModel)
    return bench_.model


async def two_turns(clock: HandClock, **between: float) -> TurnReport:
    """The second of two turns, so much real time apart."""
    async with bench(ScriptedModel(["one", "two"]), clock=clock) as bench_:
        await bench_.orchestrator.run_turn("first")
        later(clock, **between)
        return await bench_.orchestrator.run_turn("second")


async def test_the_time_is_told_to_the_minute_and_changes_with_it() -> None:
    clock = HandClock(datetime(2026, 11, 30, 9, 15, 0, tzinfo=BERLIN))
    digests = []
    async with bench(ScriptedModel([]), clock=clock) as bench_:
        for seconds in (0, 59, 59.999_999, 60):
            clock.moment = datetime(2026, 11, 30, 9, 15, tzinfo=BERLIN) + timedelta(seconds=seconds)
            built = await bench_.mind.builder.preview("hi")
            (section,) = [section for section in built.window.sections if section.name == "datetime_section"]
            digests.append((section.content, section_digest(section)))
    assert digests[0] == digests[1] == digests[2] != digests[3]
    assert "09:15 (Europe/Berlin, UTC+01:00)" in digests[2][0]
    assert "09:16 (Europe/Berlin, UTC+01:00)" in digests[3][0]


async def test_no_second_is_told_in_any_section() -> None:
    clock = HandClock(datetime(2026, 11, 30, 9, 15, 47, tzinfo=BERLIN))
    async with bench(ScriptedModel(["one", "two"]), clock=clock) as bench_:
        await remember(bench_.store, "locker", clock.now())
        await bench_.mind.reminders.add("call Anna", clock.now() + timedelta(hours=1))
        await bench_.orchestrator.run_turn("locker")
        later(clock, minutes=1)
        report = await bench_.orchestrator.run_turn("locker")
    names = {section.name for section in report.window.sections}
    assert {"datetime_section", "conversation_manifest", "active_reminders", "relevant_memories"} <= names
    assert not [section.name for section in report.window.sections if ":47" in section.content]


async def test_the_gap_since_the_last_message_goes_over_midnight() -> None:
    report = await two_turns(HandClock(datetime(2026, 11, 30, 23, 58, tzinfo=BERLIN)), minutes=5)
    assert lines(report) == [
        "It is Tuesday, 1 December 2026, 00:03 (Europe/Berlin, UTC+01:00).",
        "The previous message was 5 minutes ago.",
    ]
    (segment,) = children(report, "conversation_manifest")
    assert (segment.attributes["from"], segment.attributes["to"]) == ("2026-11-30 23:58", "now")


async def test_a_clock_that_was_set_back_is_said_to_be() -> None:
    clock = HandClock()
    async with bench(ScriptedModel(["a", "b"]), clock=clock) as bench_:
        await bench_.orchestrator.run_turn("one")
        clock.advance(days=-3)
        report = await bench_.orchestrator.run_turn("two")
    assert "The clock was set back since the previous message." in report.window.notification_center


async def test_the_gap_over_new_year_is_in_days_and_hours() -> None:
    report = await two_turns(HandClock(datetime(2026, 12, 31, 22, 0, tzinfo=BERLIN)), days=1, hours=3, minutes=20)
    assert lines(report) == [
        "It is Saturday, 2 January 2027, 01:20 (Europe/Berlin, UTC+01:00).",
        "The previous message was 1 day and 3 hours ago.",
    ]


# Clocks are set forward on 29 March 2026 from 02:00 to 03:00, and back on 25 October from 03:00 to 02:00.
FORWARD = datetime(2026, 3, 29, 1, 50, tzinfo=BERLIN)
BACK = datetime(2026, 10, 25, 2, 50, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("start", "minutes", "time", "gap"),
    [
        (FORWARD, 15, "Sunday, 29 March 2026, 03:05 (Europe/Berlin, UTC+02:00)", "15 minutes"),
        (FORWARD, 5, "Sunday, 29 March 2026, 01:55 (Europe/Berlin, UTC+01:00)", "5 minutes"),
        (BACK, 5, "Sunday, 25 October 2026, 02:55 (Europe/Berlin, UTC+02:00)", "5 minutes"),
        (BACK, 20, "Sunday, 25 October 2026, 02:10 (Europe/Berlin, UTC+01:00)", "20 minutes"),
        (BACK, 60, "Sunday, 25 October 2026, 02:50 (Europe/Berlin, UTC+01:00)", "1 hour"),
        (BACK, 75, "Sunday, 25 October 2026, 03:05 (Europe/Berlin, UTC+01:00)", "1 hour and 15 minutes"),
    ],
)
async def test_a_change_of_summer_time_inside_a_conversation_is_told_in_real_time(
    start: datetime, minutes: int, time: str, gap: str
) -> None:
    report = await two_turns(HandClock(start), minutes=minutes)
    assert lines(report) == [f"It is {time}.", f"The previous message was {gap} ago."]


@pytest.mark.parametrize(("start", "shown"), [(FORWARD, "2026-03-29 01:50"), (BACK, "2026-10-25 02:50")])
@pytest.mark.parametrize(("minutes", "segments"), [(59, 1), (60, 2)])
async def test_a_segment_ends_after_a_real_hour_also_when_the_clocks_are_set(
    start: datetime, shown: str, minutes: int, segments: int
) -> None:
    clock = HandClock(start)
    async with bench(ScriptedModel(["one", "two"]), clock=clock) as bench_:
        await bench_.orchestrator.run_turn("first")
        later(clock, minutes=minutes)
        report = await bench_.orchestrator.run_turn("second")
        found = await bench_.store.segments("main")
    assert len(found) == segments
    assert children(report, "conversation_manifest")[0].attributes["from"] == shown


@pytest.mark.parametrize(
    ("start", "due", "before"),
    [
        # In real time 20 and 40 minutes ahead; by the hands of the clock 80 minutes, and 20 minutes back.
        (FORWARD, datetime(2026, 3, 29, 3, 10, tzinfo=BERLIN), 19),
        (BACK, datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), 39),
    ],
)
async def test_a_reminder_across_a_change_of_summer_time_is_due_on_its_minute(
    start: datetime, due: datetime, before: int
) -> None:
    clock = HandClock(start)
    async with bench(ScriptedModel(["one", "two", "three"]), clock=clock) as bench_:
        await bench_.mind.reminders.add("call Anna", due)
        states = []
        for minutes in (0, before, 1):
            later(clock, minutes=minutes)
            report = await bench_.orchestrator.run_turn("hi")
            (reminder,) = children(report, "active_reminders")
            states.append((reminder.attributes["status"], len(await bench_.mind.reminders.deliver_due())))
    assert states == [("today", 0), ("today", 0), ("overdue", 1)]


async def test_a_change_of_summer_time_inside_a_turn_is_told_behind_the_results() -> None:
    clock = HandClock(FORWARD)

    @tool
    def work() -> str:
        """Work for twenty minutes."""
        later(clock, minutes=20)
        return "done"

    async with bench(ScriptedModel([calling(("work", {})), "ok"]), tools=[work], clock=clock) as bench_:
        report = await bench_.orchestrator.run_turn("go")
    (update,) = report.window.updates
    said = {section.name: section.content for section in update.sections}
    assert "03:10 (Europe/Berlin, UTC+02:00)" in said["datetime_section"]
    assert "[observed 2026-03-29 03:10]" in canonical_json(talking(bench_).encode(report.window)).decode()


# A trip.


async def prepared(bench_: Bench) -> None:
    """Something in every section whose text has a time in it."""
    await bench_.mind.reminders.add("call Anna", datetime(2026, 12, 1, 17, 0, tzinfo=BERLIN))
    await bench_.mind.reminders.add("pay rent", date(2026, 12, 1))
    await bench_.mind.reminders.add("stand-up", datetime(2026, 12, 1, 9, 0, tzinfo=BERLIN), rrule="FREQ=DAILY")
    await remember(bench_.store, "the locker code is 4417", bench_.clock.now())
    await bench_.mind.documents.add("house", "# Rooms\nfour\n# Garden\nsmall\n")


def due_of(report: TurnReport) -> dict[str, tuple[str, str]]:
    return {
        str(item.body): (item.attributes["due"], item.attributes["status"])
        for item in children(report, "active_reminders")
    }


async def test_after_a_trip_everything_is_told_where_the_person_is_now() -> None:
    clock = HandClock(datetime(2026, 12, 1, 0, 30, tzinfo=BERLIN))
    async with bench(ScriptedModel(["one", "two"]), clock=clock) as bench_:
        await prepared(bench_)
        before = await bench_.orchestrator.run_turn("the locker?")
        later(clock, minutes=10)
        clock.moment = clock.moment.astimezone(NEW_YORK)
        after = await bench_.orchestrator.run_turn("the locker?")
        added = await bench_.mind.reminders.add("buy tea", datetime(2026, 11, 30, 20, 0, tzinfo=NEW_YORK))
    assert lines(before) == ["It is Tuesday, 1 December 2026, 00:30 (Europe/Berlin, UTC+01:00)."]
    assert lines(after) == [
        "It is Monday, 30 November 2026, 18:40 (America/New_York, UTC-05:00).",
        "The previous message was 10 minutes ago.",
    ]
    assert due_of(before) == {
        "pay rent": ("Tue 1 Dec 2026", "today"),
        "stand-up": ("Tue 1 Dec 2026, 09:00, every day", "today"),
        "call Anna": ("Tue 1 Dec 2026, 17:00", "today"),
    }
    # A date is the day of wherever one is; a moment stays that moment, and a rule in its own zone.
    assert due_of(after) == {
        "pay rent": ("Tue 1 Dec 2026", "coming"),
        "stand-up": ("Tue 1 Dec 2026, 03:00 (09:00 Europe/Berlin), every day", "coming"),
        "call Anna": ("Tue 1 Dec 2026, 11:00 (17:00 Europe/Berlin)", "coming"),
    }
    assert added.zone == "America/New_York"
    (segment,) = children(after, "conversation_manifest")
    assert (segment.attributes["from"], segment.attributes["to"]) == ("2026-11-30 18:30", "now")
    assert [memory.attributes["observed"] for memory in children(after, "relevant_memories")] == ["2026-11-30 18:30"]


async def test_a_reminder_goes_off_at_its_instant_and_a_rule_in_its_own_zone_after_a_trip() -> None:
    clock = HandClock(datetime(2026, 11, 30, 12, 0, tzinfo=BERLIN))
    async with bench(ScriptedModel([]), clock=clock) as bench_:
        await prepared(bench_)
        clock.moment = clock.moment.astimezone(TOKYO)
        heard: list[tuple[str, str]] = []
        for _ in range(48):
            later(clock, hours=1)
            said = await bench_.mind.reminders.deliver_due()
            heard += [(item.reminder.text, f"{clock.now():%d %H:%M}") for item in said]
    # Midnight of 1 December comes earlier in Tokyo; 09:00 and 17:00 in Berlin are 17:00 and 01:00 there.
    assert heard == [
        ("pay rent", "01 00:00"),
        ("stand-up", "01 17:00"),
        ("call Anna", "02 01:00"),
        ("stand-up", "02 17:00"),
    ]


@pytest.mark.requirement("RULE-1")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_a_trip_changes_no_byte_of_what_is_cached(name: str, framing: Framing) -> None:
    clock = HandClock(datetime(2026, 11, 30, 12, 0, tzinfo=BERLIN))
    async with bench(playing(name, ["one", "two", "three"], framing), clock=clock) as bench_:
        await prepared(bench_)
        await bench_.orchestrator.run_turn("the locker?")
        previews = []
        for zone in (BERLIN, NEW_YORK, TOKYO):
            clock.moment = clock.moment.astimezone(zone)
            built = await bench_.mind.builder.preview("and now?", reader=bench_.model)
            assert not [one.name for one in built.window.sections if one.name == "system_changes"]
            layout = read_request(bench_.model.encode(built.window))
            previews.append([(block.key, block.text) for block in layout.blocks if not block.cleared])
        second = await bench_.orchestrator.run_turn("and now?")
        requests = [read_request(request) for request in await bench_.sent()]
    same = list(takewhile(lambda three: three[0] == three[1] == three[2], zip(*previews, strict=False)))
    texts = [text for (_, text), _, _ in same]
    assert [text for text in texts if "<base_prompt>" in text]
    assert "one" in texts
    assert previews[0] != previews[1] != previews[2]
    assert second.system_change is None
    kept = [[block.key for block in request.blocks if not block.cleared] for request in requests]
    # System and tools, and in a framing that keeps its notices all of it, are what the next request begins with.
    stable = 1 + max(index for index, block in enumerate(requests[0].blocks) if "<base_prompt>" in block.text)
    assert kept[0][:stable] == kept[1][:stable]
    if framing is Framing.APPEND:
        assert kept[1][: len(kept[0])] == kept[0]
    assert [one.content for one in second.window.sections if one.placement == PLACEMENT_SYSTEM]
