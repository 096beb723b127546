"""Lists within a recurrence: weekdays, days of a month, and places such as "the first and third friday"."""

from __future__ import annotations

from frontmind.reminders.phrases.rules import Rule
from frontmind.reminders.phrases.tokens import Cursor, digits, is_hour, number_word, ordinal
from frontmind.reminders.phrases.vocabulary import MONTHS, WEEKDAYS, WEEKDAYS_PLURAL, WEEKEND, WORKDAYS, YEAR
from frontmind.reminders.phrases.weekdays import read_position

ALL_WEEKDAYS = WEEKDAYS | WEEKDAYS_PLURAL


def on_every(days: tuple[int, ...] | list[int]) -> list[tuple[int, int]]:
    return [(0, day) for day in days]


def weekday_list(cursor: Cursor) -> list[int] | None:
    """ "mon and fri", "saturdays through tuesdays", "tuesday-saturday", "weekend"."""
    if cursor.take("weekend", "weekends"):
        return list(WEEKEND)
    if cursor.take("weekday", "weekdays"):
        return list(WORKDAYS)
    first = cursor.take_from(ALL_WEEKDAYS)
    if first is None:
        return None
    days = [first]
    while True:
        abbreviation_point(cursor)
        start = cursor.at
        if cursor.take("-", "through", "thru", "to") and (last := cursor.take_from(ALL_WEEKDAYS)) is not None:
            days += [(days[-1] + ahead) % 7 for ahead in range(1, (last - days[-1]) % 7 + 1)]
            continue
        cursor.at = start
        take_joint(cursor)
        following = cursor.take_from(ALL_WEEKDAYS) if cursor.at > start else None
        if following is None:
            cursor.at = start
            return days
        days.append(following)


def abbreviation_point(cursor: Cursor) -> None:
    if cursor.peek().text == "." and cursor.glued() and cursor.peek(1).text and not cursor.glued(1):
        cursor.at += 1


def take_joint(cursor: Cursor) -> bool:
    comma = cursor.take(",")
    return bool(cursor.take("and", "&") or comma)


def place_list(cursor: Cursor) -> list[tuple[int, int | None]] | None:
    """ "first and third friday and second tuesday": positions with their weekday, or without one."""
    places: list[tuple[int, int | None]] = []
    waiting: list[int] = []
    while True:
        start = cursor.at
        if places or waiting:
            if not take_joint(cursor):
                break
            cursor.take("the")
        position = read_position(cursor)
        if position is None:
            cursor.at = start
            break
        waiting.append(position)
        weekday = cursor.take_from(ALL_WEEKDAYS)
        if weekday is not None:
            places += [(each, weekday) for each in waiting]
            waiting = []
    return [*places, *((each, None) for each in waiting)] or None


def read_month_days(cursor: Cursor, rule: Rule, *, unit: str) -> bool:
    """ "december 21st and 31st", "24 December", "aug on day 20 and 30"."""
    month = cursor.take_from(MONTHS)
    if month is None:
        day = cursor.attempt(ordinal, lambda inner: digits(inner, 1, 2), number_word)
        if day is None:
            return False
        cursor.take("of")
        month = cursor.take_from(MONTHS)
        days = [day]
    else:
        abbreviation_point(cursor)
        cursor.take("on")
        cursor.take("the")
        cursor.take("day")
        days = number_list(cursor)
    if month is None or not days:
        return False
    rule.unit, rule.month, rule.month_days = rule.unit or unit, month, days
    return rule.unit == YEAR


def number_list(cursor: Cursor) -> list[int]:
    found: list[int] = []
    while True:
        start = cursor.at
        if found and not take_joint(cursor):
            return found
        value = cursor.attempt(ordinal, lambda inner: digits(inner, 1, 2))
        if value is None or is_hour(cursor):
            cursor.at = start
            return found
        found.append(value)


def keep_places(rule: Rule, places: list[tuple[int, int | None]]) -> bool:
    weekdays = [(position, weekday) for position, weekday in places if weekday is not None]
    days = [position for position, weekday in places if weekday is None]
    if weekdays and days:
        return False
    rule.weekdays = weekdays or rule.weekdays
    if rule.unit == YEAR and not rule.month:
        rule.year_days = days
    else:
        rule.month_days = days
    return True
