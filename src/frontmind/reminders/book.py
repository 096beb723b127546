"""A person's reminders in a store: added, changed, and each of their times delivered exactly once.

Several processes may work on one store; who comes second reads again. Knows neither phrases, tools nor terminals.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from frontmind.errors import Conflict, UsageError
from frontmind.events.outlasting import to_the_end
from frontmind.reminders.changes import changed, completed, planned, snoozed
from frontmind.reminders.recurrence import Slot
from frontmind.reminders.schedule import MOST_MISSED, delivery_of, has_come, upcoming
from frontmind.stores.protocols import ReminderStore
from frontmind.values.clock import Clock
from frontmind.values.due import describe_due, describe_slot, moment_of
from frontmind.values.records import Delivery, NewReminder, Reminder

T = TypeVar("T")

_log = logging.getLogger(__name__)
# Each time somebody else was faster; more often than this something else is wrong.
_ATTEMPTS = 10
# A second "done" within this time means the same slot, as when a model calls the tool twice in one step.
_SAME_INTENTION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A reminder that the person has to be told of now, once.

    Attributes:
        reminder: as it is stored now.
        delivery: the slot that is told, and how many earlier ones were missed.
    """

    reminder: Reminder
    delivery: Delivery

    def line(self, now: datetime) -> str:
        """The notice, on one line, with the reminder's id; the text in it is as the person wrote it."""
        return f"Reminder r{self.reminder.id}: {self.words(now)}"

    def words(self, now: datetime) -> str:
        """The notice without the id, on one line."""
        missed = self.delivery.missed
        count = f"{missed:,}" if missed <= MOST_MISSED else f"more than {MOST_MISSED:,}"
        earlier = f"; {count} earlier {'time was' if missed == 1 else 'times were'} missed" if missed else ""
        due = describe_slot(self.delivery.slot, self.reminder.zone, now)
        return f"{' '.join(self.reminder.text.split())} (due {due}{earlier})"


