"""What the slots of a reminder are, through daylight saving, and what has to be said of it when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.reminders.book import ReminderBook
from frontmind.reminders.changes import changed, completed, planned, snoozed
from frontmind.reminders.recurrence import canonical_rule, occurrences
from frontmind.reminders.schedule import check_rule, delivery_of, next_slot, slots, upcoming
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.due import Urgency, describe_due, describe_rule, urgency_of
from frontmind.values.records import Reminder
from support import BERLIN, HandClock

NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
KOLKATA = ZoneInfo("Asia/Kolkata")
APIA = ZoneInfo("Pacific/Apia")
ZONES = [BERLIN, NEW_YORK, LORD_HOWE, KOLKATA]
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=BERLIN)


def reminder(
    due: datetime | date,
    rrule: str = "",
    *,
    zone: ZoneInfo = BERLIN,
    start: datetime | date | None = None,
    exdates: tuple[datetime | date, ...] = (),
) -> Reminder:
    return Reminder(
        1, "call Anna", due, str(zone), NOON, rrule=rrule, start=start or (due if rrule else None), exdates=exdates
    )


def shown(slot: datetime | date | None, zone: ZoneInfo = BERLIN) -> str:
    """A slot as the wall clock shows it."""
    if isinstance(slot, datetime):
        return f"{slot.astimezone(zone):%Y-%m-%d %H:%M%z}"
    return str(slot)


def first(count: int, item: Reminder, zone: ZoneInfo = BERLIN) -> list[str]:
    return [shown(slot, zone) for slot in islice(slots(item), count)]


def numbers(largest: int) -> st.SearchStrategy[str]:
    """Some values of a part, near its limits as well, from the end as well."""
    number = st.integers(-largest, largest) | st.sampled_from([1, largest, -1, -largest])
    return st.lists(number, min_size=1, max_size=3).map(lambda found: ",".join(map(str, found)))


DAYS = st.tuples(st.sampled_from(["", "1", "-5", "6", "53", "-53"]), st.sampled_from(["MO", "TU", "SU"]))
PARTS: dict[str, st.SearchStrategy[str]] = {
    "BYDAY": st.lists(DAYS.map("".join), min_size=1, max_size=3).map(",".join),
    "BYMONTH": numbers(12).map(lambda found: found.replace("-", "")),
    "BYMONTHDAY": numbers(31),
    "BYYEARDAY": numbers(366),
    "BYWEEKNO": numbers(53),
    "BYSETPOS": numbers(366),
    "BYHOUR": st.sampled_from(["0", "9", "0,12,23"]),
    "INTERVAL": st.sampled_from(["1", "2", "7", "400", "1000"]),
    "COUNT": st.sampled_from(["1", "5"]),
    "WKST": st.sampled_from(["MO", "WE", "SU"]),
    "UNTIL": st.sampled_from(["20270101", "29991231T235959Z"]),
}
RULE_TEXTS = st.builds(
    lambda frequency, names, parts: ";".join(
        [f"FREQ={frequency}", *(f"{name}={parts[name]}" for name in sorted(names))]
    ),
    st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"]),
    st.sets(st.sampled_from(sorted(PARTS)), max_size=2) | st.sets(st.sampled_from(["BYDAY", *PARTS]), max_size=4),
    st.fixed_dictionaries(PARTS),
)


class TestRules:
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("RRULE:byday=th,mo;freq=weekly", "FREQ=WEEKLY;BYDAY=MO,TH"),
            ("FREQ=DAILY;INTERVAL=1;WKST=MO", "FREQ=DAILY"),
            ("INTERVAL=2;FREQ=WEEKLY;WKST=SU;BYDAY=TU", "FREQ=WEEKLY;BYDAY=TU;INTERVAL=2;WKST=SU"),
            ("FREQ=MONTHLY;BYDAY=+1MO,-1FR;", "FREQ=MONTHLY;BYDAY=1MO,-1FR"),
            ("FREQ=DAILY;UNTIL=20261224T080000Z", "FREQ=DAILY;UNTIL=20261224T080000Z"),
            ("FREQ=DAILY;UNTIL=20261224T090000", "FREQ=DAILY;UNTIL=20261224T080000Z"),
            ("FREQ=DAILY;UNTIL=20261224", "FREQ=DAILY;UNTIL=20261224T225959Z"),
            ("FREQ=HOURLY;BYMINUTE=30,0", "FREQ=HOURLY;BYMINUTE=0,30"),
        ],
    )
    def test_a_rule_has_one_form(self, written: str, canonical: str) -> None:
        assert check_rule(written, NOON, BERLIN) == canonical
        assert check_rule(canonical, NOON, BERLIN) == canonical

    def test_until_of_a_rule_of_dates_is_a_date(self) -> None:
        assert check_rule("FREQ=DAILY;UNTIL=20261223T233000Z", date(2026, 12, 1), BERLIN).endswith("UNTIL=20261224")

    @pytest.mark.parametrize(
        "rule",
        [
            "",
            "every day",
            "FREQ=SECONDLY",
            "FREQ=MINUTELY;INTERVAL=30",
            "FREQ=SOMETIMES",
            "BYDAY=MO",
            "FREQ=DAILY;FREQ=WEEKLY",
            "FREQ=DAILY;BYEASTER=1",
            "FREQ=DAILY;RSCALE=CHINESE",
            "FREQ=DAILY;INTERVAL=0",
            "FREQ=DAILY;INTERVAL=99999",
            "FREQ=DAILY;COUNT=1000000",
            "FREQ=DAILY;COUNT=²",
            "FREQ=DAILY;COUNT=3;UNTIL=20270101",
            "FREQ=DAILY;UNTIL=20269999",
            "FREQ=DAILY;UNTIL=20261129T120000Z",
            "FREQ=DAILY;BYDAY=1MO",
            "FREQ=MONTHLY;BYDAY=0MO",
            "FREQ=MONTHLY;BYDAY=99MO",
            "FREQ=MONTHLY;BYDAY=53MO",
            "FREQ=MONTHLY;BYDAY=1MO,-53SU",
            "FREQ=YEARLY;BYDAY=53MO;BYMONTH=2",
            "FREQ=YEARLY;BYDAY=6MO;BYMONTH=12",
            "FREQ=WEEKLY;BYDAY=MONDAY",
            "FREQ=WEEKLY;BYMONTHDAY=3",
            "FREQ=HOURLY;BYMINUTE=0,5,10,15,20",
            "FREQ=HOURLY;BYSETPOS=3;BYMINUTE=0",
            "FREQ=MONTHLY;BYSETPOS=1",
            "FREQ=DAILY;BYHOUR=24",
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=WEEKLY;INTERVAL=7;BYMONTH=2;BYDAY=MO;BYSETPOS=5",
            "FREQ=HOURLY;INTERVAL=24;BYHOUR=13",
            "FREQ=DAILY;" + "BYMONTH=1," * 500,
        ],
    )
    def test_what_is_no_rule_or_never_comes_or_floods_is_refused_soon(self, rule: str) -> None:
        begun = perf_counter()
        with pytest.raises(UsageError) as refused:
            check_rule(rule, NOON, BERLIN)
        assert "\n" not in str(refused.value)
        assert perf_counter() - begun < 3

    @settings(deadline=None, max_examples=1_000)
    @given(RULE_TEXTS, st.booleans())
    def test_any_parts_are_a_rule_that_comes_or_a_usage_error(self, text: str, whole_day: bool) -> None:
        start = NOON.date() if whole_day else NOON
        try:
            rule = check_rule(text, start, BERLIN)
        except UsageError as error:
            assert "\n" not in str(error)
        else:
            assert list(islice(slots(reminder(start, rule)), 3))

    @pytest.mark.parametrize("rule", ["FREQ=HOURLY", "FREQ=DAILY;BYHOUR=9"])
    def test_a_date_takes_no_rule_with_times_of_day(self, rule: str) -> None:
        with pytest.raises(UsageError, match="time"):
            check_rule(rule, date(2026, 12, 1), BERLIN)

    @settings(deadline=None, max_examples=300)
    @given(st.text(st.sampled_from("FREQ=DAILYWKBMOTHUNC;,0123456789-+TZ\ud800\n\0 "), max_size=60) | st.text())
    def test_any_text_is_a_rule_or_a_usage_error(self, text: str) -> None:
        try:
            rule = check_rule(text, NOON, BERLIN)
        except UsageError as error:
            assert str(error)
        else:
            assert check_rule(rule, NOON, BERLIN) == rule

    @pytest.mark.parametrize(
        "rule",
        [
            "FREQ=DAILY",
            "FREQ=DAILY;INTERVAL=3",
            "FREQ=DAILY;INTERVAL=2;BYMONTH=1,7",
            "FREQ=WEEKLY",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO",
            "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,FR;BYSETPOS=-1;WKST=WE",
            "FREQ=MONTHLY",
            "FREQ=MONTHLY;INTERVAL=5;BYDAY=1MO,-1FR",
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "FREQ=MONTHLY;BYMONTHDAY=-1,15",
            "FREQ=YEARLY",
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
            "FREQ=YEARLY;BYMONTH=3",
            "FREQ=YEARLY;BYWEEKNO=1,53;BYDAY=MO,SU",
            "FREQ=YEARLY;BYYEARDAY=1,-1,200",
            "FREQ=YEARLY;BYDAY=20MO",
            "FREQ=HOURLY;INTERVAL=5",
            "FREQ=HOURLY;INTERVAL=6;BYDAY=MO",
            "FREQ=DAILY;BYHOUR=6,22;BYMINUTE=0,30",
        ],
    )
    @settings(deadline=None, max_examples=15)
    @given(start=st.datetimes(datetime(1990, 1, 1), datetime(2000, 1, 1)), days=st.integers(0, 9_000))  # noqa: DTZ001
    def test_beginning_near_a_later_time_skips_and_adds_nothing(self, rule: str, start: datetime, days: int) -> None:
        """The oracle is the library's own counting from the start."""
        start = start.replace(microsecond=0)
        if "BYMONTHDAY=29" in rule:
            start = start.replace(year=1996)
        after = start + timedelta(days=days, hours=7)
        counted = rrulestr(rule, dtstart=start)
        expected = list(islice(counted.xafter(after), 5))
        assert len(expected) == 5
        near = (wall for wall in occurrences(canonical_rule(rule), start, after) if wall > after)
        assert list(islice(near, 5)) == expected


