"""A reminder in words: what is to be remembered, and when. What is not understood is asked back, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from frontmind.errors import UsageError
from frontmind.reminders.phrases.moments import is_later
from frontmind.reminders.phrases.reading import Span, longest_at, spans_at, tokens_of
from frontmind.reminders.phrases.tokens import Token
from frontmind.reminders.phrases.vocabulary import FOLLOWING, LEADING, PARTICLES, PREPOSITIONS
from frontmind.reminders.recurrence import canonical_rule

FORMS = (
    "in 20 minutes, at 17:30, at 9am, tonight, tomorrow, tomorrow at 9am, on friday at noon, on 24 December, "
    "2026-12-24 18:00, every weekday at 8am, every other tuesday, every month on the 1st"
)
_EXAMPLE = "call Anna tomorrow at 9am"
_FILLER = re.compile(
    r"(?:please[ ,]+)?(?:remind[ ]+me[ ,]*|me[ ]+)?(?:(?:to|that|about)(?:[ ]+|$))?", re.IGNORECASE | re.ASCII
)
_COMMAND = re.compile(r"(?:please[ ,]+)?remind[ ]+me", re.IGNORECASE | re.ASCII)
_EXPLICIT = frozenset(["at", "on", "in", "every", "each", "tomorrow", "next", "tonight", "until"])


@dataclass(frozen=True, slots=True)
class Understood:
    """A reminder that was understood.

    Attributes:
        text: what is to be remembered, without the time; empty where only a time was asked for.
        due: an aware moment in the person's zone, or a date when no time of day was given. Of a recurrence the
            first occurrence after now.
        rrule: the value of an RRULE of RFC 5545, to be read in the person's zone; empty when it comes once.
        exdates: occurrences that are left out, of the type of ``due``.
    """

    text: str
    due: datetime | date
    rrule: str = ""
    exdates: tuple[datetime | date, ...] = ()


def parse_reminder(phrase: str, now: datetime) -> Understood:
    """Read a phrase with its time at the start or at the end.

    Args:
        now: aware; its zone is the person's.

    Raises:
        UsageError: no time is understood, it has passed, comes too often, there are two, or nothing is left to be
            remembered.
    """
    written = " ".join(phrase.split())
    text = written[_FILLER.match(written).end() :]  # type: ignore[union-attr]
    if not text:
        raise UsageError(f"what should be remembered, and when? Write for example: /remind {_EXAMPLE}")
    tokens = tokens_of(text)
    found = _at_start(text, tokens, now) or _at_end(text, tokens, now)
    if found is None:
        raise UsageError(
            f"no time is understood in {_short(written)!r}; put what and when, for example: /remind {_EXAMPLE} "
            f"(times: {FORMS})"
        )
    rest = text[found.end :] if found.start == 0 else text[: found.start]
    remaining = _trimmed(rest)
    if not remaining and (command := _COMMAND.match(written)):
        remaining = command[0]
    elif not remaining:
        raise UsageError(f"what should be remembered {_short(found.text)}? Write for example: /remind {_EXAMPLE}")
    else:
        _refuse_range(found, rest)
        _refuse_further(found, remaining, now)
    return _checked(found, remaining, now)


def parse_when(text: str, now: datetime) -> Understood:
    """Read a text that is a time and nothing else, such as "tomorrow 9am" or "every monday at 8".

    Args:
        now: aware; its zone is the person's.

    Raises:
        UsageError: it is not understood as a whole, has passed, or comes too often.
    """
    written = " ".join(text.split()).rstrip(".!? ")
    tokens = tokens_of(written)
    for span in spans_at(written, tokens, 0, now) if tokens else ():
        if span.end == len(written):
            return _checked(span, "", now)
    raise UsageError(f"no time is understood in {_short(written)!r}; write for example: tomorrow at 9am")


def _at_start(text: str, tokens: tuple[Token, ...], now: datetime) -> Span | None:
    return longest_at(text, tokens, 0, now) if tokens else None


def _at_end(text: str, tokens: tuple[Token, ...], now: datetime) -> Span | None:
    end = len(text.rstrip(" .!?"))
    for place in range(len(tokens)):
        for span in spans_at(text, tokens, place, now):
            if len(text[: span.end].rstrip(" .!?")) == end:
                return span
    return None


def _trimmed(rest: str) -> str:
    text = rest.lstrip(" ,:.!?;-").rstrip(" ,:.;-")
    return text[_FILLER.match(text).end() :].strip()  # type: ignore[union-attr]


def _refuse_range(found: Span, rest: str) -> None:
    """ "At 9 to 10" and "tomorrow - 3 people": "to" begins what is to be done only before a word."""
    tokens = tokens_of(rest)
    if found.start == 0 and len(tokens) > 1 and tokens[0].text in ("to", "-") and tokens[1].number is not None:
        raise UsageError(
            f"it is unsure what {tokens[0].text!r} beside {_short(found.text)!r} means; write one time, for example: "
            f"/remind {_EXAMPLE}"
        )


def _refuse_further(found: Span, rest: str, now: datetime) -> None:
    """A word beside the time that belongs to it, or a second time, makes it unsure which is meant."""
    tokens = tokens_of(rest)
    beside = tokens[0].text if found.start == 0 else tokens[-1].text
    leading = LEADING - PARTICLES if found.text.split()[0].lower() in PREPOSITIONS else LEADING
    if beside in (FOLLOWING if found.start == 0 else leading):
        raise UsageError(
            f"it is unsure what {beside!r} beside {_short(found.text)!r} means; write one time, for example: "
            f"/remind {_EXAMPLE}"
        )
    for second in _spans(rest, tokens, now):
        touches = second.start == 0 if found.start == 0 else second.end == len(rest)
        if touches or _is_explicit(second):
            raise UsageError(
                f"{_short(found.text)!r} and {_short(second.text)!r} are two times; write it once, at the start or "
                f"at the end, for example: /remind {_EXAMPLE}"
            )


def _spans(text: str, tokens: tuple[Token, ...], now: datetime) -> Iterable[Span]:
    for place in range(len(tokens)):
        if (span := longest_at(text, tokens, place, now)) is not None:
            yield span


def _is_explicit(span: Span) -> bool:
    first = span.text.split()[0].lower()
    return first in _EXPLICIT or re.match(r"\d{4}-", first, re.ASCII) is not None


def _checked(found: Span, text: str, now: datetime) -> Understood:
    reading = found.read()
    if reading.due is None:
        raise UsageError(f"{_short(found.text)!r} {reading.problem}; name another one")
    if reading.rrule:
        canonical_rule(reading.rrule)
    due = reading.due
    past = not is_later(due, now) if isinstance(due, datetime) else due < now.date()
    if past:
        raise UsageError(f"{_short(found.text)!r} has passed already; name a later time")
    return Understood(text, due, reading.rrule, reading.exdates)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
