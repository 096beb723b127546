"""Reminders and what was delivered of them, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date, datetime

from frontmind.errors import Conflict, UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_due,
    from_moment,
    from_text,
    to_due,
    to_moment,
    to_text,
)
from frontmind.values.records import Delivery, NewReminder, Reminder


def add_reminder(connection: sqlite3.Connection, owner: StoredText, reminder: NewReminder, at: datetime) -> Reminder:
    """Store a new reminder; it gets an id of its own."""
    added = connection.execute(
        """
        INSERT INTO reminders (owner, text, due, zone, created_at, rrule, exdates, start, uid)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            owner,
            to_text(reminder.text),
            to_due(reminder.due),
            to_text(reminder.zone),
            to_moment(at),
            to_text(reminder.rrule),
            _exdates(reminder),
            _optional(reminder.start),
            to_text(reminder.uid),
        ),
    )
    return reminder_of(connection, owner, added.lastrowid or 0)


def add_reminders(
    connection: sqlite3.Connection, owner: StoredText, new: Sequence[NewReminder], at: datetime
) -> Sequence[Reminder]:
    """Store all of them but those whose uid is there, stored or earlier among them."""
    known = {reminder.calendar_uid for reminder in reminders(connection, owner)}
    added = []
    for reminder in new:
        if not reminder.uid or reminder.uid not in known:
            known.add(reminder.uid)
            added.append(add_reminder(connection, owner, reminder, at))
    return added


def reminder_of(connection: sqlite3.Connection, owner: StoredText, reminder_id: int) -> Reminder:
    """The reminder with this id.

    Raises:
        UsageError: there is none.
    """
    row = connection.execute("SELECT * FROM reminders WHERE id = ? AND owner = ?", (reminder_id, owner)).fetchone()
    if row is None:
        raise UsageError(f"no reminder has the id r{reminder_id}; pass one from the list of reminders")
    return _reminder(row)


def active_reminders(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Reminder]:
    """Those not done, by id."""
    rows = connection.execute("SELECT * FROM reminders WHERE owner = ? AND done_at IS NULL ORDER BY id", (owner,))
    return [_reminder(row) for row in rows]


def reminders(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Reminder]:
    """All of them, by id."""
    rows = connection.execute("SELECT * FROM reminders WHERE owner = ? ORDER BY id", (owner,))
    return [_reminder(row) for row in rows]


def save_reminder(
    connection: sqlite3.Connection, owner: StoredText, reminder: Reminder, delivery: Delivery | None
) -> Reminder:
    """Store a changed reminder, if nobody has changed it since it was read, and what was delivered of it.

    Of one with nothing ``delivered``, the slot that is open may be delivered again.

    Raises:
        Conflict: somebody has, or the slot was delivered already.
        UsageError: there is none with this id.
    """
    changed = connection.execute(
        """
        UPDATE reminders
        SET text = ?, due = ?, zone = ?, done_at = ?, rrule = ?, exdates = ?, start = ?, snoozed_until = ?,
            delivered = ?, uid = ?, version = version + 1
        WHERE id = ? AND owner = ? AND version = ?
        """,
        (
            to_text(reminder.text),
            to_due(reminder.due),
            to_text(reminder.zone),
            _optional(reminder.done_at),
            to_text(reminder.rrule),
            _exdates(reminder),
            _optional(reminder.start),
            _optional(reminder.snoozed_until),
            _optional(reminder.delivered),
            to_text(reminder.uid),
            reminder.id,
            owner,
            reminder.version,
        ),
    )
    stored = reminder_of(connection, owner, reminder.id)
    if changed.rowcount == 0:
        raise _changed_meanwhile(reminder.id)
    if reminder.delivered is None:
        # A date may be given again on its day. Of a later slot nothing can have been delivered.
        connection.execute(
            "DELETE FROM deliveries WHERE reminder = ? AND slot = ?", (reminder.id, to_due(reminder.due))
        )
    if delivery is not None:
        _deliver(connection, reminder.id, delivery)
    return stored


def remove_reminder(connection: sqlite3.Connection, owner: StoredText, reminder_id: int) -> Reminder:
    """Delete it, with what was delivered of it.

    Raises:
        UsageError: there is none with this id.
    """
    removed = reminder_of(connection, owner, reminder_id)
    connection.execute("DELETE FROM reminders WHERE id = ?", (reminder_id,))
    return removed


def deliveries(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Delivery]:
    """What was delivered, in that order."""
    rows = connection.execute(
        """
        SELECT deliveries.* FROM deliveries JOIN reminders ON reminders.id = deliveries.reminder
        WHERE reminders.owner = ? ORDER BY deliveries.id
        """,
        (owner,),
    )
    return [_delivery(row) for row in rows]


def _deliver(connection: sqlite3.Connection, reminder_id: int, delivery: Delivery) -> None:
    added = connection.execute(
        "INSERT INTO deliveries (reminder, slot, at, missed) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (reminder_id, to_due(delivery.slot), to_moment(delivery.at), delivery.missed),
    )
    if added.rowcount == 0:
        raise _changed_meanwhile(reminder_id)


def _changed_meanwhile(reminder_id: int) -> Conflict:
    return Conflict(f"the reminder r{reminder_id} was changed meanwhile; read it again")


def _exdates(reminder: NewReminder | Reminder) -> str:
    return " ".join(to_due(slot) for slot in reminder.exdates)


def _optional(due: datetime | date | None) -> str | None:
    return None if due is None else to_due(due)


@decoding("a reminder")
def _reminder(row: sqlite3.Row) -> Reminder:
    def optional(column: str) -> datetime | date | None:
        return None if row[column] is None else from_due(row[column])

    def moment(column: str) -> datetime | None:
        return None if row[column] is None else from_moment(row[column])

    return Reminder(
        id=row["id"],
        text=from_text(row["text"]),
        due=from_due(row["due"]),
        zone=from_text(row["zone"]),
        created_at=from_moment(row["created_at"]),
        done_at=moment("done_at"),
        rrule=from_text(row["rrule"]),
        exdates=tuple(from_due(slot) for slot in row["exdates"].split()),
        start=optional("start"),
        snoozed_until=moment("snoozed_until"),
        delivered=optional("delivered"),
        uid=from_text(row["uid"]),
        version=row["version"],
    )


@decoding("a delivery")
def _delivery(row: sqlite3.Row) -> Delivery:
    return Delivery(row["reminder"], from_due(row["slot"]), from_moment(row["at"]), row["missed"])
