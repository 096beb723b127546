"""Reads "call Anna tomorrow at 9am": when, and what remains of the text.

A small and strict grammar of English phrases and ISO 8601. What it does not understand it says, and never
guesses. Times of day are local to the moment that is passed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from frontmind.errors import UsageError

FORMS = (
    "in 20 minutes, at 17:30, at 9am, today at 18:00, tomorrow, tomorrow at 9am, on friday, on friday at 9am, "
    "on 2026-12-24, 2026-12-24 18:00"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HALF = r"[ap](?:m|\.m\.)"
_CLOCK = rf"(?P<hour>\d{{1,2}})(?::(?P<minute>\d{{2}}))?\s*(?P<half>{_HALF})?"
_STRICT_CLOCK = (
    rf"(?:(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})\s*(?P<half>{_HALF})?|(?P<hour12>\d{{1,2}})\s*(?P<half12>{_HALF}))"
)
_DAY = (
    r"(?:(?P<near>today|tomorrow)|(?:on\s+|next\s+)?(?P<weekday>" + "|".join(_WEEKDAYS) + r")"
    r"|(?:on\s+)?(?P<date>\d{4}-\d{2}-\d{2}))"
)
_PATTERNS: tuple[str, ...] = (
    rf"at\s+{_CLOCK}\s+{_DAY}",
    r"in\s+(?P<count>\d{1,5}|an?|one)\s+(?P<unit>minute|min|hour|day|week)s?",
    rf"{_DAY}(?:\s+at\s+|\s+|T){_STRICT_CLOCK}",
    rf"{_DAY}\s+at\s+{_CLOCK}",
    _DAY,
    rf"at\s+{_CLOCK}",
)
# ASCII: without it "mınutes" with a dotless i is a unit, and digits of any script are a time.
_FLAGS = re.IGNORECASE | re.ASCII
# A sign before a digit is not the end of the phrase: "at 9.30" and "18:00:30" are no times of this grammar.
_AT_START = tuple(re.compile(rf"(?:{pattern})(?=\s|[,:.!?](?!\d)|$)", _FLAGS) for pattern in _PATTERNS)
_AT_END = tuple(re.compile(rf"(?:^|(?<=\s))(?:{pattern})\s*[.!]?$", _FLAGS) for pattern in _PATTERNS)
# What is a time as well, anywhere in the rest of the text: which of the two is meant is asked, not guessed.
_FURTHER = re.compile(
    rf"\b(?:at\s+(?:\d{{1,2}}(?!\d)|noon|midnight)|tomorrow|(?:on|next)\s+(?:{'|'.join(_WEEKDAYS)})"
    r"|\d{4}-\d{2}-\d{2}|in\s+(?:\d+|an?|one)\s+(?:minute|min|hour|day|week|month|year)s?"
    r"|in\s+the\s+(?:morning|afternoon|evening)|every\s+\w+)",
    _FLAGS,
)
_FILLER = re.compile(r"^(?:me\s+)?(?:(?:to|that|about)\s+)?", re.IGNORECASE)
_EXAMPLE = "call Anna tomorrow at 9am"
_LARGEST = timedelta(days=366 * 100)


@dataclass(frozen=True, slots=True)
class ReminderPhrase:
    """What was understood: the text without the phrase, and a moment, or a date when no time was given."""

    text: str
    due: datetime | date


def parse_reminder(phrase: str, now: datetime) -> ReminderPhrase:
    """Read a phrase with its time at the start or at the end.

    Args:
        now: aware; its zone is the user's.

    Raises:
        UsageError: no time is understood, the time has passed, or no text is left.
    """
    stripped = _FILLER.sub("", " ".join(phrase.split()), count=1)
    if not stripped:
        raise UsageError(f"what should be remembered, and when? Write for example: /remind {_EXAMPLE}")
    for pattern in _AT_START:
        if found := pattern.match(stripped):
            return _checked(stripped[found.end() :], found, now)
    for pattern in _AT_END:
        if found := pattern.search(stripped):
            return _checked(stripped[: found.start()], found, now)
    raise UsageError(
        f"no time is understood in {phrase.strip()!r}; put what and when, for example: /remind {_EXAMPLE} "
        f"(times: {FORMS})"
    )


def _remainder(text: str) -> str:
    return _FILLER.sub("", text.lstrip(" ,:.!?").rstrip(" ,:."), count=1).strip()


def _checked(rest: str, found: re.Match[str], now: datetime) -> ReminderPhrase:
    text = _remainder(rest)
    if not text:
        raise UsageError(f"what should be remembered {found[0].strip()}? Write for example: /remind {_EXAMPLE}")
    if further := _FURTHER.search(text):
        raise UsageError(
            f"{found[0].strip()!r} and {further[0]!r} are two times; write it once, at the start or at the end, "
            f"for example: /remind {_EXAMPLE}"
        )
    try:
        due = _due(found, now)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{found[0].strip()!r} is not a time that exists ({error})") from error
    past = not _is_later(due, now) if isinstance(due, datetime) else due < now.date()
    if past:
        raise UsageError(f"{found[0].strip()!r} has passed already; name a later time")
    return ReminderPhrase(text, due)


def _due(found: re.Match[str], now: datetime) -> datetime | date:
    groups = found.groupdict()
    if groups.get("count"):
        return _after(groups["count"].lower(), groups["unit"].lower(), now)
    clock = _clock(groups)
    if not any(groups.get(key) for key in ("near", "weekday", "date")):
        if clock is None:
            raise ValueError("it has no time of day")
        return _next(clock, now)
    day = _day(groups, now, clock)
    return day if clock is None else _moment(day, clock, now)


def _moment(day: date, clock: time, now: datetime) -> datetime:
    """That time on that day. Where clocks are set back it comes twice: the first that is still to come.

    Where clocks are set forward it does not exist: the moment after as much time as it would have taken.
    """
    moment = datetime.combine(day, clock, now.tzinfo)
    if not _is_later(moment, now):
        moment = moment.replace(fold=1)
    return moment.astimezone(UTC).astimezone(now.tzinfo)


def _is_later(moment: datetime, now: datetime) -> bool:
    # In UTC: Python compares two moments of one zone by their wall clocks.
    return moment.astimezone(UTC) > now.astimezone(UTC)


_UNITS: dict[str, Callable[[int], timedelta]] = {
    "minute": lambda count: timedelta(minutes=count),
    "min": lambda count: timedelta(minutes=count),
    "hour": lambda count: timedelta(hours=count),
    "day": lambda count: timedelta(days=count),
    "week": lambda count: timedelta(weeks=count),
}


def _after(count: str, unit: str, now: datetime) -> datetime:
    amount = _UNITS[unit](int(count) if count.isdigit() else 1)
    if amount > _LARGEST:
        raise ValueError("it is more than a hundred years away")
    if unit in ("day", "week"):
        # Days are counted on the wall clock: the same time of day, also across a change of daylight saving.
        return (now + amount).astimezone(UTC).astimezone(now.tzinfo)
    return (now.astimezone(UTC) + amount).astimezone(now.tzinfo)


def _clock(groups: dict[str, str | None]) -> time | None:
    hour_text = groups.get("hour") or groups.get("hour12")
    if hour_text is None:
        return None
    hour, minute = int(hour_text), int(groups.get("minute") or 0)
    half = groups.get("half") or groups.get("half12")
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("with am or pm the hour is 1 to 12")
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return time(hour, minute)


def _day(groups: dict[str, str | None], now: datetime, clock: time | None) -> date:
    today = now.date()
    if groups.get("date"):
        return date.fromisoformat(str(groups["date"]))
    near = groups.get("near")
    if near:
        return today if near.lower() == "today" else today + timedelta(days=1)
    distance = (_WEEKDAYS.index(str(groups["weekday"]).lower()) - today.weekday()) % 7
    day = today + timedelta(days=distance)
    # "on friday" said on a friday is today while that time is still to come, otherwise in a week.
    passed = clock is None or not _is_later(_moment(day, clock, now), now)
    return day + timedelta(days=7) if distance == 0 and passed else day


def _next(clock: time, now: datetime) -> datetime:
    due = _moment(now.date(), clock, now)
    return due if _is_later(due, now) else _moment(now.date() + timedelta(days=1), clock, now)
