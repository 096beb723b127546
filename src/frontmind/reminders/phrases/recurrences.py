"""Recurrences in words: "every weekday at 8", "every other tuesday", "the first monday of each month until june".

Reads a rule piece by piece, in any order, as people write them. Knows no reminders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from frontmind.reminders.phrases.clocks import in_part, read_clock
from frontmind.reminders.phrases.day import Doubtful
from frontmind.reminders.phrases.limits import read_except, read_for_span, read_starting, read_times, read_until
from frontmind.reminders.phrases.lists import (
    keep_places,
    number_list,
    on_every,
    place_list,
    read_month_days,
    weekday_list,
)
from frontmind.reminders.phrases.rules import ELAPSING, Rule
from frontmind.reminders.phrases.tokens import Cursor, digits, number, ordinal
from frontmind.reminders.phrases.vocabulary import (
    ADVERBS,
    DAY,
    DAY_PARTS,
    DAY_PARTS_PLURAL,
    MONTH,
    MONTHS,
    UNITS,
    WEEK,
    WEEKDAYS,
    WEEKDAYS_PLURAL,
    WEEKEND,
    WORKDAYS,
    YEAR,
)

_Piece: TypeAlias = Callable[[Cursor, Rule], bool]
_EVERY = ("every", "each", "any")
_COUNTED = frozenset(
    (*UNITS, *WEEKDAYS, *WEEKDAYS_PLURAL, *DAY_PARTS, "weekday", "weekdays", "weekend", "weekends", "workday")
)


def read_recurrence(cursor: Cursor) -> Rule | None:
    """A recurrence: one piece that says how often, and others around it.

    Raises:
        ValueError: it is a recurrence, but not one that can be kept.
    """
    rule = Rule()
    end = cursor.at
    while (extended := _with_next_piece(cursor, rule)) is not None:
        rule = extended
        if rule.unit:
            end = cursor.at
    cursor.at = end
    if rule.part and rule.clock is None:
        rule.clock = in_part(None, rule.part)
    return rule if rule.unit else None


def _with_next_piece(cursor: Cursor, rule: Rule) -> Rule | None:
    if not rule.unit:
        return _first_that_fits(cursor, rule, (*_CORES, _at_clock, read_starting))
    start = cursor.at
    extended = _first_that_fits(cursor, rule, _MODIFIERS)
    if extended is None and cursor.take(","):
        # A comma goes along only when a piece follows it.
        extended = _first_that_fits(cursor, rule, _MODIFIERS)
    if extended is None:
        cursor.at = start
    return extended


def _first_that_fits(cursor: Cursor, rule: Rule, pieces: tuple[_Piece, ...]) -> Rule | None:
    start = cursor.at
    for piece in pieces:
        # On a copy: a piece that gives up half-way must leave nothing behind.
        extended = replace(rule, excluded=list(rule.excluded))
        if piece(cursor, extended):
            return extended
        cursor.at = start
    return None


def _adverb(cursor: Cursor, rule: Rule) -> bool:
    if cursor.take_all("semi - annually") or cursor.take_all("semi - annual"):
        rule.unit, rule.interval = MONTH, 6
        return True
    found = cursor.take_from(ADVERBS)
    if found is None:
        return False
    rule.unit, rule.interval = found
    return True


def _once(cursor: Cursor, rule: Rule) -> bool:
    """ "once a week", "one a day"."""
    if not cursor.take("once", "one") or not cursor.take("a", "an", "per", "every", "each"):
        return False
    unit = cursor.take_from(UNITS)
    if unit is None:
        return False
    rule.unit, rule.interval = unit
    return True


def _every(cursor: Cursor, rule: Rule) -> bool:
    """ "every day", "each two days", "every other week", "every 3rd month", "every weekday", "every mon and fri"."""
    if not cursor.take(*_EVERY):
        return False
    start = cursor.at
    interval = _interval(cursor)
    if (unit := cursor.take_from(UNITS)) is not None:
        rule.unit, rule.interval = unit[0], unit[1] * interval
        return True
    if part := cursor.take(*DAY_PARTS):
        rule.unit, rule.interval, rule.part = DAY, interval, part
        return True
    if cursor.take("weekday", "weekdays", "workday", "workdays") and interval == 1:
        rule.unit, rule.weekdays = WEEK, on_every(WORKDAYS)
        return True
    if (days := weekday_list(cursor)) is None:
        return False
    # "every fourth thursday in november" is one thursday; "every 5th fri" every fifth.
    if interval > 1 and cursor.take("in", "of"):
        cursor.at = start
        return False
    rule.unit, rule.interval, rule.weekdays = WEEK, interval, on_every(days)
    if part := cursor.take(*DAY_PARTS):
        rule.part = part
    return True


def _interval(cursor: Cursor) -> int:
    start = cursor.at
    # "Every second" is the unit, unless it counts one.
    if cursor.peek().text == "second" and cursor.peek(1).text not in _COUNTED:
        return 1
    if cursor.take("other", "second"):
        return 2
    found = cursor.attempt(ordinal, number)
    if found is None or found < 1:
        cursor.at = start
        return 1
    return found


def _plural(cursor: Cursor, rule: Rule) -> bool:
    """ "tuesdays and thursdays", "mon-fri", "weekends", "on weekdays", "mornings"."""
    cursor.take("on")
    if (part := cursor.take_from(DAY_PARTS_PLURAL)) is not None:
        rule.unit, rule.part = DAY, part
        return True
    is_range = cursor.peek().text in WEEKDAYS and cursor.peek(1).text in ("-", "to", "through", "thru")
    if not is_range and cursor.peek().text not in WEEKDAYS_PLURAL and not cursor.take("weekends", "weekdays"):
        return False
    if (name := cursor.peek(-1).text) in ("weekends", "weekdays") and cursor.at > 0:
        rule.unit, rule.weekdays = WEEK, on_every(WEEKEND if name == "weekends" else WORKDAYS)
        return True
    days = weekday_list(cursor)
    if days is None or (is_range and len(days) == 1):
        return False
    rule.unit, rule.weekdays = WEEK, on_every(days)
    return True


def _of_every_month(cursor: Cursor, rule: Rule) -> bool:
    """ "4th and 10th of every month", "2nd and last fri of each month", "the 31st day of every year"."""
    cursor.take("on")
    every = cursor.take(*_EVERY)
    cursor.take("the")
    places = place_list(cursor)
    if places is None:
        return False
    cursor.take("day")
    if not cursor.take("of", "in"):
        return False
    if every:
        cursor.take("the", *_EVERY)
    elif not cursor.take(*_EVERY):
        return False
    interval = 1 if every else _interval(cursor)
    unit = cursor.take("month", "months", "year", "years")
    if not unit:
        return _of_every_named(cursor, rule, places) if every else False
    rule.unit, rule.interval = (MONTH if unit.startswith("month") else YEAR), interval
    return keep_places(rule, places)


def _of_every_named(cursor: Cursor, rule: Rule, places: list[tuple[int, int | None]]) -> bool:
    """ "every fourth thursday in november", "every 20th and 30th of aug"."""
    month = cursor.take_from(MONTHS)
    if month is None:
        return False
    rule.unit, rule.month = YEAR, month
    return keep_places(rule, places)


def _edge_of_month(cursor: Cursor, rule: Rule) -> bool:
    """ "beginning of each month"."""
    cursor.take("at", "on")
    cursor.take("the")
    edge = cursor.take("start", "begin", "beginning", "end")
    if not edge or not cursor.take("of") or not cursor.take(*_EVERY):
        return False
    interval = _interval(cursor)
    if not cursor.take("month", "months"):
        return False
    rule.unit, rule.interval, rule.month_days = MONTH, interval, [-1 if edge == "end" else 1]
    return True


def _every_date(cursor: Cursor, rule: Rule) -> bool:
    """ "every july 4th", "every aug on day 20 and 30", "every 24 december"."""
    if not cursor.take(*_EVERY):
        return False
    return read_month_days(cursor, rule, unit=YEAR)


def _at_clock(cursor: Cursor, rule: Rule) -> bool:
    clock = read_clock(cursor) if rule.clock is None else None
    if clock is None:
        return False
    if rule.part:
        clock = in_part(clock, rule.part)
    # The midnight of a day that comes again is its start only when it comes every day.
    if clock.midnight and rule.unit not in ("", DAY):
        raise Doubtful("the start or the end of that day, 00:00 or 23:59")
    rule.clock = replace(clock, midnight=False)
    return True


def _on_weekdays(cursor: Cursor, rule: Rule) -> bool:
    if rule.weekdays:
        return False
    cursor.take("on")
    days = weekday_list(cursor)
    if days is None or rule.unit in ELAPSING:
        return False
    if rule.unit == YEAR and not cursor.take_all("in week"):
        return False
    if rule.unit == YEAR:
        cursor.at -= 2
    rule.weekdays = on_every(days)
    return True


def _on_places(cursor: Cursor, rule: Rule) -> bool:
    """ "on the 4th", "on the fourth thursday in november", "on the day 31", "on the first and last instance of fri"."""
    if rule.weekdays or rule.month_days or not (cursor.take("on") or cursor.peek().text == "the"):
        return False
    the = cursor.take("the")
    if the and cursor.take("day") and (day := digits(cursor, 1, 3)) is not None:
        return keep_places(rule, [(day, None)])
    places = place_list(cursor)
    if places is None:
        return False
    if cursor.take("instance", "instances"):
        cursor.take("of")
        days = weekday_list(cursor)
        if days is None or rule.unit != MONTH:
            return False
        rule.weekdays, rule.positions = on_every(days), [position for position, _ in places]
        return True
    is_day = cursor.take("day")
    if rule.unit == WEEK and is_day and len(places) == 1 and 1 <= places[0][0] <= 7:
        # Weeks are counted from Sunday, as the phrase is used in the United States.
        rule.weekdays = [(0, (places[0][0] + 5) % 7)]
        return True
    start = cursor.at
    if cursor.take("in", "of") and (month := cursor.take_from(MONTHS)) is not None and rule.unit == YEAR:
        rule.month = month
    else:
        cursor.at = start
        if rule.unit == YEAR and not is_day:
            return False
    return rule.unit in (MONTH, YEAR) and keep_places(rule, places)


def _at_edge(cursor: Cursor, rule: Rule) -> bool:
    """ "every month at the beginning"."""
    if rule.unit != MONTH or not cursor.take_any(("at the", "on the")):
        return False
    edge = cursor.take("start", "begin", "beginning", "end")
    rule.month_days = [-1 if edge == "end" else 1]
    return bool(edge)


def _on_date(cursor: Cursor, rule: Rule) -> bool:
    if rule.unit != YEAR or rule.month_days or not cursor.take("on"):
        return False
    cursor.take("the")
    return read_month_days(cursor, rule, unit=YEAR)


def _in_week(cursor: Cursor, rule: Rule) -> bool:
    if rule.unit not in (WEEK, YEAR) or not cursor.take_all("in week"):
        return False
    weeks = number_list(cursor)
    if not weeks or (rule.unit == WEEK and rule.interval != 1):
        return False
    rule.unit, rule.weeks = YEAR, weeks
    return True


_CORES: tuple[_Piece, ...] = (_of_every_month, _edge_of_month, _every_date, _every, _plural, _once, _adverb)
_MODIFIERS: tuple[_Piece, ...] = (
    _on_date,
    _on_places,
    _on_weekdays,
    _in_week,
    _at_edge,
    read_times,
    _at_clock,
    read_starting,
    read_until,
    read_for_span,
    read_except,
)