class TestWallClock:
    @pytest.mark.parametrize("zone", ZONES, ids=str)
    def test_every_day_at_nine_is_nine_each_day_for_two_years(self, zone: ZoneInfo) -> None:
        item = reminder(datetime(2026, 1, 1, 9, 0, tzinfo=zone), "FREQ=DAILY", zone=zone)
        two_years = [slot.astimezone(zone) for slot in islice(slots(item), 731) if isinstance(slot, datetime)]
        assert {(slot.hour, slot.minute) for slot in two_years} == {(9, 0)}
        assert [slot.date() for slot in two_years] == [date(2026, 1, 1) + timedelta(days=day) for day in range(731)]

    @pytest.mark.requirement("REMIND-2")
    @pytest.mark.parametrize("zone", ZONES, ids=str)
    async def test_every_day_at_nine_is_delivered_at_nine_each_day_for_two_years(self, zone: ZoneInfo) -> None:
        clock = HandClock(datetime(2026, 1, 1, 8, 0, tzinfo=zone))
        store = SqliteStore.open(":memory:")
        book = ReminderBook(store, clock)
        await book.add("water the plants", datetime(2026, 1, 1, 9, 0, tzinfo=zone), rrule="FREQ=DAILY")
        for day in range(731):
            expected = datetime.combine(date(2026, 1, 1) + timedelta(days=day), datetime.min.time(), zone)
            due = await book.next_at()
            assert due is not None
            assert due.astimezone(zone) == expected.replace(hour=9)
            clock.moment = (due - timedelta(minutes=1)).astimezone(zone)
            assert not await book.deliver_due()
            clock.moment = due.astimezone(zone)
            (said,) = await book.deliver_due()
            assert (said.delivery.slot, said.delivery.missed) == (due, 0)
            assert not await book.deliver_due()
        assert len(await store.deliveries()) == 731
        await store.close()

    @pytest.mark.parametrize(
        ("zone", "start", "expected"),
        [
            (BERLIN, "2026-03-28T02:30", ["03-28 02:30+0100", "03-29 03:30+0200", "03-30 02:30+0200"]),
            (NEW_YORK, "2026-03-07T02:30", ["03-07 02:30-0500", "03-08 03:30-0400", "03-09 02:30-0400"]),
            (LORD_HOWE, "2026-10-03T02:10", ["10-03 02:10+1030", "10-04 02:40+1100", "10-05 02:10+1100"]),
            (BERLIN, "2026-10-24T02:30", ["10-24 02:30+0200", "10-25 02:30+0200", "10-26 02:30+0100"]),
            (LORD_HOWE, "2026-04-04T01:45", ["04-04 01:45+1100", "04-05 01:45+1100", "04-06 01:45+1030"]),
        ],
        ids=["gap", "gap", "half an hour's gap", "twice", "twice within half an hour"],
    )
    def test_a_time_in_a_gap_comes_later_and_one_that_is_there_twice_the_first_time(
        self, zone: ZoneInfo, start: str, expected: list[str]
    ) -> None:
        item = reminder(datetime.fromisoformat(start).replace(tzinfo=zone), "FREQ=DAILY", zone=zone)
        assert first(3, item, zone) == [f"2026-{slot}" for slot in expected]

    def test_a_day_that_a_zone_left_out_is_said_on_the_next(self) -> None:
        item = reminder(datetime(2011, 12, 29, 9, 0, tzinfo=APIA), "FREQ=DAILY", zone=APIA)
        assert first(3, item, APIA) == ["2011-12-29 09:00-1000", "2011-12-31 09:00+1400", "2012-01-01 09:00+1400"]

    def test_times_around_a_gap_come_in_order_and_once(self) -> None:
        start = datetime(2026, 3, 28, 2, 0, tzinfo=BERLIN)
        item = reminder(start, "FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30")
        assert [slot[11:16] for slot in first(8, item)] == [
            *("02:00", "02:30", "03:00", "03:30"),
            *("03:00", "03:30", "02:00", "02:30"),
        ]
        hourly = reminder(start, "FREQ=HOURLY")
        moments = list(islice(slots(hourly), 48))
        assert all(isinstance(slot, datetime) for slot in moments)
        assert moments == sorted(set(moments))

    def test_dates_stay_dates(self) -> None:
        item = reminder(date(2026, 11, 30), "FREQ=MONTHLY;BYMONTHDAY=-1")
        assert list(islice(slots(item), 3)) == [date(2026, 11, 30), date(2026, 12, 31), date(2027, 1, 31)]
        assert not any(isinstance(slot, datetime) for slot in islice(slots(item), 3))

    def test_slots_that_are_left_out_do_not_come(self) -> None:
        start = datetime(2026, 10, 24, 9, 0, tzinfo=BERLIN)
        item = reminder(start, "FREQ=DAILY", exdates=(datetime(2026, 10, 25, 8, 0, tzinfo=UTC),))
        assert [slot[:10] for slot in first(2, item)] == ["2026-10-24", "2026-10-26"]
        dated = reminder(date(2026, 10, 24), "FREQ=DAILY", exdates=(date(2026, 10, 25),))
        assert list(islice(slots(dated), 2)) == [date(2026, 10, 24), date(2026, 10, 26)]

    def test_the_last_slot_is_the_one_at_until(self) -> None:
        start = datetime(2026, 12, 22, 9, 0, tzinfo=BERLIN)
        rule = check_rule("FREQ=DAILY;UNTIL=20261224T080000Z", start, BERLIN)
        assert [slot[:10] for slot in map(shown, slots(reminder(start, rule)))] == [
            f"2026-12-{day}" for day in (22, 23, 24)
        ]
        earlier = check_rule("FREQ=DAILY;UNTIL=20261224T075959Z", start, BERLIN)
        assert len(list(slots(reminder(start, earlier)))) == 2
        assert len(list(slots(reminder(start, "FREQ=DAILY;COUNT=4")))) == 4

    def test_a_rule_that_began_decades_ago_is_fast(self) -> None:
        for rule in ("FREQ=DAILY", "FREQ=HOURLY", "FREQ=WEEKLY;BYDAY=MO,TH", "FREQ=MONTHLY;BYDAY=-1FR"):
            item = reminder(datetime(1976, 1, 1, 9, 0, tzinfo=BERLIN), rule)
            next_slot(item, NOON)
            begun = perf_counter()
            found = next_slot(item, NOON)
            taken = perf_counter() - begun
            assert isinstance(found, datetime)
            assert found > NOON
            assert taken < 0.02, rule

    @settings(deadline=None, max_examples=300)
    @given(
        st.sampled_from([*ZONES, APIA]),
        st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - hypothesis adds the zone
        st.timedeltas(timedelta(0), timedelta(days=4_000)),
        st.sampled_from(
            (
                "FREQ=DAILY",
                "FREQ=HOURLY;INTERVAL=3",
                "FREQ=WEEKLY;BYDAY=SU",
                "FREQ=MONTHLY;BYMONTHDAY=31",
                "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,15,30,45",
                "FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU;BYHOUR=2;BYMINUTE=30",
            )
        ),
    )
    def test_the_next_slot_is_later_and_there_is_none_between(
        self, zone: ZoneInfo, start: datetime, later: timedelta, rule: str
    ) -> None:
        begin = start.replace(microsecond=0, tzinfo=zone).astimezone(UTC)
        item = reminder(begin, rule, zone=zone)
        after = begin + later
        found = next_slot(item, after)
        assert isinstance(found, datetime)
        assert found > after
        assert next_slot(item, found - timedelta(seconds=1)) == found
        assert next_slot(item, found - (found - after) / 2) == found
        again = next_slot(item, found)
        assert isinstance(again, datetime)
        assert again > found


