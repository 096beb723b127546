"""Days: "tomorrow", "24 December", "12/24", "the 18th", "in two weeks", "christmas", "the end of the month".

Knows no times of day and no recurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from dateutil.easter import easter

from frontmind.reminders.phrases.day import Day, from_written, in_month, shifted
from frontmind.reminders.phrases.tokens import Cursor, count, digits, ordinal
from frontmind.reminders.phrases.vocabulary import (
    BLACK_FRIDAY,
    DAY,
    EASTER,
    HOLIDAYS,
    MONTH,
    UNITS,
    WEEK,
    WEEKDAYS,
    YEAR,
)
from frontmind.reminders.phrases.weekdays import NEXT, read_nth_of_month, read_weekday
from frontmind.reminders.phrases.written import written_date

_ARGUMENTS = {DAY: "days", WEEK: "weeks", MONTH: "months", YEAR: "years"}
_EDGES = {"week": {"weeks": 1}, "month": {"months": 1}, "year": {"years": 1}}
_SUNDAY = 6
_MONTHS_AND_YEARS = frozenset(word for word, (unit, _) in UNITS.items() if unit in (MONTH, YEAR))
_LONG_UNITS = frozenset(word for word, (unit, _) in UNITS.items() if unit in (WEEK, MONTH, YEAR))


def read_day(cursor: Cursor) -> Day | None:
    """A day, with its "on"."""
    cursor.take("sometime")
    return cursor.attempt(
        _weekday_of_far_week,
        _distance_from,
        _distance,
        _near,
        read_nth_of_month,
        read_weekday,
        _written,
        _holiday,
        _edge,
        _nth,
    )


def _near(cursor: Cursor) -> Day | None:
    today = cursor.today
    for phrase, days in (
        ("the day after tomorrow", 2),
        ("day after tomorrow", 2),
        ("the day before yesterday", -2),
        ("day before yesterday", -2),
        ("the day after", 1),
        ("today", 0),
        ("tomorrow", 1),
        ("yesterday", -1),
    ):
        if cursor.take_all(phrase):
            return shifted(today, days=days)
    return None


def read_distance(cursor: Cursor) -> dict[str, int] | None:
    """ "2 weeks", "a month", "2 years 1 month 21 days", as arguments of a relativedelta."""
    distance: dict[str, int] = {}
    while True:
        start = cursor.at
        if distance:
            cursor.take("and", ",")
        amount = cursor.attempt(count)
        unit = cursor.take_from(UNITS) if amount is not None else None
        if amount is None or unit is None or unit[0] not in _ARGUMENTS or _ARGUMENTS[unit[0]] in distance:
            cursor.at = start
            return distance or None
        distance[_ARGUMENTS[unit[0]]] = amount * unit[1]


def _distance(cursor: Cursor) -> Day | None:
    """ "in two weeks", "two weeks from now", "3 days ago"."""
    within = cursor.take("in")
    distance = cursor.attempt(read_distance)
    if distance is None:
        return None
    if not within:
        if cursor.take("ago"):
            distance = {unit: -amount for unit, amount in distance.items()}
        elif not cursor.take("later", "hence") and not cursor.take_any(("from now", "from today")):
            return None
    elif cursor.peek().text in ("since", "from", "after", "before"):
        return None
    return shifted(cursor.today, **distance)


def _distance_from(cursor: Cursor) -> Day | None:
    """ "3 days from tuesday", "two days after today", "2 weeks before christmas"."""
    cursor.take("in")
    distance = cursor.attempt(read_distance)
    side = cursor.take("from", "after", "before", "since") if distance is not None else ""
    if not side or distance is None:
        return None
    if side == "since" and (year := cursor.attempt(_year_alone)) is not None:
        return shifted(date(year, 1, 1), **distance)
    base = cursor.attempt(_near, read_nth_of_month, read_weekday, _written, _holiday)
    if base is None or base.first is None or base.doubt:
        return base
    sign = -1 if side == "before" else 1
    day = base.then if base.not_today and base.first == cursor.today and base.then else base.first
    return shifted(day, **{unit: sign * amount for unit, amount in distance.items()})


def _year_alone(cursor: Cursor) -> int | None:
    cursor.take_all("the year")
    year = digits(cursor, 4, 4)
    return year if year is not None and 1 <= year <= 9999 else None


def _weekday_of_far_week(cursor: Cursor) -> Day | None:
    """ "monday two weeks from now", "3 weeks after christmas on friday": that day of the week which is so far away.

    A month or a year is no number of weeks: "two months from today on tuesday" is the first tuesday from then on.
    """
    cursor.take("on")
    weekday = cursor.take_from(WEEKDAYS)
    if weekday is not None:
        cursor.take(",")
    start = cursor.at
    day = cursor.attempt(_distance_from, _distance)
    in_weeks = any(token.text in _LONG_UNITS for token in cursor.tokens[start : cursor.at])
    if day is None or day.first is None or not in_weeks:
        return None
    if weekday is None:
        weekday = cursor.take_from(WEEKDAYS) if cursor.take("on") else None
    # A week begins on Sunday for some, on Monday for others: of a Sunday it is unsure which is meant.
    if weekday is None or weekday == _SUNDAY:
        return None
    distance = weekday - day.first.weekday()
    in_months = any(token.text in _MONTHS_AND_YEARS for token in cursor.tokens[start : cursor.at])
    return shifted(day.first, days=distance % 7 if in_months else distance)


def _written(cursor: Cursor) -> Day | None:
    on = cursor.take("on")
    which = cursor.take("this", "next")
    cursor.take("the")
    found = written_date(cursor)
    if found is None or (found.needs_on and not on and not which):
        return None
    if which == "this" and found.year is None:
        found = replace(found, year=cursor.today.year)
    return from_written(found, cursor.today)


def _nth(cursor: Cursor) -> Day | None:
    """ "the 18th", "on the 15th day of next month", "the 40th day of 2020"."""
    on = cursor.take("on")
    the = cursor.take("the")
    number = ordinal(cursor)
    if number is None:
        return None
    is_day = cursor.take("day")
    start = cursor.at
    if is_day and cursor.take("of", "in") and (year := digits(cursor, 4, 4)) is not None:
        return shifted(date(year, 1, 1), days=number - 1) if 1 <= year <= 9999 else None
    cursor.at = start
    if is_day and 31 < number <= 366 and cursor.peek().text not in ("of", "in"):
        return shifted(cursor.today.replace(month=1, day=1), days=number - 1)
    if cursor.take("of", "in"):
        cursor.take("the")
        which = cursor.take("this", "next", "following")
        if (cursor.take("month") if which else "") or cursor.take("month"):
            first = cursor.today.replace(day=1)
            base = first if which in ("this", "") else shifted(first, months=1).first
            return in_month(base, number)
        cursor.at = start
    if (not on and not the) or is_day or cursor.peek().text in ("of", "in"):
        return None
    if not 1 <= number <= 31:
        return Day(None, problem="day is out of range for month")
    days = [
        day
        for month in range(4)
        if (base := shifted(cursor.today.replace(day=1), months=month).first)
        and (day := in_month(base, number).first)
        and day >= cursor.today
    ]
    return Day(days[0], days[1]) if len(days) > 1 else Day(None, problem="it is outside of the calendar")


def _named(cursor: Cursor) -> Callable[[int], date] | None:
    """The holiday that follows, as a function of the year."""
    if name := cursor.take_any(tuple(HOLIDAYS)):
        month, number = HOLIDAYS[name]
        return lambda year: date(year, month, number)
    if cursor.take_any(EASTER):
        return easter
    return _black_friday if cursor.take_all(BLACK_FRIDAY) else None


def _black_friday(year: int) -> date:
    """The day after the fourth thursday of november."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 22)


