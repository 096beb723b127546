"""Moments and versions as the API takes and gives them."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from typing import Annotated, TypeAlias, overload

from pydantic import Field

LARGEST_NUMBER = 2**53 - 1
"""Beyond it JavaScript does not tell whole numbers apart."""

Version: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]


@overload
def slot_text(slot: None, zone: tzinfo | None) -> None: ...


@overload
def slot_text(slot: datetime | date, zone: tzinfo | None) -> str: ...


@overload
def slot_text(slot: datetime | date | None, zone: tzinfo | None) -> str | None: ...


def slot_text(slot: datetime | date | None, zone: tzinfo | None) -> str | None:
    """A moment in the zone, or a day, in ISO 8601; None for none."""
    if slot is None:
        return None
    return (slot.astimezone(zone) if isinstance(slot, datetime) else slot).isoformat()
