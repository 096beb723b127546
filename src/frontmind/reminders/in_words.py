"""What a person asks for in words, carried out: reminders that are added, moved and put off, and single times.

Knows neither the model nor terminals and pages.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

from frontmind.errors import UsageError
from frontmind.reminders.book import ReminderBook
from frontmind.reminders.phrases import parse_reminder, parse_when
from frontmind.values.clock import parse_moment
from frontmind.values.records import Reminder

NEVER: Final = "none"
"""What stands in the place of a time where there is none."""

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[T ].+)?", re.ASCII)
_UNTIL: Final = re.compile(r"^until\s+", re.IGNORECASE)


async def add_in_words(book: ReminderBook, phrase: str) -> Reminder:
    """Keep a reminder such as "call Anna tomorrow at 9am".

    Raises:
        UsageError: no time is understood, it has passed, or nothing is left to be remembered.
    """
    understood = parse_reminder(phrase, book.clock.now())
    return await book.add(understood.text, understood.due, rrule=understood.rrule, exdates=understood.exdates)


async def change_in_words(
    book: ReminderBook,
    reminder_id: int,
    *,
    text: str | None = None,
    when: str | None = None,
    version: int | None = None,
) -> Reminder:
    """Change what a reminder says, or when it comes; one time in place of a rule is the end of the rule.

    Raises:
        UsageError: the time is not understood, or what `ReminderBook.change` raises.
        Conflict: another version than the given one holds.
    """
    if when is None:
        return await book.change(reminder_id, text=text, version=version)
    understood = parse_when(when, book.clock.now())
    return await book.change(
        reminder_id,
        text=text,
        due=understood.due,
        rrule=understood.rrule,
        exdates=understood.exdates,
        version=version,
    )


async def snooze_in_words(book: ReminderBook, reminder_id: int, until: str, *, version: int | None = None) -> Reminder:
    """Put a reminder off to a time such as "until tomorrow at 9am".

    Raises:
        UsageError: it is no single time, or what `ReminderBook.snooze` raises.
        Conflict: another version than the given one holds.
    """
    understood = parse_when(_UNTIL.sub("", until), book.clock.now())
    if understood.rrule:
        raise UsageError(f"{until!r} comes again and again; put it off to one time, such as tomorrow at 9am")
    return await book.snooze(reminder_id, understood.due, version=version)


def parse_slot(text: str, now: datetime) -> datetime | date | None:
    """The day or moment that a person wrote: ISO 8601, an English phrase for one to come, or ``none``.

    Raises:
        UsageError: it is none of these.
    """
    written = text.strip()
    if written.lower() == NEVER:
        return None
    if (iso := _MOMENT.fullmatch(written)) is not None:
        moment = parse_moment(written, now.tzinfo or UTC)
        return moment if iso["time"] else moment.date()
    understood = parse_when(written, now)
    if understood.rrule:
        raise UsageError(f"{written!r} comes again and again; pass one time, such as 2027-03-14")
    return understood.due
