"""The slash command ``/remind``: a phrase, or what should become of a reminder, in; the answer as text."""

from __future__ import annotations

import re

from frontmind.errors import UsageError
from frontmind.reminders.book import ReminderBook, parse_reminder_id
from frontmind.reminders.in_words import add_in_words, change_in_words, snooze_in_words
from frontmind.values.due import describe_due, urgency_of
from frontmind.values.records import Reminder

USAGE = "PHRASE | list | done ID | snooze ID WHEN | change ID WHEN | change ID text TEXT | delete ID"
_ID = re.compile(r"r\d{1,15}", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"r?\d{1,15}", re.ASCII | re.IGNORECASE)


async def remind(book: ReminderBook, arguments: str) -> str:
    """Carry out ``/remind`` and say what came of it.

    Args:
        arguments: the text behind the command. A phrase may begin with a word such as "change": it is a command only
            with the id of a reminder behind it.

    Raises:
        UsageError: the phrase is not understood, there is no such reminder, or it cannot be changed so.
    """
    verb, _, rest = arguments.strip().partition(" ")
    verb = verb.lower()
    number, _, more = (piece.strip() for piece in rest.strip().partition(" "))
    if verb in ("", "list") and not rest:
        return await list_text(book)
    if verb == "done" and _NUMBER.fullmatch(rest.strip()):
        return _done_text(await book.complete(parse_reminder_id(rest)), book)
    if verb == "delete" and _NUMBER.fullmatch(rest.strip()):
        deleted = await book.delete(parse_reminder_id(rest))
        return f"Deleted r{deleted.id}: {deleted.text}"
    if verb == "snooze" and _NUMBER.fullmatch(number):
        return await _snooze(book, parse_reminder_id(number), more)
    if verb == "change" and _ID.fullmatch(number):
        return await _change(book, parse_reminder_id(number), more)
    if verb in ("done", "delete", "snooze", "change") and not more:
        raise UsageError(f"which reminder, and how? Write /remind {USAGE}; the ids are such as r1")
    added = await add_in_words(book, arguments)
    return f"Reminder r{added.id} for {_due(added, book)}: {added.text}"


async def list_text(book: ReminderBook, *, include_done: bool = False) -> str:
    """The reminders, a line each."""
    lines = [line_of(reminder, book) for reminder in await book.list(include_done=include_done)]
    return "\n".join(lines) or "No reminders. Add one: /remind call Anna tomorrow at 9am"


def line_of(reminder: Reminder, book: ReminderBook) -> str:
    """A reminder on one line: its id, when it is due, how urgent it is, and its text."""
    urgency = urgency_of(reminder, book.clock.now())
    status = " (done)" if reminder.done_at is not None else f" ({urgency.value})" if urgency is not None else ""
    return f"r{reminder.id}  {_due(reminder, book)}{status}  {' '.join(reminder.text.split())}"


async def _snooze(book: ReminderBook, number: int, when: str) -> str:
    if not when:
        raise UsageError(f"until when? Write for example: /remind snooze r{number} tomorrow at 9am")
    reminder = await snooze_in_words(book, number, when)
    return f"Reminder r{number} is put off to {_due(reminder, book)}: {reminder.text}"


async def _change(book: ReminderBook, number: int, what: str) -> str:
    word, _, text = what.partition(" ")
    if word.lower() == "text":
        if not text.strip():
            raise UsageError(f"what should it say? Write for example: /remind change r{number} text call Bert")
        changed = await change_in_words(book, number, text=text.strip())
    elif what:
        changed = await change_in_words(book, number, when=what)
    else:
        raise UsageError(f"what should change? Write for example: /remind change r{number} tomorrow at 9am")
    return f"Reminder r{number} for {_due(changed, book)}: {changed.text}"


def _done_text(reminder: Reminder, book: ReminderBook) -> str:
    following = "" if reminder.done_at is not None else f" (next on {_due(reminder, book)})"
    return f"Done: {reminder.text}{following}"


def _due(reminder: Reminder, book: ReminderBook) -> str:
    return describe_due(reminder, book.clock.now())
