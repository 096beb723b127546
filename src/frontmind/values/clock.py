"""The clock as a value that is passed in; only `SystemClock.now` ever asks the machine for the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from frontmind.errors import UsageError

_FIRST_YEAR, _LAST_YEAR = 1900, 2999
# Beside its zones a zone database has the machine's own settings, and copies of all zones, of which those that count
# leap seconds tell wrong times.
_NO_ZONES = frozenset(("localtime", "posixrules", "factory"))
_COPIES = ("posix/", "right/")


class Clock(Protocol):
    """Tells the time in the user's zone."""

    @property
    def zone(self) -> ZoneInfo: ...

    def now(self) -> datetime:
        """The present moment, aware, in `zone`."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock, shown in ``zone``."""

    zone: ZoneInfo

    def now(self) -> datetime:
        return datetime.now(self.zone)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still at ``moment``, for reproducible windows."""

    moment: datetime
    zone: ZoneInfo

    def now(self) -> datetime:
        return self.moment.astimezone(self.zone)


def find_zone(name: str) -> ZoneInfo:
    """The IANA zone of that name.

    Raises:
        UsageError: there is no such zone.
    """
    try:
        if name.lower() in _NO_ZONES or name.lower().startswith(_COPIES):
            raise ZoneInfoNotFoundError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"unknown time zone {name!r}; use an IANA name such as Europe/Berlin, America/New_York or UTC"
        ) from error


def parse_moment(text: str, zone: tzinfo) -> datetime:
    """The moment that an ISO 8601 text names; without an offset it is local to ``zone``.

    Raises:
        UsageError: the text is not ISO 8601, or the year is not between 1900 and 2999 (further out, sums of
            moments and zones leave what Python and SQLite can hold).
    """
    try:
        moment = datetime.fromisoformat(text)
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise UsageError(f"the time {text!r} is too far away; use a year from {_FIRST_YEAR} to {_LAST_YEAR}")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(zone)
    except ValueError as error:
        raise UsageError(
            f"cannot read the time {text!r}; write ISO 8601 such as 2026-11-30T09:15 or 2026-11-30T09:15+01:00"
        ) from error
