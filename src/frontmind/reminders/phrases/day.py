"""A day as it was said: the candidates that it may mean. Which of them it is depends on the time of day.

Knows no words.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from dateutil.relativedelta import relativedelta

from frontmind.reminders.phrases.written import MonthDay

_FARTHEST_YEARS = 100


class Doubtful(ValueError):
    """Of two times either may be meant; the message names both."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day as it was said.

    Attributes:
        first: the earliest day from today on that it may mean, or the only one; None when it cannot be said.
        then: what it means when that has passed.
        not_today: without a time of day, today is not meant ("on friday", said on a friday).
        problem: why no calendar has it.
        doubt: which two days it may mean, in words; empty when there is no doubt.
    """

    first: date | None
    then: date | None = None
    not_today: bool = False
    problem: str = ""
    doubt: str = ""


def shifted(day: date, **distance: int) -> Day:
    """That day, so much later; the calendar has an end, and reminders a farthest day."""
    try:
        moved = day + relativedelta(**distance)  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        return Day(None, problem="it is outside of the calendar")
    if abs(moved.year - day.year) > _FARTHEST_YEARS:
        return Day(None, problem="it is more than a hundred years away")
    return Day(moved)


def from_written(found: MonthDay, today: date) -> Day:
    """The day with this month and day: in its year, or this year and otherwise the next that has it."""
    if found.year is not None:
        try:
            return Day(date(found.year, found.month, found.day))
        except ValueError as error:
            return Day(None, problem=str(error))
    if found.day > monthrange(2000, found.month)[1]:
        return Day(None, problem="day is out of range for month")
    days = []
    for year in range(today.year, min(today.year + 13, date.max.year + 1)):
        if found.day <= monthrange(year, found.month)[1] and (day := date(year, found.month, found.day)) >= today:
            days.append(day)
    if not days:
        return Day(None, problem="it is outside of the calendar")
    return Day(days[0], days[1] if len(days) > 1 else None)


def in_month(base: date | None, number: int) -> Day:
    if base is None or not 1 <= number <= monthrange(base.year, base.month)[1]:
        return Day(None, problem="day is out of range for month")
    return Day(base.replace(day=number))
