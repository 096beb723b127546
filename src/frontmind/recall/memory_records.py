"""Memories as records of a file: their fields, what each may hold, and in words what it should hold. Pure; knows no
format.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from frontmind.values.memories import LinkKind, MemoryOrigin

LONGEST_TEXT: Final = 10_000
"""The most characters of a text that is read."""

# A day from the ends of these years, so that a moment lies in them in every zone.
_FIRST_MOMENT: Final = datetime(1900, 1, 2, tzinfo=UTC)
_LAST_MOMENT: Final = datetime(2999, 12, 30, tzinfo=UTC)
_FIRST_DAY: Final = date(1900, 1, 1)
_LAST_DAY: Final = date(2999, 12, 31)


def _in_range(value: date | None) -> date | None:
    if isinstance(value, datetime):
        within = _FIRST_MOMENT <= value <= _LAST_MOMENT
    else:
        within = value is None or _FIRST_DAY <= value <= _LAST_DAY
    if not within:
        raise ValueError
    return value


def _is_said(value: str) -> str:
    if not value.strip():
        raise ValueError
    return value


def _is_text(value: object) -> object:
    # A number would be taken for seconds since 1970.
    if value is not None and not isinstance(value, str | date):
        raise ValueError
    return value


_Id = Annotated[StrictStr, Field(pattern=r"^m[1-9][0-9]{0,14}$")]
_Moment = Annotated[AwareDatetime, BeforeValidator(_is_text), AfterValidator(_in_range)]
_Day = Annotated[date, BeforeValidator(_is_text), AfterValidator(_in_range)]
_Slot = Annotated[
    AwareDatetime | date, Field(union_mode="left_to_right"), BeforeValidator(_is_text), AfterValidator(_in_range)
]


class LinkRecord(BaseModel):
    """A link from the memory that it stands in to another one of the file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: LinkKind
    to: _Id


class MemoryRecord(BaseModel):
    """A memory as it stands in a file; what the fields mean is said at `Memory`.

    Attributes:
        id: what the file's other records call it; in the store that reads it, it gets another one.
        used_on: the days on which the model used it, on the person's calendar.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: Annotated[StrictStr, Field(max_length=LONGEST_TEXT), AfterValidator(_is_said)]
    id: _Id | None = None
    observed_at: _Moment | None = None
    recorded_at: _Moment | None = None
    origin: MemoryOrigin = MemoryOrigin.IMPORTED
    conversation: StrictStr = ""
    turn: StrictInt | None = Field(default=None, ge=1, lt=2**53)
    confidence: StrictFloat = Field(default=1.0, ge=0, le=1, allow_inf_nan=False)
    happens_at: _Slot | None = None
    valid_until: _Slot | None = None
    superseded_by: _Id | None = None
    superseded_at: _Moment | None = None
    links: tuple[LinkRecord, ...] = ()
    used_on: tuple[_Day, ...] = ()


_AN_ID: Final = "an id such as m3"
_A_MOMENT: Final = "a moment with its offset from UTC, such as 2026-11-30T09:15:00+01:00, of the years 1900 to 2999"
_A_SLOT: Final = f"a day such as 2026-11-30, or {_A_MOMENT}"
_EXPECTED: Final[Mapping[str, str]] = {
    "text": f"a text that is not blank, of at most {LONGEST_TEXT:,} characters",
    "id": _AN_ID,
    "observed_at": _A_MOMENT,
    "recorded_at": _A_MOMENT,
    "origin": f"one of {', '.join(MemoryOrigin)}",
    "conversation": "a text",
    "turn": "a whole number from 1",
    "confidence": "a number from 0 to 1",
    "happens_at": _A_SLOT,
    "valid_until": _A_SLOT,
    "superseded_by": _AN_ID,
    "superseded_at": _A_MOMENT,
    "links": f"a list of links, each with a kind ({', '.join(LinkKind)}) and to, {_AN_ID}",
    "used_on": "a list of days such as 2026-11-30, of the years 1900 to 2999",
}


def what_is_wrong(error: ValidationError) -> str:
    """What the first field that cannot be used should hold, on one line."""
    field = str(error.errors(include_url=False, include_input=False)[0]["loc"][0])
    return f"{field}: it must be {_EXPECTED[field]}"
