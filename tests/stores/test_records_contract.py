"""What every `Store` promises of reminders, memories and documents."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import Conflict, UsageError
from frontmind.stores.protocols import Store
from frontmind.values.passages import PassageKind
from frontmind.values.records import Delivery, DocumentVersion, NewReminder, Reminder
from support import passages_with, remember

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
# The examples of one test share a store: a round trip does not depend on what else is there.
in_one_store = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
any_text = st.text(st.characters())
any_moment = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.timezones(),
)
any_due = any_moment | st.dates()


class TestReminders:
    async def test_a_date_stays_a_date_and_a_moment_a_moment(self, store: Store) -> None:
        moment = datetime(2026, 12, 1, 8, 30, tzinfo=timezone(timedelta(hours=1)))
        by_date = await store.add_reminder("post", date(2026, 12, 1), zone="Europe/Berlin", at=NINE)
        by_moment = await store.add_reminder("call", moment, zone="Europe/Berlin", at=NINE)
        assert list(await store.active_reminders()) == [by_date, by_moment]
        assert type(by_date.due) is date
        assert by_date.due == date(2026, 12, 1)
        assert type(by_moment.due) is datetime
        assert by_moment.due == moment
        assert by_moment.due.tzinfo is UTC
        assert (by_date.text, by_date.zone, by_date.created_at) == ("post", "Europe/Berlin", NINE)

    async def test_a_done_reminder_is_kept_but_no_longer_active(self, store: Store) -> None:
        kept = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        other = await store.add_reminder("b", NINE, zone="UTC", at=NINE)
        done = await store.save_reminder(replace(other, done_at=NINE + HOUR))
        assert done == replace(other, done_at=NINE + HOUR, version=2)
        assert list(await store.active_reminders()) == [kept]
        assert list(await store.reminders()) == [kept, done]

    async def test_only_the_first_of_two_changes_of_one_version_is_stored(self, store: Store) -> None:
        read = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        changed = await store.save_reminder(replace(read, text="b"))
        with pytest.raises(Conflict):
            await store.save_reminder(replace(read, text="c"))
        assert await store.reminder(read.id) == changed

    async def test_a_slot_is_delivered_once(self, store: Store) -> None:
        read = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        delivery = Delivery(read.id, NINE, NINE + HOUR, missed=2)
        told = await store.save_reminder(replace(read, delivered=NINE), delivery=delivery)
        with pytest.raises(Conflict):
            await store.save_reminder(replace(told, text="b"), delivery=delivery)
        assert await store.reminder(read.id) == told
        assert list(await store.deliveries()) == [delivery]

    async def test_the_open_slot_of_a_reminder_whose_time_was_given_again_is_delivered_again(
        self, store: Store
    ) -> None:
        today = date(2026, 11, 30)
        read = await store.add_reminder("a", today, zone="UTC", at=NINE)
        earlier, first = Delivery(read.id, NINE - HOUR, NINE), Delivery(read.id, today, NINE)
        read = await store.save_reminder(replace(read, delivered=NINE - HOUR), delivery=earlier)
        told = await store.save_reminder(replace(read, delivered=today), delivery=first)
        kept = await store.save_reminder(replace(told, text="b"))
        with pytest.raises(Conflict):
            await store.save_reminder(kept, delivery=first)
        again = await store.save_reminder(replace(kept, delivered=None))
        assert list(await store.deliveries()) == [earlier]
        second = replace(first, at=NINE + HOUR)
        told = await store.save_reminder(replace(again, delivered=today), delivery=second)
        with pytest.raises(Conflict):
            await store.save_reminder(told, delivery=second)
        assert list(await store.deliveries()) == [earlier, second]

    async def test_of_several_reminders_at_once_those_that_are_known_are_left_out(self, store: Store) -> None:
        done = await store.add_reminder("done", NINE, zone="UTC", at=NINE, uid="u1")
        await store.save_reminder(replace(done, done_at=NINE))
        unnamed = await store.add_reminder("unnamed", NINE, zone="UTC", at=NINE)
        await store.of("other").add_reminder("theirs", NINE, zone="UTC", at=NINE, uid="u3")
        uids = ["u2", "u1", "u2", unnamed.calendar_uid, "", "u3", ""]
        new = [NewReminder(f"{place}", NINE, "UTC", uid=uid) for place, uid in enumerate(uids)]
        added = await store.add_reminders(new, NINE + HOUR)
        assert [(reminder.text, reminder.uid) for reminder in added] == [("0", "u2"), ("4", ""), ("5", "u3"), ("6", "")]
        assert {reminder.created_at for reminder in added} == {NINE + HOUR}
        assert [*added] == [*await store.reminders()][2:]

    async def test_several_reminders_are_stored_all_or_none(self, store: Store) -> None:
        new = [NewReminder("a", NINE, "UTC"), NewReminder("b", NINE.replace(tzinfo=None), "UTC")]
        with pytest.raises(UsageError, match="time zone"):
            await store.add_reminders(new, NINE)
        assert list(await store.reminders()) == []

    async def test_two_imports_at_once_give_no_doubles(self, store: Store) -> None:
        new = [NewReminder("a", NINE, "UTC", uid=f"u{number}") for number in range(50)]
        first, second = await asyncio.gather(store.add_reminders(new, NINE), store.add_reminders(new, NINE))
        assert sorted([len(first), len(second)]) == [0, 50]
        assert len(await store.reminders()) == 50

    async def test_deliveries_are_listed_in_their_order(self, store: Store) -> None:
        read = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        slots: list[datetime | date] = [NINE + HOUR, NINE, date(2026, 12, 1)]
        for slot in slots:
            read = await store.save_reminder(replace(read, delivered=slot), delivery=Delivery(read.id, slot, NINE))
        assert [delivery.slot for delivery in await store.deliveries()] == slots

    async def test_a_removed_reminder_is_gone_with_its_deliveries(self, store: Store) -> None:
        read = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        read = await store.save_reminder(read, delivery=Delivery(read.id, NINE, NINE))
        assert await store.remove_reminder(read.id) == read
        assert [*await store.reminders(), *await store.deliveries()] == []
        assert (await store.add_reminder("b", NINE, zone="UTC", at=NINE)).id != read.id

    async def test_a_reminder_that_is_not_there_is_a_usage_error(self, store: Store) -> None:
        read = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        for unknown in (0, 99, 10**30):
            for attempt in (store.reminder, store.remove_reminder):
                with pytest.raises(UsageError):
                    await attempt(unknown)
            with pytest.raises(UsageError):
                await store.save_reminder(replace(read, id=unknown))

    @in_one_store
    @given(
        due=any_due,
        exdates=st.lists(any_due, max_size=3).map(tuple[date, ...]),
        start=st.none() | any_due,
        snoozed=st.none() | any_moment,
        delivered=st.none() | any_due,
        words=st.tuples(any_text, any_text, any_text),
    )
    async def test_every_field_comes_back(
        self,
        store: Store,
        due: date,
        exdates: tuple[date, ...],
        start: date | None,
        snoozed: datetime | None,
        delivered: date | None,
        words: tuple[str, str, str],
    ) -> None:
        text, rrule, uid = words
        added = await store.add_reminder(
            text, due, zone="UTC", at=NINE, rrule=rrule, exdates=exdates, start=start, uid=uid
        )
        expected = Reminder(added.id, text, due, "UTC", NINE, rrule=rrule, exdates=exdates, start=start, uid=uid)
        assert in_utc(added) == in_utc(expected)
        changed = replace(added, snoozed_until=snoozed, delivered=delivered)
        assert in_utc(await store.save_reminder(changed)) == in_utc(replace(changed, version=2))


def in_utc(reminder: Reminder) -> list[object]:
    values = [*reminder.exdates, *(getattr(reminder, name) for name in Reminder.__slots__ if name != "exdates")]
    return [value.astimezone(UTC) if isinstance(value, datetime) else value for value in values]


class TestNotes:
    async def test_memories_are_listed_by_id(self, store: Store) -> None:
        notes = [await remember(store, text, NINE) for text in ("b", "a", "c")]
        assert list(await store.memories()) == notes
        assert notes == sorted(notes, key=lambda note: note.id)

    async def test_removed_memory_is_gone_from_the_list_and_the_search(self, store: Store) -> None:
        note = await remember(store, "The key is under the mat", NINE)
        assert await store.remove_memory(note.id) == note
        assert list(await store.memories()) == []
        assert await passages_with(store, "key", PassageKind.MEMORY) == []

    async def test_the_id_of_a_removed_memory_is_not_given_again(self, store: Store) -> None:
        removed = await remember(store, "a", NINE)
        await store.remove_memory(removed.id)
        assert (await remember(store, "b", NINE)).id != removed.id

    async def test_a_memory_that_is_not_there_cannot_be_removed(self, store: Store) -> None:
        for unknown in (0, 5, 10**30):
            with pytest.raises(UsageError):
                await store.remove_memory(unknown)


class TestDocuments:
    async def test_documents_are_listed_by_name(self, store: Store) -> None:
        names = ["b", "", "é", "B", "\ud800", "😀", "a\0", "a"]
        for name in names:
            await store.put_document(name, name, NINE)
        assert [document.name for document in await store.documents()] == sorted(names)

    async def test_a_new_text_replaces_the_old_one_and_is_enabled_where_that_is_asked_for(self, store: Store) -> None:
        await store.put_document("work", "old", NINE)
        await store.enable_document("work", False)
        replaced = await store.put_document("work", "new", NINE + HOUR, enable=True)
        assert (replaced.text, replaced.enabled, replaced.updated_at) == ("new", True, NINE + HOUR)
        assert list(await store.documents()) == [replaced]

    async def test_a_document_is_switched_off_and_on(self, store: Store) -> None:
        await store.put_document("work", "text", NINE)
        assert (await store.enable_document("work", False)).enabled is False
        assert [document.enabled for document in await store.documents()] == [False]
        assert (await store.enable_document("work", True)).enabled is True

    async def test_a_document_that_is_not_there_cannot_be_switched(self, store: Store) -> None:
        with pytest.raises(UsageError):
            await store.enable_document("work", True)

    async def test_every_text_stays_as_a_version(self, store: Store) -> None:
        await store.put_document("work", "a", NINE)
        await store.put_document("work", "b", NINE + HOUR, by="assistant")
        same = await store.put_document("work", "b", NINE + 2 * HOUR, by="file")
        assert (same.version, same.updated_at) == (2, NINE + HOUR)
        assert list(await store.document_versions("work")) == [
            DocumentVersion("work", 1, None, "a", NINE, "person"),
            DocumentVersion("work", 2, 1, "b", NINE + HOUR, "assistant"),
        ]

    async def test_undoing_goes_back_step_by_step_and_loses_nothing(self, store: Store) -> None:
        for text in "abc":
            await store.put_document("work", text, NINE)
        assert [(await store.undo_document("work")).text for _ in range(2)] == ["b", "a"]
        with pytest.raises(UsageError):
            await store.undo_document("work")
        edited = await store.put_document("work", "d", NINE)
        assert (edited.version, (await store.undo_document("work")).text) == (4, "a")
        assert [version.text for version in await store.document_versions("work")] == list("abcd")

    async def test_only_the_version_that_was_seen_is_undone(self, store: Store) -> None:
        for text in "abc":
            await store.put_document("work", text, NINE)
        for expected in (0, 1, 2, 4):
            with pytest.raises(Conflict):
                await store.undo_document("work", expected=expected)
        assert (await store.undo_document("work", expected=3)).text == "b"

    async def test_a_text_made_from_an_older_version_is_not_stored(self, store: Store) -> None:
        first = await store.put_document("work", "a", NINE, expected=0)
        await store.put_document("work", "b", NINE, expected=first.version)
        for expected in (0, first.version):
            with pytest.raises(Conflict):
                await store.put_document("work", "c", NINE, expected=expected)
        assert [document.text for document in await store.documents()] == ["b"]

    @pytest.mark.parametrize("by", ["person", "assistant", "file"])
    async def test_whoever_writes_into_a_document_does_not_switch_it_on(self, store: Store, by: str) -> None:
        await store.put_document("work", "a", NINE)
        await store.enable_document("work", False)
        assert (await store.put_document("work", "b", NINE, by=by)).enabled is False

    async def test_collapsed_sections_and_the_source_stay_with_the_document(self, store: Store) -> None:
        await store.put_document("work", "a", NINE, source="/tmp/work.md")
        collapsed = await store.collapse_document("work", ("b", "a", "\ud800", "b"))
        assert collapsed.collapsed == ("a", "b", "\ud800")
        edited = await store.put_document("work", "c", NINE)
        assert (edited.collapsed, edited.source) == (collapsed.collapsed, "/tmp/work.md")

    async def test_a_removed_document_is_gone_with_its_versions(self, store: Store) -> None:
        kept = await store.put_document("work", "a", NINE)
        assert await store.remove_document("work") == kept
        assert [*await store.documents(), *await store.document_versions("work")] == []
        assert (await store.put_document("work", "b", NINE)).version == 1

    async def test_nothing_can_be_done_to_a_document_that_is_not_there(self, store: Store) -> None:
        for attempt in (store.undo_document("x"), store.remove_document("x"), store.collapse_document("x", ())):
            with pytest.raises(UsageError):
                await attempt
