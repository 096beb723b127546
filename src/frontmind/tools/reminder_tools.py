"""The reminders as tools for the model: exact fields in, one short sentence with the id and the time back.

Phrases such as "tomorrow at 9" are the model's to resolve; it knows the time from the notification center.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final
from zoneinfo import ZoneInfo

from frontmind.errors import ToolError, UsageError
from frontmind.reminders.book import ReminderBook, parse_reminder_id
from frontmind.reminders.recurrence import Slot
from frontmind.tools.function import tool
from frontmind.tools.tool import RunnableTool
from frontmind.values.clock import find_zone, parse_moment
from frontmind.values.due import describe_due, status_of
from frontmind.values.harmless import one_line
from frontmind.values.records import Reminder

_SHOWN_OF_A_TEXT: Final = 2_000


def reminder_tools(book: ReminderBook) -> list[RunnableTool]:
    """The tools of one person's reminders, by name."""
    tools = _ReminderTools(book)
    return [
        tool(tools.add_reminder),
        tool(tools.change_reminder),
        tool(tools.complete_reminder),
        tool(tools.delete_reminder),
        tool(tools.list_reminders),
        tool(tools.snooze_reminder),
    ]


class _ReminderTools:
    """Each method is a tool; its docstring is what the model reads."""

    def __init__(self, book: ReminderBook) -> None:
        self._book = book

    async def add_reminder(
        self,
        text: str,
        due: str | None = None,
        date: str | None = None,
        rrule: str | None = None,
        zone: str | None = None,
    ) -> str:
        """Remind the person of something at a time, or on a day. Pass either due or date.

        Args:
            text: what to be reminded of, without the time
            due: when, ISO 8601, local unless it has an offset, such as 2026-12-01T09:00
            date: the day, when no time of day was given, such as 2026-12-01
            rrule: for one that repeats, an RFC 5545 RRULE counting from due or date, such as FREQ=WEEKLY;BYDAY=MO
            zone: an IANA time zone, when it is meant in another one than the person's
        """
        with _told_to_the_model():
            slot = self._slot(due, date, zone)
            if slot is None:
                raise ToolError('say when: pass due, such as "2026-12-01T09:00", or date, such as "2026-12-01"')
            added = await self._book.add(text, slot, zone=zone, rrule=rrule or "")
        return f"Added {self._named(added)}"

    async def list_reminders(self, include_done: bool = False) -> str:
        """List the reminders with their ids and times.

        Args:
            include_done: whether those that are done are listed as well
        """
        now = self._book.clock.now()
        lines = []
        for reminder in await self._book.list(include_done=include_done):
            lines.append(f"{self._named(reminder)} ({status_of(reminder, now)})")
        return "\n".join(lines) or "There are no reminders."

    async def complete_reminder(self, id: str) -> str:  # noqa: A002 - what the model passes
        """Mark a reminder as done. One that repeats moves on to its next time.

        Args:
            id: such as r3
        """
        completed = await self._changed(self._book.complete(_number(id)))
        if completed.done_at is not None:
            return f"Done: r{completed.id}: {one_line(completed.text, _SHOWN_OF_A_TEXT)}"
        return f"Done for this time; next: {self._named(completed)}"

    async def snooze_reminder(self, id: str, until: str) -> str:  # noqa: A002 - what the model passes
        """Put a reminder off to a later time.

        Args:
            id: such as r3
            until: when to remind again, ISO 8601, such as 2026-12-01T09:00, or a day such as 2026-12-01
        """
        number = _number(id)
        with _told_to_the_model():
            slot: Slot = _date(until) if _is_date(until) else parse_moment(until, self._book.clock.zone)
        return f"Put off: {self._named(await self._changed(self._book.snooze(number, slot)))}"

    async def change_reminder(
        self,
        id: str,  # noqa: A002 - what the model passes
        text: str | None = None,
        due: str | None = None,
        date: str | None = None,
        rrule: str | None = None,
        zone: str | None = None,
    ) -> str:
        """Change a reminder; what is not passed stays as it is.

        Args:
            id: such as r3
            text: the new text
            due: the new time, ISO 8601, such as 2026-12-01T09:00
            date: the new day, for no time of day, such as 2026-12-01
            rrule: the new RFC 5545 RRULE; empty makes it come once
            zone: the IANA time zone in which it is meant
        """
        number = _number(id)
        with _told_to_the_model():
            slot = self._slot(due, date, zone)
        changed = await self._changed(self._book.change(number, text=text, due=slot, rrule=rrule, zone=zone))
        return f"Changed {self._named(changed)}"

    async def delete_reminder(self, id: str) -> str:  # noqa: A002 - what the model passes
        """Delete a reminder for good, when it was a mistake; use complete_reminder for what is done.

        Args:
            id: such as r3
        """
        deleted = await self._changed(self._book.delete(_number(id)))
        return f"Deleted r{deleted.id}: {one_line(deleted.text, _SHOWN_OF_A_TEXT)}"

    async def _changed(self, change: Awaitable[Reminder]) -> Reminder:
        with _told_to_the_model():
            return await change

    def _slot(self, due: str | None, day: str | None, zone: str | None) -> Slot | None:
        if due is not None and day is not None:
            raise ToolError("pass either due or date, not both: date only when no time of day was given")
        if day is not None:
            return _date(day)
        if due is None:
            return None
        if _is_date(due):
            raise ToolError(f'due needs a time of day, such as "{due}T09:00"; for the whole day pass date="{due}"')
        own: ZoneInfo = self._book.clock.zone if zone is None else find_zone(zone)
        return parse_moment(due, own)

    def _named(self, reminder: Reminder) -> str:
        due = describe_due(reminder, self._book.clock.now())
        return f"r{reminder.id}, due {due}: {one_line(reminder.text, _SHOWN_OF_A_TEXT)}"


@contextmanager
def _told_to_the_model() -> Iterator[None]:
    """What the caller did wrong is for the model to correct."""
    try:
        yield
    except UsageError as error:
        raise ToolError(str(error)) from error


def _number(text: str) -> int:
    with _told_to_the_model():
        return parse_reminder_id(text)


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise ToolError(f'{text[:40]!r} is no date; write it as "2026-12-01"') from error