class TestCompleting:
    def test_a_reminder_that_comes_once_is_done(self) -> None:
        done = completed(reminder(NOON), NOON)
        assert (done.done_at, done.due) == (NOON, NOON)
        with pytest.raises(UsageError, match="done already"):
            completed(done, NOON)

    def test_a_slot_that_has_come_is_completed_and_the_missed_ones_with_it(self) -> None:
        item = reminder(NOON - timedelta(days=3), "FREQ=DAILY")
        done = completed(item, NOON + timedelta(hours=1))
        assert done.done_at is None
        assert shown(done.due) == "2026-12-01 12:00+0100"
        assert done.start == item.due
        assert shown(completed(done, NOON + timedelta(hours=1)).due) == "2026-12-02 12:00+0100"

    def test_a_date_is_completed_for_its_day(self) -> None:
        item = reminder(date(2026, 11, 28), "FREQ=DAILY")
        assert completed(item, NOON).due == date(2026, 12, 1)
        assert completed(reminder(date(2026, 11, 30), "FREQ=DAILY"), NOON).due == date(2026, 12, 1)

    def test_after_the_last_slot_it_is_done(self) -> None:
        item = reminder(NOON - timedelta(days=1), "FREQ=DAILY;COUNT=2")
        last = completed(item, NOON - timedelta(hours=1))
        assert last.done_at is None
        assert completed(last, NOON).done_at == NOON

    def test_completing_ends_putting_off(self) -> None:
        item = snoozed(reminder(NOON, "FREQ=DAILY"), NOON + timedelta(hours=2), NOON)
        assert completed(item, NOON).snoozed_until is None

    def test_the_same_time_of_day_stays_through_a_change_of_the_clocks(self) -> None:
        item = reminder(datetime(2026, 10, 24, 9, 0, tzinfo=BERLIN), "FREQ=DAILY")
        shown_at = []
        for day in (24, 25, 26):
            shown_at.append(shown(item.due)[11:])
            item = completed(item, datetime(2026, 10, day, 20, 0, tzinfo=BERLIN))
        assert shown_at == ["09:00+0200", "09:00+0100", "09:00+0100"]


