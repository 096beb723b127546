"""Where a text says when: the readings that start at a word, the longest of them first.

A reading ends at white space or at a sign that ends a phrase, so that no number, link or word is cut into a date.
What is understood but does not exist, or may mean two things, is a reading with a problem. Knows no reminders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from frontmind.errors import UsageError
from frontmind.reminders.phrases import vocabulary
from frontmind.reminders.phrases.clocks import Clock, in_part, read_clock
from frontmind.reminders.phrases.day import Day, Doubtful
from frontmind.reminders.phrases.days import read_day
from frontmind.reminders.phrases.moments import moment_of
from frontmind.reminders.phrases.recurrences import read_recurrence
from frontmind.reminders.phrases.rules import ELAPSING, Recurrence, resolve
from frontmind.reminders.phrases.tokens import Cursor, Token, count, digits, tokenize
from frontmind.reminders.phrases.vocabulary import (
    DAY_PARTS,
    HOUR,
    MINUTE,
    MONTHS,
    SENTENCE_FOLLOWING,
    SENTENCE_LEADING,
    UNITS,
)

LONGEST_PHRASE = 4000
_LAST_SECOND = Clock(23, 59, 59)
_LARGEST = timedelta(days=366 * 100)
_CURRENCIES = frozenset("$€£¥₹#")
_BEFORE = frozenset("(\"'[,:;-–—“‘")
_AFTER = frozenset(")\"'],:;.!?-–—”’…")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one place of a text says of time.

    Attributes:
        text: the words that were read.
        start, end: where they stand in the whole text.
        due: the moment, or a date when no time of day was said; None when there is a problem.
        rrule, exdates: of a recurrence, whose first occurrence ``due`` is.
        problem: that there is no such time, or which two it may mean, as a predicate.
    """

    text: str
    start: int
    end: int
    due: datetime | date | None
    rrule: str = ""
    exdates: tuple[datetime | date, ...] = ()
    problem: str = ""


_Meaning: TypeAlias = Callable[[], Recurrence]
"""What was read, worked out only when it is wanted: of a recurrence that takes longer than reading it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words that say when, and what they mean.

    Attributes:
        text: the words.
        start, end: where they stand in the whole text.
    """

    text: str
    start: int
    end: int
    meaning: _Meaning

    def read(self) -> Reading:
        """What the words say."""
        try:
            found = self.meaning()
        except Doubtful as error:
            return Reading(self.text, self.start, self.end, None, problem=f"may mean {error}")
        except (ValueError, OverflowError) as error:
            return Reading(self.text, self.start, self.end, None, problem=f"is not a time that exists ({error})")
        return Reading(self.text, self.start, self.end, found.first, found.rrule, found.exdates)


def _single(due: datetime | date) -> _Meaning:
    return lambda: Recurrence(due, "")


def _failing(error: ValueError | OverflowError) -> _Meaning:
    def fail() -> Recurrence:
        raise error

    return fail


def _recurring(cursor: Cursor) -> _Meaning | None:
    rule = read_recurrence(cursor)
    return None if rule is None else lambda: resolve(rule, cursor.now)


def _day_and_clock(cursor: Cursor) -> _Meaning | None:
    day = _day(cursor)
    if day is None:
        return None
    start = cursor.at
    part = _day_part(cursor)
    cursor.take(",", "-", "t", "for")
    clock = read_clock(cursor, loose=True)
    if clock is None:
        cursor.at = start
        part = _day_part(cursor)
        clock = in_part(None, part) if part else None
    elif part:
        clock = in_part(clock, part)
    return _single(moment_of(day, clock, cursor.now))


def _clock_and_day(cursor: Cursor) -> _Meaning | None:
    cursor.take("in")
    clock = cursor.attempt(read_clock)
    if clock is None:
        return None
    start = cursor.at
    cursor.take(",", "-")
    day = _day(cursor)
    if day is None:
        cursor.at = start
        return None
    part = _day_part(cursor)
    return _single(moment_of(day, in_part(clock, part) if part else clock, cursor.now))


