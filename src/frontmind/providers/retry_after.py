"""When a provider says that it may be asked again: from its headers, its body or its words to seconds. Pure.

A moment is counted from the one that the answer itself carries (``Date``), so no clock is needed, and none that is
wrong can lead to a wait that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

_NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_DURATION: Final = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d))+")
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_IN_WORDS: Final = re.compile(rf"(?:try again|retry) in ({_DURATION.pattern})")
_RESET: Final = re.compile(r"(?P<family>(?:anthropic|x)-ratelimit-)(?P<rest>.*reset.*)")
# A number of seconds from here on is a moment since 1970, from the next on one in milliseconds.
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 10**9, 10**12


def retry_after_seconds(headers: Mapping[str, str], body: object = None, said: str = "") -> float | None:
    """In how many seconds the provider wants to be asked again; None where it does not say.

    Args:
        headers: those of the answer, their names in lower case.
        body: the answer's JSON; Google tells it in its details.
        said: the provider's words; OpenAI tells it there when the stream has begun.
    """
    told = _from_headers(headers)
    if told is None:
        told = next(_from_details(body), None)
    if told is None and (words := _IN_WORDS.search(said)) is not None:
        told = _duration(words[1])
    return told if told is not None and told > 0 else None


def _from_headers(headers: Mapping[str, str]) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after", "").strip()
    if after:
        seconds = _number(after)
        return seconds if seconds is not None else _until(_http_date(after), headers)
    resets = [_from_reset(name, value, headers) for name, value in headers.items()]
    return max((reset for reset in resets if reset is not None), default=None)


def _from_reset(name: str, value: str, headers: Mapping[str, str]) -> float | None:
    """When a limit is renewed, unless something is left of it, for then it is not the one that was met."""
    found = _RESET.fullmatch(name)
    if found is None:
        return None
    left = _number(headers.get(found["family"] + found["rest"].replace("reset", "remaining"), ""))
    if left:
        return None
    number = _number(value)
    if number is None:
        return _duration(value) if _DURATION.fullmatch(value) else _until(_iso_moment(value), headers)
    if number < _EPOCH_SECONDS:
        return number
    now = _http_date(headers.get("date", ""))
    moment = number / 1000 if number >= _EPOCH_MILLISECONDS else number
    return moment - now.timestamp() if now is not None else None


def _from_details(body: object) -> Iterator[float]:
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    details: Any = inner.get("details") if isinstance(inner, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and _DURATION.fullmatch(delay):
            yield _duration(delay)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def _duration(text: str) -> float:
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(text))


def _until(moment: datetime | None, headers: Mapping[str, str]) -> float | None:
    now = _http_date(headers.get("date", ""))
    return (moment - now).total_seconds() if moment is not None and now is not None else None


def _http_date(text: str) -> datetime | None:
    try:
        return _with_zone(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _iso_moment(text: str) -> datetime | None:
    try:
        return _with_zone(datetime.fromisoformat(text.strip()))
    except ValueError:
        return None


def _with_zone(moment: datetime) -> datetime | None:
    """Without a zone it is no moment."""
    return moment if moment.tzinfo is not None else None