class TestChanging:
    def test_putting_off_is_refused_for_the_past_and_for_what_is_done_or_not_due_yet(self) -> None:
        item = reminder(NOON)
        for until in (NOON, NOON - timedelta(hours=1), date(2026, 11, 30)):
            with pytest.raises(UsageError, match="passed"):
                snoozed(item, until, NOON)
        with pytest.raises(UsageError, match="done"):
            snoozed(completed(item, NOON), NOON + timedelta(hours=1), NOON)
        with pytest.raises(UsageError, match="only"):
            snoozed(reminder(NOON + timedelta(days=2)), NOON + timedelta(days=1), NOON)

    def test_what_is_put_off_to_a_day_comes_at_its_beginning(self) -> None:
        assert shown(snoozed(reminder(NOON), date(2026, 12, 1), NOON).snoozed_until) == "2026-12-01 00:00+0100"

    def test_only_what_is_given_changes(self) -> None:
        item = reminder(NOON + timedelta(days=1), "FREQ=DAILY")
        assert changed(item, NOON, text=" call Bert ") == replace(item, text="call Bert")
        weekly = changed(item, NOON, rrule="freq=weekly")
        assert (weekly.rrule, weekly.due, weekly.text) == ("FREQ=WEEKLY", item.due, item.text)
        once = changed(item, NOON, rrule="")
        assert (once.rrule, once.start, once.due) == ("", None, item.due)
        later = changed(item, NOON, due=NOON + timedelta(days=3))
        assert (later.due, later.start, later.rrule) == (NOON + timedelta(days=3),) * 2 + ("FREQ=DAILY",)

    def test_a_new_zone_keeps_the_wall_clock(self) -> None:
        moved = changed(reminder(NOON + timedelta(days=1), "FREQ=DAILY"), NOON, zone="America/New_York")
        assert shown(moved.due, NEW_YORK) == "2026-12-01 12:00-0500"
        assert shown(next_slot(moved, moved.due), NEW_YORK) == "2026-12-02 12:00-0500"

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"text": " "},
            {"text": "x" * 3_000},
            {"due": NOON - timedelta(minutes=1)},
            {"due": date(2026, 11, 29)},
            {"rrule": "often"},
            {"rrule": "FREQ=DAILY;UNTIL=20260101"},
            {"zone": "Mars/Olympus"},
        ],
    )
    def test_what_cannot_be_changed_is_refused(self, arguments: dict[str, str]) -> None:
        with pytest.raises(UsageError):
            changed(reminder(NOON + timedelta(days=1)), NOON, **arguments)  # type: ignore[arg-type]

    def test_a_rule_begins_at_its_first_time_that_is_still_to_come(self) -> None:
        new = planned("plants", NOON - timedelta(days=9), NOON, zone="Europe/Berlin", rrule="FREQ=WEEKLY")
        assert (shown(new.due), new.start) == ("2026-12-05 12:00+0100", NOON - timedelta(days=9))
        with pytest.raises(UsageError, match="still to come"):
            planned("plants", NOON - timedelta(days=9), NOON, zone="Europe/Berlin", rrule="FREQ=WEEKLY;COUNT=1")
        with pytest.raises(UsageError, match="passed"):
            planned("plants", NOON, NOON, zone="Europe/Berlin")


