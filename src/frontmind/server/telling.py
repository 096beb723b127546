"""Tells people of reminders that are due, and of what went on beside the turns, while a page of theirs is open.

A person without an open page is told nothing here: the slot of a reminder stays unclaimed, for the terminal or the
next page. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Final

from frontmind.reminders.book import Announcement, ReminderBook
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Noticed, PersonEvents, Reminded, Thing
from frontmind.server.sessions import Sessions
from frontmind.values.clock import Clock

logger = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 5.0
"""A reminder may be added meanwhile, also by another process."""

_SHORTEST_WAIT: Final = 0.05


class Telling:
    """Delivers reminders and notices to the pages that are open."""

    def __init__(self, events: PersonEvents, sessions: Sessions) -> None:
        self._events = events
        self._sessions = sessions

    def wake(self) -> None:
        """Look now: a reminder was added or changed, or a clock was set."""
        self._events.arrived.set()

    async def run(self) -> None:
        """Tell of everything on its minute, until cancelled."""
        while True:
            self._events.arrived.clear()
            seconds = _LONGEST_WAIT
            for owner in self._events.owners:
                seconds = min(seconds, await self._tell_safely(owner))
            with suppress(TimeoutError):
                # Unlike `asyncio.wait_for` it loses no cancellation that comes together with an arrival.
                async with asyncio.timeout(seconds):
                    await self._events.arrived.wait()

    async def tell(self, owner: str) -> float:
        """Tell one person of all that is due, and what went on; gives back in how many seconds to look again."""
        person = Person(owner)
        store = self._sessions.store_of(person)
        clock = self._sessions.clock_for(await store.settings())
        book = ReminderBook(store, clock)

        def say(announcement: Announcement) -> None:
            self._events.publish(owner, _reminded(announcement, clock))

        if self._events.is_heard(owner) and await book.deliver_due(say):
            self._events.publish(owner, Changed(Thing.REMINDERS))
        for line in self._sessions.take_notices(owner):
            self._events.publish(owner, Noticed(line))
        return _wait(await book.next_at(), clock.now())

    async def _tell_safely(self, owner: str) -> float:
        try:
            return await self.tell(owner)
        except Exception:
            # Whatever one person's reminders are, the others are told theirs, and this one is asked for again.
            logger.exception("reminders cannot be told at present")
            return _LONGEST_WAIT


def _reminded(announcement: Announcement, clock: Clock) -> Reminded:
    slot: datetime | date = announcement.delivery.slot
    due = slot.astimezone(clock.zone) if isinstance(slot, datetime) else slot
    reminder = announcement.reminder
    line = announcement.words(clock.now())
    return Reminded(reminder.id, reminder.text, line, due.isoformat(), reminder.version)


def _wait(following: datetime | None, now: datetime) -> float:
    if following is None:
        return _LONGEST_WAIT
    seconds = (following.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
    return min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT)