def _day(cursor: Cursor) -> Day | None:
    """A day; "around tomorrow" is tomorrow."""
    cursor.take("around", "about")
    return cursor.attempt(read_day)


def _day_part(cursor: Cursor) -> str:
    start = cursor.at
    cursor.take("early", "late")
    part = cursor.take(*DAY_PARTS)
    if not part:
        cursor.at = start
    return part


def _this_part(cursor: Cursor) -> _Meaning | None:
    """ "tonight", "this evening at 7", "10, tonight", "at 8 this evening"."""
    clock = cursor.attempt(read_clock, _bare_hour)
    if clock is not None:
        cursor.take(",")
    if cursor.take("tonight"):
        part = "night"
    elif not cursor.take("this") or not (part := cursor.take(*DAY_PARTS)):
        return None
    if clock is None:
        start = cursor.at
        cursor.take(",")
        clock = cursor.attempt(lambda inner: read_clock(inner, loose=True))
        if clock is None:
            cursor.at = start
    return _single(moment_of(Day(cursor.today), in_part(clock, part), cursor.now))


def _bare_hour(cursor: Cursor) -> Clock | None:
    hour = digits(cursor, 1, 2)
    return Clock(hour, certain=False) if hour is not None and 1 <= hour <= 12 else None


def _clock(cursor: Cursor) -> _Meaning | None:
    clock = read_clock(cursor)
    return None if clock is None else _single(moment_of(None, clock, cursor.now))


def _end_of_day(cursor: Cursor) -> _Meaning | None:
    cursor.take("at", "by")
    cursor.take("the")
    if not cursor.take_all("end of"):
        return None
    cursor.take("the")
    if cursor.peek(1).text in ("week", "month", "year"):
        return None
    day = Day(cursor.today) if cursor.take("day") else cursor.attempt(read_day)
    return None if day is None else _single(moment_of(day, _LAST_SECOND, cursor.now))


def _now(cursor: Cursor) -> _Meaning | None:
    phrases = ("right now", "now", "at the moment", "at the minute", "at present", "at this time")
    if not cursor.take_any(phrases) or cursor.peek().text in ("of", "tomorrow", "on", "next"):
        return None
    return _single(cursor.now.replace(microsecond=0))


def _elapsing(cursor: Cursor) -> _Meaning | None:
    """ "in 20 minutes", "half an hour from now", "30 min later", "in 1 hour and 15 minutes"."""
    within = cursor.take("in")
    amount = _elapsing_amount(cursor)
    if amount is None:
        return None
    if not within and not cursor.take("later", "hence") and not cursor.take_all("from now"):
        if not cursor.take("ago"):
            return None
        amount = -amount
    if abs(amount) > _LARGEST:
        raise ValueError("it is more than a hundred years away")
    return _single((cursor.now.astimezone(UTC) + amount).astimezone(cursor.now.tzinfo))


def _elapsing_amount(cursor: Cursor) -> timedelta | None:
    if cursor.take_any(("half an hour", "half hour", "a half hour")):
        return timedelta(minutes=30)
    if cursor.take_all("a quarter of an hour"):
        return timedelta(minutes=15)
    total: dict[str, timedelta] = {}
    while True:
        start = cursor.at
        if total:
            cursor.take("and", ",")
            if HOUR in total and len(total) == 1 and cursor.take_all("a half"):
                total[MINUTE] = timedelta(minutes=30)
                continue
        amount = cursor.attempt(count)
        unit = cursor.take_from(UNITS) if amount is not None else None
        if amount is None or unit is None or unit[0] not in ELAPSING or unit[0] in total:
            cursor.at = start
            return sum(total.values(), timedelta()) if total else None
        total[unit[0]] = amount * ELAPSING[unit[0]]


