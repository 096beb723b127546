"""What may become of a reminder: planned, completed, put off, changed. Pure: the present moment is an argument.

Each gives back the reminder as it is to be stored, or says why that cannot be. Knows no store.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from frontmind.errors import UsageError
from frontmind.reminders.recurrence import Slot
from frontmind.reminders.schedule import check_rule, first_slot, has_come, localised, next_slot
from frontmind.values.clock import find_zone
from frontmind.values.due import describe_due, describe_slot, moment_of
from frontmind.values.records import NewReminder, Reminder

LONGEST_TEXT = 2_000
"""The most characters of a reminder's text."""
_FIRST_YEAR, _LAST_YEAR = 1900, 2999


def planned(
    text: str, due: Slot, now: datetime, *, zone: str, rrule: str = "", exdates: tuple[Slot, ...] = ()
) -> NewReminder:
    """A reminder for a time that is still to come; of a rule, for its first time from ``due`` on.

    Raises:
        UsageError: there is no text, the time has passed, or the rule or zone cannot be used.
    """
    text, due, own = _checked_text(text), checked_slot(due), find_zone(zone)
    if not rrule:
        return NewReminder(text, _to_come(due, now), zone)
    rule = check_rule(rrule, due, own)
    first = first_slot(rule, due, own, exdates, now)
    if first is None:
        raise UsageError(f"the rule {rule} has no time that is still to come; change it or its beginning")
    return NewReminder(text, first, zone, rule, exdates, start=due)


def completed(reminder: Reminder, now: datetime) -> Reminder:
    """The reminder with its open slot done: over for good, or moved on to the next slot that is still to come.

    A slot that is still to come may be completed as well; slots that were missed are passed over.

    Raises:
        UsageError: it is done already.
    """
    _require_active(reminder)
    present: Slot = now.astimezone(UTC) if isinstance(reminder.due, datetime) else now.date()
    following = next_slot(reminder, reminder.due if not has_come(reminder.due, now) else present)
    if following is None or not reminder.rrule:
        return replace(reminder, done_at=now, snoozed_until=None)
    return replace(reminder, due=following, start=reminder.start or reminder.due, snoozed_until=None)


def snoozed(reminder: Reminder, until: Slot, now: datetime) -> Reminder:
    """The reminder put off: it is said again at that moment, or at the beginning of that day in the zone of ``now``.

    Raises:
        UsageError: it is done, or the time has passed, or it would be said earlier than without.
    """
    _require_active(reminder)
    until = checked_slot(until)
    moment = moment_of(until, now.tzinfo)
    if moment <= now.astimezone(UTC):
        raise UsageError(f"{describe_slot(until, '', now)} has passed already; put it off to a later time")
    if moment < moment_of(reminder.due, now.tzinfo):
        raise UsageError(
            f"r{reminder.id} is due only on {describe_due(reminder, now)}; change it instead of putting it off"
        )
    return replace(reminder, snoozed_until=moment)


def changed(
    reminder: Reminder,
    now: datetime,
    *,
    text: str | None = None,
    due: Slot | None = None,
    rrule: str | None = None,
    exdates: tuple[Slot, ...] = (),
    zone: str | None = None,
) -> Reminder:
    """The reminder with what is given in place of what it had; ``exdates`` belong to a new ``rrule``.

    With a new zone the times on the wall clock stay, unless ``due`` is given as well. An empty ``rrule`` makes it come
    once. A new time or rule ends putting it off; the slot that is open then is the first that is still to come, and is
    delivered also when it was before, such as a day that is given again.

    Raises:
        UsageError: it is done, nothing is given, or what is given cannot be used.
    """
    _require_active(reminder)
    if text is None and due is None and rrule is None and zone is None:
        raise UsageError(f"nothing is said that should change of r{reminder.id}; pass a text, a time, a rule or a zone")
    new = reminder if text is None else replace(reminder, text=_checked_text(text))
    if zone is not None and zone != reminder.zone:
        new = _moved(new, find_zone(reminder.zone), find_zone(zone))
    if due is None and rrule is None:
        return new
    new = _rescheduled(new, now, due=due, rrule=new.rrule if rrule is None else rrule, exdates=exdates)
    # A rule alone may leave the open slot where it is; nobody asked to be told of that again.
    return replace(new, delivered=None) if due is not None or new.due != reminder.due else new


def _rescheduled(
    reminder: Reminder, now: datetime, *, due: Slot | None, rrule: str, exdates: tuple[Slot, ...]
) -> Reminder:
    if not rrule:
        new_due = _to_come(checked_slot(due), now) if due is not None else reminder.due
        return replace(reminder, due=new_due, rrule="", exdates=(), start=None, snoozed_until=None)
    zone = find_zone(reminder.zone)
    same_rule = rrule == reminder.rrule
    start = checked_slot(due) if due is not None else (reminder.start if same_rule else None) or reminder.due
    if same_rule:
        exdates += tuple(slot for slot in reminder.exdates if isinstance(slot, datetime) == isinstance(start, datetime))
    rule = check_rule(rrule, start, zone)
    first = first_slot(rule, start, zone, exdates, now)
    if first is None:
        raise UsageError(f"the rule {rule} has no time that is still to come; change it or its beginning")
    return replace(reminder, due=first, start=start, rrule=rule, exdates=exdates, snoozed_until=None)


def _moved(reminder: Reminder, old: ZoneInfo, new: ZoneInfo) -> Reminder:
    def move(slot: Slot) -> Slot:
        return localised(slot.astimezone(old).replace(tzinfo=None), new) if isinstance(slot, datetime) else slot

    return replace(
        reminder,
        zone=str(new),
        due=move(reminder.due),
        start=None if reminder.start is None else move(reminder.start),
        exdates=tuple(map(move, reminder.exdates)),
    )


def _require_active(reminder: Reminder) -> None:
    if reminder.done_at is not None:
        raise UsageError(f"r{reminder.id} is done already; add a new reminder instead")


def _checked_text(text: str) -> str:
    stripped = text.strip()
    if not stripped:
        raise UsageError("a reminder needs a text; say what it is about")
    if len(stripped) > LONGEST_TEXT:
        raise UsageError(f"the text has {len(stripped):,} characters; {LONGEST_TEXT:,} are the most, so shorten it")
    return stripped


def checked_slot(slot: Slot) -> Slot:
    """A time that a reminder may have, a moment in UTC and to the second.

    Raises:
        UsageError: the year is not between 1900 and 2999, or the moment is naive.
    """
    if not _FIRST_YEAR <= slot.year <= _LAST_YEAR:
        raise UsageError(f"the year {slot.year} is too far away; use one from {_FIRST_YEAR} to {_LAST_YEAR}")
    if not isinstance(slot, datetime):
        return slot
    if slot.tzinfo is None:
        raise UsageError(f"the time {slot} has no zone; pass an aware datetime")
    return slot.astimezone(UTC).replace(microsecond=0)


def _to_come(due: Slot, now: datetime) -> Slot:
    if has_come(due, now) and due != now.date():
        raise UsageError(f"{describe_slot(due, '', now)} has passed already; name a later time")
    return due
