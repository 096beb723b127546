"""The machine's clock in the machine's zone, which a person on a trip changes while the program runs."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from tzlocal import get_localzone_name, reload_localzone

from frontmind.errors import UsageError
from frontmind.values.clock import find_zone


class MachineClock:
    """A `Clock` whose zone is the machine's at each moment; where that cannot be read, it stays what it was.

    Raises:
        UsageError: the machine's zone cannot be found out.
    """

    def __init__(self) -> None:
        zone = _zone()
        if zone is None:
            raise UsageError("the machine's time zone cannot be found out; pass --timezone, such as Europe/Berlin")
        self._zone = zone

    @property
    def zone(self) -> ZoneInfo:
        self._zone = _zone() or self._zone
        return self._zone

    def now(self) -> datetime:
        return datetime.now(self.zone)


def _zone() -> ZoneInfo | None:
    try:
        reload_localzone()
        return find_zone(get_localzone_name() or "UTC")
    except (LookupError, ValueError, OSError, UsageError):
        return None
