"""Recurrences as values: an RRULE (RFC 5545) being put together, and its first occurrence. Reads no words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from dateutil.rrule import rrulestr

from frontmind.reminders.phrases.clocks import Clock
from frontmind.reminders.phrases.moments import is_later, on_the_clock
from frontmind.reminders.phrases.vocabulary import DAY, FREQUENCIES, HOUR, MINUTE, SECOND, WEEKDAY_CODES

_LARGEST_INTERVAL = 1000
_LARGEST_COUNT = 10000
ELAPSING = {SECOND: timedelta(seconds=1), MINUTE: timedelta(minutes=1), HOUR: timedelta(hours=1)}
"""Units that are counted in time that passes, not in days of the calendar."""
_MOST_EXCEPTIONS = 1000
_MOST_LOOKED_AT = 5000


@dataclass(slots=True)
class Rule:
    """A recurrence while it is read.

    Attributes:
        weekdays: pairs of a position in the month or year (0: every one) and a weekday.
        part: the part of the day that was said, such as the morning.
        excluded: days, moments, or (month, year or None) of whole months that are left out.
    """

    unit: str = ""
    interval: int = 1
    weekdays: list[tuple[int, int]] = field(default_factory=list)
    month_days: list[int] = field(default_factory=list)
    year_days: list[int] = field(default_factory=list)
    weeks: list[int] = field(default_factory=list)
    month: int = 0
    positions: list[int] = field(default_factory=list)
    clock: Clock | None = None
    part: str = ""
    count: int = 0
    start: date | None = None
    until: date | None = None
    span: Callable[[date], date] | None = None
    excluded: list[date | datetime | tuple[int, int | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrence that was understood.

    Attributes:
        first: its first occurrence after now, a date when no time of day was given.
        rrule: the RRULE's value.
        exdates: occurrences that are left out, of the same type as ``first``.
    """

    first: datetime | date
    rrule: str
    exdates: tuple[datetime | date, ...] = ()


def resolve(rule: Rule, now: datetime) -> Recurrence:
    """The rule as an RRULE, with its first occurrence after ``now``.

    Raises:
        ValueError: it never comes, or is not a rule that can be kept.
    """
    _check(rule)
    elapsing = ELAPSING.get(rule.unit)
    parts = _parts(rule)
    start = rule.start if rule.start is not None else now.date()
    if elapsing is not None and rule.start is None:
        first: datetime | date | None = (now.astimezone(UTC) + rule.interval * elapsing).astimezone(now.tzinfo)
    else:
        first = _first(rule, parts, start, now)
    if first is None:
        raise ValueError("it never comes")
    until = rule.until if rule.until is not None else rule.span(start) if rule.span is not None else None
    if until is not None:
        if until < (first.date() if isinstance(first, datetime) else first):
            raise ValueError("it ends before it begins")
        parts.append(f"UNTIL={_until(until, first, now)}")
    if rule.count:
        parts.append(f"COUNT={rule.count}")
    value = ";".join(parts)
    if not rule.excluded:
        return Recurrence(first, value)
    exdates = _exdates(rule, value, first, now)
    kept = _first_kept(value, first, exdates, now)
    return Recurrence(kept, value, tuple(each for each in exdates if not _before(each, kept)))


def _check(rule: Rule) -> None:
    if not 1 <= rule.interval <= _LARGEST_INTERVAL:
        raise ValueError(f"the interval is not between 1 and {_LARGEST_INTERVAL}")
    if not 0 <= rule.count <= _LARGEST_COUNT:
        raise ValueError(f"it is more than {_LARGEST_COUNT} times")
    longest = 31 if not rule.month else 29 if rule.month == 2 else 30 if rule.month in (4, 6, 9, 11) else 31
    if any(not 1 <= abs(day) <= longest for day in rule.month_days):
        raise ValueError("day is out of range for month")
    if any(not 1 <= day <= 366 for day in rule.year_days) or any(not 1 <= week <= 53 for week in rule.weeks):
        raise ValueError("a year has no such day")
    if any(abs(position) > 5 for position, _ in rule.weekdays):
        raise ValueError("a month has no more than five of a weekday")
    limited = rule.weekdays or rule.month_days or rule.year_days or rule.weeks or rule.month or rule.clock
    if rule.unit in ELAPSING and limited:
        raise ValueError("an interval in hours or minutes goes with no days and no time of day")


def _parts(rule: Rule) -> list[str]:
    parts = [f"FREQ={FREQUENCIES[rule.unit]}"]
    if rule.interval > 1:
        parts.append(f"INTERVAL={rule.interval}")
    if rule.month:
        parts.append(f"BYMONTH={rule.month}")
    for name, values in (("BYWEEKNO", rule.weeks), ("BYYEARDAY", rule.year_days), ("BYMONTHDAY", rule.month_days)):
        if values:
            parts.append(f"{name}={','.join(map(str, dict.fromkeys(values)))}")
    if rule.weekdays:
        codes = [f"{position or ''}{WEEKDAY_CODES[weekday]}" for position, weekday in dict.fromkeys(rule.weekdays)]
        parts.append(f"BYDAY={','.join(codes)}")
    if rule.positions:
        parts.append(f"BYSETPOS={','.join(map(str, dict.fromkeys(rule.positions)))}")
    return parts


