"""Times of day: "9am", "17:30", "half past seven", "noon", "at 7 in the evening". Knows no days."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import time as time_of_day

from frontmind.reminders.phrases.tokens import Cursor, digits, number_word
from frontmind.reminders.phrases.vocabulary import DAY_PARTS, UNITS

_EARLIEST_MORNING_HOUR = 7
_IN_DIGITS, _IN_WORDS = (20, 25), (5, 10, 20, 25)
_ABOUT = ("around", "about", "circa")


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as it was said.

    Attributes:
        hour: on the 24-hour clock, or the hour that was said when ``certain`` is false.
        certain: morning or afternoon was said, or the writing leaves no doubt ("17:30", "09:15").
        next_day: it belongs to the night after the day that it is said with ("tonight at 1am").
        midnight: it was called midnight: of a day, the start or the end may be meant.
        problem: why no clock shows it; empty when one does.
    """

    hour: int
    minute: int = 0
    second: int = 0
    certain: bool = True
    next_day: bool = False
    midnight: bool = False
    problem: str = ""

    @property
    def time(self) -> time_of_day:
        """The time of day. Hours from 1 to 6 that are not called morning are in the afternoon.

        Raises:
            ValueError: no clock shows it.
        """
        if self.problem:
            raise ValueError(self.problem)
        afternoon = not self.certain and 1 <= self.hour < _EARLIEST_MORNING_HOUR
        return time_of_day(self.hour + 12 if afternoon else self.hour, self.minute, self.second)

    @property
    def later(self) -> time_of_day | None:
        """The other time of day that it may mean, twelve hours later than `time`."""
        if self.certain or self.problem or self.time.hour >= 12:
            return None
        return self.time.replace(hour=self.time.hour + 12)


def read_clock(cursor: Cursor, *, loose: bool = False) -> Clock | None:
    """A time of day with its "at" and its part of the day.

    Args:
        loose: a bare number counts as an hour, which otherwise only does after "at".
    """
    first = _part(cursor)
    if first:
        cursor.take(",")
    introduced = _introduced(cursor)
    start = cursor.at
    value = _spoken(cursor, loose or introduced or bool(first), introduced or bool(first))
    if value is None:
        if introduced or not first:
            return None
        cursor.at = start
        return in_part(None, first)
    part = first or _part(cursor)
    return in_part(value, part) if part else value


def in_part(clock: Clock | None, part: str) -> Clock:
    """That time in that part of the day; without a time, the part's usual one."""
    if clock is None:
        return Clock(DAY_PARTS[part])
    hour = clock.hour
    if clock.problem or clock.midnight:
        return clock
    if part == "morning":
        fits, value = hour < 12 or not clock.certain, hour % 12 if hour == 12 else hour
    elif part == "night" and (hour <= 5 or hour == 12):
        return replace(clock, hour=hour % 12, certain=True, next_day=True)
    else:
        fits, value = hour >= 12 or not clock.certain, hour if hour >= 12 else hour + 12
    if not fits:
        return replace(clock, problem=f"{clock.time:%H:%M} is not in the {part}")
    return replace(clock, hour=value, certain=True)


def _introduced(cursor: Cursor) -> bool:
    taken = [cursor.take(*_ABOUT), cursor.take("at", "@"), cursor.take(*_ABOUT)]
    return any(taken)


def _part(cursor: Cursor) -> str:
    start = cursor.at
    cursor.take("early", "late")
    if cursor.take("in"):
        cursor.take("the")
        cursor.take("early", "late")
        if part := cursor.take("morning", "afternoon", "evening", "night"):
            return part
    elif cursor.take_all("at night"):
        return "night"
    elif cursor.at > start and (part := cursor.take("morning", "afternoon", "evening", "night")):
        return part
    cursor.at = start
    return ""


def _spoken(cursor: Cursor, loose: bool, introduced: bool) -> Clock | None:
    if cursor.take("noon", "midday"):
        return Clock(12)
    if cursor.take("midnight"):
        return Clock(0, midnight=True)
    exact = cursor.attempt(
        lambda inner: _past_or_to(inner, introduced), lambda inner: _digital(inner, introduced), _hour_and_half, _oclock
    )
    if exact is not None:
        return exact
    worded = cursor.attempt(_in_words) if loose else None
    return worded if worded is not None or not introduced else cursor.attempt(_bare)


