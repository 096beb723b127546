"""Dates that are written out: "2026-12-24", "12/24", "24.12.2026", "24 December", "january first 2032".

In numbers the month stands first, as it is written in the United States, unless only the other order is a date.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass

from frontmind.reminders.phrases.tokens import Cursor, digits, is_hour, number_word, ordinal, year_in_words
from frontmind.reminders.phrases.vocabulary import MONTHS, SMALL_NUMBERS

_SIGNS = ("-", "/", ".")
# Two digits of a year: before this they are of this century.
_PIVOT = 40


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A written date; the calendar may have no such day.

    Attributes:
        year: None when none was written.
        needs_on: numbers that are a date only behind "on" or a weekday: "5.12" is more often something else.
    """

    year: int | None
    month: int
    day: int
    needs_on: bool = False


def written_date(cursor: Cursor) -> MonthDay | None:
    """A written date, without any "on" or "the"."""
    return cursor.attempt(_iso, _compact, _day_year_month, _numbers, _month_first, _day_first)


def _iso(cursor: Cursor) -> MonthDay | None:
    """Year, month (a number or a name) and day, or year, day and a month's name."""
    year = digits(cursor, 4, 4)
    spaced = not cursor.glued()
    sign = cursor.take(*_SIGNS)
    if year is None or (not sign and (not spaced or not 1900 <= year <= 2999)):
        return None
    if (month := cursor.take_from(MONTHS)) is None:
        first = digits(cursor, 1 if sign else 2, 2)
        if first is None or (sign and not cursor.take(sign)):
            return None
        if (named := cursor.take_from(MONTHS)) is not None:
            return MonthDay(year, named, first)
        month = first
    elif not cursor.take(sign):
        return None
    day = digits(cursor, 1 if sign else 2, 2)
    return None if day is None else MonthDay(year, month, day)


def _compact(cursor: Cursor) -> MonthDay | None:
    """ "20261224"."""
    text = cursor.peek().text
    whole = digits(cursor, 8, 8)
    if whole is None or not 1900 <= whole // 10000 <= 2999:
        return None
    month, day = int(text[4:6]), int(text[6:])
    return MonthDay(whole // 10000, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def _day_year_month(cursor: Cursor) -> MonthDay | None:
    """ "23-2020-September"."""
    day = digits(cursor, 1, 2)
    if day is None or not cursor.take("-"):
        return None
    year = digits(cursor, 4, 4)
    if year is None or not cursor.take("-"):
        return None
    month = cursor.take_from(MONTHS)
    return None if month is None else MonthDay(year, month, day)


def _numbers(cursor: Cursor) -> MonthDay | None:
    """ "12/24", "24.12.2026", "12-24-26"."""
    first = digits(cursor, 1, 2)
    sign = cursor.take(*_SIGNS) if cursor.glued() else ""
    second = digits(cursor, 1, 2) if sign and cursor.glued() else None
    if first is None or second is None:
        return None
    year = None
    if cursor.glued() and cursor.peek().text == sign and cursor.glued(1) and cursor.peek(1).number is not None:
        cursor.at += 1
        year = cursor.attempt(lambda inner: digits(inner, 4, 4), lambda inner: digits(inner, 2, 2))
        if year is None:
            return None
    if not 1 <= first <= 12 or (second > monthrange(2000, first)[1] and 1 <= second <= 12):
        first, second = second, first
    if not 1 <= first <= 12 or not 1 <= second <= 31:
        return None
    return MonthDay(full_year(year), first, second, needs_on=year is None and sign != "/")


def full_year(year: int | None) -> int | None:
    """A year of two digits in the century that it most likely is of."""
    if year is None or year >= 100:
        return year
    return year + (2000 if year < _PIVOT else 1900)


def _month_first(cursor: Cursor) -> MonthDay | None:
    """ "Dec 24", "december 24th, 2026", "Dec31 , 1994", "january first two thousand and thirty two"."""
    month = cursor.take_from(MONTHS)
    if month is None:
        return None
    cursor.take(".", "/", "-", ",")
    cursor.take("the")
    day = cursor.attempt(ordinal, lambda inner: _plain_day(inner))
    if day is None:
        return None
    return MonthDay(_year(cursor), month, day)


def _plain_day(cursor: Cursor) -> int | None:
    day = digits(cursor, 1, 2)
    # "Dec 9:30" and "dec 9am" are times of day.
    return None if day is None or is_hour(cursor) else day


def _day_first(cursor: Cursor) -> MonthDay | None:
    """ "24 December", "the 4th of july of 1995", "05-Aug-2016", "fifteen august"."""
    day = cursor.attempt(ordinal, lambda inner: digits(inner, 1, 2), number_word)
    if day is None:
        return None
    cursor.take_all("day")
    cursor.take("-", "/", ".", "of")
    # "One may ask" is no first of May.
    in_words = cursor.peek(-1).text in SMALL_NUMBERS
    month = None if in_words and cursor.peek().text in ("may", "march") else cursor.take_from(MONTHS)
    return None if month is None else MonthDay(_year(cursor), month, day)


def _year(cursor: Cursor) -> int | None:
    return cursor.attempt(_year_behind)


def _year_behind(cursor: Cursor) -> int | None:
    if cursor.peek().text == "." and cursor.glued():
        cursor.at += 1
    joined = cursor.take(",", "-", "/", "of", "in", "'")
    year = cursor.attempt(lambda inner: digits(inner, 4, 4), year_in_words)
    if year is None and joined in ("", "of", "/", "-", "'"):
        year = cursor.attempt(lambda inner: digits(inner, 2, 2))
        if year is not None and not joined and not year >= 10:
            return None
    dotted = cursor.peek().text == "." and cursor.glued(1) and cursor.peek(1).number is not None
    if year is not None and (dotted or is_hour(cursor)):
        return None
    return full_year(year)
