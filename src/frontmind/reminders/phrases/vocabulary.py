"""The English words of dates and times, and what each stands for. Data only."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS: Final = {word: 10 * place for place, word in enumerate(("twenty", "thirty", "forty", "fifty"), start=2)}
LARGER_TENS: Final = TENS | {"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
SMALL_NUMBERS: Final = {word: number for number, word in enumerate(_SMALL)}
_ORDINALS = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINALS: Final = {word: number for number, word in enumerate(_ORDINALS, start=1)} | {"thirtieth": 30}
ORDINAL_ENDINGS: Final = ("st", "nd", "rd", "th")


def _weekdays() -> dict[str, int]:
    names = {
        0: "monday mon",
        1: "tuesday tue tues",
        2: "wednesday wednsday wed weds",
        3: "thursday thu thur thurs",
        4: "friday fri",
        5: "saturday sat",
        6: "sunday sun",
    }
    return {word: number for number, words in names.items() for word in words.split()}


WEEKDAYS: Final = _weekdays()
WEEKDAYS_PLURAL: Final = {f"{word}s": number for word, number in WEEKDAYS.items() if word.endswith("day")}
WEEKDAY_CODES: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
WORKDAYS: Final = (0, 1, 2, 3, 4)
WEEKEND: Final = (5, 6)


_MONTHS = _words("january february march april may june july august september october november december")
MONTHS: Final = (
    {name: number for number, name in enumerate(_MONTHS, start=1)}
    | {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
    | {"sept": 9}
)

MINUTE, HOUR, DAY, WEEK, MONTH, YEAR, SECOND = "minute", "hour", "day", "week", "month", "year", "second"
UNITS: Final = {
    "second": (SECOND, 1),
    "seconds": (SECOND, 1),
    "sec": (SECOND, 1),
    "secs": (SECOND, 1),
    "minute": (MINUTE, 1),
    "minutes": (MINUTE, 1),
    "min": (MINUTE, 1),
    "mins": (MINUTE, 1),
    "hour": (HOUR, 1),
    "hours": (HOUR, 1),
    "h": (HOUR, 1),
    "hr": (HOUR, 1),
    "hrs": (HOUR, 1),
    "day": (DAY, 1),
    "days": (DAY, 1),
    "week": (WEEK, 1),
    "weeks": (WEEK, 1),
    "fortnight": (WEEK, 2),
    "fortnights": (WEEK, 2),
    "month": (MONTH, 1),
    "months": (MONTH, 1),
    "quarter": (MONTH, 3),
    "quarters": (MONTH, 3),
    "year": (YEAR, 1),
    "years": (YEAR, 1),
}
"""A unit's word: what it counts, and how many of that."""

ADVERBS: Final = {
    "daily": (DAY, 1),
    "everyday": (DAY, 1),
    "hourly": (HOUR, 1),
    "weekly": (WEEK, 1),
    "fortnightly": (WEEK, 2),
    "monthly": (MONTH, 1),
    "quarterly": (MONTH, 3),
    "semiannual": (MONTH, 6),
    "semiannually": (MONTH, 6),
    "annual": (YEAR, 1),
    "annually": (YEAR, 1),
    "yearly": (YEAR, 1),
}
FREQUENCIES: Final = {
    SECOND: "SECONDLY",
    MINUTE: "MINUTELY",
    HOUR: "HOURLY",
    DAY: "DAILY",
    WEEK: "WEEKLY",
    MONTH: "MONTHLY",
    YEAR: "YEARLY",
}

DAY_PARTS: Final = {"morning": 9, "afternoon": 15, "evening": 18, "night": 21}
"""The hour that a part of the day stands for when no other is given."""
DAY_PARTS_PLURAL: Final = {f"{part}s": part for part in DAY_PARTS}

# Only days that fall on the same date wherever they are kept, and those that a rule gives.
HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
    "new years eve": (12, 31),
    "new year's day": (1, 1),
    "new years day": (1, 1),
    "new year day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
    "independence day": (7, 4),
    "international workers ' day": (5, 1),
}
"""Month and day of a holiday; the words as they are after reading, with spaces between them."""
EASTER: Final = ("easter sunday", "easter")
BLACK_FRIDAY: Final = "black friday"

_BARE_MONTHS = frozenset(MONTHS) - {"may", "march", "mar"}
LEADING: Final = (
    frozenset(
        _words(
            "at on in by before after to from next until till til through every around about between and or than since "
            "for of the within last each not except past during over under another @ mid twice thrice times"
        )
    )
    | _BARE_MONTHS
)
"""In front of a time these say that it is not the whole of it: "before friday", "mid may"."""
FOLLOWING: Final = frozenset(
    _words(
        "or and until till til through thru before after past to from minus plus but am pm oclock except between sharp "
        "ish is are was were st nd rd th week weeks weekend weekends month months year years day days "
        "hour hours minute minutes ago "
        # Zones: a time in another zone than the person's is not converted, so it must not be taken for theirs.
        "pt et est edt cst cdt mst mdt pst pdt cet cest gmt utc bst ist eastern pacific"
    )
)
"""Behind a time these say that it goes on: "friday or saturday", "at 9 to 10"."""
PARTICLES: Final = frozenset(_words("on in at over by under around about not last"))
"""Of those, the ones that more often belong to the text when the time has a preposition of its own."""
PREPOSITIONS: Final = frozenset(_words("in at on every each"))
SENTENCE_LEADING: Final = (
    frozenset(_words("before after until till til through between from since mid twice thrice by")) | _BARE_MONTHS
)
SENTENCE_FOLLOWING: Final = frozenset(
    _words("or until till til through thru before after to from except week weeks month months year years")
)
"""The same for a time that stands in a sentence, where "and" and "in" more often belong to the sentence."""