class TestDelivering:
    def test_the_newest_slot_is_said_with_the_number_of_those_missed(self) -> None:
        item = reminder(NOON - timedelta(days=3), "FREQ=DAILY")
        told = delivery_of(item, NOON + timedelta(hours=1))
        assert told is not None
        stored, delivery = told
        assert (delivery.slot, delivery.missed, delivery.at) == (NOON, 3, NOON + timedelta(hours=1))
        assert (stored.delivered, stored.due) == (NOON, item.due)
        assert delivery_of(stored, NOON + timedelta(hours=2)) is None
        following = delivery_of(stored, NOON + timedelta(days=1))
        assert following is not None
        assert (shown(following[1].slot), following[1].missed) == ("2026-12-01 12:00+0100", 0)

    def test_after_decades_the_newest_slot_is_said_soon(self) -> None:
        item = reminder(datetime(1976, 1, 1, 9, 0, tzinfo=BERLIN), "FREQ=HOURLY;BYMINUTE=0,15,30,45")
        begun = perf_counter()
        told = delivery_of(item, NOON)
        assert perf_counter() - begun < 2
        assert told is not None
        assert (told[1].slot, told[1].missed) == (NOON, 10_001)
        exactly = reminder(NOON.astimezone(UTC) - timedelta(hours=10_000), "FREQ=HOURLY", zone=ZoneInfo("UTC"))
        told = delivery_of(exactly, NOON)
        assert told is not None
        assert (told[1].slot, told[1].missed) == (NOON, 10_000)
        rare = reminder(date(1976, 2, 29), "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29")
        told = delivery_of(rare, NOON)
        assert told is not None
        assert (told[1].slot, told[1].missed) == (date(2024, 2, 29), 12)

    def test_a_date_is_said_from_the_first_moment_of_the_day_where_the_person_is(self) -> None:
        item = reminder(date(2026, 11, 30))
        assert delivery_of(item, datetime(2026, 11, 29, 23, 59, tzinfo=BERLIN)) is None
        assert delivery_of(item, datetime(2026, 11, 30, 0, 0, tzinfo=BERLIN)) is not None
        assert delivery_of(item, datetime(2026, 11, 30, 0, 0, tzinfo=BERLIN).astimezone(NEW_YORK)) is None

    def test_what_is_put_off_is_said_then_and_its_rule_is_silent_until_then(self) -> None:
        item = reminder(NOON, "FREQ=DAILY")
        told = delivery_of(item, NOON)
        assert told is not None
        later = snoozed(told[0], NOON + timedelta(days=2, hours=1), NOON)
        assert delivery_of(later, NOON + timedelta(days=1)) is None
        again = delivery_of(later, NOON + timedelta(days=2, hours=2))
        assert again is not None
        assert (again[1].slot, again[1].missed) == (NOON + timedelta(days=2, hours=1), 0)
        following = delivery_of(again[0], NOON + timedelta(days=3))
        assert following is not None
        assert following[1].slot == NOON + timedelta(days=3)
        assert following[0].snoozed_until is None

    def test_a_day_that_was_put_off_to_a_moment_goes_on_with_days(self) -> None:
        told = delivery_of(reminder(date(2026, 11, 30), "FREQ=DAILY"), NOON)
        assert told is not None
        later = snoozed(told[0], NOON + timedelta(hours=3), NOON)
        now = NOON + timedelta(hours=4)
        again = delivery_of(later, now)
        assert again is not None
        assert again[1].slot == NOON + timedelta(hours=3)
        assert delivery_of(again[0], now) is None
        assert upcoming(again[0], now) == datetime(2026, 12, 1, tzinfo=BERLIN)
        following = delivery_of(again[0], now + timedelta(days=1))
        assert following is not None
        assert following[1].slot == date(2026, 12, 1)
        assert delivery_of(following[0], now + timedelta(days=1)) is None

    def test_a_day_that_was_told_further_east_is_not_forgotten_on_a_trip(self) -> None:
        kiritimati, midway = ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Midway")
        now = datetime(2026, 12, 3, 0, 30, tzinfo=kiritimati)
        told = delivery_of(reminder(date(2026, 12, 1), "FREQ=DAILY"), now)
        assert told is not None
        assert (told[1].slot, told[1].missed) == (date(2026, 12, 3), 2)
        there = now.astimezone(midway)
        assert there.date() == date(2026, 12, 1)
        assert delivery_of(told[0], there) is None
        assert delivery_of(told[0], there + timedelta(days=2)) is None
        assert delivery_of(told[0], there + timedelta(days=3)) is not None

    def test_a_clock_that_steps_back_by_a_second_tells_nothing_again(self) -> None:
        told = delivery_of(reminder(NOON - timedelta(days=3), "FREQ=DAILY"), NOON)
        assert told is not None
        assert delivery_of(told[0], NOON - timedelta(seconds=1)) is None

    def test_a_done_reminder_says_nothing(self) -> None:
        done = completed(reminder(NOON), NOON)
        assert delivery_of(done, NOON + timedelta(days=1)) is None
        assert upcoming(done, NOON) is None

    @settings(deadline=None, max_examples=100)
    @given(
        st.sampled_from(["", "FREQ=DAILY", "FREQ=HOURLY;INTERVAL=7", "FREQ=WEEKLY;COUNT=3"]),
        st.booleans(),
        st.lists(st.timedeltas(timedelta(minutes=1), timedelta(days=3)), min_size=1, max_size=12),
    )
    def test_whenever_somebody_looks_each_slot_is_said_or_counted_once(
        self, rule: str, whole_day: bool, steps: list[timedelta]
    ) -> None:
        rule = "FREQ=DAILY" if whole_day and "HOURLY" in rule else rule
        item = reminder(NOON.date() if whole_day else NOON, rule)
        now, told = NOON - timedelta(hours=30), 0
        for step in steps:
            now = (now.astimezone(UTC) + step).astimezone(BERLIN)
            expected = upcoming(item, now)
            said = delivery_of(item, now)
            assert (said is not None) == (expected == now)
            if said is not None:
                item, told = said[0], told + 1 + said[1].missed
        come = sum(1 for slot in islice(slots(item), 400) if delivery_of(reminder(slot), now) is not None)
        assert told == come