def _first(rule: Rule, parts: list[str], start: date, now: datetime) -> datetime | date | None:
    clock = rule.clock.time if rule.clock is not None else None
    if rule.clock is not None and rule.clock.next_day:
        raise ValueError(f"say the day that {rule.clock.time:%H:%M} is on, such as every day at 01:00")
    anchor = datetime.combine(start, clock or time())
    occurrences = rrulestr(";".join(parts), dtstart=anchor)
    for found in occurrences.xafter(anchor - timedelta(days=1) if start > date.min else anchor, count=4, inc=True):
        if clock is None:
            # A day that was named counts itself; without one, today has begun already.
            if found.date() > now.date() or (rule.start is not None and found.date() >= now.date()):
                return found.date()
        elif is_later(moment := on_the_clock(found.date(), clock, now), now):
            return moment
    found_later = occurrences.after(datetime.combine(now.date(), time.max))
    if found_later is None:
        return None
    return found_later.date() if clock is None else on_the_clock(found_later.date(), clock, now)


def _until(until: date, first: datetime | date, now: datetime) -> str:
    # RFC 5545 3.3.10: a date when the occurrences are dates, otherwise a moment in UTC; the day itself is included.
    if not isinstance(first, datetime):
        return f"{until:%Y%m%d}"
    return f"{on_the_clock(until, time(23, 59, 59), now).astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _exdates(rule: Rule, value: str, first: datetime | date, now: datetime) -> list[datetime | date]:
    days = {each for each in rule.excluded if not isinstance(each, datetime | tuple)}
    moments = {each for each in rule.excluded if isinstance(each, datetime)}
    months = _whole_months(rule, first)
    if moments and not isinstance(first, datetime):
        raise ValueError("a time of day is left out of a recurrence that has none")
    wanted = [*days, *(moment.date() for moment in moments), *(last for _, last in months)]
    end = max(wanted)
    found: list[datetime | date] = []
    for number, occurrence in enumerate(_occurrences(value, first, now)):
        if number > _MOST_LOOKED_AT:
            raise ValueError("what is left out of it is too far away")
        day = occurrence.date() if isinstance(occurrence, datetime) else occurrence
        if day > end:
            break
        inside = any(start <= day <= last for start, last in months)
        if day in days or inside or occurrence in moments:
            found.append(occurrence)
        if len(found) > _MOST_EXCEPTIONS:
            raise ValueError("it has more exceptions than can be kept")
    return found


def _whole_months(rule: Rule, first: datetime | date) -> list[tuple[date, date]]:
    """The months that are left out: of the year that was said, otherwise the next from the first occurrence on."""
    day = first.date() if isinstance(first, datetime) else first
    ranges = []
    for each in rule.excluded:
        if isinstance(each, tuple):
            month, year = each
            if year is None:
                year = day.year if month >= day.month else day.year + 1
            start = date(year, month, 1)
            ranges.append((start, (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)))
    return ranges


def _occurrences(value: str, first: datetime | date, now: datetime) -> Iterator[datetime | date]:
    if not isinstance(first, datetime):
        start = datetime.combine(first, time())
        for found in rrulestr(value, dtstart=start):
            yield found.date()
        return
    elapsing = any(f"FREQ={FREQUENCIES[unit]}" in value for unit in ELAPSING)
    if elapsing:
        for found in rrulestr(value, dtstart=first.astimezone(UTC)):
            yield found.astimezone(now.tzinfo)
        return
    plain = ";".join(part for part in value.split(";") if not part.startswith("UNTIL="))
    for found in rrulestr(plain, dtstart=first.replace(tzinfo=None)):
        yield on_the_clock(found.date(), found.time(), now)


def _first_kept(value: str, first: datetime | date, exdates: list[datetime | date], now: datetime) -> datetime | date:
    left_out = set(exdates)
    for occurrence in _occurrences(value, first, now):
        if occurrence not in left_out:
            return occurrence
    raise ValueError("all of it is left out")


def _before(one: datetime | date, other: datetime | date) -> bool:
    if isinstance(one, datetime) and isinstance(other, datetime):
        return one.astimezone(UTC) < other.astimezone(UTC)
    return not isinstance(one, datetime) and not isinstance(other, datetime) and one < other


def daily_without(rule: Rule, weekdays: set[int]) -> None:
    """Leave weekdays out of a daily rule, which is then a rule of the others.

    Raises:
        ValueError: it is no daily rule.
    """
    if rule.unit != DAY or rule.interval != 1:
        raise ValueError("weekdays can be left out of a daily recurrence only")
    rule.weekdays = [(0, weekday) for weekday in range(7) if weekday not in weekdays]
    if not rule.weekdays:
        raise ValueError("all of it is left out")
