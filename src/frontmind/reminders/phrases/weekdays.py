"""Weekdays: "on friday", "next week wednesday", "friday the 26th", "the first monday of may"."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from frontmind.reminders.phrases.day import Day, from_written, shifted
from frontmind.reminders.phrases.tokens import Cursor, digits, is_hour, ordinal
from frontmind.reminders.phrases.vocabulary import MONTHS, WEEKDAYS
from frontmind.reminders.phrases.written import written_date

NEXT = ("next", "following", "coming", "upcoming")
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def read_weekday(cursor: Cursor) -> Day | None:
    """ "on friday", "next week wednesday", "monday of the following week", "friday the 26th"."""
    on = cursor.take("on")
    monday = cursor.today - timedelta(days=cursor.today.weekday())
    which = _which_week(cursor)
    if which is not None:
        cursor.take("on")
        weekday = cursor.take_from(WEEKDAYS)
        return None if weekday is None else shifted(monday, weeks=which, days=weekday)
    upcoming = cursor.take_any(("this upcoming", "this coming", "the coming", "the next"))
    which_one = upcoming or cursor.take("this", "last", "previous", *NEXT)
    short = not cursor.peek().text.endswith("day")
    weekday = cursor.take_from(WEEKDAYS)
    if weekday is None:
        return None
    _point(cursor)
    if which_one in ("last", "previous"):
        return shifted(monday, weeks=-1, days=weekday)
    nearest = cursor.today + timedelta(days=(weekday - cursor.today.weekday()) % 7)
    with_date = cursor.attempt(lambda inner: _weekday_with_date(inner, weekday, this_year=which_one == "this"))
    if with_date is not None:
        return with_date
    if not which_one:
        # "The sun will set" and "we sat down" name no day.
        following = cursor.peek()
        if not on and short and following.text and following.text not in ("at", ",", ".") and not following.number:
            return None
        start = cursor.at
        cursor.take(",")
        cursor.take("of", "in")
        which = _which_week(cursor)
        if which is not None:
            return shifted(monday, weeks=which, days=weekday)
        cursor.at = start
    if which_one == "next" and monday <= nearest < monday + timedelta(days=7) and nearest != cursor.today:
        return Day(nearest, doubt=f"{nearest:%A} of this week or of the next")
    return Day(nearest, nearest + timedelta(days=7), not_today=True)


def _point(cursor: Cursor) -> None:
    if cursor.glued() and not cursor.glued(1) and cursor.peek(1).text and cursor.peek().text == ".":
        cursor.take(".")


def _which_week(cursor: Cursor) -> int | None:
    start = cursor.at
    cursor.take("the")
    which = cursor.take("this", *NEXT)
    if which and cursor.take("week"):
        return 0 if which == "this" else 1
    cursor.at = start
    return None


def _weekday_with_date(cursor: Cursor, weekday: int, *, this_year: bool) -> Day | None:
    cursor.take(",", "-")
    cursor.take("the")
    found = cursor.attempt(written_date)
    if found is not None:
        if this_year and found.year is None:
            found = replace(found, year=cursor.today.year)
        day = from_written(found, cursor.today)
        if day.problem:
            return day
        fitting = [each for each in (day.first, day.then) if each is not None and each.weekday() == weekday]
        if not fitting:
            return Day(day.first, problem=f"{day.first} is no {_NAMES[weekday]}")
        return Day(fitting[0], fitting[1] if len(fitting) > 1 else None)
    number = cursor.attempt(ordinal, lambda inner: digits(inner, 1, 2))
    if number is None or not 1 <= number <= 31 or is_hour(cursor) or cursor.peek().text in ("of", "in"):
        return None
    day_of_month = _next_where(cursor.today, lambda each: each.day == number and each.weekday() == weekday)
    return Day(day_of_month) if day_of_month else None


def _next_where(today: date, fits: Callable[[date], bool]) -> date | None:
    # A day of the month falls on every weekday within the calendar's four hundred years, and far sooner.
    return next((day for day in (today + timedelta(days=n) for n in range(366 * 28)) if fits(day)), None)


def read_position(cursor: Cursor) -> int | None:
    """ "first" and "2nd" from the start; "last" and "2nd to the last" from the end, negative."""
    if cursor.take("last"):
        return -1
    number = ordinal(cursor)
    if number is None:
        return None
    if cursor.take_any(("to the last", "to last")):
        return -number
    return number


def read_nth_of_month(cursor: Cursor) -> Day | None:
    """ "the 2nd friday in february 2010", "last friday of next month"."""
    cursor.take("on")
    cursor.take("the")
    position = read_position(cursor)
    weekday = cursor.take_from(WEEKDAYS) if position is not None else None
    if position is None or weekday is None or not cursor.take("of", "in"):
        return None
    cursor.take("the")
    which = cursor.take("this", "next")
    today = cursor.today
    if which and cursor.take("month"):
        base = shifted(today.replace(day=1), months=int(which == "next")).first
        return _nth_weekday(base.year, base.month, position, weekday) if base else None
    month = cursor.take_from(MONTHS)
    if month is None:
        return None
    _point(cursor)
    cursor.take("of", ",")
    if (year := cursor.attempt(lambda inner: digits(inner, 4, 4))) is not None:
        return _nth_weekday(year, month, position, weekday)
    day = _nth_weekday(today.year, month, position, weekday)
    then = _nth_weekday(today.year + 1, month, position, weekday)
    if (day.first is not None and day.first < today) or day.problem:
        return then
    return Day(day.first, then.first)


def _nth_weekday(year: int, month: int, position: int, weekday: int) -> Day:
    if not 1 <= year <= 9999:
        return Day(None, problem="it is outside of the calendar")
    days = [
        day
        for number in range(1, monthrange(year, month)[1] + 1)
        if (day := date(year, month, number)).weekday() == weekday
    ]
    try:
        return Day(days[position - 1 if position > 0 else position])
    except IndexError:
        return Day(None, problem="that month has not so many of them")
