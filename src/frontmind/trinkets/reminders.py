"""What the user asked to be reminded of, as far as it matters now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.values.records import Reminder

_HORIZON = timedelta(days=7)


class ReminderSource(Protocol):
    async def active_reminders(self) -> Sequence[Reminder]: ...


class Urgency(StrEnum):
    OVERDUE = "overdue"
    TODAY = "today"
    COMING = "coming"


class ReminderManager(EventAwareTrinket):
    """The reminders that are overdue, due today, or due in the next seven days."""

    section_name = "active_reminders"
    shows_last_good = True

    def __init__(self, source: ReminderSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        reminders = await self._source.active_reminders()
        urgent = [(urgency, item) for item in reminders if (urgency := urgency_of(item, context.now)) is not None]
        urgent.sort(key=lambda pair: (_start(pair[1], context.now), pair[1].id))
        return [
            Element(
                "reminder",
                item.text,
                {"id": f"r{item.id}", "due": describe_due(item, context.now), "status": urgency.value},
            )
            for urgency, item in urgent
        ]


def urgency_of(reminder: Reminder, now: datetime) -> Urgency | None:
    """How urgent it is at ``now``, whose zone decides what "today" is; None beyond the horizon.

    A date without a time is due the whole day long, and overdue from the next day on.
    """
    if not isinstance(reminder.due, datetime):
        if reminder.due < now.date():
            return Urgency.OVERDUE
        if reminder.due == now.date():
            return Urgency.TODAY
        return Urgency.COMING if reminder.due - now.date() <= _HORIZON else None
    if reminder.due <= now:
        return Urgency.OVERDUE
    if reminder.due.astimezone(now.tzinfo).date() == now.date():
        return Urgency.TODAY
    return Urgency.COMING if reminder.due - now <= _HORIZON else None


def describe_due(reminder: Reminder, now: datetime) -> str:
    """When it is due, in the zone of ``now``: ``Mon 30 Nov 2026, 17:00``, or only the day for a date."""
    if isinstance(reminder.due, datetime):
        local = reminder.due.astimezone(now.tzinfo)
        return f"{_describe_date(local.date())}, {local:%H:%M}"
    return _describe_date(reminder.due)


def _describe_date(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}"


def _start(reminder: Reminder, now: datetime) -> datetime:
    if isinstance(reminder.due, datetime):
        return reminder.due
    return datetime.combine(reminder.due, time.min, now.tzinfo)
