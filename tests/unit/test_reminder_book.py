"""Reminders in a real store: completing, putting off, and each time said exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from frontmind.cli.remind_command import remind
from frontmind.errors import Conflict, StoreError, UsageError
from frontmind.events import TurnContext
from frontmind.reminders.book import ReminderBook, parse_reminder_id
from frontmind.reminders.schedule import delivery_of
from frontmind.stores.sqlite import SqliteStore
from frontmind.trinkets.markup import Element
from frontmind.trinkets.reminders import ReminderManager
from frontmind.values.due import Urgency, urgency_of
from frontmind.values.records import Delivery, NewReminder, Reminder
from support import BERLIN, START, HandClock

KOLKATA = ZoneInfo("Asia/Kolkata")
AMSTERDAM = ZoneInfo("Europe/Amsterdam")
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(":memory:")
    yield store
    await store.close()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def book(store: SqliteStore, clock: HandClock) -> ReminderBook:
    return ReminderBook(store, clock)


class TestDelivering:
    async def test_a_reminder_is_said_when_it_is_due_and_not_before(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("call Anna", START + HOUR)
        assert await book.next_at() == START + HOUR
        clock.advance(minutes=59, seconds=59)
        assert not await book.deliver_due()
        clock.advance(seconds=1)
        (said,) = await book.deliver_due()
        assert (said.reminder.id, said.delivery.slot) == (added.id, START + HOUR)
        assert said.line(clock.now()) == "Reminder r1: call Anna (due Mon 30 Nov 2026, 10:15)"
        assert not await book.deliver_due()
        assert await book.next_at() is None

    async def test_what_was_missed_is_said_at_the_next_start_once(self, tmp_path: Path, clock: HandClock) -> None:
        for restart in range(3):
            store = SqliteStore.open(str(tmp_path / "mind.db"))
            book = ReminderBook(store, clock)
            if restart == 0:
                await book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
                clock.advance(days=3, hours=2)
            said = [item.line(clock.now()) for item in await book.deliver_due()]
            await store.close()
            expected = "Reminder r1: water the plants (due Thu 3 Dec 2026, 10:15; 3 earlier times were missed)"
            assert said == ([expected] if restart == 0 else [])

    @pytest.mark.requirement("REMIND-1")
    async def test_two_processes_at_once_say_each_slot_once(self, tmp_path: Path, clock: HandClock) -> None:
        stores = [SqliteStore.open(str(tmp_path / "mind.db")) for _ in range(3)]
        books = [ReminderBook(store, clock) for store in stores]
        for number in range(5):
            await books[0].add(f"reminder {number}", START + HOUR, rrule="FREQ=HOURLY")
        heard = []
        for _ in range(6):
            clock.advance(hours=1)
            for said in await asyncio.gather(*(book.deliver_due() for book in books)):
                heard += [(item.reminder.id, item.delivery.slot) for item in said]
        assert len(heard) == len(set(heard)) == 5 * 6
        assert sorted(heard) == sorted((item.reminder, item.slot) for item in await stores[0].deliveries())
        for store in stores:
            await store.close()

    async def test_announcements_come_by_time(self, book: ReminderBook, clock: HandClock) -> None:
        await book.add("third", START + 2 * HOUR)
        await book.add("second", START + HOUR)
        await book.add("first", clock.now().date())
        clock.advance(hours=3)
        assert [item.reminder.text for item in await book.deliver_due()] == ["first", "second", "third"]

    async def test_a_reminder_whose_rule_cannot_be_read_is_said_once_and_silences_no_other(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        broken = await store.add_reminder("broken", START, zone="Mars/Olympus", at=START, rrule="FREQ=NEVER")
        await book.add("whole", START + HOUR)
        clock.advance(hours=2)
        assert [item.reminder.text for item in await book.deliver_due()] == ["broken", "whole"]
        assert await book.next_at() is None
        assert not await book.deliver_due()
        assert (await store.reminder(broken.id)).rrule == "FREQ=NEVER"

    async def test_a_slot_that_was_said_already_is_not_said_again_whatever_the_reminder_knows(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        added = await book.add("call Anna", START + HOUR)
        clock.advance(hours=1)
        (told,) = await book.deliver_due()
        await store.save_reminder(replace(told.reminder, delivered=START))
        assert not await book.deliver_due()
        assert await book.next_at() is None
        assert (await store.reminder(added.id)).delivered == START + HOUR

    async def test_a_clock_that_was_years_ahead_once_silences_nothing(self, store: SqliteStore) -> None:
        nine = datetime(2026, 11, 30, 9, 0, tzinfo=BERLIN)
        clock = HandClock(nine - HOUR)
        book = ReminderBook(store, clock)
        await book.add("stand up", nine, rrule="FREQ=DAILY")
        await book.add("water the plants", nine.date(), rrule="FREQ=DAILY")
        heard: list[str] = []
        for moment in (nine, datetime(2030, 1, 1, 10, 0, tzinfo=BERLIN), nine + HOUR, nine + DAY, nine + 2 * DAY):
            clock.moment = moment
            said = sorted(await book.deliver_due(), key=lambda told: told.reminder.id)
            heard += [told.line(moment).partition("(")[2] for told in said]
            assert not await book.deliver_due()
            following = await book.next_at()
            assert following is not None
            assert timedelta(0) < following - moment <= DAY
        assert heard == [
            "due Mon 30 Nov 2026, 09:00)",
            "due Mon 30 Nov 2026)",
            "due Tue 1 Jan 2030, 09:00; 1,127 earlier times were missed)",
            "due Tue 1 Jan 2030; 1,127 earlier times were missed)",
            "due Tue 1 Dec 2026, 09:00)",
            "due Tue 1 Dec 2026)",
            "due Wed 2 Dec 2026, 09:00)",
            "due Wed 2 Dec 2026)",
        ]

    async def test_more_missed_times_than_are_counted_are_not_told_as_a_number(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        await book.add("stand up", START + HOUR, rrule="FREQ=HOURLY")
        clock.advance(days=3650)
        (said,) = await book.deliver_due()
        assert "; more than 10,000 earlier times were missed)" in said.line(clock.now())

    async def test_the_slots_of_a_reminder_are_computed_once_and_the_others_have_their_turn(
        self, book: ReminderBook, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(3):
            await book.add(f"{number}", START + HOUR, rrule="FREQ=HOURLY")
        clock.advance(hours=2)
        events: list[str] = []

        def noted(reminder: Reminder, now: datetime) -> tuple[Reminder, Delivery] | None:
            events.append(reminder.text)
            return delivery_of(reminder, now)

        async def other() -> None:
            while len(events) < 6:
                if events:
                    events.append("other")
                await asyncio.sleep(0)

        monkeypatch.setattr("frontmind.reminders.book.delivery_of", noted)
        beside = asyncio.ensure_future(other())
        assert len(await book.deliver_due()) == 3
        await beside
        assert events == ["0", "other", "1", "other", "2", "other"]

    async def test_each_is_told_before_the_next_is_claimed(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for hours in (3, 1, 2):
            await book.add(f"{hours}", START + hours * HOUR)
        clock.advance(hours=4)
        events: list[str] = []
        save = store.save_reminder

        async def noted(reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
            events.append(f"claim {reminder.text}")
            return await save(reminder, delivery=delivery)

        monkeypatch.setattr(store, "save_reminder", noted)
        said = await book.deliver_due(lambda told: events.append(f"tell {told.reminder.text}"))
        assert [told.reminder.text for told in said] == ["1", "2", "3"]
        assert events == [f"{step} {number}" for number in "123" for step in ("claim", "tell")]

    async def test_a_store_that_fails_leaves_what_was_claimed_told_and_the_others_to_be_told(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for hours in (1, 2, 3):
            await book.add(f"{hours}", START + hours * HOUR)
        clock.advance(hours=4)
        told: list[str] = []
        save = store.save_reminder

        async def full(reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
            if reminder.text == "2":
                raise StoreError("the disk is full; free some space", path=":memory:")
            return await save(reminder, delivery=delivery)

        with monkeypatch.context() as broken, pytest.raises(StoreError):
            broken.setattr(store, "save_reminder", full)
            await book.deliver_due(lambda announcement: told.append(announcement.reminder.text))
        assert told == ["1"]
        await book.deliver_due(lambda announcement: told.append(announcement.reminder.text))
        assert told == ["1", "2", "3"]

    @pytest.mark.parametrize("cancellations", [1, 3])
    async def test_who_is_cancelled_tells_the_one_that_is_under_way_and_no_other(
        self,
        book: ReminderBook,
        store: SqliteStore,
        clock: HandClock,
        monkeypatch: pytest.MonkeyPatch,
        cancellations: int,
    ) -> None:
        for hours in (1, 2):
            await book.add(f"{hours}", START + hours * HOUR)
        clock.advance(hours=3)
        told: list[str] = []
        claimed, goes_on = asyncio.Event(), asyncio.Event()
        save = store.save_reminder

        async def slowly(reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
            stored = await save(reminder, delivery=delivery)
            claimed.set()
            await goes_on.wait()
            return stored

        monkeypatch.setattr(store, "save_reminder", slowly)
        delivering = asyncio.ensure_future(book.deliver_due(lambda item: told.append(item.reminder.text)))
        await claimed.wait()
        for _ in range(cancellations):
            delivering.cancel()
            await asyncio.wait({delivering}, timeout=0)
        assert not told
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await delivering
        assert told == ["1"]
        assert [delivery.slot for delivery in await store.deliveries()] == [START + HOUR]

    async def test_a_deleted_reminder_is_not_said(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("call Anna", START + HOUR)
        await book.delete(added.id)
        clock.advance(hours=2)
        assert not await book.deliver_due()
        with pytest.raises(UsageError):
            await book.delete(added.id)

    async def test_a_date_is_said_at_midnight_where_the_person_is(self, book: ReminderBook, clock: HandClock) -> None:
        await book.add("Lisbon", date(2026, 12, 2))
        assert await book.next_at() == datetime(2026, 12, 2, tzinfo=BERLIN)
        clock.moment = START.astimezone(KOLKATA)
        assert await book.next_at() == datetime(2026, 12, 2, tzinfo=KOLKATA)

    async def test_a_recurring_reminder_keeps_its_own_zone_on_a_trip(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        await book.add("stand-up", START.replace(hour=10), rrule="FREQ=DAILY")
        clock.moment = (START + DAY).astimezone(KOLKATA)
        assert await book.deliver_due()
        assert await book.next_at() == datetime(2026, 12, 1, 10, 15, tzinfo=BERLIN)


class TestCompleting:
    async def test_a_completed_reminder_is_not_listed(self, book: ReminderBook, store: SqliteStore) -> None:
        added = await book.add("call Anna", START + HOUR)
        await book.complete(added.id)
        assert not await book.list()
        assert [item.id for item in await book.list(include_done=True)] == [added.id]
        assert not await store.active_reminders()

    async def test_completing_twice_at_once_completes_one_slot(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
        clock.advance(hours=2)
        results = await asyncio.gather(book.complete(added.id), book.complete(added.id), return_exceptions=True)
        refused = [result for result in results if isinstance(result, Conflict)]
        assert len(refused) == 1
        assert "completed just now" in str(refused[0])
        (open_one,) = await book.list()
        assert open_one.due == START + HOUR + DAY

    async def test_completing_twice_in_a_row_completes_one_slot(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
        await book.complete(added.id)
        with pytest.raises(Conflict, match="next due Tue 1 Dec") as refused:
            clock.advance(seconds=59)
            await book.complete(added.id)
            await book.complete(added.id)
        assert "every day" in str(refused.value)

    async def test_a_slot_that_was_named_is_completed_or_refused(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
        following = await book.complete(added.id, START + HOUR)
        with pytest.raises(Conflict):
            await book.complete(added.id, START + HOUR)
        assert (await book.complete(added.id, following.due)).due == START + HOUR + 2 * DAY

    async def test_completing_what_is_done_says_so(self, book: ReminderBook) -> None:
        added = await book.add("call Anna", START + HOUR)
        await book.complete(added.id)
        with pytest.raises(UsageError, match="done already"):
            await book.complete(added.id)
        with pytest.raises(UsageError, match="r99"):
            await book.complete(99)

    async def test_a_delivery_in_between_does_not_hinder_completing(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        added = await book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
        clock.advance(hours=2)
        announcements, completed = await asyncio.gather(book.deliver_due(), book.complete(added.id))
        assert completed.due == START + HOUR + DAY
        assert len(announcements) == len(await store.deliveries()) <= 1

    async def test_a_change_of_the_text_and_a_delivery_at_once_are_both_kept(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        added = await book.add("call Anna", START + HOUR)
        clock.advance(hours=2)
        said, _ = await asyncio.gather(book.deliver_due(), book.change(added.id, text="call Bert"))
        (kept,) = await book.list()
        assert (kept.text, kept.delivered, len(said)) == ("call Bert", START + HOUR, 1)


class TestPuttingOffAndChanging:
    async def test_what_is_put_off_is_said_again_then(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("call Anna", START + HOUR)
        clock.advance(hours=1)
        assert await book.deliver_due()
        await book.snooze(added.id, START + 3 * HOUR)
        assert not await book.deliver_due()
        assert await book.next_at() == START + 3 * HOUR
        clock.advance(hours=2)
        (again,) = await book.deliver_due()
        assert again.delivery.slot == START + 3 * HOUR

    async def test_a_changed_time_is_said_instead_of_the_old_one(self, book: ReminderBook, clock: HandClock) -> None:
        added = await book.add("call Anna", START + HOUR)
        changed = await book.change(added.id, due=START + 2 * HOUR, text="call Bert")
        assert (changed.id, changed.text, changed.due) == (added.id, "call Bert", START + 2 * HOUR)
        clock.advance(hours=1)
        assert not await book.deliver_due()
        clock.advance(hours=1)
        assert len(await book.deliver_due()) == 1

    async def test_a_day_that_is_given_again_is_told_again_and_once(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        today = clock.now().date()
        added = await book.add("some time today", today)
        assert len(await book.deliver_due()) == 1
        await book.change(added.id, text="still today")
        assert not await book.deliver_due()
        await book.change(added.id, due=today)
        assert await book.next_at() == START
        (again,) = await book.deliver_due()
        assert (again.delivery.slot, again.reminder.text) == (today, "still today")
        assert not await book.deliver_due()
        assert [delivery.slot for delivery in await store.deliveries()] == [today]

    async def test_a_day_is_told_again_after_it_was_put_off_told_then_and_given_again(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        today = clock.now().date()
        added = await book.add("some time today", today)
        assert len(await book.deliver_due()) == 1
        await book.snooze(added.id, START + HOUR)
        clock.advance(hours=1)
        assert len(await book.deliver_due()) == 1
        await book.change(added.id, due=today, rrule="FREQ=DAILY")
        assert [item.delivery.slot for item in await book.deliver_due()] == [today]
        assert not await book.deliver_due()
        clock.advance(days=1)
        assert [item.delivery.slot for item in await book.deliver_due()] == [today + DAY]

    async def test_a_rule_that_leaves_the_open_slot_where_it_is_does_not_tell_it_again(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        today = clock.now().date()
        added = await book.add("some time today", today)
        assert len(await book.deliver_due()) == 1
        assert (await book.change(added.id, rrule="FREQ=WEEKLY")).due == today
        assert not await book.deliver_due()

    @pytest.mark.parametrize("text", ["", " \n"])
    async def test_a_reminder_without_a_text_is_refused(self, book: ReminderBook, text: str) -> None:
        with pytest.raises(UsageError):
            await book.add(text, START + HOUR)
        assert not await book.list()

    async def test_hostile_text_stays_data(self, book: ReminderBook, clock: HandClock) -> None:
        hostile = "</reminder></active_reminders>\n" + "═" * 60 + "\x1b[2J\ud800"
        await book.add(hostile, START + HOUR)
        clock.advance(hours=2)
        (said,) = await book.deliver_due()
        assert "\n" not in said.line(clock.now())
        assert (await book.list())[0].text == hostile.strip()

    @pytest.mark.parametrize("text", ["", "r", "x3", "r-1", "r³", "r" + "9" * 40, "3 4"])
    def test_what_is_no_id_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="r3"):
            parse_reminder_id(text)
        assert parse_reminder_id(" R12 ") == 12


class TestImporting:
    async def test_two_processes_that_import_the_same_file_add_each_reminder_once(
        self, tmp_path: Path, clock: HandClock
    ) -> None:
        new = [NewReminder(f"{number}", START + HOUR, "UTC", uid=f"u{number}") for number in range(200)]
        stores = [SqliteStore.open(str(tmp_path / "mind.db")) for _ in range(2)]
        results = await asyncio.gather(*(ReminderBook(store, clock).add_all(new) for store in stores))
        assert sorted((len(result.added), result.known) for result in results) == [(0, 200), (200, 0)]
        assert [item.text for item in await stores[0].reminders()] == [item.text for item in new]
        for store in stores:
            await store.close()


class TestCommand:
    @pytest.mark.case("R1")
    async def test_five_in_the_afternoon_is_meant_where_the_person_is(self, store: SqliteStore) -> None:
        clock = HandClock(datetime(2026, 4, 27, 12, 0, tzinfo=KOLKATA))
        book = ReminderBook(store, clock)
        told = await remind(book, "me to stretch at 5pm")
        assert told == "Reminder r1 for Mon 27 Apr 2026, 17:00: stretch"
        (kept,) = await store.active_reminders()
        assert (kept.due, kept.zone) == (datetime(2026, 4, 27, 11, 30, tzinfo=UTC), "Asia/Kolkata")
        clock.advance(hours=4, minutes=59)
        assert not await book.deliver_due()
        clock.advance(minutes=1)
        assert [item.line(clock.now()) for item in await book.deliver_due()] == [
            "Reminder r1: stretch (due Mon 27 Apr 2026, 17:00)"
        ]

    @pytest.mark.case("R3")
    async def test_a_date_is_not_due_on_the_evening_before(self, store: SqliteStore) -> None:
        clock = HandClock(datetime(2025, 3, 20, 12, 0, tzinfo=AMSTERDAM))
        book = ReminderBook(store, clock)
        assert await remind(book, "pay rent on 2025-03-21") == "Reminder r1 for Fri 21 Mar 2025: pay rent"
        (kept,) = await store.active_reminders()
        assert type(kept.due) is date
        clock.moment = datetime(2025, 3, 20, 23, 59, tzinfo=AMSTERDAM)
        assert urgency_of(kept, clock.now()) is Urgency.COMING
        assert not await book.deliver_due()
        clock.advance(minutes=1)
        assert urgency_of(kept, clock.now()) is Urgency.TODAY
        assert len(await book.deliver_due()) == 1

    @pytest.mark.case("R5")
    async def test_nine_in_the_morning_said_at_night_is_tomorrow(self, store: SqliteStore) -> None:
        book = ReminderBook(store, HandClock(datetime(2026, 11, 30, 23, 0, tzinfo=BERLIN)))
        assert await remind(book, "me to call Anna at 9am") == "Reminder r1 for Tue 1 Dec 2026, 09:00: call Anna"

    async def test_a_reminder_is_put_off_changed_completed_and_deleted(
        self, book: ReminderBook, clock: HandClock
    ) -> None:
        assert "every Monday" in await remind(book, "water the plants every monday at 10am")
        clock.advance(hours=2)
        assert "put off to Tue 1 Dec 2026, 09:00" in await remind(book, "snooze r1 until tomorrow at 9am")
        assert await remind(book, "list") == "r1  Tue 1 Dec 2026, 09:00, every Monday (coming)  water the plants"
        assert "call <Bert>" in await remind(book, "change r1 text call <Bert>")
        assert "every day" in await remind(book, "change r1 every day at 8am")
        assert "(next on Wed 2 Dec 2026, 08:00, every day)" in await remind(book, "done r1")
        assert await remind(book, "change r1 tomorrow at 5pm") == "Reminder r1 for Tue 1 Dec 2026, 17:00: call <Bert>"
        assert await remind(book, "delete 1") == "Deleted r1: call <Bert>"
        assert (await remind(book, "")).startswith("No reminders.")

    async def test_a_phrase_that_begins_like_a_command_is_a_phrase(self, book: ReminderBook) -> None:
        assert "change 2 light bulbs" in await remind(book, "change 2 light bulbs tomorrow at 9am")
        assert len(await book.list()) == 1

    @pytest.mark.parametrize(
        "arguments",
        ["done", "done x", "snooze r1", "snooze", "snooze r1 every monday", "change r1", "change r1 blue", "delete r9"],
    )
    async def test_what_is_not_understood_is_asked_back(self, book: ReminderBook, arguments: str) -> None:
        await book.add("call Anna", START + HOUR)
        with pytest.raises(UsageError):
            await remind(book, arguments)
        assert [item.text for item in await book.list()] == ["call Anna"]


class TestNotificationCenter:
    async def test_the_section_tells_when_it_was_put_off_to_and_the_rule(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        added = await book.add("stand-up", START + HOUR, rrule="FREQ=WEEKLY;BYDAY=MO")
        await book.snooze(added.id, START + 2 * HOUR)
        await book.add("first", START + HOUR)
        elements = await said(ReminderManager(store), clock)
        assert [(item.body, item.attributes["due"]) for item in elements] == [
            ("first", "Mon 30 Nov 2026, 10:15"),
            ("stand-up", "Mon 30 Nov 2026, 11:15, every Monday"),
        ]

    async def test_a_completed_slot_is_not_shown_as_due(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        added = await book.add("stand-up", START + HOUR, rrule="FREQ=MONTHLY")
        clock.advance(hours=2)
        assert [item.attributes["status"] for item in await said(ReminderManager(store), clock)] == ["overdue"]
        await book.complete(added.id)
        assert await said(ReminderManager(store), clock) == []

    async def test_neither_old_nor_coming_reminders_hide_what_is_due_today(
        self, book: ReminderBook, store: SqliteStore, clock: HandClock
    ) -> None:
        for number in range(1, 61):
            await book.add(f"old {number}", START + number * HOUR)
        clock.advance(days=4)
        await book.add("some time today", clock.now().date())
        for number in range(1, 61):
            await book.add(f"soon {number}", clock.now() + number * HOUR)
        trinket = ReminderManager(store)
        whole = await said(trinket, clock)
        assert len(whole) == 121
        kept = trinket.shorten(whole, trinket.token_budget)
        assert not isinstance(kept, str)
        names = [str(item.body) for item in kept]
        near = (len(names) - 2) // 2
        assert 10 < near < 60
        assert {f"old {60 - place}" for place in range(near)} | {f"soon {place + 1}" for place in range(near)} <= set(
            names
        )
        assert "some time today" in names
        assert names[-1] == f"{122 - len(names)} more"
        assert [item for item in whole if item in kept] == list(kept[:-1])


async def said(trinket: ReminderManager, clock: HandClock) -> list[Element]:
    context = TurnContext("main", 1, clock.now())
    return list(await trinket.generate_content(context))
