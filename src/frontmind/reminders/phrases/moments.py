"""A day and a time of day as a moment in a zone, also where clocks are changed. Knows no words.

A time that a change skips becomes the moment after as much time as it would have taken (RFC 5545 3.3.5: the offset
before the gap holds). A time that comes twice is the first of the two that is still to come.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from frontmind.reminders.phrases.clocks import Clock
from frontmind.reminders.phrases.day import Day, Doubtful

_NIGHT_ENDS = 6


def is_later(moment: datetime, now: datetime) -> bool:
    """Whether a moment comes after another; in UTC, since Python compares those of one zone by their wall clocks."""
    return moment.astimezone(UTC) > now.astimezone(UTC)


def on_the_clock(day: date, clock: time, now: datetime) -> datetime:
    """That time on that day, in the zone of ``now``."""
    moment = datetime.combine(day, clock, now.tzinfo)
    if not is_later(moment, now):
        moment = moment.replace(fold=1)
    return moment.astimezone(UTC).astimezone(now.tzinfo)


def moment_of(day: Day | None, clock: Clock | None, now: datetime) -> datetime | date:
    """The day, or the moment, that is meant; without a day, the next time that a clock shows it.

    Raises:
        ValueError: there is no such day or time, or two of them may be meant.
    """
    if day is None:
        if clock is None:
            raise ValueError("it has no time")
        due = on_the_clock(now.date(), clock.time, now)
        return due if is_later(due, now) else on_the_clock(_after(now.date()), clock.time, now)
    if day.problem or day.first is None:
        raise ValueError(day.problem)
    if day.doubt:
        raise Doubtful(day.doubt)
    if clock is None:
        return day.then if day.not_today and day.first == now.date() and day.then else day.first
    if clock.midnight and day.first != now.date():
        raise Doubtful("the start or the end of that day, 00:00 or 23:59")
    return _at(day, clock, now)


def _at(day: Day, clock: Clock, now: datetime) -> datetime:
    assert day.first is not None
    first = _after(day.first) if clock.next_day or clock.midnight else day.first
    if clock.next_day and day.first == now.date() and now.hour < _NIGHT_ENDS:
        # "Tonight at 1am", said after midnight: the night that has begun.
        early = on_the_clock(day.first, clock.time, now)
        if is_later(early, now):
            return early
    due = on_the_clock(first, clock.time, now)
    if is_later(due, now) or first != now.date():
        return due
    if clock.later is not None and not day.not_today and is_later(later := on_the_clock(first, clock.later, now), now):
        return later
    return due if day.then is None else on_the_clock(day.then, clock.time, now)


def _after(day: date) -> date:
    return day + timedelta(days=1)