def _past_or_to(cursor: Cursor, introduced: bool) -> Clock | None:
    """ "half past seven", "20 min past eight", "a quarter to nine o'clock"."""
    cursor.take("a")
    named, written = False, cursor.peek()
    if cursor.take("half"):
        named = True
        minutes: int | None = 30
    elif cursor.take("quarter"):
        named = True
        minutes = 15
    else:
        minutes = cursor.attempt(digits, number_word)
        named = bool(cursor.take("minutes", "minute", "mins", "min")) or named
    side = cursor.take("past", "after", "to", "before") if minutes is not None else ""
    if not side or minutes is None or not 1 <= minutes <= 59:
        return None
    # "Two to four people" are no two minutes to four, and "at 9 to 10" may be a range.
    usual = introduced and minutes in (_IN_DIGITS if written.number is not None else _IN_WORDS)
    if side != "past" and not named and not usual:
        return None
    hour = cursor.attempt(digits, number_word)
    if hour is None or hour > 23:
        return None
    cursor.take("oclock")
    half = _half(cursor)
    if side in ("to", "before"):
        hour, minutes = hour - 1 if hour > 1 else hour + 11, 60 - minutes
    return _with_half(hour, minutes, 0, half, certain=hour > 12)


def _digital(cursor: Cursor, introduced: bool) -> Clock | None:
    """ "17:30", "7:56:30 am", "8.30pm"."""
    written = cursor.peek().text
    hour = digits(cursor, 1, 2)
    separator = cursor.take(":", ".") if cursor.glued() else ""
    if hour is None or not separator or not cursor.glued():
        return None
    minute, second = digits(cursor, 2, 2), 0
    if minute is None:
        return None
    if cursor.glued() and cursor.peek().text == separator == ":" and cursor.glued(1):
        cursor.at += 1
        read = digits(cursor, 2, 2)
        if read is None:
            return None
        second = read
    half = _half(cursor)
    # "Version 5.12" is no time of day.
    if separator == "." and not half and not introduced:
        return None
    return _with_half(hour, minute, second, half, certain=written.startswith("0") or not 1 <= hour <= 12)


def _hour_and_half(cursor: Cursor) -> Clock | None:
    """ "9am", "7 p", "one thirty p m"."""
    hour = cursor.attempt(lambda inner: digits(inner, 1, 2), number_word)
    if hour is None:
        return None
    minute = cursor.attempt(lambda inner: _two_words(inner) if cursor.peek(-1).number is None else None)
    half = _half(cursor)
    return _with_half(hour, minute or 0, 0, half) if half else None


def _oclock(cursor: Cursor) -> Clock | None:
    hour = cursor.attempt(lambda inner: digits(inner, 1, 2), number_word)
    if hour is None or not cursor.take("oclock"):
        return None
    half = _half(cursor)
    return _with_half(hour, 0, 0, half, certain=hour > 12)


def _in_words(cursor: Cursor) -> Clock | None:
    """ "nine thirty", "seven twenty-seven"."""
    hour = number_word(cursor)
    if hour is None or not 1 <= hour <= 12:
        return None
    cursor.take("-")
    minute = _two_words(cursor)
    if minute is None:
        return None
    cursor.take("minutes")
    return Clock(hour, minute, certain=False)


def _two_words(cursor: Cursor) -> int | None:
    value = number_word(cursor)
    return value if value is not None and 10 <= value <= 59 else None


def _bare(cursor: Cursor) -> Clock | None:
    written = cursor.peek().text
    hour = cursor.attempt(lambda inner: digits(inner, 1, 2), number_word)
    # "About 30 minutes" is no hour.
    if hour is None or cursor.peek().text in UNITS:
        return None
    return _with_half(hour, 0, 0, "", certain=written.startswith("0") or not 1 <= hour <= 12)


def _half(cursor: Cursor) -> str:
    """ "am" or "pm", also as "a" or "p" behind a number, and "p m"."""
    if half := cursor.take("am", "pm"):
        return half
    if cursor.peek().text in ("a", "p") and cursor.peek(1).text == "m":
        cursor.at += 2
        return f"{cursor.peek(-2).text}m"
    if cursor.glued() and (letter := cursor.take("a", "p")):
        return f"{letter}m"
    return ""


def _with_half(hour: int, minute: int, second: int, half: str, *, certain: bool = True) -> Clock:
    problem = ""
    if half:
        if 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "pm" else 0)
        else:
            problem = "with am or pm the hour is 1 to 12"
        certain = True
    if not problem:
        try:
            time_of_day(hour, minute, second)
        except ValueError as error:
            problem = str(error)
    # Twelve without am or pm is noon: midnight is called so, or written 00:00.
    return Clock(hour, minute, second, certain or hour == 12, problem=problem)
