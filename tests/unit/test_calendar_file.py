"""Reminders to and from calendar files: what other programs write, broken files, and the way there and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from icalendar import Calendar

from frontmind.errors import UsageError
from frontmind.reminders.book import ReminderBook
from frontmind.reminders.calendar_entries import LARGEST_FILE, zone_of
from frontmind.reminders.calendar_file import CalendarContents, export_calendar, read_calendar
from frontmind.reminders.changes import planned
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import NewReminder, Reminder
from support import BERLIN, START, HandClock

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=BERLIN)
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "Pacific/Apia"]
RULES = [
    "FREQ=DAILY",
    "FREQ=WEEKLY;BYDAY=MO,TH;INTERVAL=2;WKST=SU",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24",
    "FREQ=DAILY;COUNT=40",
    "FREQ=DAILY;UNTIL=20400101",
]


def calendar(*entries: str) -> bytes:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *entries, "END:VCALENDAR", ""]).encode()


def event(*lines: str, kind: str = "VEVENT", uid: str = "u1", title: str = "Dentist") -> str:
    return "\r\n".join([f"BEGIN:{kind}", f"UID:{uid}", f"SUMMARY:{title}", *lines, f"END:{kind}"])


def read(*entries: str, now: datetime = NOON) -> CalendarContents:
    return read_calendar(calendar(*entries), now)


def exported(reminders: Iterable[Reminder]) -> bytes:
    written = export_calendar(reminders)
    assert written.skipped == ()
    return written.data


def only(contents: CalendarContents) -> NewReminder:
    assert contents.skipped == ()
    (reminder,) = contents.reminders
    return reminder


def stored(new: NewReminder, number: int = 1) -> Reminder:
    return Reminder(
        number,
        new.text,
        new.due,
        new.zone,
        START,
        rrule=new.rrule,
        exdates=new.exdates,
        start=new.start,
        uid=new.uid,
    )


class TestReading:
    @pytest.mark.parametrize(
        ("line", "due", "zone"),
        [
            ("DTSTART;TZID=Europe/Berlin:20261201T090000", "2026-12-01T09:00+01:00", "Europe/Berlin"),
            ("DTSTART;TZID=America/New_York:20261201T090000", "2026-12-01T09:00-05:00", "America/New_York"),
            ("DTSTART;TZID=W. Europe Standard Time:20261201T090000", "2026-12-01T09:00+01:00", "Europe/Berlin"),
            ('DTSTART;TZID="Eastern Standard Time":20261201T090000', "2026-12-01T09:00-05:00", "America/New_York"),
            ("DTSTART;TZID=/freeassociation.sourceforge.net/Asia/Kolkata:20261201T090000", "2026-12-01T09:00+05:30",
             "Asia/Kolkata"),
            ("DTSTART:20261201T090000Z", "2026-12-01T09:00+00:00", "Europe/Berlin"),
            ("DTSTART:20261201T090000", "2026-12-01T09:00+01:00", "Europe/Berlin"),
        ],
    )  # fmt: skip
    def test_a_time_is_read_in_the_zone_that_it_names_or_the_persons(self, line: str, due: str, zone: str) -> None:
        found = only(read(event(line)))
        assert (found.due, found.zone) == (datetime.fromisoformat(due), zone)
        assert (found.text, found.uid, found.rrule) == ("Dentist", "u1", "")

    def test_a_zone_that_the_file_defines_by_its_place_is_known(self) -> None:
        definition = "BEGIN:VTIMEZONE\r\nTZID:Customized\r\nX-LIC-LOCATION:Asia/Tokyo\r\nEND:VTIMEZONE"
        found = only(read(definition, event("DTSTART;TZID=Customized:20261201T090000")))
        assert (found.zone, found.due) == ("Asia/Tokyo", datetime(2026, 12, 1, 0, 0, tzinfo=UTC))

    @pytest.mark.parametrize(
        "tzid", ["", "Mars/Olympus", "../../etc/passwd", "/", "///", "\0", "localtime", "right/Asia/Tokyo", "posix/UTC"]
    )
    def test_a_zone_that_is_not_known_is_none(self, tzid: str) -> None:
        assert zone_of(tzid) == ""

    def test_a_whole_day_stays_a_date(self) -> None:
        found = only(read(event("DTSTART;VALUE=DATE:20261201")))
        assert type(found.due) is date
        assert found.due == date(2026, 12, 1)
        assert only(read(event("DTSTART;VALUE=DATE:20261130"))).due == date(2026, 11, 30), "today's is not past"

    def test_a_rule_goes_on_from_its_next_time_in_its_own_zone(self) -> None:
        found = only(read(event("DTSTART;TZID=America/New_York:20200106T090000", "RRULE:FREQ=WEEKLY;BYDAY=MO")))
        assert found.due == datetime(2026, 11, 30, 9, 0, tzinfo=ZoneInfo("America/New_York"))
        assert (found.zone, found.rrule) == ("America/New_York", "FREQ=WEEKLY;BYDAY=MO")
        in_utc = only(read(event("DTSTART:20260706T070000Z", "RRULE:FREQ=DAILY")))
        assert (in_utc.zone, in_utc.due) == ("UTC", datetime(2026, 12, 1, 7, 0, tzinfo=UTC))

    def test_times_that_are_left_out_or_moved_do_not_come(self) -> None:
        contents = read(
            event(
                "DTSTART;TZID=Europe/Berlin:20261201T090000",
                "RRULE:FREQ=DAILY;COUNT=6",
                "EXDATE;TZID=Europe/Berlin:20261201T090000,20261203T090000",
                "EXDATE;VALUE=DATE:20261204",
            ),
            event("RECURRENCE-ID;TZID=Europe/Berlin:20261205T090000", "DTSTART;TZID=Europe/Berlin:20261205T150000"),
            event("RECURRENCE-ID;TZID=Europe/Berlin:20261206T090000", "STATUS:CANCELLED",
                  "DTSTART;TZID=Europe/Berlin:20261206T150000"),
        )  # fmt: skip
        recurring, moved = contents.reminders
        assert [slot.day for slot in recurring.exdates] == [1, 3, 4, 5, 6]
        assert recurring.due == datetime(2026, 12, 2, 9, 0, tzinfo=BERLIN)
        assert (moved.rrule, moved.due) == ("", datetime(2026, 12, 5, 15, 0, tzinfo=BERLIN))
        assert moved.uid != recurring.uid
        assert (contents.skipped, contents.closed) == ((), 1)

    def test_a_task_is_due_when_it_says(self) -> None:
        found = only(read(event("DUE;TZID=Europe/Berlin:20261201T090000", kind="VTODO")))
        assert found.due == datetime(2026, 12, 1, 9, 0, tzinfo=BERLIN)

    def test_what_is_over_done_or_cancelled_is_only_counted(self) -> None:
        contents = read(
            event("DTSTART:20261130T090000Z"),
            event("DTSTART;VALUE=DATE:20261129"),
            event("DTSTART:20200101T090000Z", "RRULE:FREQ=DAILY;COUNT=3"),
            event("DTSTART:20261201T090000Z", "STATUS:CANCELLED"),
            event("DUE:20261201T090000Z", "STATUS:COMPLETED", kind="VTODO"),
            event("DUE:20261201T090000Z", "COMPLETED:20261130T090000Z", kind="VTODO"),
        )
        assert contents == CalendarContents((), (), past=3, closed=3)

    @pytest.mark.parametrize(
        ("lines", "reason"),
        [
            (["DTSTART:2026-99-99"], "DTSTART cannot be read"),
            (["DTSTART:"], "DTSTART cannot be read"),
            (["DTSTART:20261201T250000"], "DTSTART cannot be read"),
            (["DTSTART:20261201T090000Z", "DTSTART:20261202T090000Z"], "several DTSTART"),
            ([], "no time"),
            (["DTSTART;TZID=Mars/Olympus:20261201T090000"], "'Mars/Olympus' is not known"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=SOMETIMES"], "RRULE cannot be read"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=SECONDLY"], "SECONDLY"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"], "no occurrence"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"], "several rules"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=DAILY", "EXDATE:whenever"], "EXDATE cannot be read"),
            (["DTSTART:20261201T090000Z", "RECURRENCE-ID;RANGE=THISANDFUTURE:20261201T090000Z"], "all later times"),
            (["DTSTART:20261201T090000Z", "SUMMARY"], ""),
            (["DTSTART:00010101T000000"], "too far away"),
            (["DTSTART;TZID=Asia/Kolkata:99991231T235959"], "too far away"),
            (["DTSTART;VALUE=DATE:99991231"], "too far away"),
            (["DTSTART:20261201T090000Z", "RRULE:FREQ=DAILY", "EXDATE:00010101T000000"], "too far away"),
            (["BEGIN:X", "BEGIN:X", "BEGIN:X", "BEGIN:X", "END:X", "END:X", "END:X", "END:X"], "nested"),
            (["DTSTART:20261201T090000Z", "DESCRIPTION:" + "x" * 300_000], "characters"),
        ],
    )
    def test_a_broken_entry_is_left_out_by_name_and_the_others_are_kept(self, lines: list[str], reason: str) -> None:
        good = event("DTSTART:20261202T090000Z", uid="u2", title="Good")
        contents = read(good, event(*lines, title="Broken\\, one"), good.replace("u2", "u3"))
        assert [item.text for item in contents.reminders if item.text == "Good"] == ["Good", "Good"]
        if reason:
            (skipped,) = contents.skipped
            assert skipped.startswith("Broken, one: ")
            assert reason in skipped
            assert "\n" not in skipped

    def test_additional_times_are_left_out_and_said(self) -> None:
        contents = read(event("DTSTART:20261201T090000Z", "RRULE:FREQ=DAILY", "RDATE:20270101T120000Z"))
        assert len(contents.reminders) == 1
        assert "RDATE" in contents.skipped[0]

    def test_an_entry_that_does_not_end_costs_only_itself(self) -> None:
        whole = event("DTSTART:20261202T090000Z", uid="u2", title="Good")
        contents = read("BEGIN:VEVENT\r\nSUMMARY:Open", whole, "BEGIN:VEVENT\r\nSUMMARY:Last")
        assert [item.text for item in contents.reminders] == ["Good"]
        assert [line.partition(":")[0] for line in contents.skipped] == ["Open", "Last"]

    @pytest.mark.parametrize("data", [b"", b"hello", b"\xff\xfe\0", b"%PDF-1.4", b"BEGIN:VEVENT\nEND:VEVENT"])
    def test_what_is_no_calendar_is_refused(self, data: bytes) -> None:
        with pytest.raises(UsageError, match="no calendar file"):
            read_calendar(data, NOON)

    def test_bombs_are_refused_or_left_out_soon(self) -> None:
        with pytest.raises(UsageError, match="larger than 10 MB"):
            read_calendar(b"BEGIN:VCALENDAR\n" + b"x" * LARGEST_FILE, NOON)
        with pytest.raises(UsageError, match="entries"):
            read_calendar(b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\nEND:VEVENT\n" * 30_000, NOON)
        nested = read_calendar(b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\n" + b"BEGIN:X\n" * 100_000, NOON)
        assert not nested.reminders

    def test_bytes_that_are_not_utf_8_cost_only_their_characters(self) -> None:
        data = calendar(event("DTSTART:20261202T090000Z", title="Zahnarzt")).replace(b"arzt", b"\xe4rzt")
        assert only(read_calendar(data, NOON)).text == "Zahn\ufffdrzt"

    @settings(deadline=None, max_examples=150)
    @given(st.data())
    def test_no_damage_to_a_file_is_a_crash(self, data: st.DataObject) -> None:
        whole = bytearray(
            calendar(
                event("DTSTART;TZID=Europe/Berlin:20261201T090000", "RRULE:FREQ=DAILY;UNTIL=20270101T000000Z",
                      "EXDATE;TZID=Europe/Berlin:20261203T090000", "BEGIN:VALARM", "TRIGGER:-PT5M", "END:VALARM"),
                event("DUE;VALUE=DATE:20261201", kind="VTODO"),
            )
        )  # fmt: skip
        for _ in range(data.draw(st.integers(1, 12))):
            place = data.draw(st.integers(20, len(whole) - 1))
            whole[place : place + data.draw(st.integers(0, 3))] = data.draw(
                st.sampled_from([b"", b":", b";", b"=", b"\n", b'"', b"\\", b",", b"\0", b"\xff", b"9", b"T", b"END:"])
            )
        contents = read_calendar(bytes(whole), NOON)
        assert all(contents.skipped)


class TestWriting:
    def test_other_programs_can_read_the_file(self) -> None:
        item = Reminder(3, "call Anna; ask\nof, \x1b[2J \ud800", NOON + timedelta(days=1), "Europe/Berlin", START)
        data = exported([item, replace(item, id=4, due=date(2026, 12, 2)), replace(item, id=5, done_at=NOON)])
        read_back = Calendar.from_ical(data)
        timed, dated = read_back.walk("VEVENT")
        assert not [component.errors for component in read_back.walk() if component.errors]
        assert b"DTSTART;TZID=Europe/Berlin:20261201T120000\r\n" in data
        assert b"DTSTART;VALUE=DATE:20261202\r\n" in data
        assert b"BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n" in data
        assert str(timed["SUMMARY"]) == "call Anna; ask\nof, \ufffd[2J \ufffd"
        assert [len(component.walk("VALARM")) for component in (timed, dated)] == [1, 1]
        assert timed["UID"] != dated["UID"]
        assert b"\x1b" not in data
        assert max(map(len, data.split(b"\r\n"))) <= 75

    def test_the_same_reminders_give_the_same_bytes(self) -> None:
        items = [Reminder(n, "x", NOON + timedelta(days=n), zone, START) for n, zone in enumerate(ZONES, start=1)]
        assert exported(items) == exported(list(items))

    def test_no_reminders_are_a_calendar_without_entries(self) -> None:
        assert read_calendar(exported([]), NOON) == CalendarContents(())

    @pytest.mark.parametrize("broken", [{"zone": "Mars/Olympus"}, {"zone": "localtime"}, {"rrule": "FREQ=NEVER"}])
    def test_a_reminder_that_cannot_be_written_is_named_and_the_others_are_written(
        self, broken: dict[str, str]
    ) -> None:
        items = [Reminder(n, f"call\n{n}", NOON + timedelta(days=n), "Europe/Berlin", START) for n in (1, 2, 3)]
        items[1] = replace(items[1], **broken)  # type: ignore[arg-type]
        written = export_calendar(items)
        assert (written.data, written.count) == (exported([items[0], items[2]]), 2)
        (line,) = written.skipped
        assert line.startswith("r2 call 2: ")
        assert next(iter(broken.values())) in line

    def test_an_overdue_reminder_comes_back_overdue(self) -> None:
        late = Reminder(1, "call Anna", NOON - timedelta(days=2), "Europe/Berlin", START)
        assert only(read_calendar(exported([late]), NOON)).due == late.due
        recurring = replace(late, rrule="FREQ=DAILY", start=late.due)
        assert only(read_calendar(exported([recurring]), NOON)).due == late.due

    def test_an_entry_that_was_moved_in_the_calendar_is_taken_as_it_is_there(self) -> None:
        item = Reminder(1, "x", NOON + timedelta(days=1), "Europe/Berlin", START, rrule="FREQ=DAILY")
        data = exported([item]).replace(b"Berlin:20261201T120000", b"Berlin:20261205T080000")
        assert only(read_calendar(data, NOON)).due == datetime(2026, 12, 5, 8, 0, tzinfo=BERLIN)

    @pytest.mark.parametrize("noted", [b"20261201T110000", b"00010101T000000Z", b"99991231", b"soon", b""])
    def test_an_open_slot_that_is_none_of_the_rule_is_not_taken(self, noted: bytes) -> None:
        item = Reminder(1, "x", NOON - timedelta(days=1), "Europe/Berlin", START, rrule="FREQ=DAILY")
        data = exported([item]).replace(b"X-FRONTMIND-DUE:20261129T110000Z", b"X-FRONTMIND-DUE:" + noted)
        assert only(read_calendar(data, NOON)).due == NOON + timedelta(days=1)

    @settings(deadline=None, max_examples=200)
    @given(
        text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=120),
        due=st.datetimes(datetime(2026, 12, 1), datetime(2039, 1, 1)),  # noqa: DTZ001 - the zone is drawn beside it
        zone=st.sampled_from(ZONES),
        rule=st.sampled_from(["", *RULES]),
        whole_day=st.booleans(),
        left_out=st.sets(st.integers(0, 9), max_size=3),
    )
    def test_what_is_written_comes_back_the_same(
        self, text: str, due: datetime, zone: str, rule: str, whole_day: bool, left_out: set[int]
    ) -> None:
        assume(text.strip())
        moment = due.replace(microsecond=0, tzinfo=ZoneInfo(zone)).astimezone(UTC)
        begin: datetime | date = due.date() if whole_day else moment
        exdates = tuple(begin + timedelta(days=7 * days) for days in sorted(left_out)) if rule else ()
        exdates = tuple(slot.astimezone(UTC) if isinstance(slot, datetime) else slot for slot in exdates)
        new = planned(text, begin, NOON, zone=zone, rrule=rule, exdates=exdates)
        item = stored(replace(new, uid="given"))
        assert only(read_calendar(exported([item]), NOON)) == replace(new, uid="given")
        unnamed = stored(new, number=7)
        assert only(read_calendar(exported([unnamed]), NOON)).uid == unnamed.calendar_uid


class TestImporting:
    async def test_importing_a_file_twice_adds_nothing(self) -> None:
        store = SqliteStore.open(":memory:")
        book = ReminderBook(store, HandClock(NOON))
        data = calendar(
            event("DTSTART:20261201T090000Z"),
            event("DTSTART:20261201T090000Z", "RRULE:FREQ=DAILY", uid="u2"),
            event("RECURRENCE-ID:20261203T090000Z", "DTSTART:20261203T120000Z", uid="u2"),
            event("DTSTART:20261201T090000Z", title="Without a uid").replace("UID:u1\r\n", ""),
        )
        first = await book.add_all(read_calendar(data, NOON).reminders)
        assert (len(first.added), first.known) == (4, 0)
        await book.complete(first.added[0].id)
        second = await book.add_all(read_calendar(data, NOON).reminders)
        assert (second.added, second.known) == ((), 4)
        assert len(await store.reminders()) == 4
        await store.close()

    async def test_importing_the_own_file_adds_nothing(self) -> None:
        store = SqliteStore.open(":memory:")
        book = ReminderBook(store, HandClock(NOON))
        await book.add("call Anna", NOON + timedelta(days=1))
        data = exported(await book.list())
        assert not (await book.add_all(read_calendar(data, NOON).reminders)).added
        other = SqliteStore.open(":memory:")
        moved = await ReminderBook(other, HandClock(NOON)).add_all(read_calendar(data, NOON).reminders)
        assert [item.text for item in moved.added] == ["call Anna"]
        assert exported(moved.added).split(b"BEGIN:VEVENT")[0] == data.split(b"BEGIN:VEVENT")[0]
        for opened in (store, other):
            await opened.close()