@dataclass(frozen=True, slots=True)
class _Due:
    """What has to be said of a reminder: as it is to be stored then, and the slot."""

    told: Reminder
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the reminders of a file.

    Attributes:
        added: those that are new.
        known: how many were there already, by their uid.
    """

    added: tuple[Reminder, ...]
    known: int


class ReminderBook:
    """The reminders of one person.

    Every method that is given an id raises `UsageError` where there is no reminder with it; one that is given a version
    raises `Conflict` where another one holds.
    """

    def __init__(self, store: ReminderStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._completed_at: dict[int, datetime] = {}

    @property
    def clock(self) -> Clock:
        """The clock whose zone is the person's."""
        return self._clock

    async def add(
        self, text: str, due: Slot, *, zone: str | None = None, rrule: str = "", exdates: tuple[Slot, ...] = ()
    ) -> Reminder:
        """Keep a reminder.

        Args:
            due: an aware moment, or a date; of a rule the beginning, from which it counts.
            zone: the IANA zone in which it is meant; the person's without it.

        Raises:
            UsageError: there is no text, the time has passed, or the rule or zone cannot be used.
        """
        now = self._clock.now()
        new = planned(text, due, now, zone=zone or str(self._clock.zone), rrule=rrule, exdates=exdates)
        (added,) = await self._store.add_reminders([new], now)
        return added

    async def add_all(self, reminders: Sequence[NewReminder]) -> Imported:
        """Keep the reminders of a file, all at once; those whose uid is known, done ones included, are left as they
        are.
        """
        added = await self._store.add_reminders(reminders, self._clock.now())
        return Imported(tuple(added), len(reminders) - len(added))

    async def list(self, *, include_done: bool = False) -> Sequence[Reminder]:
        """The reminders that are not done, or all of them, by id."""
        return await (self._store.reminders() if include_done else self._store.active_reminders())

    async def complete(self, reminder_id: int, slot: Slot | None = None, *, version: int | None = None) -> Reminder:
        """Complete the slot that is open; a reminder that comes once, or for the last time, is done.

        Args:
            slot: the slot that is meant; without it the open one.

        Raises:
            Conflict: the slot was completed meanwhile, or the reminder was within the last minute and its next slot is
                still to come. Nothing is changed.
            UsageError: it is done already.
        """
        now = self._clock.now()
        first = await self._store.reminder(reminder_id)
        before = self._completed_at.get(reminder_id)
        again = before is not None and now.astimezone(UTC) - before < _SAME_INTENTION
        if slot is None and again and first.done_at is None and not has_come(first.due, now):
            raise _completed_just_now(first, now)
        meant = first.due if slot is None else slot

        def complete(reminder: Reminder) -> Reminder:
            if reminder.done_at is not None and first.done_at is None:
                raise Conflict(f"r{reminder.id} was completed just now, and is done")
            following = completed(reminder, now)
            if not _is_same(reminder.due, meant):
                raise _completed_just_now(reminder, now)
            return following

        stored = await self._change(reminder_id, complete, version)
        self._completed_at[reminder_id] = now.astimezone(UTC)
        return stored

    async def snooze(self, reminder_id: int, until: Slot, *, version: int | None = None) -> Reminder:
        """Put it off to a later time.

        Raises:
            UsageError: it is done, or the time has passed or is before it is due.
        """
        return await self._change(reminder_id, lambda reminder: snoozed(reminder, until, self._clock.now()), version)

    async def change(
        self,
        reminder_id: int,
        *,
        text: str | None = None,
        due: Slot | None = None,
        rrule: str | None = None,
        exdates: tuple[Slot, ...] = (),
        zone: str | None = None,
        version: int | None = None,
    ) -> Reminder:
        """Change what is given; see `frontmind.reminders.changes.changed`.

        Raises:
            UsageError: it is done, nothing is given, or what is given cannot be used.
        """
        now = self._clock.now()
        return await self._change(
            reminder_id,
            lambda reminder: changed(reminder, now, text=text, due=due, rrule=rrule, exdates=exdates, zone=zone),
            version,
        )

    async def delete(self, reminder_id: int) -> Reminder:
        """Delete it for good."""
        return await self._store.remove_reminder(reminder_id)

    async def deliver_due(self, tell: Callable[[Announcement], None] | None = None) -> Sequence[Announcement]:
        """What has to be said now, by time.

        Each slot is claimed in the store first, so it is said once, whoever asks and how often. Who is cancelled
        meanwhile, or meets a `StoreError`, has told all that was claimed.

        Args:
            tell: says an announcement to the person; called with each before the next is claimed. Nobody else will
                say it.
        """
        now = self._clock.now()
        said: list[Announcement] = []

        async def claim_and_tell(due: _Due) -> None:
            announcement = await self._claim(due, now)
            if announcement is not None:
                said.append(announcement)
                if tell is not None:
                    tell(announcement)

        for due in await _all_due(await self._store.active_reminders(), now):
            await to_the_end(claim_and_tell(due))
        return said

    async def next_at(self) -> datetime | None:
        """When `deliver_due` has something to say next, in UTC; the present moment where it has now; None for never."""
        now = self._clock.now()
        moments = [_asked(upcoming, reminder, now) for reminder in await self._store.active_reminders()]
        return min((moment for moment in moments if moment is not None), default=None)

    async def _claim(self, due: _Due, now: datetime) -> Announcement | None:
        for _ in range(_ATTEMPTS):
            try:
                return Announcement(await self._store.save_reminder(due.told, delivery=due.delivery), due.delivery)
            except Conflict:
                # Somebody else changed, delivered or deleted it.
                active = {item.id: item for item in await self._store.active_reminders()}
                if (fresh := active.get(due.told.id)) is None:
                    return None
                if fresh.version == due.told.version:
                    # The slot was said although the reminder does not know: once is enough, and now it knows.
                    with suppress(Conflict, UsageError):
                        await self._store.save_reminder(due.told)
                    return None
                if (found := _due(fresh, now)) is None:
                    return None
                due = found
        return None

    async def _change(self, reminder_id: int, change: Callable[[Reminder], Reminder], version: int | None) -> Reminder:
        for _ in range(_ATTEMPTS):
            present = await self._store.reminder(reminder_id)
            if version is not None and present.version != version:
                raise Conflict(f"r{reminder_id} was changed meanwhile; read it again")
            new = change(present)
            try:
                return await self._store.save_reminder(new)
            except Conflict:
                continue
        raise Conflict(f"r{reminder_id} is being changed by somebody else all the time; try again later")


def parse_reminder_id(text: str) -> int:
    """The id that ``r3`` stands for.

    Raises:
        UsageError: it is none.
    """
    digits = text.strip().lower().removeprefix("r")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 15):
        raise UsageError(f"{text[:40]!r} is no id of a reminder; pass one such as r3")
    return int(digits)


def _asked(ask: Callable[[Reminder, datetime], T], reminder: Reminder, now: datetime) -> T:
    """The answer; where the stored rule or zone cannot be read, as if the reminder came once.

    Neither that reminder nor the others may fall silent.
    """
    try:
        return ask(reminder, now)
    except UsageError as error:
        _log.warning("the times of r%d cannot be read: %s", reminder.id, error)
        return ask(replace(reminder, rrule=""), now)


def _due(reminder: Reminder, now: datetime) -> _Due | None:
    found = _asked(delivery_of, reminder, now)
    return None if found is None else _Due(replace(found[0], rrule=reminder.rrule), found[1])


async def _all_due(reminders: Sequence[Reminder], now: datetime) -> Sequence[_Due]:
    """What has to be said, by its time."""
    found: list[_Due] = []
    for reminder in reminders:
        if (due := _due(reminder, now)) is not None:
            found.append(due)
        # A rule of which years were missed takes a tenth of a second; an answer must not stand still meanwhile.
        await asyncio.sleep(0)
    return sorted(found, key=lambda due: (moment_of(due.delivery.slot, now.tzinfo), due.told.id))


def _is_same(one: Slot, other: Slot) -> bool:
    return isinstance(one, datetime) == isinstance(other, datetime) and one == other


def _completed_just_now(reminder: Reminder, now: datetime) -> Conflict:
    due = describe_due(reminder, now)
    return Conflict(f"r{reminder.id} was completed just now; nothing is changed, it is next due {due}")
