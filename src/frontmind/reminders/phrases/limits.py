"""The limits of a recurrence: from when until when, how many times, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from dateutil.relativedelta import relativedelta

from frontmind.reminders.phrases.clocks import read_clock
from frontmind.reminders.phrases.day import Day
from frontmind.reminders.phrases.days import read_day
from frontmind.reminders.phrases.lists import ALL_WEEKDAYS, take_joint, weekday_list
from frontmind.reminders.phrases.moments import moment_of
from frontmind.reminders.phrases.rules import ELAPSING, Rule, daily_without
from frontmind.reminders.phrases.tokens import Cursor, count, digits, number
from frontmind.reminders.phrases.vocabulary import DAY, MONTH, MONTHS, UNITS, WEEK, YEAR


def _bound(cursor: Cursor) -> date | None:
    """A day, or the first of a month."""
    day: Day | None = cursor.attempt(read_day)
    if day is not None:
        resolved = moment_of(day, None, cursor.now)
        return resolved.date() if isinstance(resolved, datetime) else resolved
    cursor.take("in")
    month = cursor.take_from(MONTHS)
    if month is None:
        return None
    year = cursor.attempt(lambda inner: digits(inner, 4, 4))
    if year is None:
        year = cursor.today.year + (month < cursor.today.month)
    return date(year, month, 1)


def read_starting(cursor: Cursor, rule: Rule) -> bool:
    if rule.start is not None or not cursor.take("starting", "from", "beginning", "since"):
        return False
    cursor.take("on", "from")
    rule.start = _bound(cursor)
    cursor.take(",")
    return rule.start is not None


def read_until(cursor: Cursor, rule: Rule) -> bool:
    if rule.until is not None or rule.span is not None:
        return False
    if not cursor.take("until", "till", "til", "through") and not (rule.start and cursor.take("to")):
        return False
    rule.until = _bound(cursor)
    if rule.until is not None and rule.start is not None and rule.until < rule.start:
        rule.until += relativedelta(years=1)
    return rule.until is not None


def read_times(cursor: Cursor, rule: Rule) -> bool:
    """ "for 4 times", "3x", "twice", "up to 7x", "for 5 occurrences"."""
    if rule.count:
        return False
    led = cursor.take("for")
    if cursor.take("twice"):
        rule.count = 2
        return True
    led = "for" if cursor.take_all("up to") else led
    rule.count = number(cursor) or 0
    # "in 3 x" is a count only where the letter follows its number.
    glued = cursor.glued()
    if rule.count and (cursor.take("times", "occurrences") or ((led or glued) and cursor.take("x"))):
        return True
    rule.count = 0
    return False


def read_for_span(cursor: Cursor, rule: Rule) -> bool:
    """ "for the next three weeks", "for up to 2 months"."""
    if rule.until is not None or rule.span is not None or not cursor.take("for"):
        return False
    cursor.take_all("up to")
    the_next = cursor.take_any(("the next", "next", "the following"))
    amount = cursor.attempt(count)
    unit = cursor.take_from(UNITS)
    if unit is None or (amount is None and not the_next) or unit[0] not in (DAY, WEEK, MONTH, YEAR):
        return False
    distance = (amount or 1) * unit[1]
    if distance > _LONGEST_SPAN[unit[0]]:
        raise ValueError("it is more than a hundred years away")
    rule.span = lambda start: start + _STEPS[unit[0]](distance)
    return True


_STEPS: dict[str, Callable[[int], relativedelta]] = {
    DAY: lambda amount: relativedelta(days=amount),
    WEEK: lambda amount: relativedelta(weeks=amount),
    MONTH: lambda amount: relativedelta(months=amount),
    YEAR: lambda amount: relativedelta(years=amount),
}
_LONGEST_SPAN = {DAY: 36600, WEEK: 5200, MONTH: 1200, YEAR: 100}


def read_except(cursor: Cursor, rule: Rule) -> bool:
    """ "except tomorrow and 1/5 at 4pm", "except in july and sept", "except on weekends"."""
    if rule.excluded or not cursor.take("except"):
        return False
    cursor.take("for")
    start = cursor.at
    cursor.take("on")
    weekdays = weekday_list(cursor) if cursor.peek().text in (*ALL_WEEKDAYS, "weekends", "weekdays") else None
    if weekdays is not None:
        daily_without(rule, set(weekdays))
        return True
    cursor.at = start
    while True:
        begin = cursor.at
        if rule.excluded and not take_joint(cursor):
            return True
        cursor.take("on")
        excluded = cursor.attempt(lambda inner: _excluded_day(inner, rule)) or cursor.attempt(_excluded_month)
        if excluded is None:
            cursor.at = begin
            return bool(rule.excluded)
        rule.excluded.append(excluded)


def _excluded_day(cursor: Cursor, rule: Rule) -> date | datetime | None:
    day: Day | None = cursor.attempt(read_day)
    if day is None:
        return None
    # Where the recurrence has no time of day yet, one that follows is its own.
    timed = rule.clock is not None or rule.unit in ELAPSING
    return moment_of(day, cursor.attempt(read_clock) if timed else None, cursor.now)


def _excluded_month(cursor: Cursor) -> tuple[int, int | None] | None:
    cursor.take("in")
    month = cursor.take_from(MONTHS)
    if month is None:
        return None
    return month, cursor.attempt(lambda inner: digits(inner, 4, 4))
