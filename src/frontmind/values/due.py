"""When a reminder is due, as people are told it: how urgent it is, and its time and rule in words. Pure.

Knows neither how the next time of a rule is computed nor where reminders are kept.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from frontmind.errors import UsageError
from frontmind.values.clock import find_zone
from frontmind.values.records import Reminder

_HORIZON = timedelta(days=7)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "last but one"}
_MONTHS = frozenset(map(str, range(1, 13)))
_UNITS = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day", "HOURLY": "hour"}


class Urgency(StrEnum):
    """How a reminder that is not done stands to the present moment."""

    OVERDUE = "overdue"
    TODAY = "today"
    COMING = "coming"


def effective(reminder: Reminder) -> datetime | date:
    """When it is to be said: when it was put off to, otherwise when it is due."""
    return reminder.snoozed_until or reminder.due


def moment_of(slot: datetime | date, zone: tzinfo | None) -> datetime:
    """The moment, in UTC, from which it is due; a date from the first moment of the day in ``zone``.

    In UTC because Python compares two moments of one zone by their wall clocks.
    """
    if not isinstance(slot, datetime):
        slot = datetime.combine(slot, time.min, zone)
    return slot.astimezone(UTC)


def urgency_of(reminder: Reminder, now: datetime) -> Urgency | None:
    """How urgent it is at ``now``, whose zone decides what "today" is; None beyond the next seven days.

    A date without a time is due the whole day long, and overdue from the next day on.
    """
    due = effective(reminder)
    if not isinstance(due, datetime):
        if due < now.date():
            return Urgency.OVERDUE
        if due == now.date():
            return Urgency.TODAY
        return Urgency.COMING if due - now.date() <= _HORIZON else None
    passed = now.astimezone(UTC) - due.astimezone(UTC)
    if passed >= timedelta(0):
        return Urgency.OVERDUE
    if due.astimezone(now.tzinfo).date() == now.date():
        return Urgency.TODAY
    return Urgency.COMING if -passed <= _HORIZON else None


def status_of(reminder: Reminder, now: datetime) -> str:
    """In one word: ``done``, ``overdue``, ``today``, ``coming``, or ``later`` beyond the next seven days."""
    if reminder.done_at is not None:
        return "done"
    urgency = urgency_of(reminder, now)
    return urgency.value if urgency is not None else "later"


def describe_due(reminder: Reminder, now: datetime) -> str:
    """When it is due: ``Mon 30 Nov 2026, 17:00`` in the zone of ``now``, or only the day for a date.

    Where the clock in the reminder's own zone shows another time, both are told: ``Mon 30 Nov 2026, 15:00 (09:00
    Europe/Berlin)``. The rule of a recurring one follows in words.
    """
    told = describe_slot(effective(reminder), reminder.zone, now)
    if reminder.rrule:
        told += f", {describe_rule(reminder.rrule, _zone(reminder.zone) or now.tzinfo)}"
    return told


def describe_slot(slot: datetime | date, zone: str, now: datetime) -> str:
    """A moment in the zone of ``now`` and, where its clock shows another time, in ``zone``; a date as it is."""
    if not isinstance(slot, datetime):
        return _describe_date(slot)
    here = slot.astimezone(now.tzinfo)
    told = f"{_describe_date(here.date())}, {here:%H:%M}"
    own = _zone(zone)
    if own is None or (there := slot.astimezone(own)).utcoffset() == here.utcoffset():
        return told
    day = "" if there.date() == here.date() else f"{_describe_date(there.date())}, "
    return f"{told} ({day}{there:%H:%M} {zone})"


def _zone(name: str) -> tzinfo | None:
    """The zone; None where this machine does not know it, which must not hide the reminder."""
    try:
        return find_zone(name)
    except UsageError:
        return None


def _describe_date(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}"


def describe_rule(rrule: str, zone: tzinfo | None) -> str:
    """A rule in words, such as ``every 2 weeks on Tuesday and Thursday``; an uncommon one as it is written.

    Args:
        zone: in which the day of its end is told.
    """
    parts = dict(part.partition("=")[::2] for part in rrule.split(";"))
    every = _every(parts.pop("FREQ", ""), parts.pop("INTERVAL", "1"))
    end = _end(parts.pop("COUNT", ""), parts.pop("UNTIL", ""), zone)
    parts.pop("WKST", "")
    words = _among(every, parts)
    return f"by the rule {rrule}" if words is None or end is None else words + end


def _every(frequency: str, interval: str) -> str:
    unit = _UNITS.get(frequency, "")
    return f"every {unit}" if interval == "1" else f"every {interval} {unit}s"


def _among(every: str, parts: dict[str, str]) -> str | None:
    """The repetition with its days; None where there are no plain words for it."""
    unit = next((unit for unit in _UNITS.values() if unit in every), "")
    if not parts:
        return every if unit else None
    days = parts.get("BYDAY", "").split(",")
    named = [_WEEKDAYS[_CODES.index(day)] for day in days if day in _CODES]
    if parts.keys() == {"BYDAY"} and len(named) == len(days) and (unit == "week" or every == "every day"):
        if days == list(_CODES[:5]) and every in ("every week", "every day"):
            return "every weekday"
        return f"{every} on {_listed(named)}" if unit == "week" and every != "every week" else f"every {_listed(named)}"
    within, month = _within(parts), parts.pop("BYMONTH", "")
    if within is None or unit not in ("month", "year") or (unit == "year") != (month in _MONTHS):
        return None
    if unit == "year":
        name = f"{date(2000, int(month), 1):%B}"
        return f"{every} on {within} {name}" if within[0].isdecimal() else f"{every} on {within} of {name}"
    return f"{every} on day {within}" if within[0].isdecimal() else f"{every} on {within}"


def _within(parts: dict[str, str]) -> str | None:
    """The days of a month, such as ``1 and 15`` or ``the first Monday``; None where there are no plain words."""
    kinds = parts.keys() - {"BYMONTH"}
    if kinds == {"BYDAY"}:
        days = [day for item in parts["BYDAY"].split(",") if (day := _nth(item))]
        return f"the {_listed(days)}" if len(days) == len(parts["BYDAY"].split(",")) else None
    if kinds != {"BYMONTHDAY"}:
        return None
    numbers = parts["BYMONTHDAY"].split(",")
    if numbers == ["-1"]:
        return "the last day"
    return _listed(numbers) if all(number.isdecimal() for number in numbers) else None


def _nth(day: str) -> str | None:
    number, code = day[:-2], day[-2:]
    try:
        ordinal = _ORDINALS.get(int(number))
    except ValueError:
        return None
    return f"{ordinal} {_WEEKDAYS[_CODES.index(code)]}" if ordinal and code in _CODES else None


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _end(count: str, until: str, zone: tzinfo | None) -> str | None:
    if count:
        return f", {count} {'time' if count == '1' else 'times'} in all"
    if not until:
        return ""
    try:
        last = datetime.fromisoformat(until)
        return f", until {_describe_date((last.astimezone(zone) if last.tzinfo else last).date())}"
    except (ValueError, OverflowError):
        return None
