"""The rule of a recurring reminder: an RFC 5545 RRULE, read strictly, and its times on a wall clock.

python-dateutil computes the occurrences. This module decides which rules are taken and where counting begins, so that
no rule takes long, however old or senseless it is. It knows no zones, reminders, stores or clocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Literal, TypeAlias

from dateutil.rrule import rrule, weekdays

from frontmind.errors import UsageError

Slot: TypeAlias = datetime | date
"""A time of a reminder: an aware moment, or a date that stays one."""

_Number: TypeAlias = Literal[0, 1, 2, 3, 4]
_EXAMPLE = "FREQ=WEEKLY;BYDAY=MO,TH"
_FREQUENCIES: Mapping[str, _Number] = {"YEARLY": 0, "MONTHLY": 1, "WEEKLY": 2, "DAILY": 3, "HOURLY": 4}
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# The name in the rule: the name in dateutil, the least and largest value, whether it counts from the end as well, and
# how many values it may have. A reminder comes every quarter of an hour at most.
_LISTS: Mapping[str, tuple[str, int, int, bool, int]] = {
    "BYMONTH": ("bymonth", 1, 12, False, 12),
    "BYWEEKNO": ("byweekno", 1, 53, True, 106),
    "BYYEARDAY": ("byyearday", 1, 366, True, 732),
    "BYMONTHDAY": ("bymonthday", 1, 31, True, 62),
    "BYHOUR": ("byhour", 0, 23, False, 24),
    "BYMINUTE": ("byminute", 0, 59, False, 4),
    "BYSECOND": ("bysecond", 0, 59, False, 1),
    "BYSETPOS": ("bysetpos", 1, 366, True, 732),
}
# RFC 5545, section 3.3.10: parts that mean nothing with a frequency. BYSETPOS is left out where a period has at most
# a few times: dateutil would look for one that does not come hour by hour through the centuries.
_MEANINGLESS: Mapping[str, frozenset[str]] = {
    "BYWEEKNO": frozenset(("MONTHLY", "WEEKLY", "DAILY", "HOURLY")),
    "BYYEARDAY": frozenset(("MONTHLY", "WEEKLY", "DAILY")),
    "BYMONTHDAY": frozenset(("WEEKLY",)),
    "BYSETPOS": frozenset(("DAILY", "HOURLY")),
}
_TIMES_OF_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
_LONGEST = 1_000
_LARGEST_INTERVAL = 1_000
# Counted from the first occurrence each time: 10,000 take some 30 ms.
_LARGEST_COUNT = 10_000
# Where a month is searched for a later weekday, dateutil leaves its tables.
_MOST_WEEKS_OF_MONTH = 5
_DAY = re.compile(r"(?:([+-]?)([1-9]\d?))?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z?))?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,6}", re.ASCII)
# The Gregorian calendar repeats, weekdays included, after so many years and days.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
# dateutil looks for an occurrence up to the year 9999. Moved close to it, a rule that has none ends soon.
_LATE_YEAR = 9_900
# The most by which a zone has moved its wall clock: Samoa, Kwajalein and others left out or repeated a day.
SLACK = timedelta(days=2)


@lru_cache(maxsize=1_000)
def canonical_rule(text: str) -> str:
    """The rule in its one form: upper case, FREQ first, the other parts by name, values in order, defaults left out.

    Raises:
        UsageError: it is no RRULE, or one that is not taken: oftener than every 15 minutes, or unbounded in size.
    """
    parts = _parts(text)
    frequency = parts.pop("FREQ", "")
    if frequency not in _FREQUENCIES:
        if frequency in ("SECONDLY", "MINUTELY"):
            raise UsageError(f"a reminder cannot come that often (FREQ={frequency}); use FREQ=HOURLY or a rarer one")
        raise UsageError(f"the rule {text[:80]!r} has no known FREQ; write it such as {_EXAMPLE}")
    canonical = {name: _canonical_value(name, value, frequency) for name, value in parts.items()}
    if "COUNT" in canonical and "UNTIL" in canonical:
        raise UsageError("a rule has COUNT or UNTIL, not both; leave one of them out")
    if "BYSETPOS" in canonical and not any(name.startswith("BY") and name != "BYSETPOS" for name in canonical):
        raise UsageError("BYSETPOS chooses among other BY parts, and there is none; add one, such as BYDAY=MO")
    if "BYWEEKNO" in canonical and re.search(r"\d", canonical.get("BYDAY", "")):
        raise UsageError("BYDAY with a number means nothing beside BYWEEKNO; leave the number out")
    if frequency == "MONTHLY" or "BYMONTH" in canonical:
        _check_weeks_of_month(canonical.get("BYDAY", ""))
    kept = sorted((name, value) for name, value in canonical.items() if (name, value) not in _DEFAULTS)
    return ";".join(f"{name}={value}" for name, value in [("FREQ", frequency), *kept])


_DEFAULTS = (("INTERVAL", "1"), ("WKST", "MO"))


def _parts(text: str) -> dict[str, str]:
    stripped = text.strip().rstrip(";")
    if len(stripped) > _LONGEST:
        raise UsageError(f"the rule has {len(stripped):,} characters; {_LONGEST:,} are the most")
    if stripped.upper().startswith("RRULE:"):
        stripped = stripped[len("RRULE:") :]
    parts: dict[str, str] = {}
    for part in stripped.split(";"):
        name, equals, value = (piece.strip().upper() for piece in part.partition("="))
        if not equals or not value:
            raise UsageError(f"cannot read the rule {text[:80]!r}; write it such as {_EXAMPLE}")
        if name in parts:
            raise UsageError(f"the rule has {name} twice; write it once, with all its values")
        parts[name] = value
    return parts


def _canonical_value(name: str, value: str, frequency: str) -> str:
    if frequency in _MEANINGLESS.get(name, ()):
        raise UsageError(f"{name} means nothing with FREQ={frequency}; leave it out, or use another FREQ")
    if name == "INTERVAL":
        return str(_integer(name, value, 1, _LARGEST_INTERVAL))
    if name == "COUNT":
        return str(_integer(name, value, 1, _LARGEST_COUNT))
    if name == "WKST" and value in _DAYS:
        return value
    if name == "UNTIL" and _UNTIL.fullmatch(value):
        return value
    if name == "BYDAY":
        return _canonical_days(value, frequency)
    if name in _LISTS:
        _, least, largest, backwards, most = _LISTS[name]
        numbers = sorted({_integer(name, item, least, largest, backwards=backwards) for item in value.split(",")})
        if len(numbers) > most:
            raise UsageError(f"{name} has {len(numbers)} values, and {most} are the most; leave some out")
        return ",".join(map(str, numbers))
    raise UsageError(f"the part {f'{name}={value}'[:80]!r} of the rule is not known; write it such as {_EXAMPLE}")


def _integer(name: str, text: str, least: int, largest: int, *, backwards: bool = False) -> int:
    number = int(text) if _INTEGER.fullmatch(text) else None
    if number is None or not least <= (abs(number) if backwards else number) <= largest:
        below = f" or -{largest} to -{least}" if backwards else ""
        raise UsageError(f"{name}={text[:40]} is out of range; use {least} to {largest:,}{below}")
    return number


def _canonical_days(value: str, frequency: str) -> str:
    days: set[tuple[int, int]] = set()
    for item in value.split(","):
        found = _DAY.fullmatch(item)
        if found is None or int(found[2] or 0) > 53:
            raise UsageError(f"BYDAY={item[:40]} is no weekday; use MO, TU, WE, TH, FR, SA, SU, or such as 1MO or -1FR")
        if found[2] and frequency not in ("MONTHLY", "YEARLY"):
            raise UsageError(f"BYDAY={item} with a number needs FREQ=MONTHLY or YEARLY; leave the number out")
        number = int(found[2] or 0)
        days.add((_DAYS.index(found[3]), -number if found[1] == "-" else number))
    return ",".join(f"{number or ''}{_DAYS[day]}" for day, number in sorted(days))


def _check_weeks_of_month(days: str) -> None:
    for item in days.split(","):
        if abs(int(item[:-2] or 0)) > _MOST_WEEKS_OF_MONTH:
            raise UsageError(f"BYDAY={item} has no occurrence in a month; use numbers up to {_MOST_WEEKS_OF_MONTH}")


def limit_of(rule: str, zone: tzinfo, *, dated: bool) -> Slot | None:
    """The last moment (in UTC) or date that its UNTIL allows; None without one.

    A date means the whole day, and a time without Z is local to ``zone``.

    Raises:
        UsageError: UNTIL is no time that exists.
    """
    text = dict(part.partition("=")[::2] for part in rule.split(";")).get("UNTIL")
    found = _UNTIL.fullmatch(text) if text is not None else None
    if found is None:
        return None
    try:
        day = date.fromisoformat(found[1])
        clock = time.fromisoformat(found[2]) if found[2] else time(23, 59, 59)
        moment = datetime.combine(day, clock, UTC if found[3] else zone)
        if dated:
            return moment.astimezone(zone).date() if found[3] else day
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"UNTIL={text} is no time that exists; write it such as UNTIL=20261224T080000Z") from error


def with_limit(rule: str, limit: Slot | None) -> str:
    """The rule with its UNTIL as RFC 5545 wants it: in UTC for moments, a date for dates."""
    if limit is None:
        return rule
    text = f"{limit:%Y%m%dT%H%M%SZ}" if isinstance(limit, datetime) else f"{limit:%Y%m%d}"
    return ";".join(f"UNTIL={text}" if part.startswith("UNTIL=") else part for part in rule.split(";"))


def has_times_of_day(rule: str) -> bool:
    """Whether the rule says something about the time of day, which a date cannot follow."""
    return rule.startswith("FREQ=HOURLY") or any(f";{name}=" in rule for name in _TIMES_OF_DAY)


def occurrences(rule: str, start: datetime, after: datetime | None = None) -> Iterator[datetime]:
    """The times of a canonical rule on a wall clock, without a zone, in order; UNTIL is not looked at.

    Counts from ``start``, wherever it begins: with ``after`` it begins at most a period and `SLACK` before that time,
    also when the rule is decades old. Covers at least the next 99 years.

    Args:
        start, after: naive.

    Raises:
        UsageError: the rule contradicts itself or its start.
    """
    arguments, count = _arguments(rule), _count(rule)
    explicit = _explicit(rule, arguments, start)
    begin = start if count is not None or after is None else _advanced(rule, start, after - SLACK)
    cycles = (_LATE_YEAR - begin.year) // _CYCLE_YEARS
    shift = timedelta(days=_CYCLE_DAYS * cycles)
    try:
        found = rrule(_frequency(rule), dtstart=begin + shift, count=count, **explicit)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"the rule {rule} has no occurrence ({error}); change it") from error
    return (wall - shift for wall in found)


def _frequency(rule: str) -> _Number:
    return _FREQUENCIES[rule.partition(";")[0].removeprefix("FREQ=")]


def _count(rule: str) -> int | None:
    found = re.search(r";COUNT=(\d+)", rule)
    return int(found[1]) if found else None


@lru_cache(maxsize=1_000)
def _arguments(rule: str) -> Mapping[str, object]:
    """The rule as dateutil takes it, but for FREQ, COUNT and UNTIL."""
    arguments: dict[str, object] = {"wkst": 0}
    for name, _, value in (part.partition("=") for part in rule.split(";")):
        if name == "INTERVAL":
            arguments["interval"] = int(value)
        elif name == "WKST":
            arguments["wkst"] = _DAYS.index(value)
        elif name == "BYDAY":
            days = [(_DAYS.index(item[-2:]), int(item[:-2] or 0)) for item in value.split(",")]
            arguments["byweekday"] = [weekdays[day](number) if number else weekdays[day] for day, number in days]
        elif name in _LISTS:
            arguments[_LISTS[name][0]] = [int(item) for item in value.split(",")]
    return arguments


def _explicit(rule: str, arguments: Mapping[str, object], start: datetime) -> dict[str, object]:
    """The arguments with what the rule leaves to its start said aloud, so that counting may begin elsewhere."""
    said = dict(arguments)
    frequency = _frequency(rule)
    if not said.keys() & {"byweekno", "byyearday", "bymonthday", "byweekday"}:
        if frequency == _FREQUENCIES["YEARLY"]:
            said.setdefault("bymonth", [start.month])
        if frequency <= _FREQUENCIES["MONTHLY"]:
            said["bymonthday"] = [start.day]
        elif frequency == _FREQUENCIES["WEEKLY"]:
            said["byweekday"] = [start.weekday()]
    if frequency < _FREQUENCIES["HOURLY"]:
        said.setdefault("byhour", [start.hour])
    said.setdefault("byminute", [start.minute])
    said.setdefault("bysecond", [start.second])
    return said


def _advanced(rule: str, start: datetime, target: datetime) -> datetime:
    """The beginning of the newest period of the rule that began before ``target``; ``start`` where that is its first.

    With an interval, periods are counted from the one of ``start``.
    """
    arguments = _arguments(rule)
    interval = arguments.get("interval", 1)
    week_start = arguments["wkst"]
    assert isinstance(interval, int)
    assert isinstance(week_start, int)
    midnight = datetime.combine(start, time.min)
    frequency = _frequency(rule)
    if frequency == _FREQUENCIES["YEARLY"]:
        periods = (target.year - start.year) // interval
        advanced = datetime(max(1, start.year + periods * interval), 1, 1)  # noqa: DTZ001 - a wall clock
    elif frequency == _FREQUENCIES["MONTHLY"]:
        periods = ((target.year - start.year) * 12 + target.month - start.month) // interval
        years, month = divmod(start.month - 1 + max(0, periods) * interval, 12)
        advanced = datetime(start.year + years, month + 1, 1)  # noqa: DTZ001 - a wall clock
    elif frequency == _FREQUENCIES["WEEKLY"]:
        week = midnight - timedelta(days=(start.weekday() - week_start) % 7)
        periods = (target - week) // timedelta(weeks=interval)
        advanced = week + max(0, periods) * timedelta(weeks=interval)
    elif frequency == _FREQUENCIES["DAILY"]:
        periods = (target - midnight) // timedelta(days=interval)
        advanced = midnight + max(0, periods) * timedelta(days=interval)
    else:
        hour = start.replace(minute=0, second=0, microsecond=0)
        periods = (target - hour) // timedelta(hours=interval)
        advanced = hour + max(0, periods) * timedelta(hours=interval)
    return advanced if periods > 0 else start