_READERS: tuple[Callable[[Cursor], _Meaning | None], ...] = (
    _recurring,
    _elapsing,
    _end_of_day,
    _this_part,
    _clock_and_day,
    _day_and_clock,
    _now,
    _clock,
)
_STARTS = frozenset(
    word.split()[0]
    for table in (
        *(value for value in vars(vocabulary).values() if isinstance(value, dict)),
        ("at in on the a an every each any once one semi start begin beginning end now right tonight today tomorrow",),
        ("yesterday noon midday midnight around about circa this next last previous following coming upcoming",),
        ("half quarter starting from early late weekend weekends weekday weekdays day sometime black easter couple @",),
    )
    for entry in table
    if isinstance(entry, str)
    for word in entry.split()
)


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens to read at.

    Raises:
        UsageError: the text is too long for a reminder.
    """
    if len(text) > LONGEST_PHRASE:
        raise UsageError(f"this is too long for a reminder; write at most {LONGEST_PHRASE} characters")
    return tokenize(text)


def longest_at(text: str, tokens: tuple[Token, ...], place: int, now: datetime) -> Span | None:
    """The longest span that starts with this token."""
    return max(spans_at(text, tokens, place, now), key=lambda span: span.end, default=None)


def spans_at(text: str, tokens: tuple[Token, ...], place: int, now: datetime) -> list[Span]:
    """Every span that starts with this token, at most one of a kind."""
    token = tokens[place]
    if (token.number is None and token.text not in _STARTS) or not _may_start(tokens, place):
        return []
    found = []
    for reader in _READERS:
        cursor = Cursor(tokens, now, place)
        try:
            meaning = reader(cursor)
        except (ValueError, OverflowError) as error:
            meaning = _failing(error)
        if meaning is not None and _may_end(tokens, cursor.at):
            start, end = token.start, tokens[cursor.at - 1].end
            found.append(Span(text[start:end], start, end, meaning))
    return found


def _may_start(tokens: tuple[Token, ...], place: int) -> bool:
    if place == 0:
        return True
    before = tokens[place - 1]
    if before.text in _CURRENCIES:
        return False
    if tokens[place].spaced:
        return True
    return before.text in _BEFORE and (before.spaced or before.text in ":,(")


def _may_end(tokens: tuple[Token, ...], place: int) -> bool:
    while place < len(tokens) and not tokens[place].spaced:
        if tokens[place].text not in _AFTER:
            return False
        place += 1
    return True


def read_when(phrase: str, now: datetime) -> Reading:
    """The first time that a text says, wherever it stands; it may have passed.

    Args:
        now: aware; its zone is the person's.

    Raises:
        UsageError: no time is understood, it does not exist, or it may be one of two.
    """
    tokens = tokens_of(phrase)
    for place in range(len(tokens)):
        span = longest_at(phrase, tokens, place, now)
        if span is not None:
            _refuse_part(phrase, tokens, place, span, now)
            reading = span.read()
            if reading.problem:
                raise UsageError(f"{reading.text!r} {reading.problem}; name another one")
            return reading
    raise UsageError("no time is understood; write for example: tomorrow at 9am")


def _refuse_part(phrase: str, tokens: tuple[Token, ...], place: int, span: Span, now: datetime) -> None:
    """A span is not taken out of a range, a list or a longer time that is not understood as a whole."""
    end = next((index for index in range(place, len(tokens)) if tokens[index].start >= span.end), len(tokens))
    before = tokens[place - 1].text if place > 0 else ""
    if before == "." and place > 1 and tokens[place - 2].text in MONTHS:
        before = tokens[place - 2].text
    end += end < len(tokens) and tokens[end].text == ","
    joined = before in SENTENCE_LEADING or (end < len(tokens) and tokens[end].text in SENTENCE_FOLLOWING)
    if joined or (end < len(tokens) and longest_at(phrase, tokens, end, now) is not None):
        raise UsageError(f"{span.text!r} is only a part of a time; write for example: tomorrow at 9am")
