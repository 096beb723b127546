"""The moments that exports write: seconds since 1970, or ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from frontmind.errors import UsageError
from frontmind.values.clock import parse_moment

# From here on a number of seconds would lie beyond the year 5000: it counts milliseconds.
_MILLISECONDS: Final = 1e11
# The years in which a moment can lie: 1900 to 2999.
_EARLIEST: Final = -2_208_988_800
_LATEST: Final = 32_503_680_000 - 86_400


def read_moment(value: object) -> datetime | None:
    """The moment, in UTC; None where there is none, or none that can be meant. Without an offset it is in UTC."""
    if isinstance(value, str):
        try:
            return parse_moment(value.strip(), UTC)
        except (UsageError, OverflowError):
            return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # Zero is what exports write where they do not know.
    if value == 0 or not _EARLIEST <= value < _MILLISECONDS * 1000:
        return None
    seconds = value / 1000 if value >= _MILLISECONDS else value
    return datetime.fromtimestamp(seconds, UTC) if seconds < _LATEST else None