def _holiday(cursor: Cursor) -> Day | None:
    cursor.take("on")
    which = cursor.take("last", "next", "following", "this")
    named = _named(cursor)
    if named is None:
        return None
    today = cursor.today
    if cursor.take_any(("of this year", "this year")):
        return Day(named(today.year))
    if today.year >= date.max.year:
        return Day(None, problem="it is outside of the calendar")
    if cursor.take_any(("of next year", "next year")):
        return Day(named(today.year + 1))
    if (year := cursor.attempt(lambda inner: digits(inner, 4, 4))) is not None:
        # Easter's rule holds from 1583, when the calendar began.
        return Day(named(year)) if 1583 <= year <= 4099 else Day(None, problem="it is outside of the calendar")
    if which == "last":
        return Day(named(today.year) if named(today.year) < today else named(today.year - 1))
    this = named(today.year)
    return Day(this, named(today.year + 1)) if this >= today else Day(named(today.year + 1))


def _edge(cursor: Cursor) -> Day | None:
    """ "next week", "at the end of the month", "beginning of next year"."""
    cursor.take("at", "on", "by")
    cursor.take("the")
    edge = cursor.take("end", "start", "beginning")
    if edge and not cursor.take("of"):
        return None
    cursor.take("the")
    which = cursor.take("this", *NEXT)
    unit = cursor.take("week", "month", "year")
    if not unit or (not edge and which not in NEXT):
        return None
    today = cursor.today
    start = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    ahead = int(which in NEXT) + int(edge == "end")
    step, amount = next(iter(_EDGES[unit].items()))
    moved = shifted(start, **{step: amount * ahead})
    if edge == "end" and moved.first is not None:
        return Day(moved.first - timedelta(days=1))
    return moved