class TestTelling:
    def test_a_trip_tells_both_times_and_changes_nothing(self) -> None:
        item = reminder(datetime(2026, 11, 30, 9, 0, tzinfo=BERLIN), "FREQ=DAILY")
        told = describe_due(item, NOON.astimezone(KOLKATA))
        assert told == "Mon 30 Nov 2026, 13:30 (09:00 Europe/Berlin), every day"
        assert shown(completed(item, NOON.astimezone(KOLKATA)).due) == "2026-12-01 09:00+0100"

    def test_zones_whose_clocks_agree_are_told_once(self) -> None:
        item = reminder(datetime(2026, 11, 30, 9, 0, tzinfo=BERLIN))
        assert describe_due(item, NOON.astimezone(ZoneInfo("Europe/Paris"))) == "Mon 30 Nov 2026, 09:00"

    def test_what_is_put_off_is_due_then(self) -> None:
        item = snoozed(reminder(NOON - timedelta(hours=1)), NOON + timedelta(hours=2), NOON)
        assert describe_due(item, NOON) == "Mon 30 Nov 2026, 14:00"
        assert urgency_of(item, NOON) is Urgency.TODAY
        assert urgency_of(item, NOON + timedelta(hours=2)) is Urgency.OVERDUE

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ("FREQ=DAILY", "every day"),
            ("FREQ=HOURLY;INTERVAL=2", "every 2 hours"),
            ("FREQ=WEEKLY;BYDAY=MO", "every Monday"),
            ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
            ("FREQ=WEEKLY;BYDAY=TU,TH;INTERVAL=2", "every 2 weeks on Tuesday and Thursday"),
            ("FREQ=MONTHLY;BYDAY=1MO", "every month on the first Monday"),
            ("FREQ=MONTHLY;BYMONTHDAY=1,15", "every month on day 1 and 15"),
            ("FREQ=MONTHLY;BYMONTHDAY=-1", "every month on the last day"),
            ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "every year on 24 December"),
            ("FREQ=YEARLY;BYMONTH=8;BYMONTHDAY=20,30", "every year on 20 and 30 August"),
            ("FREQ=YEARLY;BYDAY=4TH;BYMONTH=11;INTERVAL=2", "every 2 years on the fourth Thursday of November"),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", "every year on the last day of February"),
            ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
            ("FREQ=WEEKLY;BYDAY=SA,SU", "every Saturday and Sunday"),
            ("FREQ=DAILY;COUNT=4", "every day, 4 times in all"),
            ("FREQ=DAILY;UNTIL=20261224T230000Z", "every day, until Fri 25 Dec 2026"),
            ("FREQ=DAILY;UNTIL=20261224", "every day, until Thu 24 Dec 2026"),
            ("FREQ=DAILY;UNTIL=99991231T235959Z", "by the rule FREQ=DAILY;UNTIL=99991231T235959Z"),
            ("FREQ=MONTHLY;BYDAY=FR", "by the rule FREQ=MONTHLY;BYDAY=FR"),
            ("FREQ=YEARLY;BYMONTHDAY=3", "by the rule FREQ=YEARLY;BYMONTHDAY=3"),
            ("FREQ=YEARLY;BYWEEKNO=20", "by the rule FREQ=YEARLY;BYWEEKNO=20"),
        ],
    )
    def test_a_rule_is_told_in_words_where_there_are_plain_ones(self, rule: str, words: str) -> None:
        assert describe_rule(rule, BERLIN) == words

    @settings(deadline=None, max_examples=200)
    @given(st.text(st.sampled_from("FREQ=DAILYWKBMOTHUN;,0123-"), max_size=40) | st.text())
    def test_telling_any_stored_rule_never_fails(self, rule: str) -> None:
        assert describe_rule(rule, BERLIN)
