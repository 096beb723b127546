"""Which days a query asks about, and whether a text tells when something was. Pure, English.

"In May 2023", "on 3 July", "last week", "yesterday": a period to prefer, never a filter, since what is told in one
month often happened in another. Does not know how finds are ranked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from frontmind.recall.words import MONTHS, word_pieces

_MONTHS: Final = {name.lower(): number for number, name in enumerate(MONTHS, 1)}
_MONTH: Final = "|".join(_MONTHS)

_ASKS_WHEN: Final = re.compile(
    r"\b(?:when|how long|how many (?:days|weeks|months|years)|(?:what|which) (?:day|date|week|month|season|year))\b",
    re.I,
)
_TELLS_WHEN_LINES: Final = """
    yesterday today tonight tomorrow last ago next morning week weekend weeks month months year years since recently
    just monday tuesday wednesday thursday friday saturday sunday
"""
_TELLS_WHEN: Final = frozenset((*_TELLS_WHEN_LINES.split(), *_MONTHS, *(str(year) for year in range(1900, 2100))))
# "may" and "march" are months only with a capital.
_DATE: Final = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b"
    rf"(?: (?P<day_behind>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>20\d\d)\b)?",
    re.I,
)
_ISO: Final = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_YEAR: Final = re.compile(r"\b20\d\d\b")
_RELATIVE: Final = re.compile(r"\b(yesterday|today|(?:last|past|this) (?:week|month|year))\b", re.I)
_AGO: Final = re.compile(r"\b(an?|one|two|three|four|five|six|\d{1,2}) (day|week|month|year)s? ago\b", re.I)
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}

_TOLD_WITHIN: Final = timedelta(days=14)
"""What happened on a day is mostly told within two weeks."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A period that a query asks about.

    Attributes:
        year, month, day: what of a date the query names; None for what it leaves open.
        first, last: a period of days instead, both included.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    first: date | None = None
    last: date | None = None

    def nearness(self, told: date) -> float:
        """1 for a text of this period, 0.5 for one soon after, when it would be told, else 0."""
        if self.first is not None and self.last is not None:
            if self.first <= told <= self.last:
                return 1.0
            return 0.5 if self.last < told <= self.last + _TOLD_WITHIN else 0.0
        if self._has(told):
            return 1.0
        return 0.5 if any(self._has(told - timedelta(days=days)) for days in range(1, _TOLD_WITHIN.days + 1)) else 0.0

    def _has(self, told: date) -> bool:
        return (
            (self.year is None or told.year == self.year)
            and (self.month is None or told.month == self.month)
            and (self.day is None or told.day == self.day)
        )


def asks_when(query: str) -> bool:
    """Whether the query asks for a time."""
    return _ASKS_WHEN.search(query) is not None


def tells_when(text: str) -> bool:
    """Whether the text has a word that tells when something was."""
    return not _TELLS_WHEN.isdisjoint(word_pieces(text))


def asked_periods(query: str, today: date) -> tuple[Asked, ...]:
    """The periods that the query asks about, asked on ``today``."""
    found = [Asked(int(year), int(month), int(day)) for year, month, day in _ISO.findall(query)]
    rest = _ISO.sub(" ", query)
    for match in _DATE.finditer(rest):
        name = match["month"]
        if name[0].isupper():
            day = match["day"] or match["day_behind"]
            year = match["year"]
            found.append(Asked(_number(year), _MONTHS[name.lower()], _number(day)))
    if not found:
        found = [Asked(year=int(year)) for year in _YEAR.findall(rest)]
    found.extend(_relative(match[0].lower(), today) for match in _RELATIVE.finditer(rest))
    for count, unit in _AGO.findall(rest):
        number = _COUNTS.get(count.lower()) or int(count if count.isdigit() else 1)
        found.append(_around(today, number, _DAYS[unit.lower()]))
    return tuple(dict.fromkeys(found))


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _relative(words: str, today: date) -> Asked:
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return Asked(first=day, last=day)
    which, unit = words.split()
    days = _DAYS[unit]
    if which == "last" and unit == "week":
        # The week before this one, and this one: people count both ways.
        days = 14
    if which == "last" and unit == "month":
        days = 61
    if which == "last" and unit == "year":
        return Asked(year=today.year - 1)
    return Asked(first=today - timedelta(days=days), last=today)


def _around(today: date, count: int, days: int) -> Asked:
    middle = today - timedelta(days=min(count * days, 36_500))
    slack = timedelta(days=0 if days == 1 else days // 2)
    return Asked(first=middle - slack, last=middle + slack)
