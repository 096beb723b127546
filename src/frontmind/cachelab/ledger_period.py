"""The days or moments between which a ledger is asked for, as people write them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from frontmind.values.clock import parse_moment

_A_DAY: Final = timedelta(days=1)


def period_begin(text: str | None, zone: tzinfo) -> datetime | None:
    """The first moment that counts: the beginning of a day, or a moment (ISO 8601); None for all from the start.

    Raises:
        UsageError: the text is neither.
    """
    return None if text is None else parse_moment(text.strip(), zone)


def period_end(text: str | None, zone: tzinfo) -> datetime | None:
    """The first moment that does not count any more: a day is included; None for all up to now.

    Raises:
        UsageError: the text is neither a day nor a moment.
    """
    if text is None:
        return None
    moment = parse_moment(text.strip(), zone)
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return moment
    # The day after by the calendar: a day on which the clocks are set has not 24 hours.
    return datetime.combine(moment.date() + _A_DAY, time.min, zone)
